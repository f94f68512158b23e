"""Creates three orgs and an API key, uses and revokes the key: BASE_URL=https://… ACCESS_TOKEN=… python main.py"""
import os

import latchkey  # openapi-generator generate -g python --package-name latchkey -o . -i openapi.yaml


def client(credential):
    """Returns a client that sends a credential: an access token or an API key."""
    return latchkey.ApiClient(latchkey.Configuration(host=os.environ["BASE_URL"], access_token=credential))


def code(error):
    return latchkey.Problem.from_json(error.body).code


admin = client(os.environ["ACCESS_TOKEN"])
orgs, keys = latchkey.OrgsApi(admin), latchkey.APIKeysApi(admin)
for name in "Gamma", "Beta", "Acme":
    org = orgs.create_org(latchkey.OrgCreation(name=name))
key = keys.create_key(org.id, key_creation=latchkey.KeyCreation(name="server"))

server = latchkey.AppsApi(client(key.key))
print("the key of", server.get_app().org.name, "works")

try:
    orgs.get_org("org_none")
except latchkey.ApiException as error:
    print(error.status, code(error))

page = orgs.list_orgs(limit=2)
count, pages = len(page.orgs), 1
while page.next_cursor:
    page = orgs.list_orgs(limit=2, cursor=page.next_cursor)
    count, pages = count + len(page.orgs), pages + 1
print(count, "orgs in", pages, "pages")

keys.revoke_key(org.id, key.id)
try:
    server.get_app()
except latchkey.ApiException as error:
    print(error.status, code(error))
