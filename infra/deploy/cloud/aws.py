"""Makes one call of AWS by the SAM CLI's own boto3, and so with the credentials that the SAM CLI finds. A list is read to its
last page.

Arguments: a region or "", a service, and an operation; a fourth argument has the call wait until the standard input ends, also
by the death of the program that writes to it. The variable PARAMETERS_OF_CALL has the operation's parameters as JSON: other users
of the machine can read arguments. Prints the result as JSON. Without a service the
result is the region in use and what is known of the credentials; without an operation, the service's URL and the credentials.
"""

import json
import os
import sys

from boto3 import Session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError


def plain(value):
    return value.read().decode() if hasattr(value, "read") else str(value)


def call(region, service, operation, wait=""):
    session = Session(region_name=region or None)
    if not service:
        found = session.get_credentials()
        expiry = getattr(found, "_expiry_time", None)
        return {"Region": session.region_name or "", "Credentials": found is not None, "Expires": expiry and expiry.isoformat()}
    client = session.client(service, config=Config(
        connect_timeout=10, read_timeout=60, signature_version="s3v4" if service == "s3" else None,
        # S3's host in the region, also for a signed URL: the global host redirects to a new bucket for some hours, and who reads a
        # signed URL may follow no redirect.
        s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"},
    ))
    if wait:
        sys.stdin.read()
    if operation:
        parameters = json.loads(os.environ["PARAMETERS_OF_CALL"])
        if operation in client.meta.method_to_api_mapping and client.can_paginate(operation):
            return client.get_paginator(operation).paginate(**parameters).build_full_result()
        return getattr(client, operation)(**parameters)
    who = session.get_credentials().get_frozen_credentials()
    return {"URL": client.meta.endpoint_url, "AccessKeyID": who.access_key, "SecretAccessKey": who.secret_key, "SessionToken": who.token or ""}


try:
    print(json.dumps(call(*sys.argv[1:]), default=plain))
except (BotoCoreError, ClientError) as error:
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(1)
