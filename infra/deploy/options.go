package main

import (
	"errors"
	"fmt"
	"strings"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/settings"
)

// lookAtOptions checks the resources outside the stack that parameters name. CloudFormation would find a fault only after the
// build, and roll back; it never finds that alarms reach no one. The error names all faults.
func (p *program) lookAtOptions() error {
	var faults settings.Faults
	if arn := p.value("CertificateArn"); arn != "" {
		faults.Note(p.lookAtCertificate(arn))
	}
	if arn := p.value("AlarmTopicArn"); arn != "" {
		faults.Note(p.lookAtTopic(arn))
	}
	if name := p.value("EventBusName"); name != "" {
		if err := p.aws.Call("events", "describe_event_bus", cloud.Params{"Name": name}, nil); err != nil {
			faults.Note(fmt.Errorf("the event bus %s of EventBusName cannot be read: %w", name, err))
		}
	}
	if p.value("ApiAccessLog") == "true" {
		faults.Note(p.lookAtLogRole())
	}
	return faults.Err()
}

// regionOf returns the region in an ARN.
func regionOf(arn string) string {
	return append(strings.Split(arn, ":"), "", "", "", "")[3]
}

func (p *program) lookAtCertificate(arn string) error {
	if region := regionOf(arn); region != p.aws.Region {
		return fmt.Errorf("CertificateArn is of %s, and must be of %s", region, p.aws.Region)
	}
	var out struct{ Certificate struct{ Status string } }
	if err := p.aws.Call("acm", "describe_certificate", cloud.Params{"CertificateArn": arn}, &out); err != nil {
		return fmt.Errorf("the certificate %s cannot be read: %w", arn, err)
	}
	if status := out.Certificate.Status; status != "ISSUED" {
		return fmt.Errorf("the certificate %s is not issued yet (%s)", arn, status)
	}
	return nil
}

// lookAtTopic does not read a topic of another account: its owner may not let us.
func (p *program) lookAtTopic(arn string) error {
	if region := regionOf(arn); region != p.aws.Region {
		return fmt.Errorf("AlarmTopicArn is of %s, and must be of %s", region, p.aws.Region)
	}
	if !strings.Contains(arn, ":"+p.account+":") {
		p.say("The alarms go to a topic of another account: whether someone subscribes to it was not looked at.")
		return nil
	}
	var out struct {
		Attributes struct{ SubscriptionsConfirmed, SubscriptionsPending string }
	}
	if err := p.aws.Call("sns", "get_topic_attributes", cloud.Params{"TopicArn": arn}, &out); err != nil {
		return fmt.Errorf("the topic %s cannot be read: %w", arn, err)
	}
	if out.Attributes.SubscriptionsConfirmed != "0" {
		return nil
	}
	return fmt.Errorf("no one subscribes to AlarmTopicArn (%s subscriptions wait to be confirmed), so alarms would reach no one: "+
		"aws sns subscribe --region %s --topic-arn %s --protocol email --notification-endpoint …", out.Attributes.SubscriptionsPending, p.aws.Region, arn)
}

// lookAtLogRole checks that API Gateway has a role to write logs with. It is a setting of the account and region.
func (p *program) lookAtLogRole() error {
	var out struct{ CloudwatchRoleArn string }
	if err := p.aws.Call("apigateway", "get_account", cloud.Params{}, &out); err != nil {
		return fmt.Errorf("API Gateway's settings cannot be read: %w", err)
	}
	if out.CloudwatchRoleArn == "" {
		return errors.New("ApiAccessLog=true needs a role of the account with which API Gateway writes logs (runbook, \"Finding a request\")")
	}
	return nil
}
