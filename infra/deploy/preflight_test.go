package main

import (
	"slices"
	"strings"
	"testing"

	"latchkey/infra/deploy/standin"
)

// TestBadDeploymentsAreRefusedBeforeABuild checks that each refusal is one line with the next step.
func TestBadDeploymentsAreRefusedBeforeABuild(t *testing.T) {
	t.Parallel()
	issuer, audience := "ISSUER=https://issuer.example", "AUDIENCE=https://api.example"
	for name, c := range map[string]struct {
		variables []string
		prepare   func(r *rig)
		words     []string
	}{
		"nothing given": {nil, nil, []string{"there is no stack latchkey in eu-central-1", "make deploy ISSUER=https://… AUDIENCE=…"}},
		"no region and no credentials either": {
			nil, func(r *rig) { delete(r.env, "AWS_REGION"); delete(r.env, "AWS_ACCESS_KEY_ID") }, []string{"give REGION=", "no AWS credentials", "ISSUER= and AUDIENCE="},
		},
		"a region that does not exist": {
			[]string{issuer, audience}, func(r *rig) { r.env["AWS_ENDPOINT_URL"] = "http://127.0.0.1:1" }, []string{"AWS cannot be reached in eu-central-1", "does the region exist"},
		},
		"a certificate of another region": {
			[]string{issuer, audience, "PARAMETERS=DomainName=api.example.com CertificateArn=arn:aws:acm:us-east-1:123456789012:certificate/a"}, nil,
			[]string{"CertificateArn is in us-east-1, and must be in eu-central-1"},
		},
		"a certificate and a topic that are not ready": {
			[]string{issuer, audience, "PARAMETERS=ApiAccessLog=true AlarmTopicArn=arn:aws:sns:eu-central-1:123456789012:a DomainName=api.example.com CertificateArn=arn:aws:acm:eu-central-1:123456789012:certificate/a"},
			func(r *rig) {
				r.aws.Set(standin.Faults{Certificate: "PENDING_VALIDATION", NoSubscriber: true, NoLogRole: true})
			},
			[]string{"certificate/a is not issued yet (PENDING_VALIDATION)", "no one subscribes to AlarmTopicArn", "aws sns subscribe", "ApiAccessLog=true needs a role"},
		},
		"an event bus that is not there": {
			[]string{issuer, audience, "PARAMETERS=EventBusName=owner"}, func(r *rig) { r.aws.Set(standin.Faults{NoBus: true}) },
			[]string{"the event bus owner of EventBusName cannot be read", "does not exist"},
		},
		"a topic of another region": {
			[]string{issuer, audience, "PARAMETERS=AlarmTopicArn=arn:aws:sns:us-east-1:123456789012:a"}, nil, []string{"AlarmTopicArn is in us-east-1"},
		},
		"a key, a firewall and a stream of another region": {
			[]string{issuer, audience, "PARAMETERS=TableKeyArn=arn:aws:kms:us-east-1:123456789012:key/a WebAclArn=arn:aws:wafv2:us-east-1:123456789012:regional/webacl/a/b " +
				"TableStreamArn=" + strings.Replace(restoredStream, "eu-central-1", "us-east-1", 1)}, nil,
			[]string{"TableKeyArn is in us-east-1, and must be in eu-central-1", "WebAclArn is in us-east-1", "TableStreamArn is in us-east-1"},
		},
		"a firewall of CloudFront": {
			[]string{issuer, audience, "PARAMETERS=WebAclArn=arn:aws:wafv2:us-east-1:123456789012:global/webacl/a/b"}, nil, []string{"WebAclArn=", "must be the ARN of a regional web ACL"},
		},
		"fewer warm writes than deployed": {
			[]string{"PARAMETERS=WarmThroughput=50000,8000"}, func(r *rig) {
				r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(r.t, "WarmThroughput=40000,16000"))
			},
			[]string{"WarmThroughput=50000,8000 is below 40000,16000, which the table or its index has"},
		},
		"fewer warm reads than deployed": {
			[]string{"PARAMETERS=WarmThroughput=39999,16000"}, func(r *rig) {
				r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(r.t, "WarmThroughput=40000,16000"))
			},
			[]string{"WarmThroughput=39999,16000 is below 40000,16000, which the table or its index has"},
		},
		"fewer warm reads than the table has": { // a value that was emptied later, or use
			[]string{"PARAMETERS=WarmThroughput=20000,16000"}, func(r *rig) {
				r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(r.t))
				r.aws.Set(standin.Faults{Warm: "40000,16000", WarmIndex: "12000,4000"})
			},
			[]string{"WarmThroughput=20000,16000 is below 40000,16000, which the table or its index has"},
		},
		"fewer warm writes than the index has": {
			[]string{"PARAMETERS=WarmThroughput=20000,8000"}, func(r *rig) {
				r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(r.t))
				r.aws.Set(standin.Faults{WarmIndex: "12000,8001"})
			},
			[]string{"WarmThroughput=20000,8000 is below 12000,8001, which the table or its index has"},
		},
		"fewer warm reads than a raise that AWS does not show yet": {
			[]string{"PARAMETERS=WarmThroughput=39999,16000"}, func(r *rig) {
				r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(r.t, "WarmThroughput=40000,16000"))
				r.aws.Set(standin.Faults{Warm: "12000,4000"})
			},
			[]string{"WarmThroughput=39999,16000 is below 40000,16000, which the table or its index has"},
		},
		"fewer warm reads than the own table has, after a restored one": {
			[]string{"PARAMETERS=TableStreamArn= WarmThroughput=20000,8000"}, func(r *rig) {
				r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(r.t, "TableStreamArn="+restoredStream))
				r.aws.Set(standin.Faults{Warm: "40000,16000"})
			},
			[]string{"WarmThroughput=20000,8000 is below 40000,16000, which the table or its index has"},
		},
		"no right to read the table": {
			[]string{"PARAMETERS=WarmThroughput=20000,8000"}, func(r *rig) {
				r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(r.t))
				r.aws.Set(standin.Faults{Refuse: map[string]string{"dynamodb:DescribeTable": "not authorized to describe"}})
			},
			[]string{"the warm throughput of the table latchkey-Table-1 cannot be read", "not authorized to describe"},
		},
		"a lost stack's values beside a restored table": {
			[]string{issuer, audience, "PARAMETERS=WarmThroughput=40000,16000 TableKeyArn=" + keyARN + " TableStreamArn=" + restoredStream}, nil,
			[]string{"WarmThroughput acts only on the stack's own table", "TableKeyArn acts only on the stack's own table", "leave out TableKeyArn",
				"aws dynamodb update-table --region eu-central-1 --table-name latchkey-Table-1-restored --warm-throughput ReadUnitsPerSecond=40000,WriteUnitsPerSecond=16000 " +
					"--global-secondary-index-updates 'Update={IndexName=due,WarmThroughput={ReadUnitsPerSecond=40000,WriteUnitsPerSecond=16000}}'",
				"--table-name latchkey-Table-1-restored --sse-specification Enabled=true,SSEType=KMS,KMSMasterKeyId=" + keyARN},
		},
		"more warm throughput while a restored table is used": {
			[]string{"PARAMETERS=WarmThroughput=50000,16000"}, func(r *rig) {
				r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(r.t, "WarmThroughput=40000,16000", "TableStreamArn="+restoredStream))
			},
			[]string{"WarmThroughput acts only on the stack's own table", "--table-name latchkey-Table-1-restored --warm-throughput ReadUnitsPerSecond=50000,"},
		},
		"an unprotected resource": {[]string{issuer, audience, "REPLACE=Domain"}, nil, []string{"REPLACE=Domain", "Api, DeliveryQueue, SigningKey, Table"}},
		"no audience":             {[]string{issuer}, nil, []string{"give AUDIENCE=", "ClientIds="}},
		"no credentials":          {[]string{issuer, audience}, func(r *rig) { delete(r.env, "AWS_ACCESS_KEY_ID") }, []string{"no AWS credentials: set AWS_PROFILE"}},
		"a profile that does not exist": {
			[]string{issuer, audience}, func(r *rig) { r.env["AWS_PROFILE"] = "gone" }, []string{"no AWS credentials: ProfileNotFound", "gone"},
		},
		"no terminal": {[]string{issuer, audience}, nil, []string{"no terminal", "YES=1"}},
		"YES=0":       {[]string{"YES=0"}, nil, []string{"YES=0", "only YES=1"}},
		"another processor": {
			[]string{issuer, audience, "ARCH=riscv"}, nil, []string{"ARCH=riscv", "arm64 or amd64"},
		},
		"a processor as a parameter": {
			[]string{"PARAMETERS=Architecture=arm64"}, nil, []string{"give ARCH=arm64 or ARCH=amd64"},
		},
		"a parameter twice":    {[]string{issuer, "PARAMETERS=Issuer=https://b.example"}, nil, []string{"Issuer is given twice"}},
		"no parameter":         {[]string{"PARAMETERS=Issuer"}, nil, []string{"parameter 1", "Name=value"}},
		"an unknown parameter": {[]string{issuer, audience, "PARAMETERS=Emails=true"}, nil, []string{"the template has no parameter Emails"}},
		"a quote":              {[]string{issuer, `PARAMETERS=KeyPrefix="lk`}, nil, []string{"KeyPrefix has a quote"}},
		"no right to read stacks": {
			[]string{issuer, audience}, func(r *rig) {
				r.aws.Set(standin.Faults{Refuse: map[string]string{"cloudformation:DescribeStacks": "not authorized to describe"}})
			}, []string{"the stack latchkey cannot be read", "not authorized to describe"},
		},
		"no right to read settings": {
			[]string{issuer, audience}, func(r *rig) {
				r.aws.Set(standin.Faults{Refuse: map[string]string{"lambda:GetAccountSettings": "not authorized to get"}})
			}, []string{"the account's Lambda concurrency cannot be read", "not authorized to get"},
		},
		// Of the account's 1,000, AWS keeps 100 for functions that reserve none.
		"concurrency that AWS would not keep": {
			[]string{issuer, audience, "PARAMETERS=AuthorizerConcurrency=901"}, nil, []string{"AuthorizerConcurrency=901 leaves 99 to other functions", "requires 100"},
		},
		"concurrency that a new account does not have": {
			[]string{issuer, audience, "PARAMETERS=AuthorizerConcurrency=1"}, func(r *rig) { r.aws.Set(standin.Faults{Concurrency: 10}) }, []string{"leaves 9", "requires 10"},
		},
		"concurrency of the authorizer and the function URL": {
			[]string{issuer, audience, "PARAMETERS=AuthorizerConcurrency=500 ForwardAuth=true ForwardAuthConcurrency=401"}, nil,
			[]string{"AuthorizerConcurrency=500 with ForwardAuthConcurrency=401 leaves 99 to other functions", "requires 100"},
		},
		// The function URL reserves 50 by default.
		"a function URL in a new account": {
			[]string{issuer, audience, "PARAMETERS=ForwardAuth=true"}, func(r *rig) { r.aws.Set(standin.Faults{Concurrency: 10}) },
			[]string{"AuthorizerConcurrency=0 with ForwardAuthConcurrency=50 leaves -40", "requires 10"},
		},
		"a word for a number": {[]string{issuer, audience, "PARAMETERS=DeliverConcurrency=many"}, nil, []string{"DeliverConcurrency=many is not a number"}},
		"values that the template does not allow": {
			[]string{issuer, audience, "PARAMETERS=WebAcl=on KeyPrefix=LK TryTimeout=5"}, nil,
			[]string{"WebAcl=on: it must be one of none, rate-limited", "KeyPrefix=LK: must have 1 to 16 lower-case letters", "TryTimeout=5: 100 is the least"},
		},
		"values that do not go together": {
			[]string{issuer, audience, "PARAMETERS=DomainName=api.example.com OwnerOrgId=org_5yt695b9bqryh4dy0xdqrpbr21"}, nil,
			[]string{"DomainName needs CertificateArn", "OwnerOrgId needs ForwardAuth=true"},
		},
		"a certificate without a domain": {[]string{issuer, audience, "PARAMETERS=CertificateArn=arn:aws:acm:eu-central-1:123456789012:certificate/a"}, nil, []string{"CertificateArn needs DomainName"}},
		"no address":                     {[]string{issuer, audience, "PARAMETERS=DisableExecuteApi=true"}, nil, []string{"DisableExecuteApi=true needs DomainName"}},
		"two firewalls":                  {[]string{issuer, audience, "PARAMETERS=WebAcl=rate-limited WebAclArn=arn:aws:wafv2:eu-central-1:123456789012:regional/webacl/a/b"}, nil, []string{"WebAclArn needs WebAcl=none"}},
		"too many at once":               {[]string{issuer, audience, "PARAMETERS=TryTimeout=5001"}, nil, []string{"TryTimeout=5001: 5000 is the most"}},
		"a first deployment that failed": {
			nil, func(r *rig) { r.aws.Put("latchkey", "ROLLBACK_COMPLETE", deployedWith(r.t)) }, []string{"ROLLBACK_COMPLETE", "make undeploy STACK=latchkey"},
		},
		"a stack of another product": {
			[]string{issuer, audience}, func(r *rig) { r.aws.Put("latchkey", "CREATE_COMPLETE", map[string]string{"Vpc": "1"}) }, []string{"is not Latchkey's"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			if c.prepare != nil {
				c.prepare(r)
			}
			_, err := r.deploy(c.variables...)
			refused(t, err, c.words...)
			if calls := r.calls(); calls != nil {
				t.Errorf("the SAM CLI was run: %q", calls)
			}
		})
	}
}

