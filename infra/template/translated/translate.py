"""Prints a SAM template as JSON, in the form that CloudFormation would get.

Input: the template. Argument: the parameter overrides as a JSON object. Output: {"template": the translated document, "code": {function: its CodeUri}}.
Needs no network and no credentials.
"""

import json
import os
import sys

os.environ["AWS_DEFAULT_REGION"] = "us-east-1"

import yaml
from samtranslator.model.exceptions import InvalidDocumentException
from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the fast loader, which yaml_parse then uses


class NoManagedPolicies:
    """Replaces the list of AWS's managed policies, which would need a network: the template names no managed policy."""

    def load(self):
        return {}


def main():
    document = yaml_parse(sys.stdin.buffer.read().decode("utf-8"))
    shared = document.get("Globals", {}).get("Function", {}).get("CodeUri")
    code = {}
    for name, resource in document["Resources"].items():
        if resource["Type"] != "AWS::Serverless::Function":
            continue
        properties = resource["Properties"]
        code[name] = properties.get("CodeUri", shared)
        # The translator only accepts code that is uploaded already.
        properties["CodeUri"] = "s3://local/" + name
    try:
        template = transform(document, json.loads(sys.argv[1]), NoManagedPolicies())
    except InvalidDocumentException as error:
        raise SystemExit("\n".join([error.message] + [cause.message for cause in error.causes])) from None
    json.dump({"template": template, "code": code}, sys.stdout, default=str)


main()
