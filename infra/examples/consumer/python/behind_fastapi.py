# An API in FastAPI behind the proxy: PROXY_SECRET=… uvicorn behind_fastapi:app --port 8080 --no-access-log
import hmac, os
from urllib.parse import unquote
from fastapi import Depends, FastAPI, HTTPException, Request

app = FastAPI()

def from_proxy(request: Request):
    sent = {name[11:]: value for name, value in request.headers.items() if name.startswith("x-latchkey-")}
    if not hmac.compare_digest(sent.pop("proxy-secret", "").encode(), os.environ["PROXY_SECRET"].encode()):
        raise HTTPException(403)
    if sent.get("v") != "1" or sent.get("kind") != "key":
        raise HTTPException(500)  # the proxy has not checked a key
    return {name: unquote(value) for name, value in sent.items()}

@app.get("/invoices")
def invoices(caller: dict = Depends(from_proxy)):
    return {"orgId": caller["org-id"], "name": caller.get("key-name", ""), "scopes": caller.get("scopes", "").split()}
