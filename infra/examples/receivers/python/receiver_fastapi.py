"""Receives Latchkey's webhooks in FastAPI. It needs verify.py in the same folder: pip install fastapi uvicorn 'PyJWT[crypto]'

    BASE_URL=https://api.example.com ENDPOINT_ID=whe_… uvicorn receiver_fastapi:app --port 4000 --no-access-log
"""
import os

from fastapi import FastAPI, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from verify import MAX_LENGTH, Unavailable, verify

app, env = FastAPI(), os.environ
settings = dict(base_url=env["BASE_URL"], endpoint_id=env["ENDPOINT_ID"], issuer=env.get("ISSUER"))


@app.post("/", status_code=204)
async def receive(request: Request):
    token = b""
    async for chunk in request.stream():
        token += chunk if len(token) <= MAX_LENGTH else b""  # read the rest, but do not keep it
    try:
        event = await run_in_threadpool(verify, token.decode("latin-1"), **settings)
    except Exception as error:
        raise HTTPException(503 if isinstance(error, Unavailable) else 401) from None
    if not event.get("test"):  # put your work here; the same event can come again, with the same id
        print(f"{event['id']} {event['type']}\n", end="", flush=True)
