"""Makes one call of AWS with the SAM CLI's boto3, and so with the SAM CLI's credentials. Prints the result as JSON. A list is
read to its last page.

Arguments: a region or "", a service, and an operation. With a fourth argument the call waits until the standard input ends;
the input also ends when the program that writes to it dies. The variable PARAMETERS_OF_CALL has the operation's parameters as
JSON, because other users of the machine can read arguments.

Without a service the result is the region in use, whether there are credentials, and their expiry. Without an operation the
result is the service's URL and the credentials.
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
        # S3's host in the region, also for a signed URL: for some hours the global host redirects requests for a new bucket, and
        # a function that reads a signed URL follows no redirect.
        s3={"addressing_style": "virtual", "us_east_1_regional_endpoint": "regional"},
    ))
    if wait:
        sys.stdin.read()
    if operation:
        parameters = json.loads(os.environ["PARAMETERS_OF_CALL"])
        if operation in client.meta.method_to_api_mapping and client.can_paginate(operation):
            return client.get_paginator(operation).paginate(**parameters).build_full_result()
        return getattr(client, operation)(**parameters)
    found = session.get_credentials().get_frozen_credentials()
    return {"URL": client.meta.endpoint_url, "AccessKeyID": found.access_key, "SecretAccessKey": found.secret_key, "SessionToken": found.token or ""}


try:
    print(json.dumps(call(*sys.argv[1:]), default=plain))
except (BotoCoreError, ClientError) as error:
    print(f"{type(error).__name__}: {error}", file=sys.stderr)
    sys.exit(1)