// TestThePreflightPrintsAccountStackAndLimits checks that account, region, stack, cost and concurrency are printed before the
// build. The build fails here.
func TestThePreflightPrintsAccountStackAndLimits(t *testing.T) {
	r := newRig(t)
	r.aws.Set(standin.Faults{Concurrency: 10})
	r.aws.Put("latchkey", "UPDATE_ROLLBACK_COMPLETE", deployedWith(t, "Architecture=x86_64"))
	r.script(`exit 1`)
	out, err := r.deploy("YES=1")
	refused(t, err, "sam build failed")
	has(t, "preflight", out, standin.Account, "eu-central-1", "UPDATE_ROLLBACK_COMPLETE", "for x86_64", "a dollar a month for each signing key",
		"runs 10 functions at once", "DeliverConcurrency uses up to 10", "AuthorizerConcurrency reserves 0", "ask AWS for 1,000")
	if readme := readFile(t, "../../README.md"); !strings.Contains(readme, "about a dollar a month for each signing key") {
		t.Error("the README has another cost")
	}
}

// TestADroppedParameterIsNamedBeforeTheChange checks that a deployment names a parameter that the new template no longer has,
// and goes on. CloudFormation shows **** for the value of a secret parameter.
func TestADroppedParameterIsNamedBeforeTheChange(t *testing.T) {
	r := newRig(t).withSAM()
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t, "GoneSecret=****", "GoneNumber=600", "GoneUrl=https://u:p@a.example", "GoneEmpty="))
	out, err := r.deploy("YES=1")
	succeeded(t, out, err)
	before, _, _ := strings.Cut(out, "The SAM CLI uploads")
	has(t, "before the change", before, "no longer has", "infra/docs/CHANGELOG.md", ": GoneNumber=600, GoneSecret=****, GoneUrl=https://…a.example\n")
	if got := r.aws.Stack("latchkey").Parameters; got["Issuer"] != "https://issuer.example" || got["GoneNumber"] != "" {
		t.Errorf("deployed: %v", got)
	}
	if out, err = r.deploy("YES=1"); err != nil || strings.Contains(out, "no longer has") {
		t.Errorf("deployed again: %v %s", err, out)
	}
}

