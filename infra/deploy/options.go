package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/settings"
)

// checkOptions checks the resources outside the stack that parameters name. CloudFormation would find most faults only after the
// build, and roll back. It would never find that no one gets the alarms. The error names all faults.
func (p *program) checkOptions() error {
	var faults settings.Faults
	here := func(name string) (arn string) { // "" if the resource is in another region
		arn = p.value(name)
		if region := regionOf(arn); arn != "" && region != p.aws.Region {
			faults.Note(fmt.Errorf("%s is in %s, and must be in %s", name, region, p.aws.Region))
			return ""
		}
		return arn
	}
	if arn := here("CertificateArn"); arn != "" {
		faults.Note(p.checkCertificate(arn))
	}
	if arn := here("AlarmTopicArn"); arn != "" {
		faults.Note(p.checkTopic(arn))
	}
	for _, name := range []string{"TableKeyArn", "TableStreamArn", "WebAclArn"} {
		here(name)
	}
	faults.Note(p.checkTableInUse())
	faults.Note(p.checkWarm())
	if name := p.value("EventBusName"); name != "" {
		if err := p.aws.Call("events", "describe_event_bus", cloud.Params{"Name": name}, nil); err != nil {
			faults.Note(fmt.Errorf("the event bus %s of EventBusName cannot be read: %w", name, err))
		}
	}
	if p.value("ApiAccessLog") == "true" {
		faults.Note(p.checkLogRole())
	}
	return faults.Err()
}

// regionOf returns the region in an ARN.
func regionOf(arn string) string {
	return append(strings.Split(arn, ":"), "", "", "", "")[3] // "" for a text that is no ARN
}

// checkTableInUse returns an error when TableStreamArn names another table, and a new value of WarmThroughput or TableKeyArn would
// change the stack's own table, which is not in use. Kept values change nothing: when TableStreamArn is new, a line tells that its table
// is not warmed. So a restore never waits for this check, and does not touch the old table.
func (p *program) checkTableInUse() error {
	stream, was := p.value("TableStreamArn"), p.deployed.Values()
	if stream == "" {
		return nil
	}
	update := fmt.Sprintf("aws dynamodb update-table --region %s --table-name %s ", p.aws.Region, tableOf(stream))
	wanted := throughput(p.value("WarmThroughput"))
	warm := fmt.Sprintf("ReadUnitsPerSecond=%d,WriteUnitsPerSecond=%d", wanted.ReadUnitsPerSecond, wanted.WriteUnitsPerSecond)
	commands := map[string]string{
		"WarmThroughput": update + "--warm-throughput " + warm + " --global-secondary-index-updates 'Update={IndexName=due,WarmThroughput={" + warm + "}}'",
		"TableKeyArn":    update + "--sse-specification Enabled=true,SSEType=KMS,KMSMasterKeyId=" + p.value("TableKeyArn"),
	}
	var faults settings.Faults
	for _, name := range []string{"TableKeyArn", "WarmThroughput"} {
		value := p.value(name)
		switch {
		case value == "":
		case value != was[name]:
			faults.Note(fmt.Errorf("%s acts only on the stack's own table, and TableStreamArn names another: leave out %s, and run %s", name, name, commands[name]))
		case name == "WarmThroughput" && stream != was["TableStreamArn"]:
			p.say("WarmThroughput does not act on the table of TableStreamArn. To warm that table: %s", commands[name])
		}
	}
	return faults.Err()
}

// tableOf returns the name of the table in the ARN of its stream: arn:…:table/NAME/stream/TIME.
func tableOf(stream string) string {
	return append(strings.Split(stream, "/"), "")[1]
}

// units are the reads and writes that a table or an index accepts at once, a second.
type units struct{ ReadUnitsPerSecond, WriteUnitsPerSecond int }

