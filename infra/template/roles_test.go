package template_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/template/translated"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

func TestEveryFunctionHasARoleAndALogOfItsOwn(t *testing.T) { assertNone(t, checkRoles, checkLogs) }

func TestEveryStatementNamesItsResources(t *testing.T) { assertNone(t, checkStatements) }

func TestRolesReachOnlyTheirPartitions(t *testing.T) { assertNone(t, checkPartitions) }

func TestWritesAreTransactions(t *testing.T) { assertNone(t, checkTransactions) }

func TestSigningKeysAreReachedByTheirTag(t *testing.T) { assertNone(t, checkKMSRights) }

// statement is a statement of a role's policy.
type statement struct {
	role, sid string
	actions   []string
	resources []string
	condition map[string]any // operator → key → values
}

func (s statement) String() string { return s.role + " " + s.sid }

// values returns the values of a condition, or nil.
func (s statement) values(operator, key string) []string {
	return words(object(s.condition[operator])[key])
}

func (s statement) service() string {
	service, _, _ := strings.Cut(s.actions[0], ":")
	return service
}

// statements returns the statements of all roles, and of the policy for programs of the owner. A statement that is not an Allow of
// actions on resources is a fault: these tests cannot read it.
func statements(tpl *translated.Template) (all []statement, faults []string) {
	read := func(role string, policy any) {
		if version := object(object(policy)["PolicyDocument"])["Version"]; version != "2012-10-17" {
			faults = append(faults, fmt.Sprintf("%s: a policy of the version %v", role, version))
		}
		for _, v := range list(object(object(policy)["PolicyDocument"])["Statement"]) {
			o := object(v)
			sid, _ := o["Sid"].(string)
			s := statement{role, sid, words(o["Action"]), words(o["Resource"]), object(o["Condition"])}
			excludes := o["NotAction"] != nil || o["NotResource"] != nil // an Allow of all others
			isComplete := sid != "" && len(s.actions) > 0 && len(s.resources) > 0
			if o["Effect"] != "Allow" || excludes || !isComplete {
				faults = append(faults, s.String()+": want an Allow with Sid, Action and Resource")
				continue
			}
			all = append(all, s)
		}
	}
	for _, role := range tpl.Named("AWS::IAM::Role") {
		for _, policy := range list(tpl.Resources[role].Properties["Policies"]) {
			read(role, policy)
			if name, _ := object(policy)["PolicyName"].(string); name == "" {
				faults = append(faults, role+": CloudFormation requires a name for each policy")
			}
		}
	}
	for _, name := range tpl.Named("AWS::IAM::ManagedPolicy") {
		read(name, tpl.Resources[name].Properties)
	}
	return all, faults
}

func checkRoles(tpl *translated.Template) (faults []string) {
	functionOf := map[string]string{} // by role
	for _, f := range tpl.Named("AWS::Lambda::Function") {
		arn, _ := tpl.Resources[f].Properties["Role"].(string)
		role := arn[strings.LastIndex(arn, "/")+1:]
		if want := strings.TrimSuffix(f, "Function") + "Role"; role != want || functionOf[role] != "" {
			faults = append(faults, fmt.Sprintf("%s has the role %q, want %s only for it", f, arn, want))
		}
		functionOf[role] = f
	}
	for _, role := range tpl.Named("AWS::IAM::Role") {
		p := tpl.Resources[role].Properties
		if functionOf[role] == "" {
			faults = append(faults, role+" belongs to no function")
		}
		if p["ManagedPolicyArns"] != nil {
			faults = append(faults, role+" has managed policies, which reach every resource")
		}
		const lambda = `{"Statement":[{"Action":"sts:AssumeRole","Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"}}],"Version":"2012-10-17"}`
		if trust := asJSON(p["AssumeRolePolicyDocument"]); trust != lambda {
			faults = append(faults, fmt.Sprintf("%s may be assumed by %s", role, trust))
		}
	}
	return append(faults, otherPolicies(tpl)...)
}

// otherPolicies reports policies that would give rights besides the roles.
func otherPolicies(tpl *translated.Template) (faults []string) {
	for _, typ := range []string{"AWS::IAM::Policy", "AWS::IAM::ManagedPolicy", "AWS::IAM::RolePolicy"} {
		for _, n := range tpl.Named(typ) {
			if n != "GuardPolicy" { // it is attached to no role of ours
				faults = append(faults, n+" is a policy outside the roles")
			}
		}
	}
	return faults
}

