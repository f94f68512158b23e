"""The console must not lose keys that are shown once, open forms and the ends of lists, and must not mix up persons."""

import base64
import http.server
import json
import re
import threading
import time
import urllib.parse

from playwright.sync_api import expect

# Reports each value that the page stores in the browser. The walk cannot read them later, when the browser shows the issuer's page.
REPORT_STORED = """
const setItem = Storage.prototype.setItem
Storage.prototype.setItem = function (name, value) { window.stored(name + ' ' + value); setItem.call(this, name, value) }
"""


class TwoElements(http.server.BaseHTTPRequestHandler):
    """A page with two elements, one for each of two persons."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Two</title><link rel=icon href=data:,><latchkey-keys></latchkey-keys><latchkey-webhooks></latchkey-webhooks>")

    def log_message(self, *_):
        pass


def subject(token):
    """Returns the subject of an access token."""
    return json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))["sub"]


class Lost:
    """Steps of the walk."""

    def lost(self, ida, joe):
        for person in (ida, joe):
            person.token = self.token("user", person.email)
            status, made = self.call("v1/orgs", person.token, {"name": f"Org of {person.email[:3]}"})
            self.want("POST /v1/orgs", status, 201)
            person.org = made["id"]
        self.kept_open(ida)
        self.lifetimes(ida)
        self.forms(ida, joe)
        self.done_but_not_read(ida)
        self.sent_without_an_answer(ida)
        self.sent_again_in_parts(ida)
        self.choices(ida)
        self.step_up(ida)
        self.shared_allowance(ida)
        self.whole_lists(ida)
        self.two_elements(ida, joe)
        self.signs_out(ida)
        ida.end(self.signed_out())

    def signed_out(self):
        """Returns all that a browser stores after a person has signed out."""
        return json.dumps([{f"latchkey-signed-out {self.url}": "1"}, {}, ""], separators=(",", ":"))

    def at(self, person, path):
        """Opens a page of the person's org."""
        person.page.goto(f"{self.url}#/orgs/{person.org}{path}")

    def new_key(self, person, name, within=None):
        """Opens the form for a new key and enters a name."""
        (within or person.page).get_by_role("button", name="New API key").first.click()
        person.dialog().get_by_label("Name", exact=True).fill(name)

    def stays(self, person, what, secret=True):
        """Presses Escape, goes back, and reloads. The dialog must stay. Going back and a reload must ask a question, Escape must not."""
        page, questions = person.page, []

        def answer_no(dialog):
            questions.append(dialog.type)
            dialog.dismiss()

        page.on("dialog", answer_no)
        place = page.url
        for _ in range(3):
            page.keyboard.press("Escape")
        expect(person.dialog()).to_be_visible()
        expect(person.dialog().get_by_role("status")).to_contain_text("not shown again" if secret else "would be lost")
        for leave in ("history.back()", "history.back()", "location.reload()"):
            page.evaluate(f"setTimeout(() => {leave})")
            page.wait_for_timeout(300)
        self.want(f"{what}: the questions", questions, ["confirm", "confirm", "beforeunload"])
        self.want(f"{what}: the URL", page.url, place)
        expect(person.dialog()).to_be_visible()
        page.remove_listener("dialog", answer_no)

    def kept_open(self, ida):
        self.step("A key that is shown once, and a form with text in it, are not lost by Escape, Back or a reload")
        page = ida.page
        ida.sign_in()
        self.at(ida, "/members")
        self.at(ida, "/keys")
        page.get_by_role("button", name="New API key").first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        self.close_dialog(page)  # the form is empty, so it closes
        self.new_key(ida, "held")
        self.stays(ida, "a form", secret=False)
        expect(ida.dialog().get_by_label("Name", exact=True)).to_have_value("held")
        ida.submit("Cancel")
        expect(page.get_by_role("dialog")).to_have_count(0)
        self.new_key(ida, "held")
        ida.submit("New API key")
        key = page.locator("#new-key").inner_text()
        self.stays(ida, "a new key")
        self.want("POST /app/get with the key that is shown", self.call("app/get", page.locator("#new-key").inner_text())[0], 200)
        ida.submit("I have saved the key")
        ida.row("held").get_by_role("button", name="Rotate").click()
        ida.submit("Rotate")
        expect(page.locator("#new-key")).not_to_have_text(key)
        self.stays(ida, "a rotated key")
        page.once("dialog", lambda dialog: dialog.accept())
        page.evaluate("setTimeout(() => history.back())")
        expect(page.get_by_role("heading", level=1)).to_have_text("Members")
        self.want("the dialogs after the answer yes", page.get_by_role("dialog").count(), 0)
        self.at(ida, "")  # the other forms
        for button, field in (("New app", "Name"), ("Rename org", "Name"), ("New org…", "Name")):
            if button == "New org…":
                page.locator("#org").select_option(label=button)
            else:
                page.get_by_role("button", name=button).click()
            ida.dialog().get_by_label(field).fill("typed")
            for _ in range(3):
                page.keyboard.press("Escape")
            expect(ida.dialog().get_by_label(field)).to_have_value("typed")
            ida.submit("Cancel")

    def lifetimes(self, ida):
        self.step("With MaxKeyDays, the forms offer only allowed lifetimes, and a key rotates")
        page = ida.page
        self.at(ida, "/keys")
        self.new_key(ida, "ends")
        options = ida.dialog().get_by_label("Expires").get_by_role("option").all_inner_texts()
        self.want("the lifetimes", options, ["After 1 day", "After 7 days", "After 30 days", "After 45 days"])
        with page.expect_request("**/keys") as request:
            ida.submit("New API key")
        self.want("the lifetime that is sent", request.value.post_data_json["expiresIn"], 45 * 86400)
        ida.submit("I have saved the key")
        for name, body in (("ends", None), ("short", {"expiresIn": 600}), ("odd", {"expiresIn": 44 * 86400 + 7})):
            if body:
                self.want("POST keys", self.call(f"v1/orgs/{ida.org}/keys", ida.token, {"name": name, **body})[0], 201)
                page.reload()
                self.back(ida, "API keys")
            ida.row(name).get_by_role("button", name="Rotate").click()
            self.want(f"the first lifetime of {name}'s successor",
                      ida.dialog().get_by_label("The new key expires").get_by_role("option").first.inner_text(), "After the same time as the old key")
            with page.expect_response("**/rotate") as answer:
                ida.submit("Rotate")
            self.want(f"the rotation of {name}", answer.value.status, 201)
            lives = (body or {"expiresIn": 45 * 86400})["expiresIn"]
            self.want(f"the lifetime of {name}'s successor", answer.value.request.post_data_json["expiresIn"], lives)
            ida.submit("I have saved the key")
        listed = re.compile(r"/keys$")

        def older(route):  # keys from before MaxKeyDays: one never expires, and one lives longer than is allowed now
            keys = route.fetch().json()
            for k in keys["keys"]:
                k["expiresAt"] = None if k["name"] == "ends" else k["createdAt"] + 400 * 86_400_000
            route.fulfill(json=keys)

        page.route(listed, older)
        page.reload()
        self.back(ida, "API keys")
        for name in ("ends", "short"):
            ida.row(name).filter(has_text="active").get_by_role("button", name="Rotate").click()
            chosen = ida.dialog().get_by_label("The new key expires")
            self.want(f"the lifetime of the older {name}", (chosen.input_value(), chosen.get_by_role("option").count()), (str(45 * 86400), 4))
            ida.submit("Cancel")
        page.unroute(listed)

        self.step("Without MaxKeyDays, a rotated key lives as long as the old one")

        def unbounded(route):
            route.fulfill(json={**route.fetch().json(), "maxKeyDays": 0})

        page.route("**/console/config.json", unbounded)
        page.reload()
        self.back(ida, "API keys")
        page.get_by_role("button", name="New API key").click()
        expect(ida.dialog().get_by_label("Expires").get_by_role("option")).to_have_count(6)
        self.want("the first lifetime", ida.dialog().get_by_label("Expires").input_value(), "")
        ida.submit("Cancel")
        page.unroute("**/console/config.json")

    def short_token(self, person):
        """Signs in again. The new token ends when later is called, and has no refresh token."""
        def short(route):
            tokens = route.fetch().json()
            tokens.pop("refresh_token", None)
            route.fulfill(json={**tokens, "expires_in": 40})

        person.page.route("**/token", short, times=1)
        person.page.reload()
        person.page.get_by_label("Email").fill(person.email)
        person.page.get_by_role("button", name="Sign in").click()
        expect(person.page.get_by_role("button", name="Sign out")).to_be_visible()

    def later(self, person):
        """Moves the clock of the page, and of later pages, past the end of a short token. Real time would depend on the machine."""
        jump = "{ const now = Date.now; Date.now = () => now() + 40_000 }"
        person.page.add_init_script(jump)
        person.page.evaluate(jump)

    def again(self, person, email=""):
        """Signs in on the issuer's page, which the browser already shows."""
        person.page.get_by_label("Email").fill(email or person.email)
        person.page.get_by_role("button", name="Sign in").click()
        expect(person.page.get_by_role("button", name="Sign out")).to_be_visible()

    def emptied(self, person, what):
        """Checks that the browser stores nothing."""
        self.want(f"{what}: the values that the browser still stores", person.page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])"), "[{},{}]")

    def forms(self, ida, joe):
        self.step("A token that ends without a refresh token does not change the open form; no secret is stored")
        page, stored = ida.page, []
        page.expose_function("stored", lambda line: stored.append(line))
        page.add_init_script(REPORT_STORED)
        self.at(ida, "/keys")
        self.short_token(ida)
        self.new_key(ida, "kept")
        form = ida.dialog()
        form.get_by_label("Others").fill("a:b c:d")
        form.get_by_label("Expires").select_option("After 7 days")
        for name, value in (("plan", "pro"), ("line", "two\nlines")):
            form.get_by_role("button", name="Add a value").click()
            form.get_by_label("Name", exact=True).last.fill(name)
            form.get_by_label("Value", exact=True).last.fill(value)
        form.get_by_label("per hour").fill("12")
        self.later(ida)
        ida.submit("New API key")
        self.again(ida)
        expect(ida.dialog()).to_contain_text("You had to sign in again")
        self.emptied(ida, "a form that is open again")
        with page.expect_request("**/keys") as request:
            ida.submit("New API key")
        sent = request.value.post_data_json
        self.want("the request after the sign-in", (sent["name"], sent["scopes"], sent["expiresIn"], sent["metadata"], sent["limits"]), (
            "kept", ["a:b", "c:d"], 7 * 86400, {"plan": "pro", "line": "two\nlines"}, [{"requests": 12, "per": "hour"}]))
        ida.submit("I have saved the key")
        once = request.value.headers["idempotency-key"]

        for what, path, button, fields, submit in (
            ("an endpoint", "/endpoints", "New endpoint", {"URL": "https://example.com/hooks?secret=s3cr3t", "Description": "ours"}, "Create"),
            ("a member", "/members", "Add member", {"Email": joe.email}, "Add"),
            ("an app", "", "New app", {"Name": "Second"}, "Create"),
            ("an app's name", "", "Rename", {"Name": "First"}, "Save"),
            ("an org's name", "", "Rename org", {"Name": "Ours"}, "Save"),
            ("a key's name", "/keys", "kept", {"Name": "still kept", "Others": "only:this", "per hour": ""}, "Save"),
        ):
            self.at(ida, path)
            self.short_token(ida)
            page.get_by_role("button", name=button, exact=True).first.click()
            if what == "a key's name":
                ida.dialog().get_by_role("button", name="Edit").click()
            for label, value in fields.items():
                ida.dialog().get_by_label(label, exact=True).first.fill(value)
            self.later(ida)
            ida.submit(submit)
            self.again(ida)
            for label, value in fields.items():
                expect(ida.dialog().get_by_label(label, exact=True).first).to_have_value("" if label == "URL" else value)
            if what == "an endpoint":
                expect(ida.dialog()).to_contain_text("it was not kept")
            self.emptied(ida, what)
            ida.submit("Cancel")

        self.step("A stored form opens again for its person only, and for a quarter of an hour only")
        self.at(ida, "/members")
        for what, email, typed in (("another person", joe.email, "typed@example.com"), ("too late", "", "late@example.com")):
            self.short_token(ida)
            page.get_by_role("button", name="Add member").click()
            ida.dialog().get_by_label("Email").fill(typed)
            self.later(ida)
            ida.submit("Add")
            expect(page.get_by_role("button", name="Sign in")).to_be_visible()
            if what == "too late":
                page.add_init_script("""if (location.protocol === 'http:' && sessionStorage['latchkey-form']?.includes('late@')) sessionStorage['latchkey-form'] =
                    sessionStorage['latchkey-form'].replace(/"at":(\\d+)/, (_, at) => `"at":${at - 16 * 60_000}`)""")
            self.again(ida, email)
            expect(page.get_by_text("There is no such org" if email else "The people of this org")).to_be_visible()
            page.wait_for_timeout(500)
            self.want(f"{what}: the dialogs", page.get_by_role("dialog").count(), 0)
            self.emptied(ida, what)
        forms = [line for line in stored if line.startswith("latchkey-form")]
        self.want("the stored forms", len(forms), 9)
        # Secrets are the value of the URL, the Idempotency-Key, API keys and JWTs.
        self.want("the stored secrets", [line for line in stored if "s3cr3t" in line or once in line or re.search("\\b(lk_|ey" + "J)", line)], [])

        self.step("A new key stays visible although the token ends")
        self.at(ida, "/keys")
        self.short_token(ida)
        self.new_key(ida, "last")

        def late(route):  # the list is read after the token has ended
            self.later(ida)
            route.continue_()

        page.route("**/keys", late)
        ida.submit("New API key")
        key = page.locator("#new-key").inner_text()
        page.wait_for_timeout(1500)
        self.want("POST /app/get with the key that is shown", self.call("app/get", key)[0], 200)
        expect(ida.dialog()).to_contain_text(key)
        page.unroute("**/keys")
        ida.submit("I have saved the key")
        self.again(ida)
        expect(ida.row("last").last).to_be_visible()

    def step_up(self, ida):
        self.step("A refusal because of an old sign-in does not change the open form")
        page = ida.page
        for what, path, button, fill, submit in (("a key", "/keys", "New API key", ("Name", "stepped"), "New API key"),
                                                 ("a rotation", "/keys", "Rotate", None, "Rotate"),
                                                 ("a member", "/members", "Add member", ("Email", "nobody@example.com"), "Add")):
            refused = []

            def once(route):
                if refused or route.request.method != "POST":
                    return route.fallback()
                refused.append(True)
                route.fulfill(status=401, json={"title": "t", "status": 401, "detail": "d", "requestId": "r",
                                                "code": "insufficient_user_authentication", "maxAge": 300})

            self.at(ida, path)
            page.reload()  # because a page does not lead to a second sign-in soon after the first
            self.again(ida)
            page.get_by_role("button", name=button, exact=True).first.click()
            if fill:
                ida.dialog().get_by_label(fill[0], exact=True).first.fill(fill[1])
            else:
                ida.dialog().get_by_label("The old key ends").select_option("After 3 days")
            page.route("**/v1/**", once)
            ida.submit(submit)
            expect(page.get_by_role("button", name="Sign in")).to_be_visible()
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(page.url).query)
            self.want(f"{what}: max_age", query.get("max_age"), ["300"])
            page.unroute("**/v1/**")
            self.again(ida)
            expect(ida.dialog()).to_contain_text("You had to sign in again")
            if fill:
                expect(ida.dialog().get_by_label(fill[0], exact=True).first).to_have_value(fill[1])
                ida.submit("Cancel")
            else:
                with page.expect_response("**/rotate") as answer:
                    ida.submit("Rotate")
                self.want("the rotation after the sign-in", (answer.value.status, answer.value.request.post_data_json["graceSeconds"]), (201, 3 * 86400))
                ida.submit("I have saved the key")

    def shared_allowance(self, ida):
        self.step("A key's page shows requests that are counted for the org as a whole")
        left = 86400 - time.time() % 86400
        if left < 60:
            time.sleep(left)  # until midnight UTC, because the counts of one day are compared
        status, made = self.call(f"v1/orgs/{ida.org}/keys", ida.token, {"name": "shared", "expiresIn": 86400})
        self.want("POST keys", status, 201)
        self.at(ida, "/members")
        self.at(ida, "/keys")
        ida.row("shared").get_by_role("button", name="shared").click()
        expect(ida.dialog()).to_contain_text("No requests were counted for this key")
        expect(ida.dialog()).not_to_contain_text("as a whole")
        self.close_dialog(ida.page)
        self.want("PATCH the allowance", self.call(f"v1/orgs/{ida.org}", self.token("service"), {"allowance": [{"requests": 3, "per": "day"}]}, "PATCH")[0], 200)
        for _ in range(20):
            if self.call("app/get", made["key"])[0] == 429:
                break
        self.want("POST /app/get once the allowance is spent", self.call("app/get", made["key"])[0], 429)
        ida.row("shared").get_by_role("button", name="shared").click()
        rows = self.call(f"v1/orgs/{ida.org}/usage", ida.token, method="GET")[1]["usage"]
        counted = [f"at least {r['requests']}" if r["atMost"] is None else str(r["requests"]) for r in rows if "keyId" not in r]
        self.want("the days of the allowance", len(counted), 1)
        expect(ida.dialog()).to_contain_text(
            f"share an allowance of 3 per day. Counted for the org as a whole: {counted[0]} requests today, {counted[0]} this month")
        self.shot(ida.page, "key-of-allowance")
        self.close_dialog(ida.page)
        self.want("PATCH the allowance", self.call(f"v1/orgs/{ida.org}", self.token("service"), {"allowance": []}, "PATCH")[0], 200)

    def whole_lists(self, ida):
        self.step("A list that comes in several pages is read to its end")
        page = ida.page
        for i in range(3):
            self.want("POST /v1/orgs", self.call("v1/orgs", ida.token, {"name": f"Further {i}"})[0], 201)
            self.want("POST apps", self.call(f"v1/orgs/{ida.org}/apps", ida.token, {"name": f"App {i}"})[0], 201)
        reads = []

        def cut(route):  # each page of a list has only one item
            url = urllib.parse.urlsplit(route.request.url)
            query = dict(urllib.parse.parse_qsl(url.query))
            reads.append((url.path.rsplit("/", 1)[1], "cursor" in query))
            query["limit"] = "1"
            route.fulfill(response=route.fetch(url=url._replace(query=urllib.parse.urlencode(query)).geturl()))

        page.route(re.compile(r"/(orgs|apps|members|keys|webhook_endpoints)(\?|$)"), cut)
        self.at(ida, "/audit")
        page.reload()
        self.back(ida, "Audit log")
        orgs = page.locator("#org").get_by_role("option")
        expect(orgs.filter(has_text="Further")).to_have_count(3)
        target = ida.row("key.rotated").last.get_by_role("cell").nth(2)
        expect(target).to_contain_text(re.compile("held|ends|short|odd"))  # its name, though it is not among the first keys
        self.at(ida, "/endpoints")
        expect(page.get_by_label("App", exact=True).get_by_role("option").filter(has_text="App ")).to_have_count(3)
        for name in ("orgs", "apps", "keys"):
            self.want(f"the pages of {name}", (reads.count((name, False)) > 0, reads.count((name, True)) >= 3), (True, True))
        page.unroute_all(behavior="wait")

    def two_elements(self, ida, joe):
        self.step("Two elements in one page act for two persons; one of them then changes to another person")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), TwoElements)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page, calls = ida.tab(), []

        def seen(request):
            if "/v1/" in request.url and request.method != "OPTIONS":
                calls.append((subject(request.headers["authorization"]), re.search("org_[0-9a-z]+|$", request.url)[0]))

        page.on("request", seen)
        page.goto(f"http://127.0.0.1:{self.port}/")
        page.evaluate("""async ([api, ida, joe]) => {
            await import(`${api}/console/files/elements.js`)
            const set = (name, { org, token }) => Object.assign(document.querySelector(name), { org, token: async () => token })
            set('latchkey-keys', ida)
            set('latchkey-webhooks', joe)
            window.set = set
        }""", [self.api, {"org": ida.org, "token": ida.token}, {"org": joe.org, "token": joe.token}])
        keys, webhooks = page.locator("latchkey-keys"), page.locator("latchkey-webhooks")
        expect(keys.get_by_role("button", name="last", exact=True).last).to_be_visible()
        expect(webhooks.get_by_role("heading", name="Webhook endpoints", exact=True)).to_be_visible()
        keys.get_by_role("button", name="last", exact=True).last.click()
        expect(page.get_by_role("dialog")).to_contain_text("Metadata")
        self.close_dialog(page)
        webhooks.get_by_role("button", name="Refresh").click()
        self.want("the persons who call, with the org", {(who, of) for who, of in calls if of}, {(ida.email, ida.org), (joe.email, joe.org)})

        # If the element gets another function for the same person, an open dialog stays. For another person the dialog closes, and
        # Ida's keys disappear.
        keys.get_by_role("button", name="New API key").click()
        page.get_by_role("dialog").get_by_label("Name", exact=True).fill("hers")
        again = self.token("user", ida.email)
        page.evaluate("ida => set('latchkey-keys', ida)", {"org": ida.org, "token": again})
        page.wait_for_timeout(500)
        page.get_by_role("dialog").get_by_role("button", name="New API key").click()
        expect(page.locator("#new-key")).to_be_visible()
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")
        expect(page.locator("#new-key")).to_be_visible()
        page.get_by_role("button", name="I have saved the key").click()
        expect(keys.get_by_role("row").filter(has_text="hers")).to_be_visible()
        for change in ("the function", "what the function returns", "no function"):
            page.evaluate("""ida => {
                window.who = ida.token
                Object.assign(document.querySelector('latchkey-keys'), { org: ida.org, token: async () => window.who })
            }""", {"org": ida.org, "token": ida.token})
            keys.get_by_role("button", name="New API key").click()
            page.get_by_role("dialog").get_by_label("Name", exact=True).fill("forged")
            calls.clear()
            page.evaluate({
                "the function": "token => { document.querySelector('latchkey-keys').token = async () => token }",
                "what the function returns": "token => { window.who = token }",
                "no function": "() => { document.querySelector('latchkey-keys').token = undefined }",
            }[change], joe.token)
            if change == "what the function returns":
                page.get_by_role("dialog").get_by_role("button", name="New API key").click()
            expect(page.get_by_role("dialog")).to_have_count(0)
            if change != "no function":
                expect(keys).to_contain_text("There is no such org")  # Joe is not a member of Ida's org
            expect(keys.get_by_role("row")).to_have_count(0)
            self.want(f"{change}: Joe's calls for Ida's org", [c for c in calls if c == (joe.email, ida.org)], [])
        self.want("a key was made after the change of the person", "forged" in str(self.call(f"v1/orgs/{ida.org}/keys", ida.token, method="GET")), False)

        self.step("The element rotates a key of a deployment with MaxKeyDays")
        page.evaluate("ida => set('latchkey-keys', ida)", {"org": ida.org, "token": ida.token})
        keys.get_by_role("row").filter(has_text="hers").get_by_role("button", name="Rotate").click()
        with page.expect_response("**/rotate") as answer:
            page.get_by_role("dialog").get_by_role("button", name="Rotate").click()
        self.want("the rotation in the element", (answer.value.status, answer.value.request.post_data_json["expiresIn"]), (201, 45 * 86400))
        page.get_by_role("button", name="I have saved the key").click()
        page.close()
        server.shutdown()
        server.server_close()

    def signs_out(self, ida):
        page = ida.page
        for ends in (True, False):
            self.step(f"A sign-out lasts, and revokes the refresh token, at an issuer {'with' if ends else 'without'} an end_session_endpoint")

            def config(route):
                in_full = route.fetch().json()
                route.fulfill(json=in_full if ends else {**in_full, "endSessionEndpoint": None, "parameters": {"prompt": "consent"}})

            page.route("**/console/config.json", config)
            page.goto("about:blank")
            page.goto(self.url)
            self.again(ida)
            with page.expect_request(lambda r: r.url.endswith("/revoke")) as revoked:
                page.get_by_role("button", name="Sign out").click()
            self.want("the form of the revocation", sorted(urllib.parse.parse_qs(revoked.value.post_data)), ["client_id", "token"])
            for _ in range(2):  # after each reload the page waits for a click; so does another tab
                expect(page.get_by_role("heading", name="You are signed out")).to_be_visible()
                page.goto("about:blank")
                page.goto(self.url)
            other = ida.tab()
            other.goto(self.url)
            expect(other.get_by_role("heading", name="You are signed out")).to_be_visible()
            other.close()
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_label("Email")).to_be_visible()
            self.want("prompt", urllib.parse.parse_qs(urllib.parse.urlsplit(page.url).query).get("prompt"), ["login" if ends else "login consent"])
            self.again(ida)
            page.goto("about:blank")
            page.goto(self.url)
            expect(page.get_by_label("Email")).to_be_visible()
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(page.url).query)
            self.want("prompt after a sign-in", query.get("prompt"), None if ends else ["consent"])
            self.again(ida)
            page.unroute("**/console/config.json")
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", name="You are signed out")).to_be_visible()
