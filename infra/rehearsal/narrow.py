"""Evaluates parameters and conditions, which moto's updates do not evaluate everywhere."""

import re


class Narrowed:
    """A template with its parameters and conditions replaced by their values."""

    def __init__(self, template, given):
        self.conditions = template.get("Conditions", {})
        self.parameters = {}
        for name, declared in template["Parameters"].items():
            value = given.get(name, declared.get("Default"))
            if value is None:
                raise ValueError("parameter " + name + " has no value")
            self.parameters[name] = int(value) if declared["Type"] == "Number" else value
        self.template = {"Resources": self.section(template["Resources"]), "Outputs": self.section(template["Outputs"])}
        for resource in self.template["Resources"].values():
            # moto only knows Retain, which is the same here: no first creation fails.
            if resource.get("DeletionPolicy") == "RetainExceptOnCreate":
                resource["DeletionPolicy"] = "Retain"

    def section(self, members):
        kept = {name: m for name, m in members.items() if "Condition" not in m or self.holds({"Condition": m["Condition"]})}
        return {name: self.value({k: v for k, v in m.items() if k != "Condition"}) for name, m in kept.items()}

    def value(self, v):
        if isinstance(v, list):
            return [self.value(e) for e in v]
        if not isinstance(v, dict):
            return v
        if v.get("Ref") in self.parameters:
            return self.parameters[v["Ref"]]
        if "Fn::If" in v:
            condition, yes, no = v["Fn::If"]
            return self.value(yes if self.holds({"Condition": condition}) else no)
        if isinstance(v.get("Fn::Sub"), str):
            return {"Fn::Sub": re.sub(r"\$\{(\w+)\}", lambda m: str(self.parameters.get(m[1], m[0])), v["Fn::Sub"])}
        return {k: self.value(e) for k, e in v.items()}

    def holds(self, expression):
        ((name, argument),) = expression.items()
        if name == "Condition":
            return self.holds(self.conditions[argument])
        if name == "Fn::Equals":
            left, right = (str(self.value(e)) for e in argument)
            return left == right
        each = (self.holds(e) for e in argument)
        return {"Fn::Not": lambda: not next(each), "Fn::And": lambda: all(each), "Fn::Or": lambda: any(each)}[name]()
