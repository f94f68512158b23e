package standin

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

type changeSet struct {
	name, status, reason string
	template             string
	parts                template // of template
	parameters           map[string]string
	tags                 []fields
}

func (c *changeSet) id(k *Stack) string {
	return fmt.Sprintf("arn:aws:cloudformation:us-east-1:%s:changeSet/%s/%s", Account, c.name, k.Name)
}

func (c *changeSet) execution() string {
	if c.status == "FAILED" {
		return "UNAVAILABLE"
	}
	return "AVAILABLE"
}

const noChanges = "The submitted information didn't contain changes. Submit different information to create a change set."

func (s *Standin) createChangeSet(in url.Values) (string, error) {
	name := in.Get("StackName")
	k, known := s.stacks[name]
	isNew := !known || k.Status == "REVIEW_IN_PROGRESS"
	if isNew != (in.Get("ChangeSetType") == "CREATE") {
		return "", invalid("Stack [%s] takes no change set of type %s", name, in.Get("ChangeSetType"))
	}
	switch {
	case !known:
		k = &Stack{Name: name, Status: "REVIEW_IN_PROGRESS"}
	case isNew: // a stack that was never deployed may have several change sets
	case !strings.HasSuffix(k.Status, "_COMPLETE"), k.Status == "ROLLBACK_COMPLETE":
		return "", invalid("Stack:%s is in %s state and can not be updated.", k.id(), k.Status)
	}
	c := &changeSet{name: in.Get("ChangeSetName"), status: "CREATE_COMPLETE", template: in.Get("TemplateBody")}
	if at := in.Get("TemplateURL"); at != "" {
		c.template = string(s.objects[strings.TrimPrefix(at, s.URL+"/")])
	}
	if err := yaml.Unmarshal([]byte(c.template), &c.parts); err != nil {
		return "", invalid("Template format error: %v", err)
	}
	var err error
	if c.parameters, err = k.parametersOf(in, c.parts); err != nil {
		return "", err
	}
	c.tags = k.tags
	// Without a list the stack keeps its tags; an empty list, which is only the name Tags, removes them.
	if in.Has("Tags") || in.Has("Tags.member.1.Key") {
		c.tags = members(in, "Tags", "Key", "Value")
	}
	sameTags := xml(fields{{"Tags", c.tags}}) == xml(fields{{"Tags", k.tags}})
	switch {
	case s.faults.ChangeSet != "" && name != bucketStack:
		c.status, c.reason = "FAILED", s.faults.ChangeSet
	case !isNew && c.template == k.Template && maps.Equal(c.parameters, k.Parameters) && sameTags:
		c.status, c.reason = "FAILED", noChanges
	}
	if isNew {
		s.event(k, k.Name, "AWS::CloudFormation::Stack", "REVIEW_IN_PROGRESS", "")
	}
	k.sets = append(k.sets, c)
	s.stacks[name] = k
	return xml(fields{{"Id", c.id(k)}, {"StackId", k.id()}}), nil
}

// members reads a list from a form: of each member, the fields of these names.
func members(in url.Values, list string, names ...string) []fields {
	var out []fields
	for i := 1; in.Has(fmt.Sprintf("%s.member.%d.%s", list, i, names[0])); i++ {
		var one fields
		for _, n := range names {
			one = append(one, field{n, in.Get(fmt.Sprintf("%s.member.%d.%s", list, i, n))})
		}
		out = append(out, one)
	}
	return out
}

