"""Prints an environment in which boto3 calls the stand-in instead of AWS, and chooses S3's host as on AWS. AWS_ENDPOINT_URL is not
used for S3, because it would replace every host. Each address of S3 is the stand-in's URL, then S3's host.

Arguments: an empty folder, which gets a file, and the stand-in's URL.
"""

import gzip
import os
import sys

import botocore

folder, url = sys.argv[1:]
name = os.path.join("s3", "2006-03-01", "endpoint-rule-set-1.json")
with gzip.open(os.path.join(os.path.dirname(botocore.__file__), "data", name + ".gz"), "rt") as rules:
    text = rules.read()
target = os.path.join(folder, name)
os.makedirs(os.path.dirname(target))
with open(target, "w") as out:
    out.write(text.replace('"https://', '"' + url + "/"))
print("AWS_DATA_PATH=" + folder)
for service in (
    "STS CLOUDFORMATION IAM SNS SQS ACM EVENTBRIDGE DYNAMODB KMS LAMBDA API_GATEWAY APIGATEWAYV2 RESOURCE_GROUPS_TAGGING_API CLOUDWATCH"
).split():
    print("AWS_ENDPOINT_URL_" + service + "=" + url)
