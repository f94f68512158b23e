// Package iam decides whether the roles of a template's functions allow a call, as AWS's access management would. The local stack
// uses it in a proxy before DynamoDB, KMS, SQS and EventBridge. The package evaluates the policies in the translated template, and
// reports the rights that no call has needed. At the start it refuses a policy that it cannot evaluate, so it never guesses. It is
// generic: it reads the roles of any template.
package iam

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"latchkey/infra/template/translated"
)

// statement is an Allow of a role's policy. It records the parts that calls have used.
type statement struct {
	role, sid  string
	actions    []string
	resources  []string
	conditions []condition
	used       map[string]bool // the actions, resources and condition values that a call matched
	needed     bool            // only this statement allowed some call
}

func (s *statement) String() string { return s.role + " " + s.sid }

// condition is one operator on one key of the request's context.
type condition struct {
	operator string
	key      string
	values   []string
}

// operators are the operators of the template's policies. Each reports whether the values that the request has for the
// key satisfy the condition, and returns the condition's values that matched.
var operators = map[string]func(c condition, have []string) (bool, []string){
	"StringEquals": func(c condition, have []string) (bool, []string) { return single(c, have, equal) },
	"StringEqualsIfExists": func(c condition, have []string) (bool, []string) {
		if len(have) == 0 {
			return true, c.values
		}
		return single(c, have, equal)
	},
	"ForAnyValue:StringEquals": func(c condition, have []string) (bool, []string) { return anyOf(c, have, equal) },
	"ForAllValues:StringEquals": func(c condition, have []string) (bool, []string) {
		return allOf(c, have, equal)
	},
	"ForAllValues:StringLike": func(c condition, have []string) (bool, []string) { return allOf(c, have, translated.Like) },
	"Null": func(c condition, have []string) (bool, []string) {
		absent := "false"
		if len(have) == 0 {
			absent = "true"
		}
		return slices.Contains(c.values, absent), c.values
	},
}

// keys are the condition keys whose values this package knows for a call.
var keys = []string{
	leadingKeys, enclosing, attributes,
	keySpec, keyUsage, messageType, algorithm, tagKeysOfAll,
}

// tagKeys are the beginnings of condition keys that end in the name of a tag.
var tagKeys = []string{requestTag, resourceTag}

func equal(pattern, text string) bool { return pattern == text }

// single evaluates an operator for keys with one value. It is false for an absent key.
func single(c condition, have []string, fits func(pattern, text string) bool) (bool, []string) {
	if len(have) != 1 {
		return false, nil
	}
	return anyOf(c, have, fits)
}

// anyOf is true when at least one value of the request fits one of the policy's values.
func anyOf(c condition, have []string, fits func(pattern, text string) bool) (bool, []string) {
	for _, h := range have {
		for _, v := range c.values {
			if fits(v, h) {
				return true, []string{v}
			}
		}
	}
	return false, nil
}

// allOf is true when each value of the request fits one of the policy's values, and for an absent key.
func allOf(c condition, have []string, fits func(pattern, text string) bool) (bool, []string) {
	var used []string
	for _, h := range have {
		i := slices.IndexFunc(c.values, func(v string) bool { return fits(v, h) })
		if i < 0 {
			return false, nil
		}
		used = append(used, c.values[i])
	}
	return true, used
}

