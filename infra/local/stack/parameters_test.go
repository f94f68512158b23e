package stack

import (
	"path/filepath"
	"testing"

	"latchkey/infra/tools"
)

// TestNothingHereLooksAtAnAccountOfAWS wants no function that only comes with alarms: it would ask AWS.
func TestNothingHereLooksAtAnAccountOfAWS(t *testing.T) {
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	s := &Stack{options: Options{Template: filepath.Join(root, "template.yaml"), Parameters: map[string]string{"AlarmTopicArn": "arn:aws:sns:us-east-1:000000000000:a", "RotationDays": "1"}}}
	got, err := s.parameters()
	if err != nil || got["AlarmTopicArn"] != "" || got["RotationDays"] != "1" {
		t.Errorf("%v, %v", got, err)
	}
}
