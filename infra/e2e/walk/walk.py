"""Walks through the console as two people do, in Chromium, against a running stack with the local issuer.

    python walk.py CONSOLE_URL API_BASE [--shots FOLDER] [--axe FILE]

It ends with 1 and a line for each failure. CHROMIUM names the browser's program (/usr/bin/chromium).
"""

import argparse
import http.server
import json
import os
import re
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

from playwright.sync_api import Page, expect, sync_playwright

MARKUP = "<img src=x onerror=\"document.title='pwned'\">"
OVERRIDE = "\u202egnp.exe"  # turns the direction of what follows, where it is not shown as an escape
SHOWN_OVERRIDE = "\\u202egnp.exe"

# Runs in each document before its own scripts.
WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation', e => window.violations.push(e.violatedDirective + ' ' + e.blockedURI));
"""


class Receiver(http.server.BaseHTTPRequestHandler):
    """A webhook receiver that takes everything."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        answer = (MARKUP + OVERRIDE).encode()
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


class Person:
    """One browser with one person in it."""

    def __init__(self, walk, email, **context):
        self.walk, self.email = walk, email
        self.context = walk.browser.new_context(
            viewport={"width": 1180, "height": 820}, permissions=["clipboard-read", "clipboard-write"], **context)
        self.context.add_init_script(WATCH)
        self.page = self.context.new_page()
        self.page.set_default_timeout(10_000)
        self.page.on("console", self.heard)
        self.page.on("pageerror", lambda e: walk.failed(f"{email}: error in the page: {e}"))
        self.page.on("request", self.requested)

    def heard(self, message):
        # A browser reports each refusal of the API as an error of the console; those are not the page's.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.walk.failed(f"{self.email}: the browser says: {message.text}")

    def requested(self, request):
        if request.frame.url.startswith(self.walk.url) and not request.is_navigation_request():
            origin = origin_of(request.url)
            if origin not in self.walk.origins:
                self.walk.failed(f"{self.email}: a request to {origin}")

    def sign_in(self, hash_=""):
        self.page.goto(self.walk.url + hash_)
        self.page.get_by_label("Email").fill(self.email)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("button", name="Sign out")).to_be_visible()

    def open(self, name):
        self.page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()
        expect(self.page.get_by_role("heading", level=1, name=name)).to_be_visible()

    def dialog(self):
        return self.page.get_by_role("dialog").last

    def submit(self, name):
        self.dialog().get_by_role("button", name=name, exact=True).click()

    def row(self, text):
        return self.page.get_by_role("main").get_by_role("row").filter(has_text=text)

    def end(self):
        for violation in self.page.evaluate("window.violations"):
            self.walk.failed(f"{self.email}: the policy was violated: {violation}")
        kept = self.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
        if kept != '[{},{},""]':
            self.walk.failed(f"{self.email}: the browser keeps {kept}")
        if self.page.title() == "pwned" or self.page.locator("img").count():
            self.walk.failed(f"{self.email}: a text became markup")
        wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if wide > 0:
            self.walk.failed(f"{self.email}: the page is {wide} px too wide")