// rolesOf returns the statements of each function's role, by the function's logical id, and of each managed policy, by the
// policy's logical id. A program outside Lambda has the policy's id as its access key id, and this policy as its role. Error: this
// package cannot evaluate a part of a policy.
func rolesOf(t *translated.Template, given []string) (map[string][]*statement, error) {
	roles := make(map[string][]*statement)
	var errs []error
	read := func(name, role string, policy map[string]any) {
		for _, v := range translated.List(translated.Object(policy["PolicyDocument"])["Statement"]) {
			s, err := parse(role, translated.Object(v), slices.Concat(keys, given))
			errs = append(errs, err)
			roles[name] = append(roles[name], s)
		}
	}
	for _, name := range t.Named("AWS::Lambda::Function") {
		role := path.Base(fmt.Sprint(t.Resources[name].Properties["Role"]))
		properties := t.Resources[role].Properties
		for _, unknown := range []string{"ManagedPolicyArns", "PermissionsBoundary"} {
			if properties[unknown] != nil {
				errs = append(errs, fmt.Errorf("role %s: the local stack does not evaluate %s", role, unknown))
			}
		}
		for _, policy := range translated.List(properties["Policies"]) {
			read(name, role, translated.Object(policy))
		}
	}
	for _, name := range t.Named("AWS::IAM::ManagedPolicy") {
		read(name, name, t.Resources[name].Properties)
	}
	return roles, errors.Join(errs...)
}

// parse reads a statement whose conditions are on the known keys, or on tags.
func parse(role string, o map[string]any, known []string) (*statement, error) {
	s := &statement{
		role: role, sid: fmt.Sprint(o["Sid"]), actions: translated.Words(o["Action"]), resources: translated.Words(o["Resource"]), used: make(map[string]bool),
	}
	for name := range o {
		if !slices.Contains([]string{"Sid", "Effect", "Action", "Resource", "Condition"}, name) {
			return s, fmt.Errorf("%s: the local stack does not evaluate %s", s, name)
		}
	}
	if o["Effect"] != "Allow" {
		return s, fmt.Errorf("%s: the local stack does not evaluate Effect %v", s, o["Effect"])
	}
	for operator, tests := range translated.Object(o["Condition"]) {
		if operators[operator] == nil {
			return s, fmt.Errorf("%s: the local stack does not know the operator %s", s, operator)
		}
		for key, values := range translated.Object(tests) {
			isTag := slices.ContainsFunc(tagKeys, func(p string) bool { return strings.HasPrefix(key, p) })
			if !isTag && !slices.Contains(known, key) {
				return s, fmt.Errorf("%s: the local stack does not know the condition key %s", s, key)
			}
			if key == attributes && !slices.Equal(s.actions, []string{"dynamodb:UpdateItem"}) {
				return s, fmt.Errorf("%s: the local stack knows the attributes of updates only", s)
			}
			s.conditions = append(s.conditions, condition{operator, key, translated.Words(values)})
		}
	}
	return s, nil
}

// Platform returns an error for each right that Lambda itself needs and that a role lacks: to write a
// function's log, to read the stream or queue that feeds it, and to report records that were given
// up. Without these rights AWS refuses the event source mapping, or the log stays empty.
func (a *Authority) Platform(t *translated.Template) error {
	var errs []error
	for _, function := range t.Named("AWS::Lambda::Function") {
		group := "/aws/lambda/" + function
		if named, ok := translated.Object(t.Resources[function].Properties["LoggingConfig"])["LogGroup"].(string); ok {
			group = named
		}
		stream := translated.ARN("logs", "log-group:"+group+":log-stream:local")
		errs = append(errs, a.Decide(function, needsOn(stream, "logs:CreateLogStream", "logs:PutLogEvents")...))
	}
	sources, err := t.EventSources()
	errs = append(errs, err)
	for _, s := range sources {
		needs := needsOn(s.ARN, "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
		if s.Table != "" {
			needs = needsOn(s.ARN, "dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams")
		}
		if s.OnFailure != "" {
			needs = append(needs, needsOn(translated.ARN("sqs", path.Base(s.OnFailure)), "sqs:SendMessage")...)
		}
		errs = append(errs, a.Decide(s.Function, needs...))
	}
	return errors.Join(errs...)
}

// needsOn returns the needs of several actions on one resource.
func needsOn(resource string, actions ...string) []Need {
	needs := make([]Need, len(actions))
	for i, action := range actions {
		needs[i] = Need{Action: action, Resource: resource}
	}
	return needs
}
