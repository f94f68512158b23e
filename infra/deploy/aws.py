"""Calls AWS by the SAM CLI's own boto3, and so with the credentials that the SAM CLI finds.

Argument: a region, or "". The first line of output is {"result": the region in use}. Each line of input is a call: {"service",
"operation", "parameters"}. Each call has a line of output: {"result"} or {"error": {"code", "message"}}.
"""

import json
import signal
import sys

from boto3 import Session
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

PATIENCE = Config(connect_timeout=10, read_timeout=60)


def plain(value):
    return value.read().decode() if hasattr(value, "read") else str(value)


def answer(make):
    try:
        out = {"result": make()}
    except ClientError as error:
        out = {"error": {"code": error.response["Error"]["Code"], "message": error.response["Error"]["Message"]}}
    except BotoCoreError as error:
        out = {"error": {"code": type(error).__name__, "message": str(error)}}
    print(json.dumps(out, default=plain), flush=True)
    return "result" in out


def main():
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback
    sessions = []

    def begin():
        sessions.append(Session(region_name=sys.argv[1] or None))
        return sessions[0].region_name

    if not answer(begin):
        return
    clients = {}
    for line in sys.stdin:
        call = json.loads(line)

        def make(call=call):
            service = call["service"]
            if service not in clients:
                clients[service] = sessions[0].client(service, config=PATIENCE)
            return getattr(clients[service], call["operation"])(**call["parameters"])

        answer(make)


main()
