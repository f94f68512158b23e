"""Verifies Latchkey's webhooks. It needs pip install 'PyJWT[crypto]'."""
import base64
import json
import threading
import time
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

import jwt

MAX_LENGTH = 256 * 1024  # bytes of a webhook
MAX_AGE = 5 * 60  # seconds from the signature to the arrival
LEEWAY = 60  # seconds that the clocks of sender and receiver may differ
kept = {}  # (URL, kid): (the minute of the look-up, the good key)
locks = threading.Lock(), threading.Lock()  # for new kids, and for kept ones, so that invented kids delay no key that is in use
failures = 0  # how many look-ups have failed


class Unavailable(Exception):
    """The webhook cannot be verified now, because the key could not be looked up."""


def check(condition):
    if not condition:
        raise ValueError("the webhook is refused")


def decode(text):
    """Reads base64url, and refuses another spelling of the same bytes."""
    raw = base64.urlsafe_b64decode(text + "==")
    check(base64.urlsafe_b64encode(raw).rstrip(b"=").decode() == text)
    return raw


def no_name_twice(pairs):
    check(len(dict(pairs)) == len(pairs))
    return dict(pairs)


def parse(raw):
    """Reads JSON, and refuses an object with two members of the same name."""
    return json.loads(raw.decode(), object_pairs_hook=no_name_twice)


class NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_):
        """Makes a redirect an error: keys come only from base_url."""


def find(base_url, kid):
    """Returns the public key, or None if it is unknown or revoked. A good key is kept for one minute."""
    name, minute, before = (base_url, kid), time.time() // 60, failures
    at, key = kept.get(name, (None, None))
    if at == minute:
        return key
    lock = locks[name in kept]  # one look-up at a time, so that invented kids cause no flood of requests
    if not lock.acquire(timeout=5):
        raise Unavailable
    try:
        if failures != before:  # a look-up failed meanwhile, and this one would take as long
            raise Unavailable
        at, key = kept.get(name, (None, None))
        if at != minute:
            key = look_up(base_url, kid)
            if len(kept) >= 100:
                kept.clear()
            kept.pop(name, None)
            if key:
                kept[name] = minute, key
        return key
    finally:
        lock.release()


def look_up(base_url, kid):
    """Asks the API for a key."""
    global failures
    url, body = base_url + "/webhook_verification_key/get", json.dumps({"kid": kid}).encode()
    try:
        request = Request(url, body, {"Content-Type": "application/json"})
        with build_opener(NoRedirect).open(request, timeout=5) as answer:
            return json.load(answer)
    except Exception as error:
        if isinstance(error, HTTPError) and error.code in (404, 410):
            return None
        failures += 1
        raise Unavailable from error


def verify(token, *, base_url, endpoint_id, issuer=None):
    """Returns the event of a genuine webhook. Any other error than Unavailable means: not genuine.

    base_url is the URL of the API, issuer the iss of the webhooks if that is another URL."""
    check(len(token) <= MAX_LENGTH)
    first, second, signature = token.split(".")
    header, claims = parse(decode(first)), parse(decode(second))
    iat, exp, event, now = claims["iat"], claims["exp"], claims["event"], time.time()
    check(len(decode(signature)) == 64 and len(decode(header["kid"])) == 32)
    check(header["alg"] == "ES256" and header["typ"] == "webhook+jwt" and "crit" not in header)
    check(claims["aud"] in (endpoint_id, [endpoint_id]))
    check(type(iat) is int and type(exp) is int)
    check(now < exp and now - MAX_AGE - LEEWAY < iat < now + LEEWAY)
    for name, kind in (("id", str), ("type", str), ("createdAt", int), ("data", dict)):
        check(type(event[name]) is kind and (event[name] or kind is dict))
    key = find(base_url, header["kid"])
    check(key and (key["expiredAt"] is None or iat * 1000 < key["expiredAt"]))
    public, issuer = jwt.PyJWK(key, "ES256"), issuer or base_url
    jwt.decode(token, public, ["ES256"], audience=endpoint_id, issuer=issuer, leeway=LEEWAY)
    return event
