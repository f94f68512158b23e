"""Uses the console as people do, in Chromium, on a running stack with the local issuer.

    python walk.py CONSOLE_URL API_BASE --vectors FILE --example FILE --port PORT [--shots FOLDER] [--axe FILE] [--pictures FOLDER]

The stack has the demo's data. With --pictures it only takes the pictures of the documents. It prints a line for each failure, and then
exits with 1. The variable CHROMIUM is the path of the browser (default: /usr/bin/chromium).
"""

import argparse
import base64
import datetime
import http.server
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

from playwright.sync_api import Page, expect, sync_playwright

from demo import Demo
from done import Done
from lost import Lost
from sent import Sent

MARKUP = "<img src=x onerror=\"document.title='pwned'\">"
OVERRIDE = "\u202egnp.exe"  # its first character reverses the direction of the text after it
SHOWN_OVERRIDE = "\\u202egnp.exe"  # how the console shows it

# The body of a 503 of the API.
UNAVAILABLE = {"title": "t", "status": 503, "detail": "Try it later.", "requestId": "r", "code": "unavailable"}

# Runs in each document before the scripts of the document.
WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation', e => window.violations.push(e.violatedDirective + ' ' + e.blockedURI));
"""

# The values of the parameters ProductName and SupportUrl, and a light accent. The parameter Accent is dark.
PRODUCT, SUPPORT, LIGHT = "Ärger & <img src=x onerror=alert(1)>", "mailto:help@example.com", "#fff3b0"

# Returns the lowest contrast, for 515 accents, of text on an accent and of text in the colour of an accent. The last three accents
# are hard cases: neither black nor white text has much contrast on them.
CONTRAST = """
() => {
  const probe = document.body.appendChild(document.createElement('div'))
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const luminance = name => {
    probe.style.color = `var(--${name})`
    canvas.fillStyle = getComputedStyle(probe).color
    canvas.fillRect(0, 0, 1, 1)
    const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    return .2126 * r + .7152 * g + .0722 * b
  }
  let lowest = 21
  const grid = [...Array(512).keys()].map(i => [i >> 6, i >> 3 & 7, i & 7].map(v => Math.round(v * 255 / 7).toString(16).padStart(2, '0')).join(''))
  for (const hex of [...grid, '8855ee', 'bb5544', 'db246d']) {
    document.documentElement.style.setProperty('--latchkey-accent', `#${hex}`) // the root's colours follow from it
    for (const [text, below] of [['on-fill', 'fill'], ...['page', 'card', 'raised', 'accent-soft'].map(b => ['accent', b])]) {
      const [a, b] = [luminance(text), luminance(below)].sort((x, y) => x - y)
      lowest = Math.min(lowest, (b + .05) / (a + .05))
    }
  }
  document.documentElement.style.removeProperty('--latchkey-accent')
  return probe.remove(), lowest
}
"""

# Returns the colour, the font and the corners of a button.
COLOURS = "b => (({ backgroundColor, fontFamily, borderRadius }) => [backgroundColor, fontFamily, borderRadius])(getComputedStyle(b))"

# Reports whether all dialogs are within the window, and all tables within the page.
FITS = """
[...document.querySelectorAll('dialog[open]')].map(d => d.getBoundingClientRect()).every(b => b.left >= 0 && b.right <= innerWidth) &&
  [...document.querySelectorAll('.pages .scroll')].every(t => t.scrollWidth <= t.clientWidth)
"""

# Waits until all checks are made, and returns the names of the failed ones.
FAILED = """
(async () => {
  const result = document.querySelector('lk-verify [role=status]')
  while (result.ariaBusy === 'true') await new Promise(done => setTimeout(done, 5))
  return [...result.querySelectorAll('tbody tr')].filter(r => r.querySelector('.bad')).map(r => r.cells[0].textContent.trim())
})()
"""

# The pages of an org that each role can open, by their paths, with the buttons on them.
BUTTONS = {
    "admin": {
        "": {"Rename org", "New app", "Rename", "Download CSV", "Leave org", "Delete org"}, "/members": {"Add member", "Role", "Remove"},
        "/keys": {"New API key", "Rotate", "Revoke"}, "/links": {"Revoke"}, "/endpoints": {"New endpoint", "Test", "Enable"},
        "/events": {"Refresh", "Send failed again"}, "/audit": {"Download CSV"},
    },
    "member": {"": {"Leave org"}, "/members": set(), "/keys": set(), "/links": set(), "/events": {"Refresh"}},
    "viewer": {"": {"Leave org"}},
    "a stranger": {},
}


class Receiver(http.server.BaseHTTPRequestHandler):
    """A webhook receiver."""

    status = 200
    last = ""  # the last request, as text

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        Receiver.last = f"{self.requestline}\r\n{self.headers}{body}"
        self.send_response(Receiver.status)
        answer = (MARKUP + OVERRIDE).encode()
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Stage(http.server.BaseHTTPRequestHandler):
    """A proxy that serves the API below the path /live, as API Gateway serves an API below its stage."""

    def pass_on(self):
        if not self.path.startswith("/live/"):
            return self.send_error(404)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
        request = urllib.request.Request(self.server.api + self.path.removeprefix("/live"), body, method=self.command)
        for name, value in self.headers.items():
            if name.lower() not in ("host", "connection", "content-length", "accept-encoding"):
                request.add_header(name, value)
        try:
            answer = urllib.request.urlopen(request)
        except urllib.error.HTTPError as e:
            answer = e
        text = answer.read()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in ("connection", "transfer-encoding", "content-length", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PATCH = do_DELETE = do_OPTIONS = pass_on

    def log_message(self, *_):
        pass


class Person:
    """A person with a browser profile of their own."""

    def __init__(self, walk, email, **context):
        self.walk, self.email = walk, email
        self.context = walk.browser.new_context(
            viewport={"width": 1180, "height": 820}, permissions=["clipboard-read", "clipboard-write"], **context)
        self.context.add_init_script(WATCH)
        self.page = self.tab()

    def tab(self):
        """Opens a tab, whose errors and requests are checked."""
        page = self.context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", self.on_message)
        page.on("pageerror", lambda e: self.walk.failed(f"{self.email}: error in the page: {e}"))
        page.on("request", self.check_origin)
        return page

    def on_message(self, message):
        # The browser reports each refusal of the API as an error "Failed to load resource", which is no fault of the page.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.walk.failed(f"{self.email}: the browser reports: {message.text}")

    def check_origin(self, request):
        """Notes a request of the console to an origin that it may not call."""
        if request.frame.url.startswith(self.walk.url) and not request.is_navigation_request():
            origin = origin_of(request.url)
            if origin not in self.walk.origins:
                self.walk.failed(f"{self.email}: a request to {origin}")

    def sign_in(self, page=None):
        page = page or self.page
        page.goto("about:blank")
        page.goto(self.walk.url)
        page.get_by_label("Email").fill(self.email)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()

    def open(self, name):
        """Opens a page by its link in the menu."""
        self.page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
        expect(self.page.get_by_role("heading", level=1, name=name)).to_be_visible()

    def dialog(self):
        """Returns the dialog that was opened last."""
        return self.page.get_by_role("dialog").last

    def submit(self, name):
        """Presses a button of the dialog."""
        self.dialog().get_by_role("button", name=name, exact=True).click()

    def tab_to(self, name):
        """Presses Tab until the element with this text has the focus."""
        for _ in range(40):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("document.activeElement.textContent.trim()") == name:
                return
        self.walk.failed(f"the keyboard does not reach {name}")

    def details(self, key):
        """Opens the details of an active key."""
        self.row("active").get_by_role("button", name=key).click()
        expect(self.dialog()).to_contain_text("Metadata")
        return self.dialog()

    def row(self, text):
        """Returns the rows of the page's tables that contain a text."""
        return self.page.get_by_role("main").get_by_role("row").filter(has_text=text)

    def end(self, kept="[{},{},\"\"]"):
        """Checks the page at the end: its policy, the values that the browser stores, its markup and its width."""
        for violation in self.page.evaluate("window.violations"):
            self.walk.failed(f"{self.email}: the policy was violated: {violation}")
        got = self.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
        if got != kept:
            self.walk.failed(f"{self.email}: the browser stores {got}")
        if self.page.title() == "pwned" or self.page.locator("img").count():
            self.walk.failed(f"{self.email}: a text became markup")
        wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wide > 0:
            self.walk.failed(f"{self.email}: the page is {wide} px too wide")


