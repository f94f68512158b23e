"""Receives Latchkey's webhooks and verifies each of them.

    pip install 'PyJWT[crypto]'
    BASE_URL=https://api.example.com ENDPOINT_ID=whe_… python receiver.py

ISSUER is the iss of the webhooks (default: BASE_URL). PORT is the port on this machine (4000).
The answers: 204 when the event is handled, 401 when the webhook is not genuine, 500 when the
work failed, 503 when the key cannot be looked up. After 401, 500 and 503 the webhook comes again.
"""
import base64
import json
import os
import threading
import time
import traceback
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

import jwt

BASE_URL, ENDPOINT_ID = os.environ["BASE_URL"], os.environ["ENDPOINT_ID"]
ISSUER = os.environ.get("ISSUER", BASE_URL)
PORT = int(os.environ.get("PORT", "4000"))
MAX_LENGTH = 256 * 1024  # bytes of a webhook
MAX_AGE = 5 * 60  # seconds from the signature to the arrival
LEEWAY = 60  # seconds by which the clocks of sender and receiver may differ
one_look_up = threading.Lock()  # one at a time, so that made-up kids cause no flood of requests


def work(event):
    """Put your work here. The same event can come again; it has the same id then."""
    if event.get("test"):
        return  # an example, which did not happen
    print(f"{event['id']} {event['type']}\n", end="", flush=True)


class Unavailable(Exception):
    """No one can say now whether the webhook is genuine."""


def check(condition):
    if not condition:
        raise ValueError("the webhook is refused")


def decode(text):
    """Reads base64url, and takes no second spelling of the same bytes."""
    raw = base64.urlsafe_b64decode(text + "==")
    check(base64.urlsafe_b64encode(raw).rstrip(b"=").decode() == text)
    return raw


def no_name_twice(pairs):
    check(len(dict(pairs)) == len(pairs))
    return dict(pairs)


def parse(raw):
    """Reads JSON in which no object has two members of one name."""
    return json.loads(raw.decode(), object_pairs_hook=no_name_twice)


class NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_):
        """Makes a redirect an error: only BASE_URL says what a key is."""


@lru_cache(maxsize=100)
def look_up(kid, minute):
    """Returns the public key as it is in that minute, or None when the kid proves nothing."""
    url, body = BASE_URL + "/webhook_verification_key/get", json.dumps({"kid": kid}).encode()
    try:
        request = Request(url, body, {"Content-Type": "application/json"})
        with build_opener(NoRedirect).open(request, timeout=5) as answer:
            return json.load(answer)
    except Exception as error:
        if isinstance(error, HTTPError) and error.code in (404, 410):
            return None
        raise Unavailable from error


def verify(token):
    """Returns the event of a genuine webhook. Any error but Unavailable: it is not genuine."""
    check(len(token) <= MAX_LENGTH)
    first, second, signature = token.split(".")
    header, claims = parse(decode(first)), parse(decode(second))
    iat, exp, event, now = claims["iat"], claims["exp"], claims["event"], time.time()
    check(len(decode(signature)) == 64 and len(decode(header["kid"])) == 32)
    check(header["alg"] == "ES256" and header["typ"] == "webhook+jwt" and "crit" not in header)
    check(claims["aud"] in (ENDPOINT_ID, [ENDPOINT_ID]))
    check(type(iat) is int and type(exp) is int)
    check(now < exp and now - MAX_AGE - LEEWAY < iat < now + LEEWAY)
    for name, kind in (("id", str), ("type", str), ("createdAt", int), ("data", dict)):
        check(type(event[name]) is kind and (event[name] or kind is dict))
    with one_look_up:
        key = look_up(header["kid"], now // 60)
    check(key and (key["expiredAt"] is None or iat * 1000 < key["expiredAt"]))
    public = jwt.PyJWK(key, "ES256")
    jwt.decode(token, public, ["ES256"], audience=ENDPOINT_ID, issuer=ISSUER, leeway=LEEWAY)
    return event


class Receiver(BaseHTTPRequestHandler):
    timeout = 10  # seconds without a byte, after which the connection is closed

    def do_POST(self):
        self.send_response_only(self.status())
        self.end_headers()

    def log_message(self, *_):
        pass  # it would have the URL, with its query

    def status(self):
        try:
            length = max(0, int(self.headers["Content-Length"]))
            body = self.rfile.read(min(length, 2 * MAX_LENGTH))
            event = verify(body.decode("latin-1"))
        except Exception as error:
            return 503 if isinstance(error, Unavailable) else 401
        try:
            work(event)
        except Exception:
            traceback.print_exc()
            return 500
        return 204


ThreadingHTTPServer(("127.0.0.1", PORT), Receiver).serve_forever()
