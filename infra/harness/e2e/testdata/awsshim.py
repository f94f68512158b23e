"""The command aws in the shell of the runbook's test. It passes calls on to awscli.py, and writes failed calls to a file, also
failed calls inside a pipe.

It sets --endpoint-url, because calls of SQS ignore AWS_ENDPOINT_URL and go to AWS.
"""

import json
import os
import socket
import sys

arguments = ["--endpoint-url", os.environ["AWS_ENDPOINT_URL"]] + sys.argv[1:]
call = {"arguments": arguments, "folder": os.getcwd(), "environment": dict(os.environ)}
connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
connection.connect(os.environ["AWS_CLI"])
socket.send_fds(connection, [json.dumps(call).encode()], [0, 1, 2])
code = connection.recv(1)[0]
if code:
    with open(os.environ["FAILURES"], "a") as failures:
        print("%d: aws %s" % (code, " ".join(" ".join(sys.argv[1:]).split())), file=failures)
sys.exit(code)
