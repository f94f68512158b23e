package settings

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestVariablesAreCountedAsLambdaCountsThem fills the variables of a function up to the last byte.
func TestVariablesAreCountedAsLambdaCountsThem(t *testing.T) {
	t.Parallel()
	const all = `
Parameters:
  Long: { Type: String }
  On: { Type: String }
  Secret: { Type: String, NoEcho: true }
Conditions:
  IsOn: !Equals [!Ref On, 'true']
  IsOff: !Not [!Equals [!Ref On, 'true']]
Globals:
  Function: { Environment: { Variables: { A: !Ref Long } } }
Resources:
  F:
    Properties: { Environment: { Variables: `
	for _, c := range []struct {
		variables string
		condition string
		on        string
		secret    string
		others    int // bytes of the JSON without the value of Long; -5000: the function is not made
	}{
		{`{}`, "", "", "", len(`{"A":""}`)},
		{`{B: x, C: '"\'}`, "", "", "", len(`{"A":"","B":"x","C":"\"\\"}`)},
		{`{B: !If [IsOn, '12345', 'a']}`, "", "true", "", len(`{"A":"","B":"12345"}`)}, {`{B: !If [IsOn, 'a', '12345']}`, "", "true", "", len(`{"A":"","B":"12345"}`)},
		{`{B: !Sub 'a${On}b', C: !Join [',', [!Ref On, !Ref On]]}`, "", "true", "", len(`{"A":"","B":"atrueb","C":"true,true"}`)},
		{`{B: !Ref Secret}`, "", "", "0123", len(`{"A":"","B":"0123"}`)}, {`{B: !Ref Secret}`, "", "", "****", len(`{"A":"","B":""}`) + 258},
		{`{B: !GetAtt Key.Arn}`, "", "", "", len(`{"A":"","B":""}`) + 128},
		{`{}`, "IsOn", "true", "", len(`{"A":""}`)}, {`{}`, "IsOn", "", "", -5000}, {`{}`, "IsOff", "true", "", -5000}, {`{}`, "IsOff", "", "", len(`{"A":""}`)},
	} {
		text := all + c.variables + " } }\n"
		if c.condition != "" {
			text += "    Condition: " + c.condition + "\n"
		}
		var template Template
		if err := yaml.Unmarshal([]byte(text), &template); err != nil {
			t.Fatal(text, err)
		}
		for _, bytes := range []int{4096, 4097} {
			long := strings.Repeat("l", bytes-c.others)
			err := template.CheckEnvironments(func(p string) string {
				return map[string]string{"Long": long, "On": c.on, "Secret": c.secret}[p]
			})
			if isRefused := bytes > 4096 && c.others > 0; (err != nil) != isRefused {
				t.Errorf("%s, %s, On=%q: %d bytes: %v", c.variables, c.condition, c.on, bytes, err)
			}
		}
	}
}