// checkLogs checks that each function writes the log group that is printed for it.
func checkLogs(tpl *translated.Template) (faults []string) {
	for _, f := range tpl.Named("AWS::Lambda::Function") {
		config := object(tpl.Resources[f].Properties["LoggingConfig"])
		wanted := map[string]any{"LogGroup": strings.TrimSuffix(f, "Function") + "Logs", "LogFormat": "JSON", "SystemLogLevel": "WARN", "ApplicationLogLevel": "INFO"}
		if !maps.Equal(config, wanted) {
			faults = append(faults, fmt.Sprintf("%s logs by %v, want %v", f, config, wanted))
		}
	}
	return faults
}

// stars lists the statements with a * in their resource, each with its reason. It leaves out the * for the streams of a function's
// own log group.
var stars = map[string]string{
	"RotateRole MakeSigningKeys":         "a key has no ARN before it is made",
	"RotateRole TagSigningKeys":          "a key has no ARN yet when its tag is put on it",
	"RotateRole SigningKeys":             "keys made by the rotation; limited by their tag",
	"DeliverRole Sign":                   "keys made by the rotation; limited by their tag, and to DIGEST and ECDSA_SHA_256",
	"CheckConsumersRole ReadAuthorizers": "all APIs of the account; only names and authorizers",
	"TapRole ListStreams":                "the table's streams: Lambda lists them to find the mapping's stream",
	"FanoutRole ListStreams":             "the table's streams: Lambda lists them to find the mapping's stream",
}

// checkStatements checks that every statement names the actions of one service, and its resources. The end-to-end tests check that
// each role allows only the actions that its calls need.
func checkStatements(tpl *translated.Template) (faults []string) {
	all, faults := statements(tpl)
	for _, s := range all {
		for _, a := range s.actions {
			if service, _, _ := strings.Cut(a, ":"); service != s.service() || strings.Contains(a, "*") {
				faults = append(faults, fmt.Sprintf("%s: named actions of one service, not %v", s, s.actions))
			}
		}
		for _, r := range s.resources {
			ownLog := s.service() == "logs" && strings.Count(r, "*") == 1 // the * for its streams
			hasStar := strings.Contains(r, "*") && !ownLog
			if _, listed := stars[s.String()]; hasStar != listed {
				faults = append(faults, fmt.Sprintf("%s: the resource %s", s, r))
			}
		}
	}
	return faults
}

// prefixes returns the beginnings of the table's partition keys, as conditions name them.
func prefixes() []string {
	var out []string
	for _, p := range store.AccessPatterns() {
		name, _, more := strings.Cut(p.PK, "#")
		if more {
			name += "#*"
		}
		out = append(out, name)
	}
	return out
}

const table = "arn:aws:dynamodb:us-east-1:000000000000:table/Table"

// checkPartitions checks that each statement on the table is limited to named partitions.
func checkPartitions(tpl *translated.Template) (faults []string) {
	all, faults := statements(tpl)
	known := prefixes()
	for _, s := range all {
		onStream := (s.role == "FanoutRole" || s.role == "TapRole") && strings.HasPrefix(s.resources[0], table+"/stream/") // a stream has no partition keys
		if s.service() != "dynamodb" || onStream {
			continue
		}
		wanted := table
		if s.String() == "SweepRole ReadWhatIsDue" {
			wanted += "/index/due" // no other role reads it
		}
		if !slices.Equal(s.resources, []string{wanted}) {
			faults = append(faults, fmt.Sprintf("%s: resources %v", s, s.resources))
		}
		keys := s.values("ForAllValues:StringLike", "dynamodb:LeadingKeys")
		for _, k := range keys {
			if !slices.Contains(known, k) {
				faults = append(faults, fmt.Sprintf("%s: no partition is named %s", s, k))
			}
		}
		// Without the second condition, a request that names no key would match.
		if len(keys) == 0 || !slices.Equal(s.values("Null", "dynamodb:LeadingKeys"), []string{"false"}) {
			faults = append(faults, fmt.Sprintf("%s reaches every partition: %v", s, s.condition))
		}
	}
	return faults
}

// writing are the actions that change the table or check it in a transaction.
var writing = []string{"dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem", "dynamodb:ConditionCheckItem"}

// single lists the statements that write outside a transaction, each with the effect of a lost or repeated write.
var single = map[string]string{
	"AuthorizerRole LastUse":    "it may be lost",
	"KeyAuthorizerRole LastUse": "it may be lost",
	"ForwardAuthRole LastUse":   "it may be lost",
	"GuardPolicy LastUse":       "it may be lost",

	"AuthorizerRole Notices":    "the next lease writes it again",
	"KeyAuthorizerRole Notices": "the next lease writes it again",
	"ForwardAuthRole Notices":   "the next lease writes it again",
	"GuardPolicy Notices":       "the next lease writes it again",
	"AuthorizerRole Limits":     "it is never sent again",
	"KeyAuthorizerRole Limits":  "it is never sent again",
	"ForwardAuthRole Limits":    "it is never sent again",
	"GuardPolicy Limits":        "it is never sent again",
	"AppsRole PutCatalogue":     "the last catalogue counts",
	"DeliverRole Attempts":      "a lease is known again by the random id that was written",
	"LinksRole CreateLinks":     "a link is known again by its whole row",
	"LinksRole SpendBudget":     "done twice, it charges twice",
	"SweepRole MoveAndCharge":   "done twice, it wakes or charges twice",
	"FanoutRole MarkAndCharge":  "done twice, it marks or charges twice; a delivery is known again by the random id that was written",
	"WebhooksRole SpendBudget":  "done twice, it charges twice",
}

