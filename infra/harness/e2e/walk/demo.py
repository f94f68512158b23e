"""The pages of the demo's customers, which are also the pictures of the documents."""

import os
import re
import time

from playwright.sync_api import expect

ADA = "ada.lindqvist@northwind.example"


class Demo:
    """The last step of the walk."""

    def show(self, page, name):
        """Checks a page as shot does, or takes its two pictures for the documents."""
        if not self.pictures:
            return self.shot(page, f"demo-{name}")
        for scheme, file in (("light", f"{name}.png"), ("dark", f"{name}-dark.png")):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.wait_for_timeout(300)
            page.screenshot(path=os.path.join(self.pictures, file))

    def demo(self, person):
        self.step("A customer of the demo opens each page")
        ada = person(self, ADA)
        page = ada.page
        ada.sign_in()
        main = page.get_by_role("main")
        expect(page.get_by_role("heading", level=1)).to_have_text("Northwind Logistics")
        expect(main).to_contain_text("of 20,000 today")
        if not self.pictures:
            self.show(page, "overview")
            ada.open("Members")
            expect(ada.row("Mei Tanaka")).to_contain_text("admin")
            self.show(page, "members")
        ada.open("API keys")
        expect(ada.row("Billing export").filter(has_text="replaced")).to_be_visible()
        self.show(page, "keys")
        ada.row("Production").get_by_role("button", name="Production").click()
        expect(ada.dialog()).to_contain_text("Limit of 15,000 a day")
        self.show(page, "key")
        self.close_dialog(page)
        ada.open("Webhook endpoints")
        expect(ada.row("crm")).to_contain_text("it answered 410")
        expect(ada.row("warehouse")).to_contain_text("failing")
        ada.row("warehouse").get_by_role("button", name="warehouse").click()
        expect(ada.dialog()).to_contain_text("Deliveries of the last 24 hours")
        self.show(page, "endpoint")
        self.close_dialog(page)
        ada.open("Audit log")
        expect(ada.row("key.rotated")).to_contain_text("mei.tanaka@northwind.example")
        self.show(page, "audit")
        if self.pictures:
            self.verify_page(page)
        else:
            ada.open("Events")
            expect(ada.row("invoice.paid").first).to_be_visible()
            self.show(page, "events")
        ada.end()
        for email, text, name in (("priya.raman@harbor.example", "still good", "leaked"), ("sam.okafor@bluebird.example", "suspended", "suspended")):
            other = person(self, email)
            other.sign_in()
            expect(other.page.get_by_role("main")).to_contain_text(text)
            if not self.pictures:
                self.show(other.page, name)
            other.end()

    def verify_page(self, page):
        """Sends a test webhook, and verifies it on the page Verify a webhook."""
        org = re.search("org_([0-9a-z]+)", page.url)[1]
        endpoints = f"v1/orgs/org_{org}/apps/app_{org}/webhook_endpoints"
        token = self.token("user", ADA, "Ada Lindqvist")
        _, made = self.call(endpoints, token, {"url": f"http://127.0.0.1:{self.receiver.server_port}/", "events": ["test"]})
        self.call(f"{endpoints}/{made['id']}/test", token)
        for _ in range(100):
            if self.last():
                break
            time.sleep(0.1)
        page.goto(self.url + "/verify")
        page.get_by_label("Webhook").fill(self.last())
        page.get_by_label("Endpoint id").fill(made["id"])
        page.get_by_label("Issuer").fill(self.api)
        page.get_by_role("button", name="Verify").click()
        expect(page.get_by_role("status")).to_contain_text("This webhook is genuine.")
        self.show(page, "verify")
