"""Makes one call of AWS by the SAM CLI's own boto3, and so with the credentials that the SAM CLI finds. A list is read to its
last page.

Arguments: a region or "", a service, an operation, and its parameters as JSON. Prints the result as JSON. Without a
service the result is the region in use; without an operation, the service's URL and the credentials.
"""

import json
import sys

from boto3 import Session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError


def plain(value):
    return value.read().decode() if hasattr(value, "read") else str(value)


def call(region, service, operation, parameters):
    session = Session(region_name=region or None)
    if not service:
        return session.region_name
    client = session.client(service, config=Config(connect_timeout=10, read_timeout=60))
    if operation and client.can_paginate(operation):
        return client.get_paginator(operation).paginate(**json.loads(parameters)).build_full_result()
    if operation:
        return getattr(client, operation)(**json.loads(parameters))
    who = session.get_credentials().get_frozen_credentials()
    return {"URL": client.meta.endpoint_url, "AccessKeyID": who.access_key, "SecretAccessKey": who.secret_key, "SessionToken": who.token or ""}


try:
    print(json.dumps(call(*sys.argv[1:]), default=plain))
except (BotoCoreError, ClientError) as error:
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(1)