// checkTransactions checks that writes are in transactions, which the SDK can retry without doing them twice: their statements
// have a condition on dynamodb:EnclosingOperation. ConditionCheckItem, which exists only in transactions, has a
// statement of its own without the condition: by AWS's service authorization reference, its requests lack this key.
func checkTransactions(tpl *translated.Template) (faults []string) {
	all, faults := statements(tpl)
	for _, s := range all {
		writes := slices.ContainsFunc(s.actions, func(a string) bool { return slices.Contains(writing, a) })
		enclosed := slices.Equal(s.values("ForAnyValue:StringEquals", "dynamodb:EnclosingOperation"), []string{"TransactWriteItems"})
		checks := slices.Contains(s.actions, "dynamodb:ConditionCheckItem")
		_, alone := single[s.String()]
		inTransaction := writes && !checks && !alone // what the statement should require
		if enclosed != inTransaction || checks && len(s.actions) > 1 {
			faults = append(faults, fmt.Sprintf("%s: %v in a transaction: %v", s, s.actions, enclosed))
		}
	}
	return faults
}

// onlyES256Keys reports whether a statement is limited to ES256 keys, the only kind that Latchkey makes.
func onlyES256Keys(s statement) bool {
	return slices.Equal(s.values("StringEquals", "kms:KeySpec"), []string{"ECC_NIST_P256"}) &&
		slices.Equal(s.values("StringEquals", "kms:KeyUsage"), []string{"SIGN_VERIFY"})
}

// checkKMSRights checks that every right on KMS is limited to the stack's own keys, and that the template's key has their tag.
func checkKMSRights(tpl *translated.Template) (faults []string) {
	all, faults := statements(tpl)
	ours := []string{stackOfTests}
	for _, s := range all {
		if s.service() != "kms" {
			continue
		}
		onExisting := slices.Equal(s.values("StringEquals", "aws:ResourceTag/"+webhook.StackTag), ours) && onlyES256Keys(s)
		if slices.Equal(s.resources, []string{"arn:aws:kms:us-east-1:000000000000:key/SigningKey"}) {
			onExisting = true // the first key, whose tag may have no effect at first
		}
		onNew := slices.Equal(s.values("StringEquals", "aws:RequestTag/"+webhook.StackTag), ours) &&
			slices.Equal(s.values("ForAllValues:StringEquals", "aws:TagKeys"), []string{webhook.StackTag})
		onlyES256Signatures := slices.Equal(s.values("StringEquals", "kms:MessageType"), []string{"DIGEST"}) &&
			slices.Equal(s.values("StringEquals", "kms:SigningAlgorithm"), []string{"ECDSA_SHA_256"}) && len(s.actions) == 1
		if slices.Contains(s.actions, "kms:Sign") && !onlyES256Signatures {
			faults = append(faults, fmt.Sprintf("%s may make any signature: %v", s, s.condition))
		}
		if slices.Contains(s.actions, "kms:CreateKey") && !onlyES256Keys(s) {
			faults = append(faults, fmt.Sprintf("%s may make any key", s))
		}
		// A key has no tag while it is made, so the condition is on a tag if the key has one.
		onlyOurs := slices.Equal(s.values("StringEqualsIfExists", "aws:ResourceTag/"+webhook.StackTag), ours)
		if slices.Contains(s.actions, "kms:TagResource") && !onlyOurs {
			faults = append(faults, fmt.Sprintf("%s may tag keys of other stacks: %v", s, s.condition))
		}
		if onExisting == onNew { // a right is on keys that exist or on a key that is being made, never on both
			faults = append(faults, fmt.Sprintf("%s is not limited to the stack's tag: %v", s, s.condition))
		}
	}
	for _, key := range tpl.Named("AWS::KMS::Key") {
		tags := list(tpl.Resources[key].Properties["Tags"])
		if len(tags) != 1 || object(tags[0])["Key"] != webhook.StackTag || object(tags[0])["Value"] != stackOfTests {
			faults = append(faults, fmt.Sprintf("%s has the tags %v", key, tags))
		}
	}
	return faults
}
