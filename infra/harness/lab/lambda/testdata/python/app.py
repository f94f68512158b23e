import os


def handler(order, context):
    if order.get("Do") == "fail":
        raise TypeError(order["Text"])
    return {
        "text": order["Text"],
        "id": context.aws_request_id,
        "arn": context.invoked_function_arn,
        "left": context.get_remaining_time_in_millis(),
        "own": os.environ["OWN"],
        "home": "HOME" in os.environ,
        "trace": os.environ["_X_AMZN_TRACE_ID"],
    }