// checkWarm returns an error when a new WarmThroughput is below what the stack's table or its index has: AWS would refuse the change,
// and CloudFormation roll back.
func (p *program) checkWarm() error {
	value := p.value("WarmThroughput")
	if value == "" || p.value("TableStreamArn") != "" || p.deployed == nil || value == p.deployed.Values()["WarmThroughput"] {
		return nil
	}
	all, err := p.warm()
	if err != nil {
		return err
	}
	wanted := throughput(value)
	for _, now := range all {
		if wanted.ReadUnitsPerSecond < now.ReadUnitsPerSecond || wanted.WriteUnitsPerSecond < now.WriteUnitsPerSecond {
			return fmt.Errorf("WarmThroughput=%s is below %d,%d, which the table or its index has, and AWS never lowers it", value, now.ReadUnitsPerSecond, now.WriteUnitsPerSecond)
		}
	}
	p.say("WarmThroughput is raised: change nothing else in this deployment. AWS never lowers it, so CloudFormation may be unable to undo a deployment that fails " +
		"(runbook, \"Deploying again, rolling back\").")
	return nil
}

// warm returns the deployed value of WarmThroughput, and what the stack's table and its index have. They can have more: they grow with
// use, keep the value of an earlier deployment, and show a raised value only some minutes later. The role of pull requests may not
// read the table, so DRY=templates does not.
func (p *program) warm() ([]units, error) {
	all := []units{throughput(p.deployed.Values()["WarmThroughput"])}
	if p.Compare {
		return all, nil
	}
	name, err := p.ownTable()
	if err != nil {
		return nil, err
	}
	var out struct {
		Table struct {
			WarmThroughput         units
			GlobalSecondaryIndexes []struct{ WarmThroughput units }
		}
	}
	if err := p.aws.Call("dynamodb", "describe_table", cloud.Params{"TableName": name}, &out); err != nil {
		return nil, fmt.Errorf("the warm throughput of the table %s cannot be read: %w", name, err)
	}
	all = append(all, out.Table.WarmThroughput)
	for _, index := range out.Table.GlobalSecondaryIndexes {
		all = append(all, index.WarmThroughput)
	}
	return all, nil
}

// throughput returns the numbers in a value of WarmThroughput, whose pattern allows only numbers; zeros for "".
func throughput(value string) (u units) {
	reads, writes, _ := strings.Cut(value, ",")
	u.ReadUnitsPerSecond, _ = strconv.Atoi(reads)
	u.WriteUnitsPerSecond, _ = strconv.Atoi(writes)
	return u
}

func (p *program) checkCertificate(arn string) error {
	var out struct{ Certificate struct{ Status string } }
	if err := p.aws.Call("acm", "describe_certificate", cloud.Params{"CertificateArn": arn}, &out); err != nil {
		return fmt.Errorf("the certificate %s cannot be read: %w", arn, err)
	}
	if status := out.Certificate.Status; status != "ISSUED" {
		return fmt.Errorf("the certificate %s is not issued yet (%s)", arn, status)
	}
	return nil
}

// checkTopic checks that someone subscribes to the topic. It does not read a topic of another account, which may refuse us.
func (p *program) checkTopic(arn string) error {
	if !strings.Contains(arn, ":"+p.account+":") {
		p.say("The alarms go to a topic of another account: its subscriptions were not checked.")
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
	return fmt.Errorf("no one subscribes to AlarmTopicArn (%s subscriptions wait to be confirmed), so no one would get the alarms: "+
		"aws sns subscribe --region %s --topic-arn %s --protocol email --notification-endpoint …", out.Attributes.SubscriptionsPending, p.aws.Region, arn)
}

// checkLogRole checks that API Gateway has a role to write logs. The role is a setting of the account in a region.
func (p *program) checkLogRole() error {
	var out struct{ CloudwatchRoleArn string }
	if err := p.aws.Call("apigateway", "get_account", cloud.Params{}, &out); err != nil {
		return fmt.Errorf("API Gateway's settings cannot be read: %w", err)
	}
	if out.CloudwatchRoleArn == "" {
		return errors.New("ApiAccessLog=true needs a role of the account with which API Gateway writes logs (runbook, \"Finding a request\")")
	}
	return nil
}
