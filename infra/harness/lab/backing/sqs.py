"""Queues and event buses on loopback: moto's server with corrections.

It prints READY after it has made, filled and emptied a queue. It ends when its
standard input ends; all messages are lost then.
"""

import json
import os
import sys
import threading
import urllib.request
import uuid
from collections import Counter

os.environ.setdefault("MOTO_ACCOUNT_ID", "000000000000")

from moto.core.utils import unix_time_millis
from moto.events.exceptions import ResourceNotFoundException, ValidationException
from moto.events.models import EventsBackend
from moto.events.utils import EventTemplateParser
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from moto.sqs.exceptions import ReceiptHandleIsInvalid
from moto.sqs.models import Queue, SQSBackend
from werkzeug.serving import make_server


# moto counts the whole queue for each message that it stores or returns, and reads the clock for each counted
# message. With a few thousand waiting messages a poll would take seconds, and senders would time out. The next functions
# read the clock once.


def messages(queue):
    """Returns the visible messages, one of each message group in turn. As in SQS's fair queues, the group with the fewest
    messages in flight comes first. moto returns messages in the order of sending."""
    now = unix_time_millis()
    turns = Counter(m.group_id for m in queue._messages if now <= m.visible_at)
    shown = []
    for m in queue._messages:
        if m.visible_at < now >= m.delayed_until:
            turns[m.group_id] += 1
            shown.append((turns[m.group_id], m))
    shown.sort(key=lambda turn: turn[0])
    return [m for _, m in shown]


def delayed(queue):
    now = unix_time_millis()
    return sum(now < m.delayed_until for m in queue._messages)


def not_visible(queue):
    now = unix_time_millis()
    return sum(now <= m.visible_at for m in queue._messages)


def pending_groups(queue):
    """Iterates over a copy. moto iterates over a set that another thread can change, and then answers 500."""
    return {m.group_id for m in list(queue._pending_messages) if m.group_id is not None}


def is_kept(backend, name, message):
    return message.sent_timestamp / 1000 + backend.get_queue(name).message_retention_period > unix_time_millis() / 1000


def delete_message(queue, handle):
    """Deletes the message from the list. moto replaces the list by a filtered copy, and loses messages that are sent meanwhile."""
    with queue._messages_lock:
        if handle in queue.deleted_messages:
            return
        for n, m in enumerate(queue._messages):
            if m.had_receipt_handle(handle):
                queue.pending_messages.discard(m)
                queue.deleted_messages.update(m.all_receipt_handles)
                del queue._messages[n]
                return
    raise ReceiptHandleIsInvalid()


def whole_event(input_template, input_paths_map, event):
    """Returns the event for the targets of a bus. No target here transforms events. moto always transforms them, which needs
    another package, and changes texts that look like a template."""
    return {name: value for name, value in event.items() if name != "ingestion-time"}


put_each = EventsBackend.put_events


def put_events(backend, events):
    """Puts events like EventBridge: an event for an unknown bus is accepted, gets an id, and is lost; a Detail must be an
    object; and a call has a limit of size. moto refuses the unknown bus, accepts any Detail, and has no limit."""
    texts = [str(event.get(part, "")) for event in events for part in ("Source", "DetailType", "Detail")]
    if sum(len(text.encode()) for text in texts) > 256 * 1024:
        raise ValidationException("Total size of the entries in the request is over the limit.")
    if len(events) > 10:
        return put_each(backend, events)  # moto refuses more than ten events
    answers = []
    for event in events:
        if not str(event.get("Detail") or "{").lstrip().startswith("{"):
            event = {**event, "Detail": "no object"}  # moto refuses a text that is not JSON
        try:
            answers += put_each(backend, [event])
        except ResourceNotFoundException:
            answers.append({"EventId": str(uuid.uuid4())})
    return answers


def correct():
    """Corrects moto, or exits when moto's internals have changed."""
    corrections = {
        Queue: {
            "messages": property(messages), "approximate_number_of_messages_delayed": property(delayed),
            "approximate_number_of_messages_not_visible": property(not_visible), "pending_message_groups": property(pending_groups),
            "delete_message": delete_message,
        },
        SQSBackend: {"is_message_valid_based_on_retention_period": is_kept},
        EventTemplateParser: {"parse": whole_event},
        EventsBackend: {"put_events": put_events},
    }
    for kind, members in corrections.items():
        for name, corrected in members.items():
            if type(getattr(kind, name, None)) is not type(corrected):
                raise SystemExit("moto has changed: check whether %s still needs a correction" % name)
            setattr(kind, name, corrected)


def check_queue(port):
    """Sends and receives a message. This also loads moto's queues before the first request."""
    url = call_sqs(port, "CreateQueue", {"QueueName": "proof"})["QueueUrl"]
    call_sqs(port, "SendMessage", {"QueueUrl": url, "MessageBody": "proof"})
    message = call_sqs(port, "ReceiveMessage", {"QueueUrl": url})["Messages"][0]
    if message["Body"] != "proof":
        raise SystemExit("moto's queue answered %r" % message)
    call_sqs(port, "DeleteMessage", {"QueueUrl": url, "ReceiptHandle": message["ReceiptHandle"]})
    call_sqs(port, "DeleteQueue", {"QueueUrl": url})


def call_sqs(port, action, body):
    # Another region than the product uses, so that the product does not see the queue.
    credential = "AWS4-HMAC-SHA256 Credential=a/20200101/eu-north-1/sqs/aws4_request, SignedHeaders=host, Signature=a"
    headers = {"X-Amz-Target": "AmazonSQS." + action, "Content-Type": "application/x-amz-json-1.0", "Authorization": credential}
    request = urllib.request.Request("http://127.0.0.1:%d/" % port, json.dumps(body).encode(), headers)
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as answer:
        return json.loads(answer.read() or b"{}")


def main():
    correct()
    port = int(sys.argv[1])
    app = DomainDispatcherApplication(create_backend_app)
    server = make_server("127.0.0.1", port, app, threaded=True, request_handler=MotoRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    check_queue(port)
    print("READY", flush=True)
    while sys.stdin.buffer.read(1024):
        pass
    os._exit(0)


main()
