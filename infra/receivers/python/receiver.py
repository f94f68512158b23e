"""Receives Latchkey's webhooks: BASE_URL=https://… ENDPOINT_ID=whe_… [ISSUER=…] [PORT=4000] python receiver.py"""
import base64, functools, json, os, re, threading, time, urllib.error, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
import jwt
BASE_URL, ENDPOINT_ID, PORT = os.environ["BASE_URL"], os.environ["ENDPOINT_ID"], int(os.environ.get("PORT", "4000"))
ISSUER, one_lookup = os.environ.get("ISSUER", BASE_URL), threading.Lock()
def work(event): print(f"{event['id']} {event['type']}\n", end="", flush=True)  # yours: an event may come again, with the same id
def must(ok):
    if not ok: raise ValueError
def members(pairs): return must(len(dict(pairs)) == len(pairs)) or dict(pairs)  # none stands twice in an object
def part(text):  # strict base64url, UTF-8 and JSON
    raw = base64.urlsafe_b64decode(text + "==")
    must(base64.urlsafe_b64encode(raw).rstrip(b"=").decode() == text)
    return json.loads(raw.decode("utf-8"), object_pairs_hook=members)
@functools.lru_cache(100)
def look_up(kid, minute):  # the JWK, or None when the kid proves nothing; kept for that minute
    url, body = BASE_URL + "/webhook_verification_key/get", json.dumps({"kid": kid}).encode()
    try: return json.load(urllib.request.urlopen(urllib.request.Request(url, body, {"Content-Type": "application/json"}), timeout=5))
    except urllib.error.HTTPError as e:
        if e.code not in (404, 410): raise
def verify(token):  # gives the event; OSError: the key cannot be looked up now; any other error: a bad webhook
    must(len(token) <= 262144 and re.fullmatch(r"[\w-]+\.[\w-]+\.[\w-]{85}[AQgw]", token, re.ASCII))
    header, claims = map(part, token.split(".")[:2])
    iat, exp, event, now = claims["iat"], claims["exp"], claims["event"], time.time()
    must((header["alg"], header["typ"]) == ("ES256", "webhook+jwt") and "crit" not in header)
    must(re.fullmatch("[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]", header["kid"]) and claims["aud"] in (ENDPOINT_ID, [ENDPOINT_ID]))
    must(type(iat) is int and type(exp) is int and now < exp and now - 360 < iat < now + 60 and type(event["data"]) is dict)
    must(all(event[name] and type(event[name]) is kind for name, kind in (("id", str), ("type", str), ("createdAt", int))))
    with one_lookup: key = look_up(header["kid"], now // 60)  # one at a time, so that made-up kids make no flood of them
    must(key and (not key["expiredAt"] or iat * 1000 < key["expiredAt"]))
    return jwt.decode(token, jwt.PyJWK(key, "ES256"), ["ES256"], audience=ENDPOINT_ID, issuer=ISSUER, leeway=60)["event"]
class Receiver(BaseHTTPRequestHandler):
    timeout = 10  # seconds of silence
    def do_POST(self):
        try: event = verify(self.rfile.read(max(0, min(int(self.headers["Content-Length"]), 1 << 20))).decode("latin-1"))
        except Exception as e: return self.send_error(503 if isinstance(e, OSError) else 401)
        work(event)  # when it fails, nothing is answered, and the webhook comes again
        self.send_response_only(204)
        self.end_headers()
ThreadingHTTPServer(("127.0.0.1", PORT), Receiver).serve_forever()