// parametersOf returns the values that the template's parameters would get: the given value, the
// stack's, or the default.
func (k *Stack) parametersOf(in url.Values, t template) (map[string]string, error) {
	out := map[string]string{}
	for name, p := range t.Parameters {
		if p.Default != nil {
			out[name] = *p.Default
		}
	}
	for _, m := range members(in, "Parameters", "ParameterKey", "ParameterValue", "UsePreviousValue") {
		name, value := fmt.Sprint(m[0].value), fmt.Sprint(m[1].value)
		declared, ok := t.Parameters[name]
		if !ok {
			return nil, invalid("Parameters: [%s] do not exist in the template", name)
		}
		if m[2].value == "true" {
			if value, ok = k.Parameters[name]; !ok {
				return nil, invalid("Invalid input for parameter key %s. Cannot specify usePreviousValue as true for a parameter key not in the previous template", name)
			}
		}
		if declared.AllowedValues != nil && !slices.Contains(declared.AllowedValues, value) {
			return nil, invalid("Parameter '%s' must be one of AllowedValues", name)
		}
		out[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(t.Parameters)) {
		if _, ok := out[name]; !ok {
			return nil, invalid("Parameters: [%s] must have values", name)
		}
	}
	return out, nil
}

// set finds a change set of the stack, by its name or its id.
func (k *Stack) set(in url.Values) (*changeSet, error) {
	for _, c := range k.sets {
		if name := in.Get("ChangeSetName"); c.name == name || c.id(k) == name {
			return c, nil
		}
	}
	return nil, &fault{"ChangeSetNotFound", "ChangeSet does not exist"}
}

func (s *Standin) describeChangeSet(k *Stack, in url.Values) (string, error) {
	c, err := k.set(in)
	if err != nil {
		return "", err
	}
	var changes []fields
	for _, logical := range slices.Sorted(maps.Keys(c.parts.Resources)) {
		changes = append(changes, fields{{"Type", "Resource"}, {"ResourceChange", fields{
			{"Action", "Add"}, {"LogicalResourceId", logical}, {"ResourceType", c.parts.Resources[logical].Type},
		}}})
	}
	return xml(fields{
		{"ChangeSetName", c.name}, {"ChangeSetId", c.id(k)}, {"StackId", k.id()}, {"StackName", k.Name}, {"Status", c.status},
		{"StatusReason", c.reason}, {"ExecutionStatus", c.execution()}, {"Changes", changes},
	}), nil
}

func (s *Standin) listChangeSets(k *Stack, _ url.Values) (string, error) {
	var all []fields
	for _, c := range k.sets {
		all = append(all, fields{{"ChangeSetId", c.id(k)}, {"ChangeSetName", c.name}, {"Status", c.status}, {"ExecutionStatus", c.execution()}})
	}
	return xml(fields{{"Summaries", all}}), nil
}

func (s *Standin) deleteChangeSet(k *Stack, in url.Values) (string, error) {
	c, err := k.set(in)
	if err != nil {
		return "", err
	}
	k.sets = slices.DeleteFunc(k.sets, func(other *changeSet) bool { return other == c })
	return "", nil
}

// executeChangeSet deploys at once, or fails and rolls back.
func (s *Standin) executeChangeSet(k *Stack, in url.Values) (string, error) {
	c, err := k.set(in)
	if err != nil {
		return "", err
	}
	if c.status == "FAILED" {
		return "", &fault{"InvalidChangeSetStatus", "ChangeSet cannot be executed in its current status of [FAILED]"}
	}
	k.sets = nil // CloudFormation deletes all change sets of the stack
	kind, undone := "UPDATE", "UPDATE_ROLLBACK_COMPLETE"
	if k.Status == "REVIEW_IN_PROGRESS" {
		kind, undone = "CREATE", "ROLLBACK_COMPLETE"
	}
	if s.faults.Execution != "" && k.Name != bucketStack {
		s.event(k, "Api", "AWS::ApiGateway::RestApi", kind+"_FAILED", s.faults.Execution)
		if kind == "CREATE" { // there is no earlier template to go back to
			k.Template, k.parts, k.Parameters = c.template, c.parts, c.parameters
		}
		s.become(k, undone)
		return "", nil
	}
	k.Template, k.parts, k.Parameters, k.tags = c.template, c.parts, c.parameters, c.tags
	s.become(k, kind+"_COMPLETE")
	return "", nil
}

// Tags returns the stack's tags as name=value.
func (k *Stack) Tags() []string {
	var out []string
	for _, t := range k.tags {
		out = append(out, fmt.Sprintf("%v=%v", t[0].value, t[1].value))
	}
	return out
}

// Tag puts a tag on a stack, as people may without make deploy.
func (s *Standin) Tag(stack, name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.stacks[stack]
	k.tags = append(k.tags, fields{{"Key", name}, {"Value", value}})
}

// Waiting returns how many change sets of the stack could be executed.
func (k *Stack) Waiting() int {
	n := 0
	for _, c := range k.sets {
		if c.execution() == "AVAILABLE" {
			n++
		}
	}
	return n
}
