# The runtime of functions in Python. It gets events from the Runtime API, and calls the handler with one event at a time.
import importlib
import json
import os
import sys
import time
import traceback
import types
import urllib.request

base = "http://%s/2018-06-01/runtime/" % os.environ["AWS_LAMBDA_RUNTIME_API"]
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def post(path, body):
    opener.open(base + path, data=json.dumps(body).encode()).close()


def failure(error):
    traceback.print_exception(error)
    return {"errorType": type(error).__name__, "errorMessage": str(error), "stackTrace": traceback.format_tb(error.__traceback__)}


def load():
    sys.path.insert(0, os.environ["LAMBDA_TASK_ROOT"])
    module, _, name = os.environ["_HANDLER"].rpartition(".")
    return getattr(importlib.import_module(module.replace("/", ".")), name)


try:
    handler = load()
except Exception as error:
    post("init/error", failure(error))
    sys.exit(1)
while True:
    with opener.open(base + "invocation/next") as event:
        headers, payload = event.headers, json.load(event)
    request, deadline = headers["lambda-runtime-aws-request-id"], int(headers["lambda-runtime-deadline-ms"])
    os.environ["_X_AMZN_TRACE_ID"] = headers["lambda-runtime-trace-id"]
    context = types.SimpleNamespace(
        aws_request_id=request,
        function_name=os.environ["AWS_LAMBDA_FUNCTION_NAME"],
        function_version="$LATEST",
        invoked_function_arn=headers["lambda-runtime-invoked-function-arn"],
        memory_limit_in_mb=os.environ["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"],
        log_group_name=os.environ["AWS_LAMBDA_LOG_GROUP_NAME"],
        log_stream_name=os.environ["AWS_LAMBDA_LOG_STREAM_NAME"],
        get_remaining_time_in_millis=lambda deadline=deadline: deadline - int(time.time() * 1000),
    )
    try:
        post("invocation/%s/response" % request, handler(payload, context))
    except Exception as error:
        post("invocation/%s/error" % request, failure(error))
