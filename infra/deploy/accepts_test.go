package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"latchkey/infra/deploy/settings"
	"latchkey/infra/deploy/standin"
	"latchkey/infra/template/translated"
)

// TestPreflightStandinAndLabAcceptTheSameValues gives each value to the preflight of a deployment, to the stand-in for
// CloudFormation and to the lab.
func TestPreflightStandinAndLabAcceptTheSameValues(t *testing.T) {
	t.Parallel()
	aws := standin.Start()
	defer aws.Close()
	ended, end := context.WithCancel(t.Context())
	end() // the lab checks values before it starts the translation
	for _, c := range []struct {
		declared    string
		good, wrong []string
	}{
		{`{Type: String, MinLength: 2, MaxLength: 3}`, []string{"ab", "éab"}, []string{"a", "abcd"}},
		{`{Type: String, AllowedValues: ['on', 'off']}`, []string{"on"}, []string{"", "on,off"}},
		{`{Type: String, AllowedPattern: 'a|ab'}`, []string{"ab"}, []string{"abc", "xa"}},
		{`{Type: Number, MinValue: 2, MaxValue: 3}`, []string{"2", "3"}, []string{"1", "4", "x", ""}},
		{`{Type: CommaDelimitedList, AllowedPattern: '[a-z]+'}`, []string{"a", "a,b", "a, b"}, []string{"a,B", "a,"}},
		{`{Type: CommaDelimitedList, AllowedValues: [a, b]}`, []string{"a,b"}, []string{"a,c"}},
	} {
		text := "Parameters:\n  P: " + c.declared + "\nResources: {}\n"
		root := t.TempDir()
		path := filepath.Join(root, "template.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		template, err := settings.ReadTemplate(root)
		if err != nil {
			t.Fatal(err)
		}
		for at, value := range append(c.good, c.wrong...) {
			given, isGood := map[string]string{"P": value}, at < len(c.good)
			if err := template.CheckValues(given); (err == nil) != isGood {
				t.Errorf("%s: the preflight answers to %q: %v", c.declared, value, err)
			}
			form := url.Values{
				"Action": {"CreateChangeSet"}, "Version": {"2010-05-15"}, "StackName": {"s" + strconv.Itoa(at)}, "ChangeSetType": {"CREATE"}, "ChangeSetName": {c.declared}, "TemplateBody": {text},
				"Parameters.member.1.ParameterKey": {"P"}, "Parameters.member.1.ParameterValue": {value},
			}
			request := httptest.NewRequest(http.MethodPost, aws.URL, strings.NewReader(form.Encode()))
			request.RequestURI = ""
			request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AK/20260101/eu-central-1/cloudformation/aws4_request")
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if (answer.StatusCode == http.StatusOK) != isGood {
				t.Errorf("%s: the stand-in answers to %q: %s", c.declared, value, answer.Status)
			}
			_, err = translated.Translate(ended, path, translated.Options{Parameters: given})
			if isAccepted := !strings.Contains(err.Error(), "parameter P"); isAccepted != isGood {
				t.Errorf("%s: the lab answers to %q: %v", c.declared, value, err)
			}
		}
	}
}
