package stack

import (
	"path/filepath"
	"testing"

	"latchkey/infra/harness/lab"
	"latchkey/infra/tools"
)

// TestTheLocalStackDropsAlarmTopicArn checks that this parameter is dropped and another one is kept: the function that the
// template adds for alarms would call AWS.
func TestTheLocalStackDropsAlarmTopicArn(t *testing.T) {
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	s := &Stack{template: filepath.Join(root, "template.yaml"), given: map[string]string{"AlarmTopicArn": "arn:aws:sns:us-east-1:000000000000:a", "RotationDays": "1"}}
	got, err := s.parameters(&lab.Site{})
	if err != nil || got["AlarmTopicArn"] != "" || got["RotationDays"] != "1" {
		t.Errorf("%v, %v", got, err)
	}
}
