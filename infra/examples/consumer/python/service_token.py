# Gets a service's token from your issuer, and keeps it until a minute before it expires: pip install httpx
import os, time, httpx

kept = {"until": 0}

def service_token():
    if time.time() >= kept["until"]:
        form = {name: os.environ[name.upper()] for name in ("client_id", "client_secret")}
        form["audience"] = os.environ.get("AUDIENCE", "")  # some issuers need "scope" instead
        answer = httpx.post(os.environ["TOKEN_URL"], data={"grant_type": "client_credentials", **form}, timeout=2).raise_for_status().json()
        kept.update(token=answer["access_token"], until=time.time() + answer["expires_in"] - 60)
    return kept["token"]
