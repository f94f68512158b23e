package standin

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"latchkey/infra/tools/parameters"
)

// bucketStack is the stack of the SAM CLI with the bucket for uploads.
const bucketStack = "aws-sam-cli-managed-default"

// Stack is a stack of CloudFormation.
type Stack struct {
	Name, Status string
	Template     string
	Parameters   map[string]string
	Policy       string // the stack policy
	Protected    bool   // termination protection is on

	parts  template // Template, decoded
	live   *Live    // the running stack (see Lead and Deployed); nil: the stack does not run
	token  string   // ClientRequestToken of the last operation
	tags   []fields
	sets   []*changeSet // the change sets that were neither executed nor deleted, oldest first
	events []fields     // newest first
}

// template has the parts of a template that the stand-in reads.
type template struct {
	Parameters map[string]parameters.Parameter `yaml:"Parameters"`
	Resources  map[string]resource             `yaml:"Resources"`
}

type resource struct {
	Type           string         `yaml:"Type"`
	DeletionPolicy string         `yaml:"DeletionPolicy"`
	Properties     map[string]any `yaml:"Properties"`
}

func (k *Stack) id() string {
	return fmt.Sprintf("arn:aws:cloudformation:%s:%s:stack/%s/1", region, Account, k.Name)
}

// physical returns the physical id of a resource.
func (k *Stack) physical(logical string) string { return k.Name + "-" + logical + "-1" }

// Function returns the ARN of one of the stack's functions, by its logical id without the ending Function.
func (k *Stack) Function(logical string) string {
	return "arn:aws:lambda:" + region + ":" + Account + ":function:" + k.physical(logical+"Function")
}

// now returns a time for an event. Each time is later than the one before.
func (s *Standin) now() string {
	s.clock++
	return time.Now().Add(time.Duration(s.clock) * time.Millisecond).UTC().Format("2006-01-02T15:04:05.000Z")
}

// event adds an event to the front of the list: the latest comes first.
func (s *Standin) event(k *Stack, logical, resource, status, reason string) {
	physical := k.physical(logical)
	if resource == "AWS::CloudFormation::Stack" {
		physical = k.id()
	}
	k.events = slices.Insert(k.events, 0, fields{
		{"StackId", k.id()}, {"EventId", fmt.Sprint(s.clock)}, {"StackName", k.Name}, {"LogicalResourceId", logical}, {"PhysicalResourceId", physical},
		{"ResourceType", resource}, {"Timestamp", s.now()}, {"ResourceStatus", status}, {"ResourceStatusReason", reason},
		{"ClientRequestToken", k.token},
	})
}

// become sets the stack's status and adds the event.
func (s *Standin) become(k *Stack, status string) {
	k.Status = status
	s.event(k, k.Name, "AWS::CloudFormation::Stack", status, "")
}

// describeStacks describes the named stack, or all stacks.
func (s *Standin) describeStacks(in url.Values) (string, error) {
	one := func(k *Stack, _ url.Values) (string, error) {
		return xml(fields{{"Stacks", []fields{s.described(k)}}}), nil
	}
	if in.Has("StackName") {
		return s.onStack(one)(in)
	}
	var all []fields
	for _, name := range slices.Sorted(maps.Keys(s.stacks)) {
		all = append(all, s.described(s.stacks[name]))
	}
	return xml(fields{{"Stacks", all}}), nil
}

// listed returns parameter values as CloudFormation lists them: with **** for a secret.
func (t template) listed(parameters map[string]string) (all []fields) {
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		value := parameters[name]
		if t.Parameters[name].NoEcho {
			value = "****"
		}
		all = append(all, fields{{"ParameterKey", name}, {"ParameterValue", value}})
	}
	return all
}

func (s *Standin) described(k *Stack) fields {
	var outputs []fields
	for _, o := range s.outputs(k) {
		outputs = append(outputs, fields{{"OutputKey", o[0]}, {"OutputValue", o[1]}})
	}
	return fields{
		{"StackId", k.id()}, {"StackName", k.Name}, {"StackStatus", k.Status}, {"CreationTime", "2026-01-01T00:00:00Z"},
		{"EnableTerminationProtection", k.Protected}, {"Parameters", k.parts.listed(k.Parameters)}, {"Outputs", outputs}, {"Tags", k.tags},
	}
}

func (s *Standin) outputs(k *Stack) [][2]string {
	switch {
	case k.live != nil:
		var out [][2]string
		for name, value := range k.live.Outputs() {
			out = append(out, [2]string{name, value})
		}
		return out
	case !strings.HasSuffix(k.Status, "_COMPLETE") || k.Status == "ROLLBACK_COMPLETE": // ROLLBACK_COMPLETE: the first deployment failed and was undone
		return nil
	case k.parts.Resources["Bus"].Type != "": // the second stack of a trial, with its bus and its queue
		return [][2]string{{"Bus", k.Name}, {"Queue", s.URL + "/queue"}, {"Topic", "arn:aws:sns:" + region + ":" + Account + ":" + k.Name}, {"Echo", s.Echo}}
	case k.Name == bucketStack:
		return [][2]string{{"SourceBucket", k.physical("bucket")}}
	}
	return [][2]string{
		{"ApiUrl", s.URL + "/api/" + k.Name}, {"TableName", k.physical("Table")}, {"RotateFunctionName", k.physical("RotateFunction")},
		{"SigningKeyArn", "arn:aws:kms:" + region + ":" + Account + ":key/" + k.physical("SigningKey")},
		{"KeyAuthorizerArn", k.Function("KeyAuthorizer")}, {"MemberAuthorizerArn", k.Function("MemberAuthorizer")},
		{"GuardPolicyArn", "arn:aws:iam::" + Account + ":policy/" + k.physical("GuardPolicy")},
	}
}

