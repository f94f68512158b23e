"""Queues on loopback: moto's server, as it is, in a process of its own.

Prints READY once a queue was made, filled and emptied; ends when its standard
input does. Messages are gone then.
"""

import json
import os
import sys
import threading
import urllib.request

os.environ.setdefault("MOTO_ACCOUNT_ID", "000000000000")

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server


def prove(port):
    """A message goes in and comes out; this also loads moto's queues before the first request does."""
    url = ask(port, "CreateQueue", {"QueueName": "proof"})["QueueUrl"]
    ask(port, "SendMessage", {"QueueUrl": url, "MessageBody": "proof"})
    message = ask(port, "ReceiveMessage", {"QueueUrl": url})["Messages"][0]
    if message["Body"] != "proof":
        raise SystemExit("moto's queue answered %r" % message)
    ask(port, "DeleteQueue", {"QueueUrl": url})


def ask(port, action, body):
    # Another region than the stack's: its queue is not the product's.
    credential = "AWS4-HMAC-SHA256 Credential=a/20200101/eu-north-1/sqs/aws4_request, SignedHeaders=host, Signature=a"
    headers = {"X-Amz-Target": "AmazonSQS." + action, "Content-Type": "application/x-amz-json-1.0", "Authorization": credential}
    request = urllib.request.Request("http://127.0.0.1:%d/" % port, json.dumps(body).encode(), headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as answer:
        return json.loads(answer.read() or b"{}")


def main():
    port = int(sys.argv[1])
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", port, app, threaded=True, request_handler=MotoRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    prove(port)
    print("READY", flush=True)
    while sys.stdin.buffer.read(1024):
        pass
    os._exit(0)


main()