class Walk(Demo, Lost, Done, Sent):
    def __init__(self, browser, url, api, shots, axe, vectors, example, port, pictures):
        self.pictures = pictures
        self.vectors, self.example, self.port = vectors, example, port
        self.browser, self.url, self.api, self.shots = browser, url, api.rstrip("/"), shots
        self.axe = open(axe).read() if axe else ""
        self.failures, self.started = [], time.monotonic()
        with urllib.request.urlopen(url + "/config.json") as answer:
            self.issuer = json.load(answer)["tokenEndpoint"]
        self.origins = {origin_of(url), origin_of(self.issuer)}
        self.receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=self.receiver.serve_forever, daemon=True).start()

    def last(self):
        """Returns the last webhook, as text."""
        return Receiver.last

    def close_dialog(self, page):
        """Closes the last dialog by Escape, and waits for the event in which the dialog leaves the page and the URL."""
        dialogs = page.locator("lk-dialog")
        left = dialogs.count() - 1
        page.keyboard.press("Escape")
        expect(dialogs).to_have_count(left)

    def failed(self, what):
        """Notes a failure, which is printed at the end."""
        self.failures.append(what)

    def want(self, what, got, wanted):
        """Notes a failure if a value is not the expected one."""
        if got != wanted:
            self.failed(f"{what}: got {got}, want {wanted}")

    def step(self, what):
        """Prints the name of a step, and the time since the start."""
        print(f"{time.monotonic() - self.started:5.1f} s  {what}", flush=True)

    def token(self, kind, email="", name=""):
        """Returns an access token of the local issuer."""
        form = {"grant_type": "client_credentials", "client_id": "local", "client_secret": "local", "kind": kind,
                "sub": email or "service", "email": email, "name": name or email}
        with urllib.request.urlopen(self.issuer, urllib.parse.urlencode(form).encode()) as answer:
            return json.load(answer)["access_token"]

    def call(self, path, key, body=None, method="POST"):
        """Calls the API with a credential, and returns the status and the decoded body."""
        request = urllib.request.Request(
            f"{self.api}/{path}", None if method == "GET" else json.dumps(body or {}).encode(), method=method,
            headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
        for _ in range(5):
            try:
                with urllib.request.urlopen(request) as answer:
                    return answer.status, json.loads(answer.read() or b"{}")
            except urllib.error.HTTPError as e:
                status, answer = e.code, json.loads(e.read() or b"{}")
                if status != 503:  # a 503 is temporary, so the request is repeated
                    break
                time.sleep(1)
        return status, answer

    def shot(self, page: Page, name, parts=()):
        """Checks at seven widths that the page does not scroll sideways. At two of them, takes a picture in each colour scheme and runs
        axe-core. If parts are given, axe-core checks only these: the rest of the page is alike."""
        for width in (1600, 1440, 1000, 720, 320, 360, 1180):
            page.set_viewport_size({"width": width, "height": 820})
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if wide > 0:
                self.failed(f"{name} at {width} px is {wide} px too wide")
            if not page.evaluate(FITS):
                self.failed(f"{name} at {width} px: a dialog or a table does not fit")
            if OVERRIDE[0] in page.inner_text("body"):
                self.failed(f"{name}: a text reverses the direction of other text")
            for scheme in ("light", "dark") if (self.shots or self.axe) and width in (360, 1180) else ():
                page.emulate_media(color_scheme=scheme)
                page.evaluate("([name, accent]) => document.documentElement.style.setProperty(name, accent)",
                              ["--accent-of-product", LIGHT if width == 360 else ""])
                page.wait_for_timeout(60)
                if self.axe:
                    page.evaluate(self.axe + ";undefined")
                    for v in page.evaluate("parts => axe.run(parts.length ? parts : document)", list(parts))["violations"]:
                        at = ", ".join(str(n["target"]) for n in v["nodes"][:3])
                        self.failed(f"{name} at {width} px, {scheme}: {v['id']}: {v['help']}: {at}")
                if not self.shots:
                    continue
                page.screenshot(path=os.path.join(self.shots, f"{name}-{width}-{scheme}.png"))
        page.emulate_media(color_scheme="light")

    def walk(self):
        run = uuid.uuid4().hex[:8]
        ada, bob = Person(self, f"ada-{run}@example.com"), Person(self, f"bob-{run}@example.com")

        self.step("The owner sets a catalogue with hostile texts")
        described = f"{MARKUP} is text"
        status, _ = self.call("v1/catalogue", self.token("service"), {
            "scopes": [{"name": "invoices:read", "description": described}],
            "events": [{"type": "invoice.paid", "description": described, "example": {"invoice": MARKUP}}]}, "PUT")
        self.want("PUT /v1/catalogue", status, 204)

        self.step("Bob signs in. He is in no org")
        bob.sign_in()
        expect(bob.page.get_by_text("You are in no org yet")).to_be_visible()

        self.step("Ada signs in and makes an org")
        ada.sign_in()
        page = ada.page
        self.shot(page, "none")
        page.get_by_role("button", name="New org").click()
        org = f"Acme {run} {MARKUP}"
        ada.dialog().get_by_label("Name").fill(OVERRIDE)
        ada.submit("Create")
        expect(ada.dialog().get_by_role("alert")).to_contain_text("Request id")
        self.shot(page, "problem")
        ada.dialog().get_by_label("Name").fill(org)
        ada.submit("Create")
        expect(page.get_by_role("heading", level=1)).to_have_text(org)
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        app = f"Staging {MARKUP}"
        ada.tab_to("New app")  # this form is used with the keyboard only
        page.keyboard.press("Enter")
        page.keyboard.type(app)
        page.keyboard.press("Enter")
        expect(ada.row(app)).to_be_visible()
        self.shot(page, "org")

        key = self.keys(ada, app)
        self.members(ada, bob, org)
        self.links(ada, key, app)
        self.webhooks(ada, app)
        self.leaked(ada, "server")
        self.revoke(ada, key)
        self.service(ada)
        self.audit(ada)
        self.roles(ada, bob, app)
        self.verify()
        self.reference(ada)
        self.embedded(ada, bob)
        self.face(ada)
        self.tabs(ada)
        self.sent(Person(self, f"kim-{run}@example.com"))
        self.lost(*(Person(self, f"{name}-{run}@example.com") for name in ("ida", "joe")))

        ada.open("Audit log")
        self.sign_ins(ada)

        self.step("Ada reloads, signs in and sees the same page; after a failed read, a button reads again")
        place = page.evaluate("location.hash")
        page.route("**/apps", self.unavailable)
        page.reload()
        page.get_by_label("Email").fill(ada.email)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("main").get_by_role("alert")).to_contain_text("Try it later.")
        expect(page.get_by_role("navigation")).to_be_visible()
        page.unroute("**/apps")
        page.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("heading", level=1, name="Audit log")).to_be_visible()
        self.want("the URL after a reload", page.evaluate("location.hash"), place)

        self.step("Ada deletes the org and signs out")
        page.get_by_role("link", name="Overview").click()
        page.get_by_role("button", name="Delete org").click()
        ada.dialog().get_by_label("Name").fill("another")
        ada.submit("Delete org")
        expect(ada.dialog().get_by_role("alert")).to_contain_text("not the name")
        ada.dialog().get_by_label("Name").fill(org)
        ada.submit("Delete org")
        expect(page.get_by_text("You are in no org yet")).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="You are signed out")).to_be_visible()
        self.shot(page, "out")
        ada.end(self.signed_out())
        bob.end()
        self.demo(Person)

    def keys(self, ada, app):
        self.step("Ada makes a key, which is shown once")
        page = ada.page
        ada.open("API keys")
        self.shot(page, "keys-none")
        page.get_by_role("button", name="New API key").click()
        form = ada.dialog()
        form.get_by_label("Name", exact=True).fill(f"server {MARKUP}")
        form.get_by_label("App").select_option(label=app)
        form.get_by_label("invoices:read").check()
        expect(form).to_contain_text(MARKUP)
        form.get_by_label("Others").fill("invoices:write")
        expect(form).to_contain_text("Not in the catalogue: invoices:write")
        form.get_by_role("button", name="Add a value").click()
        form.get_by_label("Name", exact=True).last.fill("plan")
        form.get_by_label("Value", exact=True).fill(f"{OVERRIDE} {MARKUP}")
        form.get_by_label("per minute").fill("600")
        form.get_by_label("per day").fill("20")
        self.shot(page, "key-form")
        ada.submit("New API key")
        expect(page.get_by_role("heading", name="Your new API key")).to_be_visible()
        page.keyboard.press("Escape")
        key = page.locator("#new-key").inner_text()
        self.shot(page, "key-shown")
        page.get_by_role("button", name="Copy key").click()
        self.want("the copied key", page.evaluate("navigator.clipboard.readText()"), key)
        ada.submit("I have saved the key")
        expect(page.get_by_role("dialog")).to_have_count(0)
        self.want("the key's text is left in the page", key in page.content(), False)
        page.go_back()
        expect(page.get_by_role("heading", level=1)).to_have_text(re.compile("Acme"))
        self.want("the key's text is in the page before", key in page.content(), False)
        page.go_forward()
        expect(page.get_by_role("heading", level=1)).to_have_text("API keys")
        self.want("the key's text is in the page again", key in page.content(), False)

        self.step("The key works")
        status, body = self.call("app/get", key)
        self.want("POST /app/get", (status, body.get("app", {}).get("name")), (200, app))
        for _ in range(11):
            self.call("app/get", key)
        self.shot(page, "keys")
        expect(ada.row("server")).to_contain_text(f"by {ada.email}")
        page.get_by_label("Search").fill("no such")
        expect(page.get_by_text("No key matches.")).to_be_visible()
        page.get_by_label("Search").fill("INVOICES:write")
        expect(ada.row("server")).to_be_visible()
        page.get_by_label("Use").select_option("Not used for 90 days")
        expect(ada.row("server")).to_have_count(0)
        page.get_by_label("Use").select_option("")
        page.get_by_label("Search").fill("")
        ada.row("server").get_by_role("button", name="server").click()
        expect(ada.dialog()).to_contain_text(SHOWN_OVERRIDE)
        expect(ada.dialog().get_by_role("button", name="Edit")).to_be_visible()
        ada.dialog().get_by_role("button", name="Edit").click()
        ada.dialog().get_by_label("per day").fill("40")
        with page.expect_response(re.compile(r"/keys(\?.*)?$")) as read:  # the list, which has the details
            ada.submit("Save")
        read.value.finished()
        expect(page.get_by_text("Saved.")).to_be_visible()
        details = ada.details("server")
        expect(details).to_contain_text("600 per minute, 40 per day")
        details.get_by_text("Show as a table").click()
        today = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
        expect(details.get_by_role("row").nth(1)).to_contain_text(re.compile(f"{today}\\s*[1-9]"))
        self.close_dialog(page)
        return key

    def members(self, ada, bob, org):
        self.step("Ada adds Bob, who sees less")
        page = ada.page
        ada.open("Members")
        page.get_by_role("button", name="Add member").click()
        ada.dialog().get_by_label("Email").fill("nobody@example.com")
        ada.submit("Add")
        expect(ada.dialog().get_by_role("alert")).to_contain_text("must sign in once")
        ada.dialog().get_by_label("Email").fill(bob.email)
        ada.submit("Add")
        expect(ada.row(bob.email)).to_contain_text("member")
        expect(ada.row(bob.email)).to_contain_text(ada.email)
        eve = f"eve-{uuid.uuid4().hex[:8]}@example.com"
        self.want("GET /v1/orgs", self.call("v1/orgs", self.token("user", eve, f"Eve {OVERRIDE} {MARKUP}"), method="GET")[0], 200)
        page.get_by_role("button", name="Add member").click()
        ada.dialog().get_by_label("Email").fill(eve)
        ada.submit("Add")
        expect(ada.row(eve)).to_contain_text(f"gnp.exe {MARKUP}")  # the API drops hidden characters of a token's name
        self.shot(page, "members")
        ada.row(eve).get_by_role("button", name="Remove").click()
        ada.submit("Remove")
        expect(ada.row(eve)).to_have_count(0)
        bob.sign_in()
        expect(bob.page.get_by_role("heading", level=1)).to_have_text(org)
        menu = bob.page.get_by_role("navigation")
        expect(menu.get_by_role("link", name="Events")).to_be_visible()
        expect(menu.get_by_role("link", name="Audit log")).to_have_count(0)
        expect(menu.get_by_role("link", name="Webhook endpoints")).to_have_count(0)
        bob.open("API keys")
        expect(bob.row("server")).to_be_visible()
        expect(bob.page.get_by_role("button", name="Revoke")).to_have_count(0)
        expect(bob.page.get_by_role("button", name="New API key")).to_have_count(0)
        ada.row(bob.email).get_by_role("button", name="Role").click()
        ada.dialog().get_by_label("Role").select_option("viewer")
        ada.submit("Save")
        expect(ada.row(bob.email)).to_contain_text("viewer")
        bob.sign_in()
        expect(menu.locator("a[href^='#']")).to_have_count(1)
        self.shot(bob.page, "viewer")

    def links(self, ada, key, app):
        self.step("A link of the app is listed, and revoked")
        page = ada.page
        ada.open("Links")
        self.shot(page, "links-none")
        page.get_by_label("App", exact=True).select_option(label=app)
        for move, shown in ((page.go_back, "Default"), (page.go_forward, app)):
            move()
            expect(page.locator("#app option:checked")).to_have_text(shown)
        status, _ = self.call("link/create", key, {"clientUserId": f"user {OVERRIDE} {MARKUP}", "expiresIn": 3600})
        self.want("POST /link/create", status, 201)
        app_id = re.search("app_[0-9a-z]+", page.url)[0]
        _, job = self.call(f"v1/orgs/{self.org(ada)}/keys", self.token("user", ada.email), {"name": "job", "appId": app_id, "expiresIn": 2592000})
        for user in [f"user-{i}" for i in range(57)] + ["customer-2"]:
            self.want("POST /link/create", self.call("link/create", job["key"], {"clientUserId": user})[0], 201)
        page.reload()
        self.back(ada, "Links")
        expect(ada.row("customer-2")).to_contain_text("pending")
        rows = page.get_by_role("main").get_by_role("row")
        expect(rows).to_have_count(1 + 50)
        page.mouse.move(600, 500)
        page.mouse.wheel(0, 10_000)  # scrolling loads the next page of the list
        expect(rows).to_have_count(1 + 59)
        expect(ada.row(MARKUP)).to_contain_text(SHOWN_OVERRIDE)
        self.shot(page, "links")
        ada.row("customer-2").get_by_role("button", name="Revoke").click()
        ada.submit("Revoke link")
        expect(ada.row("customer-2")).to_contain_text("revoked")

    def back(self, ada, heading):
        """Signs in on the issuer's page, and checks the page that the console then shows."""
        ada.page.get_by_label("Email").fill(ada.email)
        ada.page.get_by_role("button", name="Sign in").click()
        expect(ada.page.get_by_role("heading", level=1, name=heading)).to_be_visible()

    def webhooks(self, ada, app):
        self.step("Ada makes an endpoint and sends a test")
        page = ada.page
        ada.open("Webhook endpoints")
        page.get_by_label("App", exact=True).select_option(label=app)
        self.shot(page, "endpoints-none")
        page.get_by_role("button", name="New endpoint").click()
        form = ada.dialog()
        form.get_by_label("URL").fill(f"http://127.0.0.1:{self.receiver.server_port}/hooks")
        form.get_by_label("*", exact=True).uncheck()
        form.get_by_label("Others").fill("invoce.paid test")
        expect(form).to_contain_text("Nothing sends this type: invoce.paid")
        form.get_by_label("Others").fill("test invoice.*")
        form.get_by_label("Description").fill(OVERRIDE)
        ada.submit("Create")
        expect(form.get_by_role("alert")).to_contain_text("/description")
        form.get_by_label("Description").fill(f"ours {MARKUP}")
        ada.submit("Create")
        expect(ada.row("/hooks")).to_contain_text("enabled")
        with page.expect_request("**/test") as request:
            ada.row("/hooks").get_by_role("button", name="Test").click()
        self.want("the request of a test", (request.value.method, request.value.post_data), ("POST", None))
        endpoint = request.value.url.split("/")[-2]
        expect(ada.dialog()).to_contain_text("delivered", timeout=20_000)
        expect(ada.dialog()).to_contain_text("HTTP 200")
        expect(ada.dialog()).to_contain_text(MARKUP)  # the answer of the receiver
        self.shot(page, "event")
        self.close_dialog(page)
        ada.row("/hooks").get_by_role("button", name="/hooks").click()
        expect(ada.dialog()).to_contain_text("Deliveries of the last 24 hours")
        self.shot(page, "endpoint")
        self.close_dialog(page)

        self.step("The example of a type is sent, and is marked as a test")
        ada.row("/hooks").get_by_role("button", name="/hooks").click()
        ada.dialog().get_by_role("button", name="Send example").click()
        ada.submit("Send example")
        expect(ada.dialog()).to_contain_text("delivered", timeout=20_000)
        expect(ada.dialog()).to_contain_text(MARKUP)
        sent = Receiver.last.splitlines()[-1].split(".")[1]
        event = json.loads(base64.urlsafe_b64decode(sent + "=" * (-len(sent) % 4)))["event"]
        self.want("the example", (event["type"], event["test"], event["data"]), ("invoice.paid", True, {"invoice": MARKUP}))
        self.close_dialog(page)

        self.step("A drawer has a URL, and an endpoint has a page of all deliveries")
        page.evaluate("at => { location.hash += '/' + at }", endpoint)
        expect(ada.dialog().get_by_role("article").first).to_contain_text("HTTP 200")
        ada.dialog().get_by_role("link", name="All deliveries").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Deliveries")
        article = page.get_by_role("article").first
        expect(article.get_by_role("listitem")).to_have_count(0)  # collapsed
        article.get_by_text("1 attempt").click()
        expect(article.get_by_role("listitem")).to_contain_text("HTTP 200")
        self.shot(page, "deliveries")
        page.get_by_label("Status").select_option("failed")
        expect(page.get_by_text("No delivery has this state.")).to_be_visible()
        ada.open("Webhook endpoints")
        page.get_by_label("App", exact=True).select_option(label=app)

        def busy(route):  # the list never ends
            is_first = "cursor=" not in route.request.url
            route.fulfill(json={"deliveries": route.fetch().json()["deliveries"] if is_first else [], "nextCursor": "more"})

        page.route("**/webhook_deliveries?*", busy)
        ada.row("/hooks").get_by_role("button", name="/hooks").click()
        expect(ada.dialog()).to_contain_text("Deliveries of the last 2 hours")
        expect(ada.dialog()).to_contain_text("the bars show the newest of them")
        expect(ada.dialog().get_by_role("article").first).to_contain_text("HTTP 200")
        self.close_dialog(page)
        page.unroute("**/webhook_deliveries?*")

        self.step("The endpoint fails, which the page shows; it works again, and Ada sends the event again")
        Receiver.status = 500
        ada.row("/hooks").get_by_role("button", name="Test").click()
        expect(ada.dialog()).to_contain_text("HTTP 500", timeout=20_000)
        expect(ada.dialog()).to_contain_text("pending")
        self.shot(page, "event-failing")
        page.reload()
        page.get_by_label("Email").fill(ada.email)
        page.get_by_role("button", name="Sign in").click()
        expect(ada.dialog()).to_contain_text("HTTP 500")  # the drawer is open again
        self.close_dialog(page)
        ada.open("Webhook endpoints")
        page.get_by_label("App", exact=True).select_option(label=app)
        expect(ada.row("/hooks")).to_contain_text("failing")
        Receiver.status = 410
        for _ in range(60):  # the second attempt comes 5 s after the first. On a slow machine it has answered 500, so wait for the third
            page.reload()
            self.back(ada, "Webhook endpoints")
            if ada.row("it answered 410").count():
                break
            page.wait_for_timeout(500)
        expect(ada.row("/hooks")).to_contain_text("it answered 410")
        self.shot(page, "endpoints-failing")
        Receiver.status = 200
        ada.row("/hooks").get_by_role("button", name="Enable").click()
        ada.submit("Enable endpoint")
        expect(ada.row("/hooks")).to_contain_text("enabled")
        delivery = ada.dialog().get_by_role("article").filter(has_text="HTTP 410")
        ada.row("/hooks").get_by_role("button", name="/hooks").click()
        expect(delivery).to_contain_text("held")
        with page.expect_request("**/redeliver") as request:
            delivery.get_by_role("button", name="Send again").click()
        body = request.value.post_data_json
        self.want("the request to send one delivery again", (sorted(body), body["endpointId"], body["eventId"][:4]), (["endpointId", "eventId"], endpoint, "evt_"))
        expect(delivery).to_contain_text("HTTP 200", timeout=20_000)
        delivery.locator("summary").click()
        expect(delivery.get_by_role("listitem")).to_contain_text(["HTTP 200", "HTTP 410", "HTTP 500"], timeout=20_000)
        self.shot(page, "endpoint-mended")
        self.close_dialog(page)

        self.step("Only failed deliveries of the chosen time are sent again")
        page.get_by_role("navigation").get_by_role("link", name="Events").click()
        page.get_by_label("App", exact=True).select_option(label=app)
        expect(ada.row("key.created").first).to_be_visible()
        with page.expect_request(re.compile("webhook_events.since=")) as request:
            page.get_by_label("Since").select_option("the last 7 days")
        since = int(re.search(r"since=(\d+)", request.value.url)[1]) / 1000
        self.want("the days in the request", round((time.time() - since) / 86400), 7)
        page.route(re.compile("/webhook_endpoints$"), self.unavailable)
        page.get_by_role("button", name="Send failed again").click()
        expect(ada.dialog().get_by_role("alert")).to_contain_text("Try it later.")
        self.close_dialog(page)
        page.unroute(re.compile("/webhook_endpoints$"))
        page.get_by_role("button", name="Send failed again").click()
        ada.dialog().get_by_label("Since").select_option("the last hour")
        with page.expect_request("**/redeliver") as request:
            ada.submit("Send again")
        body = request.value.post_data_json
        self.want("the request to send failed deliveries again", (body["status"], round((time.time() - body["since"] / 1000) / 3600)), ("failed", 1))
        expect(page.get_by_text("Nothing to send again.")).to_be_visible()
        ada.open("Webhook endpoints")
        page.get_by_label("App", exact=True).select_option(label=app)

        ada.row("/hooks").get_by_role("button", name="Disable").click()
        ada.submit("Disable endpoint")
        expect(ada.row("/hooks")).to_contain_text(re.compile(r"by an admin,\s*\d+ \w+ 20\d\d"))
        self.shot(page, "endpoints")

        self.step("The list of events has the test")
        ada.open("Events")
        page.get_by_label("App", exact=True).select_option(label=app)
        for _ in range(15):  # an event is listed 10 s after it happened
            if ada.row("test").count():
                break
            page.wait_for_timeout(1000)
            page.get_by_role("button", name="Refresh").click()
        expect(ada.row("test").first).to_contain_text("1 Delivered")
        expect(ada.row("key.created").first).to_be_visible()
        page.get_by_label("Type").select_option("test")
        expect(ada.row("key.created")).to_have_count(0)
        expect(ada.row("test").first).to_be_visible()
        page.get_by_label("Type").select_option("")
        self.newest_first(page)
        expect(page.get_by_role("columnheader", name=re.compile(r"^When \(.+\)$"))).to_have_count(1)

        def one(route):  # each page of the list has one event
            route.continue_(url=route.request.url.replace("limit=100", "limit=1"))

        page.route("**/webhook_events?*", one)
        page.get_by_role("button", name="Refresh").click()
        expect(page.locator("tbody tr")).to_have_count(1)
        page.get_by_role("button", name="Older").click()
        expect(page.locator("tbody tr")).to_have_count(2)
        self.newest_first(page)
        page.unroute("**/webhook_events?*")
        page.get_by_role("button", name="Refresh").click()
        expect(ada.row("key.created").first).to_be_visible()
        self.shot(page, "events")

    def newest_first(self, page):
        """Checks the order of a list of events."""
        times = page.locator("tbody time").evaluate_all("times => times.map(t => t.dateTime)")
        self.want("the order of the events", times, sorted(times, reverse=True))

    def leaked(self, ada, name):
        """Changes answers of the API, as if GitHub had reported a key: this machine cannot get such a report."""
        self.step("The overview and the list of keys warn of a key that was found in public")
        page = ada.page

        def found(route):
            answer = route.fetch()
            keys = answer.json()
            for k in keys["keys"]:
                if k["name"].startswith(name):
                    k["leakedAt"] = round(time.time() * 1000)
            route.fulfill(response=answer, json=keys)

        def entries(route):
            answer = route.fetch()
            log = answer.json()
            log["entries"][0].update(action="key.leaked", actor={"type": "holder"}, source=f"https://example.com/{OVERRIDE}")
            route.fulfill(response=answer, json=log)

        page.route(re.compile(r"/v1/orgs/[^/]+/keys(\?|$)"), found)
        page.route(re.compile("/v1/orgs/[^/]+/audit"), entries)
        page.get_by_role("link", name="Overview").click()
        alarm = page.get_by_role("listitem").filter(has_text="still good")
        expect(alarm).to_contain_text(name)
        self.shot(page, "leaked")
        alarm.get_by_role("link", name=name).click()
        expect(ada.row(name)).to_contain_text("found in public")
        ada.row(name).get_by_role("button", name=name).click()
        expect(ada.dialog()).to_contain_text("The text of this key was found in public")
        expect(ada.dialog()).to_contain_text("Metadata")
        self.shot(page, "key-leaked")
        self.close_dialog(page)
        ada.open("Audit log")
        expect(ada.row("key.leaked")).to_contain_text(f"found at https://example.com/{SHOWN_OVERRIDE}")
        expect(ada.row("key.leaked").get_by_role("link")).to_have_count(0)
        page.unroute_all()
        ada.open("API keys")
        expect(ada.row(name)).not_to_contain_text("found in public")

    def revoke(self, ada, key):
        self.step("Ada rotates the key, revokes the old one, and it is refused")
        page = ada.page
        ada.open("API keys")
        ada.row("server").get_by_role("button", name="Rotate").click()
        ada.submit("Rotate")
        expect(page.get_by_role("heading", name="Your new API key")).to_be_visible()
        new = page.locator("#new-key").inner_text()
        ada.submit("I have saved the key")
        self.want("POST /app/get with the new key", self.call("app/get", new)[0], 200)
        old = ada.row("ends in")
        expect(old).to_contain_text("replaced")
        self.shot(page, "keys-rotated")
        old.get_by_role("button", name="Revoke").click()
        self.shot(page, "revoke")
        expect(ada.dialog()).to_contain_text(re.compile(r"in the last hour\s*; (at least )?\d+( to \d+)? requests today"))
        ada.dialog().get_by_label("Also disable its endpoints").check()
        ada.submit("Revoke")
        expect(page.get_by_text("Links that it made can still be claimed")).to_be_visible()
        expect(ada.row("revoked")).to_have_count(1)
        self.want("POST /app/get with the revoked key", self.call("app/get", key)[0], 401)
        expect(ada.details("server")).to_contain_text("1 key_revoked")
        self.shot(page, "key")

        self.step("Ada removes the limits of a key, and rotates it so that the old key ends at once")
        ada.dialog().get_by_role("button", name="Edit").click()
        ada.dialog().get_by_label("per minute").fill("")
        ada.dialog().get_by_label("per day").fill("")
        with page.expect_response(re.compile(r"/keys$")):
            ada.submit("Save")
        expect(ada.details("server").get_by_text("per day")).to_have_count(0)
        expect(ada.dialog().get_by_text("Replaced by")).to_have_count(0)
        ada.dialog().get_by_role("button", name="Rotate").click()
        ada.dialog().get_by_label("The old key ends").select_option("At once")
        ada.submit("Rotate")
        newest = page.locator("#new-key").inner_text()
        ada.submit("I have saved the key")
        ada.row("expired").get_by_role("button", name="server").click()
        expect(ada.dialog().get_by_text("Replaced by")).to_be_visible()
        self.close_dialog(page)
        self.want("POST /app/get after the rotation", [self.call("app/get", k)[0] for k in (new, newest)], [401, 200])

    def service(self, ada):
        self.step("A service of the owner limits the org")
        org = self.org(ada)
        status, _ = self.call(f"v1/orgs/{org}", self.token("service"), {"allowance": [{"requests": 5000, "per": "day"}]}, "PATCH")
        self.want("PATCH /v1/orgs/{orgId}", status, 200)

        self.step("Ada sees how much of the allowance is used, and downloads the use of each day")
        page = ada.page
        page.get_by_role("link", name="Overview").click()
        expect(page.get_by_text(re.compile(r"^at least \d+ of 5,000 today, resets at 00:00 UTC$"))).to_be_visible()
        self.shot(page, "plan")
        with page.expect_download() as got:
            page.get_by_role("button", name="Download CSV").click()
        with open(got.value.path()) as text:
            self.want("the head of the file", text.readline().strip(), "date,keyId,requests,atMost")

    def org(self, ada):
        """Returns the id of the org in the URL."""
        return re.search("org_[0-9a-z]+", ada.page.url)[0]

    def audit(self, ada):
        self.step("The audit log shows all changes")
        ada.open("Audit log")
        expect(ada.row("org.updated").first).to_be_visible()
        older = ada.page.get_by_role("button", name="Older")
        while older.count():
            with ada.page.expect_response(re.compile("/audit")):
                older.click()
            ada.page.wait_for_timeout(200)
        for action in ("key.rotated", "key.revoked", "member.role_changed", "endpoint.updated", "org.created"):
            expect(ada.row(action).first).to_contain_text(re.compile("ada-"))
        expect(ada.row("org.updated").first).to_contain_text("service billing")
        expect(ada.row("org.updated").first.locator(".badge")).to_have_text("service")
        self.shot(ada.page, "audit")
        rows = ada.page.get_by_role("main").get_by_role("row")
        ada.page.get_by_label("By").select_option(label="service billing")
        expect(rows).to_have_count(2)
        ada.page.get_by_label("By").select_option("")
        self.want("the actions", ada.page.get_by_label("Action", exact=True).get_by_role("option").count(), 29)
        ada.page.get_by_label("Action", exact=True).select_option("Org made")
        expect(rows).to_have_count(2)
        ada.page.get_by_label("Until").fill("2020-01-01")
        ada.page.get_by_label("Until").press("Tab")
        expect(ada.page.get_by_text("No matching entries")).to_be_visible()
        with ada.page.expect_download() as got:
            ada.page.get_by_role("button", name="Download CSV").click()
        with open(got.value.path()) as text:
            self.want("the lines of a download without entries", len(text.readlines()), 1)
        ada.page.get_by_label("Until").fill("")
        ada.page.get_by_label("Until").press("Tab")
        ada.page.get_by_label("Target id").fill(self.org(ada))
        ada.page.get_by_label("Target id").press("Tab")
        expect(ada.row("org.created")).to_contain_text("name")
        ada.page.get_by_label("Action", exact=True).select_option("API key leaked")
        expect(ada.page.get_by_text("No matching entries")).to_be_visible()

    def roles(self, ada, bob, app):
        """Opens each page by its URL, as an admin, as a member, as a viewer, and as a person who is not in the org."""
        org = self.org(ada)
        titles = {"": re.compile("Acme"), "/members": "Members", "/keys": "API keys", "/links": "Links",
                  "/endpoints": "Webhook endpoints", "/events": "Events", "/audit": "Audit log"}
        eve = Person(self, f"eve-{uuid.uuid4().hex[:8]}@example.com")
        for role, person in (("admin", ada), ("viewer", bob), ("member", bob), ("a stranger", eve)):
            self.step(f"Each page as {role}")
            if role == "member":
                ada.page.goto(f"{self.url}#/orgs/{org}/members")
                ada.row(bob.email).get_by_role("button", name="Role").click()
                ada.dialog().get_by_label("Role").select_option("member")
                ada.submit("Save")
                expect(ada.row(bob.email)).to_contain_text("member")
            if person is not ada:
                person.sign_in()
            for path, title in titles.items():
                person.page.goto(f"{self.url}#/orgs/{org}{path}")
                main = person.page.get_by_role("main")
                if path in BUTTONS[role]:
                    expect(main.get_by_role("heading", level=1)).to_have_text(title)
                    expect(main.locator(".skeleton")).to_have_count(0)
                    expect(main.get_by_role("alert")).to_have_count(0)
                    if path in ("/links", "/endpoints", "/events"):
                        main.get_by_label("App", exact=True).select_option(label=app)
                        expect(main.get_by_role("row").nth(1)).to_be_visible()
                    buttons = set(main.locator("button:not(.link)").all_inner_texts()) - {"Load more", "Older"}  # a link is the name of an item
                    self.want(f"the buttons of {path} as {role}", buttons, BUTTONS[role][path])
                else:
                    expect(main).to_contain_text("There is no such org" if role == "a stranger" else "There is no such page")
            if role == "member":
                expect(main).not_to_contain_text("Disable")
                person.open("Events")
                person.page.get_by_label("App", exact=True).select_option(label=app)
                person.row("endpoint.created").first.get_by_role("button").click()
                expect(person.dialog()).to_contain_text("Only admins see the payload")
                self.close_dialog(person.page)
                person.row("test").first.get_by_role("button").click()
                expect(person.dialog()).to_contain_text("delivered")
                expect(person.dialog().get_by_role("button", name="Send again")).to_have_count(0)
                self.close_dialog(person.page)
        eve.end()

    def verify(self):
        """Verifies a received webhook, and each of the committed vectors."""
        self.step("A received webhook is verified, without a sign-in")
        nobody = Person(self, "nobody")
        page = nobody.page
        page.goto(self.url + "/verify")
        expect(page.get_by_role("heading", level=1)).to_have_text("Verify a webhook")
        page.get_by_label("Webhook").fill(Receiver.last)
        page.get_by_role("button", name="Verify").click()
        result = page.get_by_role("status")
        expect(result).to_contain_text("Every check so far passed")
        self.shot(page, "verify")
        claims = Receiver.last.split(".")[-2]
        claims = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        page.get_by_label("Endpoint id").fill(claims["aud"])
        page.get_by_label("Issuer").fill(claims["iss"])
        page.get_by_role("button", name="Verify").click()
        expect(result).to_contain_text("This webhook is genuine.")

        self.step("The page accepts and refuses the same vectors as a receiver")
        vectors = json.load(open(self.vectors))
        lookups = []

        def look_up(route):
            kid = route.request.url.rsplit("/", 1)[1]
            lookups.append(kid)
            answer = vectors["lookups"].get(kid, vectors["otherwise"])
            route.fulfill(status=answer["status"], json=answer.get("body"))

        page.route("**/webhook_verification_key/*", lambda route: route.fulfill(json={"kty": "RSA"}))
        page.get_by_role("button", name="Verify").click()
        self.want("the failed checks if the lookup returns no usable key", page.evaluate(FAILED), ["Key"])
        page.unroute("**/webhook_verification_key/*")
        page.route("**/webhook_verification_key/*", look_up)
        page.on("request", lambda r: r.post_data and self.failed(f"the page sends {r.post_data}"))
        page.clock.set_fixed_time(vectors["now"])  # in seconds
        page.get_by_label("Endpoint id").fill(vectors["endpointId"])
        page.get_by_label("Issuer").fill(vectors["issuer"])
        check_of = {
            "malformed": "Form", "wrong_header": "Header", "unknown_key": "Key", "revoked_key": "Key", "retired_key": "Key", "": "Key",
            "wrong_signature": "Signature", "wrong_audience": "Audience", "wrong_issuer": "Issuer", "expired": "Times", "stale": "Times",
            "not_yet": "Times", "wrong_time": "Times", "incomplete": "Event",
        }
        tried = 0
        for case in vectors["cases"]:
            token = case["token"]
            if token != token.strip() or not token or "\r" in token or "\n" in token:
                continue  # a field cannot have such a text, or the page trims it
            tried += 1
            page.get_by_label("Webhook").fill(token)
            page.get_by_role("button", name="Verify").click()
            failed = page.evaluate(FAILED)
            wanted = None if case["valid"] else check_of[case["reason"]]
            if case["name"] == "arrays in arrays, by a stranger":
                wanted = "Signature"  # a browser parses JSON of any depth, so only the signature is wrong
            if (wanted is None) != (not failed) or wanted and wanted not in failed:
                self.failed(f"the vector {case['name']}: failed are {failed}, want {wanted}")
        if tried < 190 or len(lookups) < 80:
            self.failed(f"only {tried} vectors were tried, and {len(lookups)} keys looked up")
        nobody.end()

    def reference(self, ada):
        self.step("The reference can be read without scripts, and all its links work")
        context = self.browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(self.api + "/reference")
        expect(page.locator("#createLink")).to_contain_text("clientUserId")
        if self.shots:
            page.screenshot(path=os.path.join(self.shots, "reference.png"))
        context.close()
        page = ada.tab()
        page.goto(self.api + "/reference")
        self.shot(page, "reference", ("nav", "#createLink", "#schema-Link"))
        expect(page.locator("#catalogue")).to_contain_text(MARKUP)
        page.get_by_label("Search").fill("/link/create CLIENTUSERID")
        expect(page.locator("#createLink")).to_be_visible()
        expect(page.locator("#createKey")).to_be_hidden()
        expect(page.locator("nav [href='#createKey']")).to_be_hidden()
        page.get_by_label("Search").fill("")
        expect(page.locator("#createKey")).to_be_visible()
        with urllib.request.urlopen(self.api + "/llms.txt") as answer:
            links = re.findall(r"\]\(([^)]+)\)", answer.read().decode())
        links += page.evaluate("[...document.querySelectorAll('a[href], link[href]')].map(a => a.getAttribute('href'))")
        ids = set(page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)"))
        for link in sorted(set(links)):
            path, _, fragment = link.partition("#")
            if fragment and path in ("", "reference"):
                self.want(f"the link {link}", fragment in ids, True)
            elif not path.startswith("https:"):
                with urllib.request.urlopen(f"{self.api}/{path}") as answer:
                    self.want(f"the link {link}", answer.status, 200)
        if len(links) < 200:
            self.failed(f"only {len(links)} links")

        self.step("A program of the reference runs, in each language")
        status, made = self.call(f"v1/orgs/{self.org(ada)}/keys", self.token("user", ada.email), {"expiresIn": 86400})
        self.want("POST /v1/orgs/{orgId}/keys", status, 201)
        for language, (name, command) in {"curl": ("a.sh", "bash"), "go": ("a.go", "go run"), "node": ("a.mjs", "node"),
                                          "python": ("a.py", sys.executable)}.items():
            with tempfile.TemporaryDirectory() as folder:
                file = os.path.join(folder, name)
                with open(file, "w") as program:
                    program.write(page.locator(f"[data-operation=getApp][data-lang={language}]").text_content())
                run = subprocess.run([*command.split(), file], env={**os.environ, "API": self.api, "KEY": made["key"]},
                                     capture_output=True, text=True, timeout=120)
                self.want(f"the program in {language}: {run.stdout}{run.stderr}", '"app":{' in run.stdout, True)
        page.close()

    def embedded(self, ada, bob):
        self.step("A page of the owner embeds the elements; the API is below a path")
        stage = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stage)
        stage.api = self.api
        threading.Thread(target=stage.serve_forever, daemon=True).start()
        api = f"http://127.0.0.1:{stage.server_port}/live"
        self.origins.add(origin_of(api))
        for person in (ada, bob):
            environment = {**os.environ, "API": api, "ORG": self.org(ada), "TOKEN": self.token("user", person.email),
                           "PORT": str(self.port)}
            server = subprocess.Popen(["node", self.example], env=environment)
            try:
                self.embeds(person, person is ada)
            finally:
                server.terminate()
                server.wait()

    def embeds(self, person, is_admin):
        """Uses the elements in the owner's page as a person."""
        page = person.tab()
        for _ in range(50):
            try:
                page.goto(f"http://127.0.0.1:{self.port}/")
                break
            except Exception:
                time.sleep(0.1)
        keys, webhooks = page.locator("latchkey-keys"), page.locator("latchkey-webhooks")
        expect(keys.get_by_role("row").filter(has_text="revoked").first).to_be_visible()
        expect(webhooks.get_by_role("heading", name="Events", exact=True)).to_be_visible()
        expect(page.locator("latchkey-members").get_by_role("row", name=f"{person.email} you")).to_be_visible()
        expect(page.locator("latchkey-usage").get_by_role("heading", name="Use", exact=True)).to_have_count(1 if is_admin else 0)
        expect(keys.get_by_role("button", name="New API key")).to_have_count(1 if is_admin else 0)
        expect(webhooks.get_by_role("heading", name="Webhook endpoints", exact=True)).to_have_count(1 if is_admin else 0)
        if is_admin:
            button = keys.locator("lk-keys").get_by_role("button", name="New API key")
            self.want("the accent of the deployment", button.evaluate(COLOURS)[0], "rgb(43, 10, 61)")
            page.evaluate("""style => Object.entries(style).forEach(([name, value]) =>
                document.querySelector('latchkey-keys').style.setProperty(`--latchkey-${name}`, value))""",
                          {"accent": "#ffe066", "font": "18px/1.4 serif", "radius": "2px"})
            button.click()
            page.get_by_role("dialog").get_by_label("Name", exact=True).fill("embedded")
            send = page.get_by_role("dialog").get_by_role("button", name="New API key")
            for which, of in (("element", button), ("dialog", send)):
                self.want(f"the owner's style in the {which}", of.evaluate(COLOURS), ["rgb(255, 224, 102)", "serif", "2px"])
            send.click()
            key = page.locator("#new-key").inner_text()
            self.want("POST /app/get with the key", self.call("app/get", key)[0], 200)
            page.get_by_role("button", name="I have saved the key").click()
            row = keys.get_by_role("row").filter(has_text="embedded")
            row.get_by_role("button", name="Revoke").click()
            page.get_by_role("dialog").get_by_role("button", name="Revoke", exact=True).click()
            expect(page.get_by_text("The key is revoked.")).to_have_count(1)
            self.want("POST /app/get with the revoked key", self.call("app/get", key)[0], 401)
            self.shot(page, "embedded")
        page.route("**/v1/orgs/*/keys*", lambda route: route.fulfill(status=401, headers={"Access-Control-Allow-Origin": "*"}, json={
            "title": "t", "status": 401, "detail": "d", "requestId": "r", "code": "insufficient_user_authentication", "maxAge": 300}))
        page.reload()
        expect(keys.get_by_role("alert")).to_contain_text("a sign-in within the last 300 seconds")
        self.want("violations in the owner's page", page.evaluate("window.violations"), [])
        page.close()

    def face(self, ada):
        self.step("The pages have the owner's name, colours and support address; text has enough contrast with each accent")
        page = ada.tab()
        for path, title in (("verify", f"Verify a webhook · {PRODUCT}"), ("../reference", f"{PRODUCT} API reference")):
            page.goto(f"{self.url}/{path}")
            self.want(f"the title of {path}", page.title(), title)
            self.want(f"Latchkey on {path}", page.locator(".powered").inner_text(), "Runs on Latchkey")
        self.want("the heading of the reference", page.get_by_role("heading", level=1).inner_text(), f"{PRODUCT} API")
        page.goto(f"{self.url}/verify")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            lowest = page.evaluate(f"({CONTRAST})()")
            self.want(f"{scheme}: a contrast of {lowest}", lowest >= 4.5, True)
        page.close()
        page = ada.page
        self.want("the title", page.title().split(" · ")[-1], PRODUCT)
        self.want("the brand", page.locator(".top .brand").inner_text(), PRODUCT)
        self.want("Latchkey in the console", page.inner_text("body").count("Latchkey"), 1)
        service = self.token("service")
        self.call(f"v1/orgs/{self.org(ada)}/suspension", service)
        other = ada.tab()
        ada.sign_in(other)
        expect(other.get_by_text("This org is suspended").get_by_role("link")).to_have_attribute("href", SUPPORT)
        other.close()
        self.call(f"v1/orgs/{self.org(ada)}/suspension", service, method="DELETE")

    def tabs(self, ada):
        self.step("Ada signs out in another tab")
        other = ada.tab()
        ada.sign_in(other)
        page, renewals, calls = ada.page, [], []
        page.route("**/token", lambda route: renewals.append(route))
        page.route("**/v1/orgs/*/members", lambda route: route.fulfill(status=401, json={**UNAVAILABLE, "code": "token_expired"}))
        page.get_by_role("button", name="Add member").click()
        ada.dialog().get_by_label("Email").fill("nobody@example.com")
        with page.expect_request("**/token"):
            ada.submit("Add")
        other.get_by_role("button", name="Sign out").click()
        expect(other.get_by_role("heading", name="You are signed out")).to_be_visible()
        expect(page.get_by_role("heading", name="You are signed out")).to_be_visible()
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.on("request", lambda request: calls.append(request.url))
        renewals[0].continue_()
        page.wait_for_timeout(500)
        self.want("the requests of the page after the sign-out", calls, [])
        page.unroute("**/token")
        page.unroute("**/v1/orgs/*/members")
        other.close()
        ada.page.get_by_role("button", name="Sign in").click()
        self.back(ada, "Members")

    def unavailable(self, route):
        """Answers a request of the page with 503."""
        route.fulfill(status=503, json=UNAVAILABLE)

    def sign_ins(self, ada):
        """Replaces answers of the API and of the issuer, and checks how the page signs the person in again."""
        page, path = ada.page, "**/v1/orgs/*/members*"
        answer = {"title": "t", "status": 401, "detail": "d", "requestId": "r"}

        self.step("An expired token is renewed once, without a reload")
        refused, renewed = [], []

        def expire_once(route):  # refuses the first three requests, which come at once
            if len(refused) == 3:
                return route.continue_()
            refused.append(True)
            route.fulfill(status=401, json={**answer, "code": "token_expired"})

        def slowly(route):
            renewed.append(True)
            time.sleep(0.3)
            route.continue_()

        ada.open("Members")
        expect(ada.row(ada.email).first).to_be_visible()
        three = re.compile("/v1/orgs/[^/]+/(members|audit|keys)")
        page.route(three, expire_once)
        page.route("**/token", slowly)
        page.evaluate("window.stayed = true")
        ada.open("Audit log")
        expect(ada.row(ada.email).first).to_be_visible()
        got = page.evaluate("window.stayed"), len(refused), len(renewed)
        self.want("the page stayed, with three refused requests and one renewal", got, (True, 3, 1))
        page.unroute(three)
        page.unroute("**/token")

        self.step("A refusal because of an old sign-in leads to the issuer, with max_age")
        page.route(path, lambda route: route.fulfill(
            status=401, json={**answer, "code": "insufficient_user_authentication", "maxAge": 300}))
        page.get_by_role("link", name="Members", exact=True).click()
        expect(page.get_by_label("Email")).to_be_visible()
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(page.url).query)
        self.want("max_age", query.get("max_age"), ["300"])
        self.want("PKCE", query.get("code_challenge_method"), ["S256"])
        page.unroute(path)
        self.back(ada, "Members")
        expect(page.get_by_text("You signed in again")).to_be_visible()

        self.step("The page refuses an answer of the issuer that belongs to another sign-in")
        for name in ("state", "nonce", "verifier"):
            other = Person(self, ada.email)
            other.context.add_init_script(f"""
                if (location.href.includes('code=')) {{
                  const away = JSON.parse(sessionStorage.getItem('latchkey-away'))
                  sessionStorage.setItem('latchkey-away', JSON.stringify({{...away, {name}: 'x'.repeat(43)}}))
                }}""")
            other.page.goto(self.url)
            other.page.get_by_label("Email").fill(ada.email)
            other.page.get_by_role("button", name="Sign in").click()
            expect(other.page.get_by_role("alert")).to_contain_text("The sign-in did not succeed")
            other.end()

        self.step("A page that cannot read its settings shows the error")
        page.route("**/console/config.json", lambda route: route.fulfill(
            status=503, json={**answer, "status": 503, "code": "unavailable", "detail": "The issuer does not answer."}))
        page.goto("about:blank")
        page.goto(self.url)
        expect(page.get_by_role("alert")).to_contain_text("The issuer does not answer.")
        self.shot(page, "unavailable")
        page.unroute("**/console/config.json")
        page.get_by_role("button", name="Try again").click()
        self.back(ada, re.compile("Acme"))

        self.step("Without a refresh token the page goes to the issuer, and comes back")

        def short(route):
            tokens = route.fetch().json()
            tokens.pop("refresh_token", None)
            route.fulfill(json={**tokens, "expires_in": 4})

        page.route("**/token", short)
        page.reload()
        self.back(ada, re.compile("Acme"))
        page.wait_for_timeout(4000)
        page.get_by_role("link", name="Audit log").click()
        expect(page.get_by_label("Email")).to_be_visible()
        page.unroute("**/token")
        self.back(ada, "Audit log")