// TestAGivenValueReplacesTheDeployedValue clears deployed values that would be refused, and gives such values in place of
// good ones.
func TestAGivenValueReplacesTheDeployedValue(t *testing.T) {
	t.Parallel()
	topic, certificate := "AlarmTopicArn=arn:aws:sns:us-east-1:123456789012:a", "CertificateArn=arn:aws:acm:us-east-1:123456789012:certificate/a"
	for name, c := range map[string]struct{ deployed, given, word string }{
		"the deployed topic":        {topic, "", "AlarmTopicArn is in us-east-1"},
		"a topic that is cleared":   {topic, "AlarmTopicArn=", ""},
		"a certificate":             {certificate, "DomainName=a.example", "CertificateArn is in us-east-1"},
		"a cleared certificate":     {certificate, "CertificateArn=", ""},
		"no audience any more":      {"ClientIds=", "Audience=", "give AUDIENCE="},
		"a client but no audience":  {"ClientIds=", "Audience= ClientIds=web", ""},
		"the access log":            {"ApiAccessLog=true", "", "ApiAccessLog=true needs a role"},
		"the access log turned off": {"ApiAccessLog=true", "ApiAccessLog=false", ""},
		"the access log turned on":  {"ApiAccessLog=false", "ApiAccessLog=true", "ApiAccessLog=true needs a role"},
		"the own address again":     {"DisableExecuteApi=true", "DisableExecuteApi=false", ""},
		"no address is left":        {"DisableExecuteApi=true", "", "DisableExecuteApi=true needs DomainName"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.aws.Set(standin.Faults{NoLogRole: true})
			r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t, c.deployed))
			out, err := r.deploy("YES=1", "PARAMETERS="+c.given)
			if c.word == "" {
				succeeded(t, out, err)
			} else {
				refused(t, err, c.word)
			}
		})
	}
}

