"""Corrects moto's CloudFormation where it cannot take the template, and lists what moto leaves out.

The lists are printed, and a test compares them with the written ones.
"""

from collections import defaultdict

from moto.apigateway.models import RestAPI, apigateway_backends
from moto.cloudformation import parsing
from moto.iam.models import ManagedPolicy, iam_backends
from moto.kms.models import Key, kms_backends

# Types of resource that moto does not know, properties that it does not read, and types that it cannot update or delete.
unknown, declared, read, unchanged, kept = set(), defaultdict(set), defaultdict(set), set(), set()


class Unknown:
    """A resource of a type that moto does not know. It only has a name."""

    def __init__(self, name):
        self.physical_resource_id = name

    @classmethod
    def create_from_cloudformation_json(cls, name, *_, **__):
        return cls(name)

    @classmethod
    def update_from_cloudformation_json(cls, original_resource, **_):
        return original_resource

    def delete(self, *_):
        pass

    @classmethod
    def has_cfn_attr(cls, _):
        return True

    def get_cfn_attribute(self, attribute):
        return self.physical_resource_id + "." + attribute

    def is_created(self):
        return True


class Noting(dict):
    """Properties that record which of them are read."""

    def __init__(self, kind, properties):
        super().__init__(properties)
        self.kind = kind
        declared[kind].update(properties)

    def get(self, name, *default):
        read[self.kind].add(name)
        return super().get(name, *default)

    def __getitem__(self, name):
        read[self.kind].add(name)
        return super().__getitem__(name)

    def __contains__(self, name):
        read[self.kind].add(name)
        return super().__contains__(name)

    def __iter__(self):
        read[self.kind].update(super().keys())
        return super().__iter__()

    def keys(self):
        return list(self)

    def items(self):
        return [(name, self[name]) for name in self]

    def copy(self):
        return dict(self.items())

    def __deepcopy__(self, _):
        return self.copy()


def class_of(kind, known=parsing.resource_class_from_type):
    if kind not in parsing.get_model_map():
        unknown.add(kind)
        return Unknown
    return known(kind)


def parse(resource, resources, original=parsing.parse_resource):
    model, parsed, kind = original(resource, resources)
    parsed["Properties"] = Noting(kind, parsed["Properties"])
    return model, parsed, kind


def update(name, resource, resources, original=parsing.parse_and_update_resource, **where):
    """Keeps a resource that moto cannot update. moto would forget it."""
    before = resources[name]
    after = original(name, resource, resources, **where)
    if after is None:
        unchanged.add(resource["Type"])
        after = before
    return after


def update_stack(resources, template, parameters=None, original=parsing.ResourceMap.update):
    """Forgets resources that an update has removed. moto would keep them, and not create them again."""
    original(resources, template, parameters)
    for name, resource in list(resources._parsed_resources.items()):
        if hasattr(resource, "logical_resource_id") and name not in template["Resources"]:
            del resources._parsed_resources[name]


def delete(name, resource, account, region, original=parsing.parse_and_delete_resource):
    model = parsing.resource_class_from_type(resource["Type"])
    if hasattr(model.delete_from_cloudformation_json, "__isabstractmethod__"):
        kept.add(resource["Type"])
    original(name, resource, account, region)


def create_api(_, name, resource, account, region, original=RestAPI.create_from_cloudformation_json, **more):
    """Creates an API with its routes. moto leaves them out, so they are imported, as version 3, which is all that it imports."""
    api = original(name, resource, account, region, **more)
    body = {k: v for k, v in resource["Properties"]["Body"].items() if k != "swagger"} | {"openapi": "3.0.1"}
    apigateway_backends[account][region].put_rest_api(api.id, body, fail_on_warnings=False)
    return api


def delete_api(_, name, __, account, region):
    apigateway_backends[account][region].delete_rest_api(name)


def create_key(_, __, resource, account, region, **___):
    """Creates the key of the template. moto needs a policy, makes a symmetric key and does not read CloudFormation's tags."""
    p = resource["Properties"]
    tags = [{"TagKey": t["Key"], "TagValue": t["Value"]} for t in p["Tags"]]
    return kms_backends[account][region].create_key(None, key_usage=p["KeyUsage"], key_spec=p["KeySpec"], description=p["Description"], tags=tags)


def delete_policy(_, name, __, account, ___):
    iam_backends[account]["aws"].delete_policy(name)


def forget():
    for notes in (unknown, declared, read, unchanged, kept):
        notes.clear()


def correct():
    parsing.resource_class_from_type = class_of
    parsing.parse_resource = parse
    parsing.parse_and_update_resource = update
    parsing.parse_and_delete_resource = delete
    parsing.ResourceMap.update = update_stack
    RestAPI.create_from_cloudformation_json = classmethod(create_api)
    RestAPI.delete_from_cloudformation_json = classmethod(delete_api)
    ManagedPolicy.delete_from_cloudformation_json = classmethod(delete_policy)
    Key.create_from_cloudformation_json = classmethod(create_key)