def origin_of(url):
    return "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(url))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("console")
    arguments.add_argument("api")
    arguments.add_argument("--shots", default="", help="a folder for pictures of each page, with usual names in them")
    arguments.add_argument("--axe", default="", help="the file axe.min.js of axe-core, to check each page for accessibility")
    arguments.add_argument("--vectors", required=True, help="the file webhooks.json of the vectors")
    arguments.add_argument("--example", required=True, help="the example's serve.mjs")
    arguments.add_argument("--port", type=int, required=True, help="the example's port, whose origin is in ConsoleOrigins")
    arguments.add_argument("--pictures", default="", help="a folder for the pictures of the documents; nothing else is done")
    a = arguments.parse_args()
    if a.shots:  # pictures show usual names
        global MARKUP
        MARKUP = "EU"
        os.makedirs(a.shots, exist_ok=True)
    with sync_playwright() as p:
        program = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = p.chromium.launch(executable_path=program, args=["--no-sandbox"])
        walk = Walk(browser, a.console, a.api, a.shots, a.axe, a.vectors, a.example, a.port, a.pictures)
        try:
            walk.demo(Person) if a.pictures else walk.walk()
        except Exception as e:  # an expectation that was not met
            walk.failed(str(e))
        browser.close()
    for failure in walk.failures:
        print("FAILED:", failure, file=sys.stderr)
    return 1 if walk.failures else 0


if __name__ == "__main__":
    sys.exit(main())
