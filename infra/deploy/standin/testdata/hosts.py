"""Prints an environment in which boto3 reaches the stand-in as AWS, and chooses between S3's hosts as on AWS: AWS_ENDPOINT_URL would
replace them all. Each address of S3 begins with the stand-in's URL, before the host.

Arguments: an empty folder, which gets a file, and the URL.
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
