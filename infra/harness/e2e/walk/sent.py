"""Compares the requests of each form with the values that were entered: if the answer is lost, and if it is late and the form is
sent twice."""

import dataclasses
import re
import time
import urllib.parse

from playwright.sync_api import expect

DAY = 86400  # seconds
# The labels of the selects of all forms.
CHOICES = ("App", "Expires", "Role", "The old key ends", "The new key expires", "Since")


@dataclasses.dataclass
class Form:
    """A form, the values to enter, and the only request that it must send. made checks the API afterwards: the path of a list below
    the org, the name of the list, members of an item, and the number of items with these members."""

    what: str
    page: str
    button: str  # opens the form
    fields: dict
    submit: str  # the button that sends the form
    method: str
    path: str  # below /v1/orgs
    body: dict | None
    keyed: bool = False  # the request has an Idempotency-Key
    row: str = ""  # a text in the row of the button; "": the button is in no row
    made: tuple | None = None


class Sent:
    """Steps of the walk."""

    def sent(self, kim):
        self.step("Each form sends the entered values once, also if the answer is lost or late")
        kim.token = self.token("user", kim.email)
        kim.org = self.made(kim, "", {"name": "Org of Kim"})["id"]
        kim.app = self.made(kim, "/apps", {"name": "Second app"})["id"]
        kim.sign_in()
        writes = []

        def record(request):
            if "/v1/" in request.url and request.method not in ("GET", "OPTIONS"):
                writes.append(request)

        kim.page.on("request", record)
        for fault in ("lost", "late"):
            for form in self.forms_of(kim, fault):
                writes.clear()
                try:
                    self.send(kim, form, fault)
                except Exception as e:
                    self.failed(f"{form.what}, {fault}: {str(e).splitlines()[0]} The dialogs: {kim.page.get_by_role('dialog').all_inner_texts()}")
                    kim.page.unroute_all()
                self.compare(kim, form, fault, writes)
        self.confirms(kim, writes)
        kim.page.remove_listener("request", record)
        kim.page.get_by_role("button", name="Sign out").click()
        expect(kim.page.get_by_role("heading", name="You are signed out")).to_be_visible()
        kim.end(self.signed_out())

    def made(self, person, path, body, method="POST"):
        """Makes an item of the person's org by the API (with the path "", an org), and returns the answer."""
        status, answer = self.call(f"v1/orgs{'/' + person.org + path if path else ''}", person.token, body, method)
        self.want(f"{method} {path or '/v1/orgs'}", status // 100, 2)
        return answer

    def forms_of(self, kim, n):
        """Makes the items that the forms need, and yields each form of the console. All names contain n, and no two values are equal."""
        org, app, days = f"/{kim.org}", kim.app, 7 if n == "late" else 30
        scopes, limits = [f"read:{n}", "write:all"], [{"requests": 7, "per": "minute"}, {"requests": 900, "per": "month"}]
        key = {"name": f"key {n}", "scopes": scopes, "metadata": {"plan": n, "seats": "5"}, "limits": limits}
        yield Form("a key", "/keys", "New API key", {
            "Name": key["name"], "App": "Second app", "Expires": f"After {days} days", "Others": " ".join(scopes), "pairs": key["metadata"],
            "per minute": "7", "per month": "900",
        }, "New API key", "POST", f"{org}/keys", {**key, "appId": app, "expiresIn": days * DAY}, True,
            made=("/keys", "keys", {**key, "appId": app, "lives": days * DAY}, 1))
        renamed = {**key, "name": f"renamed {n}"}
        k = self.made(kim, "/keys", {**key, "name": f"of old {n}", "expiresIn": DAY})["id"]
        yield Form("a key's name", "/keys", "Edit", {"Name": renamed["name"]}, "Save", "PATCH", f"{org}/keys/{k}", {"name": renamed["name"]}, row=f"of old {n}",
                   made=("/keys", "keys", {**renamed, "id": k, "lives": DAY}, 1))
        k = self.made(kim, "/keys", {"name": f"turns {n}", "expiresIn": 9 * DAY})["id"]
        yield Form("a rotation", "/keys", "Rotate", {"The old key ends": "After 1 hour", "The new key expires": f"After {days} days"}, "Rotate",
                   "POST", f"{org}/keys/{k}/rotate", {"graceSeconds": 3600, "expiresIn": days * DAY}, True, row=f"turns {n}",
                   made=("/keys", "keys", {"name": f"turns {n}", "lives": days * DAY}, 1))
        for also, query in (("", ""), ("Also disable its endpoints", "?endpoints=disable"), ("Also revoke its links", "?links=revoke")):
            name = f"ends {n} {query}"
            k = self.made(kim, "/keys", {"name": name, "expiresIn": DAY})["id"]
            yield Form(f"the end of a key{query}", "/keys", "Revoke", {also: True} if also else {}, "Revoke", "DELETE", f"{org}/keys/{k}{query}",
                       None, row=name, made=("/keys", "keys", {"id": k, "revokedAt": None}, 0))
        yield Form("an app", "", "New app", {"Name": f"App {n}"}, "Create", "POST", f"{org}/apps", {"name": f"App {n}"}, True,
                   made=("/apps", "apps", {"name": f"App {n}"}, 1))
        a = self.made(kim, "/apps", {"name": f"Old app {n}"})["id"]
        yield Form("an app's name", "", "Rename", {"Name": f"New name {n}"}, "Save", "PATCH", f"{org}/apps/{a}", {"name": f"New name {n}"},
                   row=f"Old app {n}", made=("/apps", "apps", {"id": a, "name": f"New name {n}"}, 1))
        yield Form("the org's name", "", "Rename org", {"Name": f"Renamed {n}"}, "Save", "PATCH", org, {"name": f"Renamed {n}"})
        yield Form("an org", "", "New org…", {"Name": f"Another {n}"}, "Create", "POST", "", {"name": f"Another {n}"}, True)
        email, other = self.known(f"max-{n}"), self.known(f"ned-{n}")
        yield Form("a member", "/members", "Add member", {"Email": email, "Role": "viewer: "}, "Add", "POST", f"{org}/members",
                   {"email": email, "role": "viewer"}, True, made=("/members", "members", {"email": email, "role": "viewer"}, 1))
        self.made(kim, "/members", {"email": other, "role": "viewer"})
        u = self.call(f"v1/orgs/{kim.org}/members", kim.token, method="GET")[1]["members"]
        u = next(m["userId"] for m in u if m["email"] == other)
        yield Form("a role", "/members", "Role", {"Role": "admin: "}, "Save", "PATCH", f"{org}/members/{u}", {"role": "admin"}, row=other,
                   made=("/members", "members", {"userId": u, "role": "admin"}, 1))
        yield Form("the end of a member", "/members", "Remove", {}, "Remove", "DELETE", f"{org}/members/{u}", None, row=other,
                   made=("/members", "members", {"userId": u}, 0))
        yield from self.forms_of_app(kim, n)

    def forms_of_app(self, kim, n):
        """Yields the forms about links and webhook endpoints."""
        of = f"/{kim.org}/apps/{kim.app}"
        secret = self.made(kim, "/keys", {"name": f"links {n}", "appId": kim.app, "expiresIn": DAY})["key"]
        link = self.call("link/create", secret, {"clientUserId": f"user {n}"})[1]["id"]
        yield Form("the end of a link", "/links", "Revoke", {}, "Revoke link", "DELETE", f"{of}/links/{link}", None, row=f"user {n}",
                   made=(f"/apps/{kim.app}/links", "links", {"id": link, "status": "pending"}, 0))
        url = f"http://127.0.0.1:{self.receiver.server_port}/{n}"
        body = {"url": url, "events": ["key.*", "link.claimed"], "description": f"ours {n}"}
        listed = (f"/apps/{kim.app}/webhook_endpoints", "endpoints")
        yield Form("an endpoint", "/endpoints", "New endpoint", {"URL": url, "*": False, "Others": "key.* link.claimed", "Description": body["description"]},
                   "Create", "POST", f"{of}/webhook_endpoints", body, True, made=(*listed, {**body, "enabled": True}, 1))
        e = next(e["id"] for e in self.call(f"v1/orgs/{kim.org}{listed[0]}", kim.token, method="GET")[1]["endpoints"] if e["url"] == url)
        for word, enabled in (("Disable", False), ("Enable", True)):
            yield Form(f"{word} an endpoint", "/endpoints", word, {}, f"{word} endpoint", "PATCH", f"{of}/webhook_endpoints/{e}",
                       {"enabled": enabled}, row=f"/{n}", made=(*listed, {**body, "enabled": enabled}, 1))
        yield Form("the end of an endpoint", "/endpoints", "Delete endpoint", {}, "Delete endpoint", "DELETE", f"{of}/webhook_endpoints/{e}", None,
                   row=f"/{n}", made=(*listed, {"id": e}, 0))

    def send(self, kim, form, fault):
        """Opens a form, enters its fields, and sends it while answers are lost or late."""
        page = kim.page
        self.at(kim, "/audit")
        page.reload()  # because the walk has made items by the API
        self.again(kim)
        self.at(kim, form.page)
        if form.page in ("/links", "/endpoints"):
            page.get_by_label("App", exact=True).select_option(label="Second app")
        row = kim.row(form.row) if form.row else page
        if form.button in ("Edit", "Delete endpoint"):  # in the drawer
            row.get_by_role("button", name=form.row).first.click()
            kim.submit(form.button)
        elif form.row:
            row.get_by_role("button", name=form.button, exact=True).click()
        else:
            self.press(page, form.button)
        for label, value in form.fields.items():
            self.enter(kim.dialog(), label, value)

        self.submit_with_fault(kim, form.submit, fault)
        if form.what in ("a key", "a rotation"):
            kim.submit("I have saved the key")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.unroute("**/v1/**")

    def submit_with_fault(self, kim, submit, fault):
        """Sends the open form. If the fault is lost, it sends the form again. If the fault is late, it sends the form twice at once."""
        def fail(route):
            if route.request.method in ("GET", "OPTIONS"):
                return route.fallback()
            answer = route.fetch()
            if fault == "lost":
                return route.abort()
            time.sleep(0.4)
            route.fulfill(response=answer)

        kim.page.route("**/v1/**", fail)
        if fault == "late":
            return kim.dialog().locator("form").evaluate("f => { f.requestSubmit(); f.requestSubmit() }")
        kim.submit(submit)
        expect(kim.dialog().get_by_role("alert")).to_contain_text("No answer")
        kim.page.unroute("**/v1/**")
        kim.submit(submit)

    def enter(self, form, label, value):
        """Enters a value into a field of a form: pairs, a checkbox, a choice, or a text."""
        if label == "pairs":
            for name, text in value.items():
                form.get_by_role("button", name="Add a value").click()
                form.get_by_label("Name", exact=True).last.fill(name)
                form.get_by_label("Value", exact=True).last.fill(text)
        elif value is False:
            form.get_by_label(label, exact=True).uncheck()
        elif value is True:
            form.get_by_label(label).check()
        elif label in CHOICES:
            option = form.get_by_label(label, exact=True).get_by_role("option").filter(has_text=value).first
            form.get_by_label(label, exact=True).select_option(option.get_attribute("value"))
        else:
            form.get_by_label(label, exact=True).first.fill(value)

    def compare(self, kim, form, fault, writes):
        """Compares the requests of a form with the expected ones, and the made item with the entered values."""
        got = [(r.method, self.below(r.url), r.post_data_json if r.post_data else None) for r in writes]
        self.want(f"{form.what}, {fault}: the requests", got, [(form.method, form.path, form.body)] * (2 if fault == "lost" else 1))
        keys = {r.headers.get("idempotency-key", "") for r in writes}
        good = len(keys) == 1 and all(re.fullmatch("[0-9a-f]{64}" if form.keyed else "", k) for k in keys)
        self.want(f"{form.what}, {fault}: one Idempotency-Key, or none", good, True)
        if form.made:
            path, name, wanted, count = form.made
            items = self.call(f"v1/orgs/{kim.org}{path}", kim.token, method="GET")[1][name]
            for i in items:
                i["lives"] = round(((i.get("expiresAt") or 0) - i["createdAt"]) / 1000) if "createdAt" in i else 0
            self.want(f"{form.what}, {fault}: the number of items with {wanted}", sum(wanted.items() <= i.items() for i in items), count)

    def below(self, url):
        """Returns the part of a URL after /v1/orgs."""
        at = urllib.parse.urlsplit(url)
        return at.path.split("/v1/orgs", 1)[1] + ("?" + at.query if at.query else "")

    def confirms(self, kim, writes):
        self.step("An org is deleted only if its whole name is typed, and Cancel sends nothing")
        page = kim.page
        for n, (button, method, path, fault) in enumerate((
            ("Leave org", "POST", "/leave", "lost"), ("Delete org", "DELETE", "", "lost"), ("Leave org", "POST", "/leave", "late"), ("Delete org", "DELETE", "", "late"),
        )):
            org = self.made(kim, "", {"name": f"Ends {n}"})["id"]
            first, kim.org = kim.org, org
            self.made(kim, "/members", {"email": self.known("pat"), "role": "admin"})
            self.at(kim, "")
            page.reload()
            self.again(kim)
            writes.clear()
            page.get_by_role("button", name=button).click()
            wrong_names = ["", "E", f"ends {n}", f"Ends {n}x"] if button == "Delete org" else []
            for typed in wrong_names:
                kim.dialog().get_by_label("Name").fill(typed)
                kim.submit(button)
                if typed:
                    expect(kim.dialog().get_by_role("alert")).to_contain_text("not the name")
            kim.submit("Cancel")
            expect(page.get_by_role("dialog")).to_have_count(0)
            self.want(f"{button}: the requests before it is confirmed", [r.url for r in writes], [])
            page.get_by_role("button", name=button).click()
            if wrong_names:
                kim.dialog().get_by_label("Name").fill(f"Ends {n}")
            self.submit_with_fault(kim, button, fault)
            expect(page.get_by_role("heading", level=1)).to_have_text("Your orgs")
            page.unroute("**/v1/**")
            sent = [(r.method, self.below(r.url), r.post_data) for r in writes]
            self.want(f"{button}, {fault}: the requests", sent, [(method, f"/{org}{path}", None)] * (2 if fault == "lost" else 1))
            self.want(f"{button}: the org afterwards", self.call(f"v1/orgs/{org}", kim.token, method="GET")[0], 404)
            kim.org = first
        self.want("the other org", self.call(f"v1/orgs/{kim.org}", kim.token, method="GET")[0], 200)