// TestARestoredTableIsUsedDespiteDeployedOptions restores the table of a stack with options of its own table. No deployment of the restore
// may wait for them, and only the first tells that the restored table is not warmed.
func TestARestoredTableIsUsedDespiteDeployedOptions(t *testing.T) {
	r := newRig(t)
	options := []string{"WarmThroughput=40000,16000", "TableKeyArn=" + keyARN}
	const told = "To warm that table: aws dynamodb update-table --region eu-central-1 --table-name latchkey-Table-1-restored --warm-throughput ReadUnitsPerSecond=40000,"
	for _, c := range []struct {
		deployed, given string
		tells           bool
	}{{"TableStreamArn=", "TableStreamArn=" + restoredStream, true}, {"TableStreamArn=" + restoredStream, "", false}, {"TableStreamArn=" + restoredStream, "TableStreamArn=", false}} {
		r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t, append(options, c.deployed)...))
		out, err := r.deploy("YES=1", "PARAMETERS="+c.given)
		succeeded(t, out, err)
		if strings.Contains(out, told) != c.tells {
			t.Errorf("%s, then %s:\n%s", c.deployed, c.given, out)
		}
	}
}

// TestATablesGrowthStopsOnlyALowerNewValue checks that a kept value never stops a deployment, and that only a new value reads the table,
// unless DRY=templates is given: the role of pull requests may not read it. With a new value the preflight asks for a deployment of its own,
// because no rollback can lower it.
func TestATablesGrowthStopsOnlyALowerNewValue(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deployed, given, dry string
		reads                bool
	}{
		"a kept value":      {"WarmThroughput=20000,8000", "", "", false},
		"an emptied value":  {"WarmThroughput=20000,8000", "WarmThroughput=", "", false},
		"the table's value": {"WarmThroughput=", "WarmThroughput=40000,16000", "", true},
		"a raise":           {"WarmThroughput=20000,8000", "WarmThroughput=50000,16000", "", true},
		"a dry run":         {"WarmThroughput=20000,8000", "WarmThroughput=50000,16000", "1", true},
		"a pull request":    {"WarmThroughput=20000,8000", "WarmThroughput=30000,8000", "templates", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.aws.Set(standin.Faults{Warm: "40000,16000"})
			r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t, c.deployed))
			r.write(".local/deploy/latchkey/template.yaml", smallTemplate(t))
			out, err := r.deploy("YES=1", "PARAMETERS="+c.given, "DRY="+c.dry)
			succeeded(t, out, err)
			if reads := slices.Contains(r.aws.Calls(), "dynamodb:DescribeTable"); reads != c.reads {
				t.Errorf("the table was read: %v", reads)
			}
			if isTold := strings.Contains(out, "change nothing else in this deployment"); isTold != strings.HasSuffix(c.given, "00") {
				t.Errorf("a new value needs a deployment of its own: %v\n%s", isTold, out)
			}
			if c.dry == "" {
				r.mayCall()
			}
		})
	}
}

