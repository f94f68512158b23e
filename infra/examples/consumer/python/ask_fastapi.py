# An API in FastAPI without a proxy. It imports authorize.py: LATCHKEY=https://… uvicorn ask_fastapi:app --port 8080 --no-access-log
from authorize import authorize
from fastapi import Depends, FastAPI, Request, Response

app = FastAPI()

class Refused(Exception):
    """Has the body, the status and the headers of the answer."""

@app.exception_handler(Refused)
def refuse(_, refused):
    return Response(*refused.args)

def key(*scopes, **settings):
    def check(request: Request):
        caller, refusal = authorize(", ".join(request.headers.getlist("authorization")), *scopes, **settings)
        if refusal:
            raise Refused(*refusal)
        return caller
    return Depends(check)

@app.get("/invoices")
def invoices(caller: dict = key("invoices:read")):
    return {"orgId": caller["org-id"], "name": caller.get("key-name", ""), "scopes": caller.get("scopes", "").split()}
