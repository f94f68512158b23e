"""An account of AWS in this process, by moto. Its CloudFormation gets the translated template.

Input, a line each: {"do": "apply", "stack", "template", "parameters"}, {"do": "delete", "stack"}, {"do": "account"},
{"do": "policies", "policies": {name: document}} or {"do": "forget"}, which begins another account. Output, a line each:
{"result"} or {"error"}.
"""

import io
import json
import logging
import os
import sys
import traceback
import warnings
import zipfile

os.environ.update(AWS_DEFAULT_REGION="us-east-1", AWS_ACCESS_KEY_ID="local", AWS_SECRET_ACCESS_KEY="local", MOTO_ACCOUNT_ID="000000000000")
warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

import boto3
import corrections
from moto import mock_aws
from narrow import Narrowed

BUCKET = "local"  # of the functions' programs


def upload(template):
    """Puts the programs where the functions expect them, once an account."""
    program = io.BytesIO()
    with zipfile.ZipFile(program, "w") as archive:
        archive.writestr("bootstrap", "a program")
    s3 = boto3.client("s3")
    if s3.list_buckets()["Buckets"]:
        return
    s3.create_bucket(Bucket=BUCKET)
    for name, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Lambda::Function":
            s3.put_object(Bucket=BUCKET, Key=name, Body=program.getvalue())


def stacks():
    return {s["StackName"] for s in boto3.client("cloudformation").describe_stacks()["Stacks"]}


def apply(stack, template, parameters):
    upload(template)
    cloudformation = boto3.client("cloudformation")
    what = {"StackName": stack, "TemplateBody": json.dumps(Narrowed(template, parameters).template), "Capabilities": ["CAPABILITY_IAM"]}
    (cloudformation.update_stack if stack in stacks() else cloudformation.create_stack)(**what)
    now = cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
    all = cloudformation.describe_stack_resources(StackName=stack)["StackResources"]
    unread = {kind: sorted(corrections.declared[kind] - corrections.read[kind]) for kind in corrections.declared if kind not in corrections.unknown}
    return {
        "status": now["StackStatus"],
        "outputs": {o["OutputKey"]: str(o["OutputValue"]) for o in now.get("Outputs", [])},
        "resources": {r["LogicalResourceId"]: {"type": r["ResourceType"], "id": r.get("PhysicalResourceId", "")} for r in all if "LogicalResourceId" in r},
        "unknown": sorted(corrections.unknown),
        "unread": {kind: names for kind, names in unread.items() if names},
        "unchanged": sorted(corrections.unchanged),
    }


def delete(stack):
    boto3.client("cloudformation").delete_stack(StackName=stack)
    return {"kept": sorted(corrections.kept)}


def account():
    """Returns the content of everything in the account as text, by kind and name."""
    found = {}

    def note(kind, name, *content):
        found[kind + " " + name] = json.dumps(content, default=str)

    functions, iam, events, sqs, kms = (boto3.client(s) for s in ("lambda", "iam", "events", "sqs", "kms"))
    for f in functions.list_functions()["Functions"]:
        note("function", f["FunctionName"], f.get("Environment"), f["Role"])
    for m in functions.list_event_source_mappings()["EventSourceMappings"]:
        note("mapping", m["UUID"], m)
    for r in iam.list_roles(MaxItems=1000)["Roles"]:
        names = iam.list_role_policies(RoleName=r["RoleName"])["PolicyNames"]
        note("role", r["RoleName"], [iam.get_role_policy(RoleName=r["RoleName"], PolicyName=n)["PolicyDocument"] for n in names])
    for p in iam.list_policies(Scope="Local")["Policies"]:
        note("policy", p["Arn"], iam.get_policy_version(PolicyArn=p["Arn"], VersionId=p["DefaultVersionId"])["PolicyVersion"]["Document"])
    for p in boto3.client("ssm").describe_parameters()["Parameters"]:
        note("parameter", p["Name"], boto3.client("ssm").get_parameter(Name=p["Name"])["Parameter"]["Value"])
    for r in events.list_rules()["Rules"]:
        note("rule", r["Name"], events.list_targets_by_rule(Rule=r["Name"])["Targets"])
    for url in sqs.list_queues().get("QueueUrls", []):
        note("queue", url, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"])
    for k in kms.list_keys()["Keys"]:
        about = kms.describe_key(KeyId=k["KeyId"])["KeyMetadata"]
        note("key", k["KeyId"], about["Description"], about["KeySpec"], about["KeyUsage"], kms.list_resource_tags(KeyId=k["KeyId"])["Tags"])
    for name in boto3.client("dynamodb").list_tables()["TableNames"]:
        note("table", name)
    for a in boto3.client("apigateway").get_rest_apis()["items"]:
        note("api", a["id"], a["name"], boto3.client("apigateway").get_resources(restApiId=a["id"], limit=500)["items"])
    for g in boto3.client("logs").describe_log_groups(limit=50)["logGroups"]:
        note("log group", g["logGroupName"])
    for d in boto3.client("cloudwatch").list_dashboards()["DashboardEntries"]:
        note("dashboard", d["DashboardName"], boto3.client("cloudwatch").get_dashboard(DashboardName=d["DashboardName"])["DashboardBody"])
    return found


DO = {"apply": apply, "delete": delete, "account": account}


def serve():
    """Returns whether to begin another account."""
    for line in sys.stdin:
        call = json.loads(line)
        what = call.pop("do")
        try:
            answer = {"result": DO[what](**call) if what in DO else None}
        except Exception:
            answer = {"error": traceback.format_exc()}
        print(json.dumps(answer), flush=True)
        if what == "forget":
            corrections.forget()
            return True
    return False


def main():
    corrections.correct()
    more = True
    while more:
        with mock_aws(config={"lambda": {"use_docker": False}}):
            more = serve()


main()
