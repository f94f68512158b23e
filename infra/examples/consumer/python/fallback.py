# Imports a key of your earlier system at its first use. Latchkey then checks the imported key.
import hashlib, logging, os, httpx
from service_token import service_token

def import_if_good(text):
    old = httpx.post(os.environ["EARLIER_SYSTEM"], json={"key": text}, timeout=2)  # in the body, because logs show URLs
    if old.status_code == 404:
        return  # your earlier system does not know the key
    key = old.raise_for_status().json()
    new = {"sha256": hashlib.sha256(text.encode()).hexdigest(), "prefix": text[:8], "name": key["name"], "scopes": key["scopes"]}
    url, headers = f"{os.environ['API']}/v1/orgs/{key['orgId']}/keys/import", {"Authorization": "Bearer " + service_token()}
    made = httpx.post(url, json={"keys": [new]}, headers=headers, timeout=2).raise_for_status().json()["keys"][0]
    refusal = made.get("error", {}).get("code", "conflict")
    if refusal != "conflict":  # conflict: another request has imported the key
        logging.error("a key was not imported: %s", refusal)
        raise RuntimeError(refusal)
