"""Checks the API key of each request at Latchkey: pip install httpx

LATCHKEY is the output ForwardAuthUrl, SECRET the parameter ForwardAuthSecret, if it is set."""
import logging
import os
import re
from urllib.parse import unquote

import httpx

latchkey = httpx.Client(
    base_url=os.environ["LATCHKEY"], timeout=3, headers={"X-Latchkey-Secret": os.environ.get("SECRET", "")})
# One credential that is not a Latchkey key: only such a text can be a key of an earlier system.
EARLIER = re.compile(r"(?i:Bearer) +(?![a-z0-9]+_\w{43}_\w{49}$)(\S+)")
PASSED = ("content-type", "x-latchkey-code", "retry-after", "ratelimit", "ratelimit-policy", "www-authenticate")


def authorize(authorization, *scopes, fallback=None):
    """Returns the caller and None, or None and the refusal: its body, status and headers.

    authorization is the request's header, or None. fallback imports a key of an earlier system."""
    sent = {"Authorization": authorization.encode("latin-1")} if authorization else {}
    try:
        answer = latchkey.get("/authorize", params={"scope": scopes}, headers=sent)
        earlier = EARLIER.fullmatch(authorization or "")
        if fallback and earlier and answer.headers.get("x-latchkey-code") == "invalid_credentials":
            fallback(earlier[1])
            answer = latchkey.get("/authorize", params={"scope": scopes}, headers=sent)
        status, got = answer.status_code, dict(answer.headers)
    except Exception as error:  # log the type only: the text can have the key
        logging.error("a key was not checked: %s", type(error).__name__)
        status, got = 503, {}
    if status == 200 and got.get("x-latchkey-v") == "1":
        return {name[11:]: unquote(value) for name, value in got.items() if name.startswith("x-latchkey-")}, None
    if status in (401, 403, 429) and "x-latchkey-code" in got:
        if "x-amzn-remapped-www-authenticate" in got:  # a function URL on AWS renames WWW-Authenticate
            got["www-authenticate"] = got["x-amzn-remapped-www-authenticate"]
        return None, (answer.content, status, {name: got[name] for name in PASSED if name in got})
    return None, (b'{"code":"unavailable"}', 503, {"content-type": "application/json", "retry-after": "1"})
