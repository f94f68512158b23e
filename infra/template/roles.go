package template

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
)

// rights has every right of each function, in the same order as the roles. A line without indentation is a function, with its
// condition if it has one, or GuardPolicy. Below it are its statements, in the standard form (usual) or in YAML.
//
//go:embed rights.txt
var rights string

// usual matches a statement on the table in its standard form:
//
//	ChangeLinks: PutItem UpdateItem in transactions on ORG#* LINKS#*
//	LastUse: UpdateItem of PK SK lastUsedAt on USED#*
var usual = regexp.MustCompile(`^  (\w+): ([\w ]+?)(?: of ([\w ]+))?( in transactions)? on ([\w#* ]+)\n$`)

// functions returns the parts for each function: one with its role and its log group, and one with its routes if it has some. One
// more part is the policy of programs that import pkg/guard.
func functions() (map[string]string, error) {
	parts := map[string]string{}
	for section := range strings.SplitSeq(rights, "\n\n") {
		head, body, _ := strings.Cut(strings.TrimSuffix(section, "\n")+"\n", "\n")
		if strings.HasPrefix(head, "#") {
			continue
		}
		function, condition, conditional := strings.Cut(head, " if ")
		policy, err := statements(body)
		if err != nil {
			return nil, fmt.Errorf("rights.txt: %s: %w", function, err)
		}
		if function == "GuardPolicy" {
			parts[function] = policy
			continue
		}
		if conditional {
			condition = "  Condition: " + condition + "\n"
		}
		lower := strings.ToLower(function)
		parts[function] = fmt.Sprintf(roleForm, function, condition, lower, function) + indented(policy, "            ") +
			fmt.Sprintf(logsForm, function, condition, lower)
		if routes := events(lower); routes != "" {
			parts["routes of "+function] = routes
		}
	}
	return parts, nil
}

const roleForm = `%sRole:
  Type: AWS::IAM::Role
%s  Properties:
    AssumeRolePolicyDocument:
      Version: '2012-10-17'
      Statement:
        - Effect: Allow
          Principal: { Service: lambda.amazonaws.com }
          Action: sts:AssumeRole
    Policies:
      - PolicyName: %s
        PolicyDocument:
          Version: '2012-10-17'
          Statement:
            - Sid: Log
              Effect: Allow
              Action: [logs:CreateLogStream, logs:PutLogEvents]
              Resource: !GetAtt %sLogs.Arn
`

const logsForm = `
%sLogs:
  Type: AWS::Logs::LogGroup
%s  Properties:
    LogGroupName: !Sub '/latchkey/${AWS::StackName}/%s'
    RetentionInDays: !Ref LogRetentionDays
`

// statements prints the statements of a function's section.
func statements(section string) (string, error) {
	var out strings.Builder
	for line := range strings.Lines(section) {
		text, inYAML := strings.CutPrefix(line, "    ")
		name := strings.TrimSpace(line)
		switch m := usual.FindStringSubmatch(line); {
		case m != nil:
			out.WriteString(onTable(m[1], m[2], m[3], m[4] != "", m[5]))
		case inYAML:
			out.WriteString("  " + text)
		case strings.HasPrefix(name, "#"):
			out.WriteString(name + "\n")
		case strings.ContainsAny(name, " :"):
			return "", fmt.Errorf("%q is not a statement in the standard form", name)
		default:
			out.WriteString("- Sid: " + name + "\n  Effect: Allow\n")
		}
	}
	return out.String(), nil
}

// onTable prints a statement on the rows whose partition keys begin with one of keys. If attributes has some, the statement
// allows changes of only these. Without the condition Null, a request that names no key would match.
func onTable(sid, actions, attributes string, inTransactions bool, keys string) string {
	out := fmt.Sprintf(tableForm, sid, formatWords(actions, "dynamodb:%s"), formatWords(keys, "'%s'"))
	if attributes != "" {
		out += "    'ForAllValues:StringEquals': { 'dynamodb:Attributes': [" + formatWords(attributes, "%s") + "] } # no attribute of the index\n"
	}
	out += "    'Null': { 'dynamodb:LeadingKeys': 'false' }\n"
	if inTransactions {
		out += "    'ForAnyValue:StringEquals': { 'dynamodb:EnclosingOperation': [TransactWriteItems] }\n"
	}
	return out
}

const tableForm = `- Sid: %s
  Effect: Allow
  Action: [%s]
  Resource: !If [Restored, !Select [0, !Split [/stream/, !Ref TableStreamArn]], !GetAtt Table.Arn]
  Condition:
    'ForAllValues:StringLike': { 'dynamodb:LeadingKeys': [%s] }
`

// formatWords puts each word into a format, with commas between the results.
func formatWords(words, format string) string {
	var out []string
	for word := range strings.FieldsSeq(words) {
		out = append(out, fmt.Sprintf(format, word))
	}
	return strings.Join(out, ", ")
}