func (s *Standin) describeEvents(k *Stack, _ url.Values) (string, error) {
	return xml(fields{{"StackEvents", k.events}}), nil
}

// listResources answers with a page of one resource, so that a command that does not follow NextToken misses all others.
// On AWS a page has a hundred resources, and a stack of Latchkey has more than that.
func (s *Standin) listResources(k *Stack, in url.Values) (string, error) {
	names := slices.Sorted(maps.Keys(k.parts.Resources))
	if names == nil { // the stack was made by Put, without a template
		names = []string{"Table"}
	}
	at := max(slices.Index(names, in.Get("NextToken")), 0)
	var shown []fields
	for _, name := range names[at:min(at+1, len(names))] {
		shown = append(shown, fields{{"LogicalResourceId", name}, {"PhysicalResourceId", k.physical(name)}})
	}
	page := fields{{"StackResourceSummaries", shown}}
	if at+1 < len(names) {
		page = append(page, field{"NextToken", names[at+1]})
	}
	return xml(page), nil
}

func (s *Standin) getTemplate(k *Stack, _ url.Values) (string, error) {
	return xml(fields{{"TemplateBody", k.Template}}), nil
}

// getTemplateSummary lists the parameters of the deployed template. The SAM CLI can keep the values of only these parameters.
func (s *Standin) getTemplateSummary(k *Stack, _ url.Values) (string, error) {
	var all []fields
	for _, name := range slices.Sorted(maps.Keys(k.Parameters)) {
		all = append(all, fields{{"ParameterKey", name}})
	}
	return xml(fields{{"Parameters", all}}), nil
}

// createStack makes a stack without a change set.
func (s *Standin) createStack(in url.Values) (string, error) {
	k := &Stack{Name: in.Get("StackName"), Template: in.Get("TemplateBody"), tags: members(in, "Tags", "Key", "Value")}
	if err := yaml.Unmarshal([]byte(k.Template), &k.parts); err != nil {
		return "", invalid("Template format error: %v", err)
	}
	s.stacks[k.Name] = k
	s.become(k, "CREATE_COMPLETE")
	return xml(fields{{"StackId", k.id()}}), nil
}

func (s *Standin) deleteStack(k *Stack, _ url.Values) (string, error) {
	if k.Protected {
		return "", invalid("Stack [%s] cannot be deleted while TerminationProtection is enabled", k.Name)
	}
	for _, other := range s.stacks {
		if bus := other.Parameters["EventBusName"]; bus != "" && bus == k.Name {
			return "", invalid("Rules exist on the bus %s", bus) // on AWS the stack's status becomes DELETE_FAILED
		}
	}
	if s.Deleted != nil {
		if err := s.Deleted(k.Name); err != nil {
			return "", invalid("%v", err)
		}
	}
	for logical, r := range k.parts.Resources {
		switch {
		case !strings.HasPrefix(r.DeletionPolicy, "Retain"):
		case r.Type == "AWS::DynamoDB::Table":
			s.tables[k.physical(logical)], s.tags[tableARN(k.physical(logical))] = true, k.tags
		case r.Type == "AWS::KMS::Key":
			arn := "arn:aws:kms:" + region + ":" + Account + ":key/" + k.physical(logical)
			s.keys[arn], s.tags[arn] = k.Name, k.tags
		}
	}
	if k.live != nil {
		s.live = nil
	}
	delete(s.stacks, k.Name)
	return "", nil
}

func (s *Standin) updateTerminationProtection(k *Stack, in url.Values) (string, error) {
	k.Protected = in.Get("EnableTerminationProtection") == "true"
	return xml(fields{{"StackId", k.id()}}), nil
}

func (s *Standin) setStackPolicy(k *Stack, in url.Values) (string, error) {
	if k.Policy = in.Get("StackPolicyBody"); !json.Valid([]byte(k.Policy)) {
		return "", invalid("Error validating stack policy: Invalid stack policy")
	}
	return "", nil
}

func (s *Standin) getStackPolicy(k *Stack, _ url.Values) (string, error) {
	if k.Policy == "" {
		return "", nil
	}
	return xml(fields{{"StackPolicyBody", k.Policy}}), nil
}

// denies reports whether the stack policy denies an action on a resource.
func (k *Stack) denies(action, logical string) bool {
	var policy struct {
		Statement []struct {
			Effect           string
			Action, Resource []string
		}
	}
	if k.Policy == "" || json.Unmarshal([]byte(k.Policy), &policy) != nil {
		return false
	}
	for _, s := range policy.Statement {
		if s.Effect == "Deny" && slices.Contains(s.Action, action) && slices.Contains(s.Resource, "LogicalResourceId/"+logical) {
			return true
		}
	}
	return false
}