class Walk:
    def __init__(self, browser, url, api, shots, axe):
        self.browser, self.url, self.api, self.shots = browser, url, api.rstrip("/"), shots
        self.axe = open(axe).read() if axe else ""
        self.failures, self.started = [], time.monotonic()
        with urllib.request.urlopen(url + "/config.json") as answer:
            self.origins = {origin_of(url), origin_of(json.load(answer)["tokenEndpoint"])}
        self.receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=self.receiver.serve_forever, daemon=True).start()

    def failed(self, what):
        self.failures.append(what)

    def want(self, what, got, wanted):
        if got != wanted:
            self.failed(f"{what}: got {got}, want {wanted}")

    def step(self, what):
        print(f"{time.monotonic() - self.started:5.1f} s  {what}", flush=True)

    def call(self, path, key, body=None):
        request = urllib.request.Request(
            f"{self.api}/{path}", json.dumps(body or {}).encode(), method="POST",
            headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"})
        for _ in range(5):
            try:
                with urllib.request.urlopen(request) as answer:
                    return answer.status, json.load(answer)
            except urllib.error.HTTPError as e:
                status, answer = e.code, json.loads(e.read() or b"{}")
                if status != 503:  # a fault that passes, which says nothing of the key
                    break
                time.sleep(1)
        return status, answer

    def shot(self, page: Page, name):
        """Takes the page in both colour schemes and two widths, and checks that it does not scroll sideways."""
        for width in (390, 1180):
            page.set_viewport_size({"width": width, "height": 820})
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if wide > 0:
                self.failed(f"{name} at {width} px is {wide} px too wide")
            for scheme in ("light", "dark") if self.shots or self.axe else ():
                page.emulate_media(color_scheme=scheme)
                page.wait_for_timeout(60)
                if self.axe:
                    page.evaluate(self.axe + ";undefined")
                    for v in page.evaluate("axe.run()")["violations"]:
                        at = ", ".join(str(n["target"]) for n in v["nodes"][:3])
                        self.failed(f"{name} at {width} px, {scheme}: {v['id']}: {v['help']}: {at}")
                if not self.shots:
                    continue
                page.screenshot(path=os.path.join(self.shots, f"{name}-{width}-{scheme}.png"))
        page.emulate_media(color_scheme="light")

    def walk(self):
        run = uuid.uuid4().hex[:8]
        ada, bob = Person(self, f"ada-{run}@example.com"), Person(self, f"bob-{run}@example.com")

        self.step("Bob signs in, and is in no org")
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
        page.get_by_role("button", name="New app").click()
        app = f"Staging {MARKUP}"
        ada.dialog().get_by_label("Name").fill(app)
        ada.submit("Create")
        expect(ada.row(app)).to_be_visible()
        self.shot(page, "org")

        key = self.keys(ada, app)
        self.members(ada, bob, org)
        self.links(ada, key, app)
        self.webhooks(ada, app)
        self.revoke(ada, key)
        self.audit(ada)

        self.sign_ins(ada)

        self.step("Ada reloads, and is where she was after signing in again")
        place = page.evaluate("location.hash")
        page.reload()
        page.get_by_label("Email").fill(ada.email)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", level=1, name="Audit log")).to_be_visible()
        self.want("the place after a reload", page.evaluate("location.hash"), place)

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
        ada.end()
        bob.end()

    def keys(self, ada, app):
        self.step("Ada makes a key, which is shown once")
        page = ada.page
        ada.open("API keys")
        self.shot(page, "keys-none")
        page.get_by_role("button", name="New API key").click()
        form = ada.dialog()
        form.get_by_label("Name", exact=True).fill(f"server {MARKUP}")
        form.get_by_label("App").select_option(label=app)
        form.get_by_label("Scopes").fill("invoices:read invoices:write")
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

        self.step("The key works")
        status, body = self.call("app/get", key)
        self.want("POST /app/get", (status, body.get("app", {}).get("name")), (200, app))
        for _ in range(11):
            self.call("app/get", key)
        self.shot(page, "keys")
        ada.row("server").get_by_role("button", name="server").click()
        expect(ada.dialog()).to_contain_text(SHOWN_OVERRIDE)
        expect(ada.dialog().get_by_role("button", name="Edit")).to_be_visible()
        ada.dialog().get_by_role("button", name="Edit").click()
        ada.dialog().get_by_label("per day").fill("40")
        ada.submit("Save")
        expect(page.get_by_text("Saved.")).to_be_visible()
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
        self.shot(page, "members")
        bob.page.goto("about:blank")
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
        bob.page.goto("about:blank")
        bob.sign_in()
        expect(menu.get_by_role("link")).to_have_count(1)
        self.shot(bob.page, "viewer")

    def links(self, ada, key, app):
        self.step("A link of the app is listed, and revoked")
        page = ada.page
        ada.open("Links")
        self.shot(page, "links-none")
        page.get_by_label("App", exact=True).select_option(label=app)
        status, _ = self.call("link/create", key, {"clientUserId": f"user {OVERRIDE} {MARKUP}", "expiresIn": 3600})
        self.want("POST /link/create", status, 201)
        self.call("link/create", key, {"clientUserId": "user-2"})
        page.reload()
        self.back(ada, "Links")
        expect(ada.row("user-2")).to_contain_text("pending")
        expect(ada.row("onerror")).to_contain_text(SHOWN_OVERRIDE)
        self.shot(page, "links")
        ada.row("user-2").get_by_role("button", name="Revoke").click()
        ada.submit("Revoke link")
        expect(ada.row("user-2")).to_contain_text("revoked")

    def back(self, ada, heading):
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
        form.get_by_label("Description").fill(OVERRIDE)
        ada.submit("Create")
        expect(form.get_by_role("alert")).to_contain_text("/description")
        form.get_by_label("Description").fill(f"ours {MARKUP}")
        ada.submit("Create")
        expect(ada.row("/hooks")).to_contain_text("enabled")
        ada.row("/hooks").get_by_role("button", name="Test").click()
        expect(ada.dialog()).to_contain_text("delivered", timeout=20_000)
        expect(ada.dialog()).to_contain_text("HTTP 200")
        expect(ada.dialog()).to_contain_text(MARKUP)  # what the receiver answered
        self.shot(page, "event")
        page.keyboard.press("Escape")
        ada.row("/hooks").get_by_role("button", name="/hooks").click()
        expect(ada.dialog()).to_contain_text("Deliveries of the last 24 hours")
        self.shot(page, "endpoint")
        page.keyboard.press("Escape")
        ada.row("/hooks").get_by_role("button", name="Disable").click()
        ada.submit("Disable endpoint")
        expect(ada.row("/hooks")).to_contain_text("by an admin")
        self.shot(page, "endpoints")

        self.step("The test is among the events")
        ada.open("Events")
        page.get_by_label("App", exact=True).select_option(label=app)
        for _ in range(15):  # events are listed once they are 10 s old
            if ada.row("test").count():
                break
            page.wait_for_timeout(1000)
            page.get_by_role("button", name="Refresh").click()
        expect(ada.row("test").first).to_be_visible()
        page.get_by_label("Type").select_option("test")
        expect(page.get_by_role("main").get_by_role("row")).to_have_count(2)
        page.get_by_label("Type").select_option("")
        self.shot(page, "events")

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
        ada.dialog().get_by_label("Also disable its endpoints").check()
        ada.submit("Revoke")
        expect(page.get_by_text("Links that it made can still be claimed")).to_be_visible()
        expect(ada.row("revoked")).to_have_count(1)
        self.want("POST /app/get with the revoked key", self.call("app/get", key)[0], 401)
        ada.row("active").get_by_role("button", name="server").click()
        expect(ada.dialog()).to_contain_text("Metadata")
        page.wait_for_timeout(500)
        self.shot(page, "key")
        page.keyboard.press("Escape")

    def audit(self, ada):
        self.step("The audit log tells of it")
        ada.open("Audit log")
        for action in ("key.rotated", "key.revoked", "member.role_changed", "endpoint.updated", "org.created"):
            expect(ada.row(action).first).to_contain_text(re.compile("ada-"))
        self.shot(ada.page, "audit")


    def sign_ins(self, ada):
        """Answers in the API's place, to see where they lead."""
        page, path = ada.page, "**/v1/orgs/*/members*"
        answer = {"title": "t", "status": 401, "detail": "d", "requestId": "r"}

        self.step("An expired token is renewed without a reload")
        refused = []

        def expire_once(route):
            if refused:
                return route.continue_()
            refused.append(True)
            route.fulfill(status=401, json={**answer, "code": "token_expired"})

        page.route(path, expire_once)
        page.evaluate("window.stayed = true")
        ada.open("Members")
        expect(ada.row(ada.email).first).to_be_visible()
        self.want("the page stayed, with a refused request", (page.evaluate("window.stayed"), len(refused)), (True, 1))
        page.unroute(path)

        self.step("A sign-in too long ago leads to the issuer, with max_age")
        ada.open("Audit log")
        page.route(path, lambda route: route.fulfill(
            status=401, json={**answer, "code": "insufficient_user_authentication", "maxAge": 300}))
        page.get_by_role("link", name="Members", exact=True).click()
        expect(page.get_by_label("Email")).to_be_visible()
        asked = urllib.parse.parse_qs(urllib.parse.urlsplit(page.url).query)
        self.want("max_age", asked.get("max_age"), ["300"])
        self.want("PKCE", asked.get("code_challenge_method"), ["S256"])
        page.unroute(path)
        self.back(ada, "Members")
        expect(page.get_by_text("You signed in again")).to_be_visible()

        self.step("Without settings the page says so")
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
    arguments.add_argument("--shots", default="", help="a folder for pictures of each page")
    arguments.add_argument("--axe", default="", help="the file axe.min.js of axe-core, to check each page for accessibility")
    a = arguments.parse_args()
    if a.shots:
        os.makedirs(a.shots, exist_ok=True)
    with sync_playwright() as p:
        program = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = p.chromium.launch(executable_path=program, args=["--no-sandbox"])
        walk = Walk(browser, a.console, a.api, a.shots, a.axe)
        try:
            walk.walk()
        except Exception as e:  # an expectation that was not met, with what was there
            walk.failed(str(e))
        browser.close()
    for failure in walk.failures:
        print("FAILED:", failure, file=sys.stderr)
    return 1 if walk.failures else 0


if __name__ == "__main__":
    sys.exit(main())
