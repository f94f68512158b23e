"""Creates three orgs and an API key, uses and revokes the key: BASE_URL=https://… ACCESS_TOKEN=… python main.py"""
import os

from latchkey_client import AuthenticatedClient  # openapi-python-client generate --output-path . --path openapi.yaml
from latchkey_client.api.api_keys import create_key, revoke_key
from latchkey_client.api.apps import get_app
from latchkey_client.api.orgs import create_org, get_org, list_orgs
from latchkey_client.models import KeyCreation, OrgCreation


def client(credential):
    """Returns a client that sends a credential: an access token or an API key."""
    return AuthenticatedClient(base_url=os.environ["BASE_URL"], token=credential)


admin = client(os.environ["ACCESS_TOKEN"])
for name in "Gamma", "Beta", "Acme":
    org = create_org.sync(client=admin, body=OrgCreation(name=name))
key = create_key.sync(org.id, client=admin, body=KeyCreation(name="server"))

server = client(key.key)
print("the key of", get_app.sync(client=server).org.name, "works")

missing = get_org.sync_detailed("org_none", client=admin)
print(missing.status_code.value, missing.parsed.code)

page = list_orgs.sync(client=admin, limit=2)
count, pages = len(page.orgs), 1
while page.next_cursor:
    page = list_orgs.sync(client=admin, limit=2, cursor=page.next_cursor)
    count, pages = count + len(page.orgs), pages + 1
print(count, "orgs in", pages, "pages")

revoke_key.sync_detailed(org.id, key.id, client=admin)
refused = get_app.sync_detailed(client=server)
print(refused.status_code.value, refused.parsed.code)
