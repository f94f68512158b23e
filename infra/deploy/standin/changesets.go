package standin

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// changeSet is a change set of a stack.
type changeSet struct {
	name, status, reason string
	number               int // unique in the stand-in
	template             string
	parts                template // template, decoded
	parameters           map[string]string
	tags                 []fields
}

func (c *changeSet) id(k *Stack) string {
	return fmt.Sprintf("arn:aws:cloudformation:us-east-1:%s:changeSet/%s/%s-%d", Account, c.name, k.Name, c.number)
}

// execution returns CloudFormation's ExecutionStatus.
func (c *changeSet) execution() string {
	if c.status == "FAILED" {
		return "UNAVAILABLE"
	}
	return "AVAILABLE"
}

// noChanges is CloudFormation's reason for an empty change set. The SAM CLI looks for this text.
const noChanges = "The submitted information didn't contain changes. Submit different information to create a change set."

func (s *Standin) createChangeSet(in url.Values) (string, error) {
	name := in.Get("StackName")
	k, known := s.stacks[name]
	isNew := !known || k.Status == "REVIEW_IN_PROGRESS"
	if isNew != (in.Get("ChangeSetType") == "CREATE") {
		return "", invalid("Stack [%s] cannot have a change set of type %s", name, in.Get("ChangeSetType"))
	}
	switch {
	case !known:
		k = &Stack{Name: name, Status: "REVIEW_IN_PROGRESS"}
	case isNew: // a stack that was never deployed may have several change sets
	case !strings.HasSuffix(k.Status, "_COMPLETE"), k.Status == "ROLLBACK_COMPLETE":
		return "", invalid("Stack:%s is in %s state and can not be updated.", k.id(), k.Status)
	}
	s.clock++
	c := &changeSet{name: in.Get("ChangeSetName"), number: s.clock, status: "CREATE_COMPLETE", template: in.Get("TemplateBody")}
	if slices.ContainsFunc(k.sets, func(other *changeSet) bool { return other.name == c.name }) {
		return "", &fault{"AlreadyExistsException", "ChangeSet " + c.name + " cannot be created due to a mismatch with existing attribute"}
	}
	if at := in.Get("TemplateURL"); at != "" {
		object, _ := objectAt("/" + strings.TrimPrefix(strings.TrimPrefix(at, s.URL+"/"), "https://"))
		c.template = string(s.objects[object])
	}
	if err := yaml.Unmarshal([]byte(c.template), &c.parts); err != nil {
		return "", invalid("Template format error: %v", err)
	}
	var err error
	if c.parameters, err = k.parametersOf(in, c.parts); err != nil {
		return "", err
	}
	c.tags = k.tags
	// Without Tags the stack keeps its tags. An empty list is sent as the name Tags only, and removes them.
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

// Backdoor is the logical id of a resource in the change sets of another program.
const Backdoor = "Backdoor"

// intrude makes a change set, as another program with rights on the stack may do. With Swapped it replaces a waiting change set of
// the same name.
func (s *Standin) intrude(name string) {
	k, known := s.stacks[name]
	if !known {
		k = &Stack{Name: name, Status: "REVIEW_IN_PROGRESS"}
		s.stacks[name] = k
	}
	s.clock++
	c := &changeSet{name: fmt.Sprint("other-", s.clock), number: s.clock, status: "CREATE_COMPLETE", parameters: k.Parameters, tags: k.tags}
	if n := len(k.sets); s.faults.Swapped && n > 0 {
		c.name, k.sets = k.sets[n-1].name, k.sets[:n-1]
	}
	c.template = strings.Replace(cmp.Or(k.Template, "Resources:\n"), "Resources:\n", "Resources:\n  "+Backdoor+":\n    Type: AWS::IAM::User\n", 1)
	_ = yaml.Unmarshal([]byte(c.template), &c.parts) // no error: the deployed template was read before
	k.sets = append(k.sets, c)
}

// members reads a list from a form. Of each member it reads the fields with these names.
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

// parametersOf returns the values of the template's parameters: the given value, the deployed value if the form has
// UsePreviousValue, or the default.
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
		if err := declared.Accepts(value); err != nil {
			return nil, invalid("Parameter %s failed to satisfy constraint: %v", name, err)
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

// changeSet finds a change set of the stack, by its name or its id.
func (k *Stack) changeSet(in url.Values) (*changeSet, error) {
	for _, c := range k.sets {
		if name := in.Get("ChangeSetName"); c.name == name || c.id(k) == name {
			return c, nil
		}
	}
	return nil, &fault{"ChangeSetNotFound", "ChangeSet does not exist"}
}

func (s *Standin) describeChangeSet(k *Stack, in url.Values) (string, error) {
	c, err := k.changeSet(in)
	if err != nil {
		return "", err
	}
	var changes []fields
	for _, change := range k.changes(c) {
		changes = append(changes, fields{{"Type", "Resource"}, {"ResourceChange", change.shown}})
	}
	return xml(fields{
		{"ChangeSetName", c.name}, {"ChangeSetId", c.id(k)}, {"StackId", k.id()}, {"StackName", k.Name}, {"Status", c.status},
		{"StatusReason", c.reason}, {"ExecutionStatus", c.execution()}, {"Changes", changes}, {"Tags", c.tags},
		{"Parameters", c.parts.listed(c.parameters)},
	}), nil
}

// recreates lists properties by resource type. CloudFormation makes a new resource when one of them changes. Only types that tests
// change are listed.
var recreates = map[string][]string{"AWS::DynamoDB::Table": {"KeySchema", "TableName"}}

// resourceChange is the change of one resource in a change set.
type resourceChange struct {
	logical string
	needs   string // the action that a stack policy must allow: Update:Modify, Update:Replace, Update:Delete; "": a new resource
	shown   fields
}

// changes compares the properties in the two templates, and returns the changes of a change set.
func (k *Stack) changes(c *changeSet) (all []resourceChange) {
	was, replaced := k.parts.Resources, map[string]bool{}
	for logical, r := range c.parts.Resources {
		for _, name := range recreates[r.Type] {
			old, known := was[logical]
			replaced[logical] = replaced[logical] || known && k.details(c, name, old.Properties[name], r.Properties[name], nil) != nil
		}
	}
	for _, logical := range slices.Sorted(maps.Keys(c.parts.Resources)) {
		r := c.parts.Resources[logical]
		old, known := was[logical]
		if !known { // AWS has answered Replacement True for some new resources
			all = append(all, resourceChange{logical, "", fields{{"Action", "Add"}, {"LogicalResourceId", logical}, {"ResourceType", r.Type}, {"Replacement", "True"}}})
			continue
		}
		replacement, needs := "False", "Update:Modify"
		if replaced[logical] {
			replacement, needs = "True", "Update:Replace"
		}
		var details []fields
		for _, name := range slices.Sorted(maps.Keys(r.Properties)) {
			details = append(details, k.details(c, name, old.Properties[name], r.Properties[name], replaced)...)
		}
		if details != nil {
			all = append(all, resourceChange{logical, needs, fields{
				{"Action", "Modify"}, {"LogicalResourceId", logical}, {"ResourceType", r.Type}, {"Replacement", replacement}, {"Details", details},
			}})
		}
	}
	for _, logical := range slices.Sorted(maps.Keys(was)) {
		if _, stays := c.parts.Resources[logical]; !stays {
			all = append(all, resourceChange{logical, "Update:Delete", fields{{"Action", "Remove"}, {"LogicalResourceId", logical}, {"ResourceType", was[logical].Type}}})
		}
	}
	return all
}

func (s *Standin) listChangeSets(k *Stack, _ url.Values) (string, error) {
	var all []fields
	for _, c := range k.sets {
		all = append(all, fields{{"ChangeSetId", c.id(k)}, {"ChangeSetName", c.name}, {"Status", c.status}, {"ExecutionStatus", c.execution()}})
	}
	return xml(fields{{"Summaries", all}}), nil
}

func (s *Standin) deleteChangeSet(k *Stack, in url.Values) (string, error) {
	c, err := k.changeSet(in)
	if err != nil {
		return "", err
	}
	k.sets = slices.DeleteFunc(k.sets, func(other *changeSet) bool { return other == c })
	return "", nil
}

// executeChangeSet deploys at once, or fails and rolls back.
func (s *Standin) executeChangeSet(k *Stack, in url.Values) (string, error) {
	c, err := k.changeSet(in)
	if err != nil {
		return "", err
	}
	if c.status == "FAILED" {
		return "", &fault{"InvalidChangeSetStatus", "ChangeSet cannot be executed in its current status of [FAILED]"}
	}
	k.token = in.Get("ClientRequestToken")
	k.sets = nil // CloudFormation deletes all change sets of the stack
	kind, undone := "UPDATE", "UPDATE_ROLLBACK_COMPLETE"
	if k.Status == "REVIEW_IN_PROGRESS" {
		kind, undone = "CREATE", "ROLLBACK_COMPLETE"
	}
	s.become(k, kind+"_IN_PROGRESS")
	failed, why := "Api", s.faults.Execution
	changes := k.changes(c)
	for _, change := range changes {
		if change.needs != "" && k.denies(change.needs, change.logical) {
			failed, why = change.logical, "Action denied by stack policy: denies ["+change.needs+"]"
		}
	}
	if rule, ok := c.parts.Resources["TapRule"]; ok && s.faults.BusLost && rule.Properties["EventBusName"] != nil && c.parameters["EventBusName"] != "" {
		failed, why = "TapRule", "Event bus owner does not exist."
	}
	if why != "" && k.Name != bucketStack {
		s.undo(k, c, kind, undone, failed, why)
		return "", nil
	}
	if kind == "UPDATE" {
		s.become(k, "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS")
		for _, change := range changes {
			if change.needs == "Update:Replace" || change.needs == "Update:Delete" {
				s.deleteResource(k, change.logical, k.parts.Resources[change.logical])
			}
		}
	}
	k.Template, k.parts, k.Parameters, k.tags = c.template, c.parts, c.parameters, c.tags
	if s.Deployed != nil && k.Name != bucketStack {
		go s.runDeployed(k, kind, undone)
		return "", nil
	}
	s.become(k, kind+"_COMPLETE")
	return "", nil
}

// deleteResource adds the event of a deleted resource. A resource with the policy Retain stays, and its event is DELETE_SKIPPED.
func (s *Standin) deleteResource(k *Stack, logical string, r resource) {
	status := "DELETE_COMPLETE"
	if strings.HasPrefix(r.DeletionPolicy, "Retain") {
		status = "DELETE_SKIPPED"
	}
	s.event(k, logical, r.Type, status, "")
}

// undo rolls back a deployment in which a resource failed. With Faults.Undoing the rollback fails too.
func (s *Standin) undo(k *Stack, c *changeSet, kind, undone, failed, why string) {
	typeOf := cmp.Or(c.parts.Resources[failed].Type, "AWS::ApiGateway::RestApi")
	s.event(k, failed, typeOf, kind+"_FAILED", why)
	s.become(k, strings.TrimSuffix(undone, "COMPLETE")+"IN_PROGRESS")
	if kind == "CREATE" { // there is no earlier template to go back to
		k.Template, k.parts, k.Parameters = c.template, c.parts, c.parameters
		for _, logical := range slices.Sorted(maps.Keys(k.parts.Resources)) {
			s.deleteResource(k, logical, k.parts.Resources[logical])
		}
	}
	if s.faults.Undoing != "" {
		s.event(k, failed, typeOf, map[string]string{"CREATE": "DELETE_FAILED", "UPDATE": "UPDATE_FAILED"}[kind], s.faults.Undoing)
		undone = strings.TrimSuffix(undone, "COMPLETE") + "FAILED"
	}
	s.become(k, undone)
}

// runDeployed runs a stack with the function Deployed, and ends the stack's deployment.
func (s *Standin) runDeployed(k *Stack, kind, undone string) {
	live, err := s.Deployed(k.Name, k.given())
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.event(k, "Api", "AWS::ApiGateway::RestApi", kind+"_FAILED", err.Error())
		s.become(k, undone)
		return
	}
	k.live, s.live = live, live
	s.become(k, kind+"_COMPLETE")
}

// given returns the parameters that have another value than the default.
func (k *Stack) given() map[string]string {
	out := map[string]string{}
	for name, value := range k.Parameters {
		if d := k.parts.Parameters[name].Default; d == nil || *d != value {
			out[name] = value
		}
	}
	return out
}

// Tags returns the stack's tags as name=value.
func (k *Stack) Tags() []string {
	var out []string
	for _, t := range k.tags {
		out = append(out, fmt.Sprintf("%v=%v", t[0].value, t[1].value))
	}
	return out
}

// Tag adds a tag to a stack, as a person may do without make deploy.
func (s *Standin) Tag(stack, name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.stacks[stack]
	k.tags = append(k.tags, fields{{"Key", name}, {"Value", value}})
}

// Waiting returns the number of change sets of the stack that can be executed.
func (k *Stack) Waiting() int {
	n := 0
	for _, c := range k.sets {
		if c.execution() == "AVAILABLE" {
			n++
		}
	}
	return n
}
