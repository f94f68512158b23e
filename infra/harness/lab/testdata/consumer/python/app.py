def handler(event, _):
    caller, path = event["requestContext"]["authorizer"]["principalId"], event["pathParameters"]
    return {"statusCode": 200, "body": " ".join(("python", caller, path["id"]))}
