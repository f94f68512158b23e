"""Introspects tokens with Authlib.

Arguments: the URL of /introspect, an API key of the owner's org, and the tokens. It prints a line for each token
and client authentication."""

import sys

from authlib.integrations.requests_client import OAuth2Session

endpoint, secret, *tokens = sys.argv[1:]
for way in ("client_secret_basic", "client_secret_post"):
    client = OAuth2Session("gateway", secret, token_endpoint_auth_method=way)
    for token in tokens:
        answer = client.introspect_token(endpoint, token=token)
        answer.raise_for_status()
        token_info = answer.json()
        print("Authlib", "{sub} {orgId} {scope}".format(**token_info) if token_info["active"] else "refused")
