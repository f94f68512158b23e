"""Writes the rules by which boto3 chooses S3's host into a folder for AWS_DATA_PATH. Each address begins with a URL, before the host.

Arguments: the folder and the URL.
"""

import gzip
import os
import sys

import botocore

name = os.path.join("s3", "2006-03-01", "endpoint-rule-set-1.json")
with gzip.open(os.path.join(os.path.dirname(botocore.__file__), "data", name + ".gz"), "rt") as rules:
    text = rules.read()
target = os.path.join(sys.argv[1], name)
os.makedirs(os.path.dirname(target), exist_ok=True)
with open(target, "w") as out:
    out.write(text.replace('"https://', '"' + sys.argv[2] + "/"))
