"""A form is done once and shows that it is done: also if the answer is lost, the next read fails, or the sign-in ends."""

import http.server
import re
import threading
import time

from playwright.sync_api import expect

from lost import TwoElements


class Done:
    """Steps of the walk."""

    def done_but_not_read(self, ida):
        self.step("A form that was done closes, also if the token ends before the list is read again, or the list cannot be read")
        page = ida.page
        self.want("POST apps", self.call(f"v1/orgs/{ida.org}/apps", ida.token, {"name": "Renamed"})[0], 201)
        for what, path, button, fields, submit in (
            ("an org", "", "New org…", {"Name": "Done"}, "Create"), ("an app", "", "New app", {"Name": "Done"}, "Create"),
            ("a member", "/members", "Add member", {}, "Add"), ("a key", "/keys", "New API key", {"Name": "done"}, "New API key"),
            ("an endpoint", "/endpoints", "New endpoint", {"URL": "http://127.0.0.1:9/done"}, "Create"),
            ("an app's name", "", "Rename", {"Name": "Done too"}, "Save"), ("a rotation", "/keys", "Rotate", {}, "Rotate"),
            ("an end", "/keys", "Revoke", {}, "Revoke"),
        ):
            for fault in ("the token ends", "the list fails"):
                writes, unread = [], []

                def write(route):
                    if route.request.method in ("GET", "OPTIONS"):
                        return self.unavailable(route) if unread else route.fallback()
                    answer = route.fetch()
                    writes.append((answer.status, route.request.method))
                    if fault == "the token ends":
                        self.later(ida)
                    else:
                        unread.append(True)
                    route.fulfill(response=answer)

                self.at(ida, path)
                if fault == "the token ends":
                    self.short_token(ida)
                else:
                    page.reload()
                    self.again(ida)
                if what == "a member":
                    fields = {"Email": self.known("jim")}
                page.route("**/v1/**", write)
                self.press(page, button)
                for label, value in fields.items():
                    ida.dialog().get_by_label(label, exact=True).first.fill(value)
                ida.submit(submit)
                if what in ("a key", "a rotation"):
                    self.want(f"{what}, {fault}: the key is shown", page.locator("#new-key").inner_text()[:3], "lk_")
                    page.wait_for_timeout(1000)
                    ida.submit("I have saved the key")
                if fault == "the token ends":
                    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
                    page.unroute("**/v1/**")
                    self.again(ida)
                else:
                    expect(page.get_by_role("alert").first).to_contain_text("Try it later.")
                    page.unroute("**/v1/**")
                    if what in ("an org", "an app's name", "an app"):  # other pages show it too, so the dialog stays open
                        self.want(f"{what}: the dialog says It is done, but", "It is done, but" in ida.dialog().inner_text(), True)
                        ida.dialog().get_by_role("button", name="Close").click()
                    else:
                        page.get_by_role("button", name="Try again").click()
                        expect(page.get_by_role("main").get_by_role("alert")).to_have_count(0)
                self.want(f"{what}, {fault}: the dialogs", page.get_by_role("dialog").count(), 0)
                self.want(f"{what}, {fault}: the writes", [(status // 100, method != "GET") for status, method in writes], [(2, True)])
                self.emptied(ida, what)

    def press(self, page, button):
        """Opens a form by a button, or by the choice "New org…" in the select of orgs."""
        if button == "New org…":
            page.locator("#org").select_option(label=button)
        else:
            page.get_by_role("button", name=button, exact=True).first.click()

    def known(self, name):
        """Returns the email of another person who has signed in once."""
        email = f"{name}-{time.time_ns()}@example.com"
        self.want("GET /v1/orgs", self.call("v1/orgs", self.token("user", email), method="GET")[0], 200)
        return email

    def sent_without_an_answer(self, ida):
        self.step("A form whose answer was lost is not done twice, also after a sign-in; a sign-in waits for an answer that is due")
        page = ida.page
        for what, path, button, label, value, submit, list_of in (
            ("an org", "", "New org…", "Name", "Lost", "Create", "v1/orgs"), ("a key", "/keys", "New API key", "Name", "lost", "New API key", "keys"),
            ("a member", "/members", "Add member", "Email", self.known("lou"), "Add", "members"),
            ("an app", "", "New app", "Name", "Lost", "Create", "apps"),
        ):
            keys, answers = [], []

            def lose(route):  # the API does it, but the page gets no answer
                if route.request.method != "POST":
                    return route.fallback()
                keys.append(route.request.headers["idempotency-key"])
                answers.append(route.fetch().json())
                route.abort()

            self.at(ida, path)
            self.short_token(ida)
            page.route("**/v1/**", lose)
            self.press(page, button)
            ida.dialog().get_by_label(label, exact=True).first.fill(value)
            ida.submit(submit)
            expect(ida.dialog().get_by_role("alert")).to_contain_text("No answer")
            page.unroute("**/v1/**")
            self.later(ida)
            ida.submit(submit)
            self.again(ida)
            expect(ida.dialog()).to_contain_text("may have been done")
            with page.expect_response(lambda r: "/v1/" in r.url and r.request.method == "POST") as answer:
                ida.submit(submit)
            self.want(f"{what}: the Idempotency-Key", [answer.value.request.headers["idempotency-key"]], keys)
            self.want(f"{what}: the answer", [answer.value.json()], answers)
            if what == "a key":
                ida.submit("I have saved the key")
            if what == "an org":  # its page opens after the orgs are read again
                expect(page.get_by_role("heading", level=1)).to_have_text(value)
            items = next(v for v in self.call(list_of if "/" in list_of else f"v1/orgs/{ida.org}/{list_of}", ida.token, method="GET")[1].values() if isinstance(v, list))
            self.want(f"{what}: how many were made", sum(value in (i.get("name"), i.get("email")) for i in items), 1)

        # While a form is being sent, another call of the page finds that the token has ended.
        self.at(ida, "/keys")
        self.short_token(ida)
        self.new_key(ida, "waits")

        def slow(route):
            if route.request.method == "POST":
                route.fetch()
                self.later(ida)
                page.evaluate("void document.querySelector('lk-keys').api.get('orgs')")
                time.sleep(1)
            route.fallback()

        page.route("**/keys", slow)
        ida.submit("New API key")
        key = page.locator("#new-key").inner_text()
        self.want("POST /app/get with the key that is shown", self.call("app/get", key)[0], 200)
        page.unroute("**/keys")
        ida.submit("I have saved the key")
        self.again(ida)
        self.want("the dialogs after a sign-in that waited", page.get_by_role("dialog").count(), 0)
        questions = []
        page.on("dialog", lambda dialog: questions.append(dialog.type) or dialog.accept())
        page.reload()
        self.again(ida)
        self.want("the questions of a reload after a form is done", questions, [])

    def sent_again_in_parts(self, ida):
        self.step("Deliveries that are sent again in parts continue after a failure where they stopped, and all are counted")
        page, sent = ida.page, []
        parts = [{"queued": 100, "nextCursor": "two"}, 503, 401, {"queued": 20, "nextCursor": "three"}, 503, {"queued": 3}]

        def part(route):
            sent.append(route.request.post_data_json)
            answer = parts[len(sent) - 1]
            if answer == 401:
                return route.fulfill(status=401, json={"title": "t", "status": 401, "detail": "d", "requestId": "r", "code": "insufficient_user_authentication", "maxAge": 300})
            self.unavailable(route) if answer == 503 else route.fulfill(status=202, json=answer)

        self.at(ida, "/events")
        page.reload()
        self.again(ida)
        page.route("**/redeliver", part)
        page.get_by_role("button", name="Send failed again").click()
        ida.dialog().get_by_label("Since").select_option("the last 7 days")
        ida.submit("Send again")
        expect(ida.dialog().get_by_role("alert")).to_contain_text("Try it later.")
        ida.submit("Send again")
        self.again(ida)
        ida.submit("Send again")
        expect(ida.dialog().get_by_role("alert")).to_contain_text("Try it later.")
        ida.submit("Send again")
        expect(page.get_by_text("123 deliveries will be sent again.")).to_be_visible()
        self.want("where each part begins", [b.get("cursor") for b in sent], [None, "two", "two", "two", "three", "three"])
        self.want("the times and endpoints of the parts", len({(b["since"], b["endpointId"]) for b in sent}), 1)
        page.unroute("**/redeliver")

    def choices(self, ida):
        self.step("A select always shows the choice that the list below it has, also after other data was read")
        page = ida.page
        self.at(ida, "/members")
        page.locator("#org").select_option(label="New org…")
        ida.submit("Cancel")
        self.want("the org that is chosen", page.locator("#org").input_value(), f"#/orgs/{ida.org}")

        self.at(ida, "/events")
        page.get_by_label("Type", exact=True).select_option("key.created")
        expect(ida.row("key.created").first).to_be_visible()
        page.route("**/webhook_events?*", lambda route: route.fulfill(json={"events": []}))
        page.get_by_label("Since").select_option("the last hour")
        expect(page.get_by_role("main")).to_contain_text("No events in this time")
        self.want("the type that is chosen", page.get_by_label("Type", exact=True).input_value(), "key.created")
        page.unroute("**/webhook_events?*")
        page.get_by_label("Since").select_option("the last 24 hours")
        expect(ida.row("key.created").first).to_be_visible()
        page.get_by_label("Type", exact=True).select_option("")

        late = []
        page.route(re.compile("/(members|keys)$"), lambda route: late.append(route))
        self.at(ida, "/audit")
        actor = page.get_by_label("By", exact=True)
        expect(actor.get_by_role("option")).not_to_have_count(1)
        with page.expect_response(re.compile(r"/audit\?.*actor=")):
            actor.select_option(index=1)
        page.wait_for_timeout(300)
        rows = page.get_by_role("main").get_by_role("row")
        count = rows.count()
        for route in late:
            route.fallback()
        expect(actor.get_by_role("option").filter(has_text=ida.email)).to_have_count(1)
        self.want("the rows of an actor, before and after their name is read", (count > 1, rows.count()), (True, count))
        self.want("an actor is chosen", actor.input_value() != "", True)
        page.unroute(re.compile("/(members|keys)$"))

        self.step("The element offers lifetimes only after it has read which ones the deployment allows")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), TwoElements)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = ida.tab()
        page.route("**/console/config.json", self.unavailable)
        page.goto(f"http://127.0.0.1:{self.port}/")
        page.evaluate("""async ([api, { org, token }]) => {
            await import(`${api}/console/files/elements.js`)
            Object.assign(document.querySelector('latchkey-keys'), { org, token: async () => token })
        }""", [self.api, {"org": ida.org, "token": ida.token}])
        for button in ("New API key", "Rotate"):
            page.get_by_role("button", name=button).first.click()
            expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("Try it later.")
            self.want(f"{button}: the forms without settings", page.get_by_role("dialog").locator("form").count(), 0)
            self.close_dialog(page)
        page.unroute("**/console/config.json")
        for button, label in (("New API key", "Expires"), ("Rotate", "The new key expires")):
            page.get_by_role("button", name=button).first.click()
            offered = page.get_by_role("dialog").get_by_label(label).get_by_role("option")
            expect(offered).not_to_have_count(0)
            allowed = offered.evaluate_all("all => all.every(o => o.value > 0 && o.value <= 45 * 86400) && all.some(o => o.value == 45 * 86400)")
            self.want(f"{button}: only lifetimes up to the longest, and the longest", allowed, True)
            page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        page.close()
        server.shutdown()
        server.server_close()