// TestReservedConcurrencyIsCountedOnce checks that the concurrency that the deployed functions reserve counts as free for the next
// deployment, and that a function URL that is off counts nothing.
func TestReservedConcurrencyIsCountedOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		deployed, given []string
		works           bool
	}{
		{[]string{"AuthorizerConcurrency=50"}, []string{"AuthorizerConcurrency=100"}, true},
		{[]string{"ForwardAuth=true", "ForwardAuthConcurrency=50"}, []string{"ForwardAuthConcurrency=100"}, true},
		{[]string{"AuthorizerConcurrency=20", "ForwardAuth=true", "ForwardAuthConcurrency=30"}, []string{"AuthorizerConcurrency=100", "ForwardAuth=false"}, true},
		{nil, []string{"ForwardAuthConcurrency=1000"}, true},
		{[]string{"AuthorizerConcurrency=200"}, []string{"AuthorizerConcurrency=0"}, true},
		// One more is too many.
		{[]string{"AuthorizerConcurrency=50"}, []string{"AuthorizerConcurrency=101"}, false},
		{[]string{"ForwardAuth=true", "ForwardAuthConcurrency=50"}, []string{"ForwardAuthConcurrency=101"}, false},
		{[]string{"AuthorizerConcurrency=20", "ForwardAuth=true", "ForwardAuthConcurrency=30"}, []string{"AuthorizerConcurrency=101", "ForwardAuth=false"}, false},
		{[]string{"ForwardAuthConcurrency=50"}, []string{"ForwardAuth=true", "ForwardAuthConcurrency=51"}, false}, // it was off
		{nil, []string{"AuthorizerConcurrency=51"}, false},
		{[]string{"AuthorizerConcurrency="}, []string{"AuthorizerConcurrency=51"}, false}, // an older version had no such parameter
	} {
		t.Run(strings.Join(append(c.deployed, c.given...), " "), func(t *testing.T) {
			r := newRig(t)
			r.aws.Set(standin.Faults{Concurrency: 150}) // that no function reserves yet
			r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t, c.deployed...))
			out, err := r.deploy("YES=1", "PARAMETERS="+strings.Join(c.given, " "))
			if c.works {
				succeeded(t, out, err)
			} else {
				refused(t, err, "leaves 99 to other functions", "requires 100")
			}
		})
	}
}

// TestAStackThatCannotBeDeployedGetsAdvice tries the statuses of CloudFormation.
func TestAStackThatCannotBeDeployedGetsAdvice(t *testing.T) {
	t.Parallel()
	for status, advice := range map[string]string{
		"CREATE_IN_PROGRESS": "wait until", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS": "wait until", "DELETE_IN_PROGRESS": "wait until",
		"ROLLBACK_COMPLETE": "make undeploy STACK=s", "ROLLBACK_FAILED": "make undeploy STACK=s", "CREATE_FAILED": "make undeploy STACK=s", "DELETE_FAILED": "make undeploy STACK=s",
		"UPDATE_ROLLBACK_FAILED": "continue-update-rollback --stack-name s",
	} {
		refused(t, checkDeployable("s", status), status, advice)
	}
	for _, status := range []string{"CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "IMPORT_COMPLETE"} {
		if err := checkDeployable("s", status); err != nil {
			t.Error(err)
		}
	}
}
