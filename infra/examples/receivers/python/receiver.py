"""Receives Latchkey's webhooks. It needs verify.py in the same folder.

    BASE_URL=https://api.example.com ENDPOINT_ID=whe_… python receiver.py

ISSUER is the iss of the webhooks (default: BASE_URL). PORT is the port on this machine (4000).
The answers: 204 when the event is handled, 401 when the webhook is not genuine, 500 when the
work failed, 503 when the key cannot be looked up. After 401, 500 and 503 the webhook comes again.
"""
import os
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from verify import MAX_LENGTH, Unavailable, verify

SETTINGS = dict(
    base_url=os.environ["BASE_URL"], endpoint_id=os.environ["ENDPOINT_ID"], issuer=os.environ.get("ISSUER"))


def work(event):
    """Put your work here. The same event can come again; it has the same id then."""
    if event.get("test"):
        return  # an example event; nothing happened
    print(f"{event['id']} {event['type']}\n", end="", flush=True)


class Receiver(BaseHTTPRequestHandler):
    timeout = 10  # seconds without a byte, after which the connection is closed

    def do_POST(self):
        self.send_response_only(self.status())
        self.end_headers()

    def log_message(self, *_):
        pass  # the message would have the URL and its query

    def status(self):
        try:
            length = max(0, int(self.headers["Content-Length"]))
            body = self.rfile.read(min(length, 2 * MAX_LENGTH))
            event = verify(body.decode("latin-1"), **SETTINGS)
        except Exception as error:
            return 503 if isinstance(error, Unavailable) else 401
        try:
            work(event)
        except Exception:
            traceback.print_exc()
            return 500
        return 204


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "4000"))), Receiver).serve_forever()
