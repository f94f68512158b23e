package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/deploy/standin"
	"latchkey/infra/tools"
)

// uri returns the URI with which API Gateway calls the function that has this ARN.
func uri(function string) string {
	return "arn:aws:apigateway:eu-central-1:lambda:path/2015-03-31/functions/" + function + "/invocations"
}

// consumers fills the account with APIs. Some of their authorizers call ours, and some of these have a fault. They can cache an
// answer: with a time above 0 (a REST API without a time caches for 300 seconds), with the type TOKEN, or, in an HTTP API, with
// an identity source. Or they refuse every request: payload 2.0 without simple responses. The second letter of an id names the fault:
// g none, t the type TOKEN or a time, d the default time, s an identity source, p the payload. The deployed authorizers of a REST
// API's stage may differ from the API's present authorizers.
func (r *rig) consumers() {
	stack := &standin.Stack{Name: "latchkey"}
	key, member := uri(stack.Function("KeyAuthorizer")), uri(stack.Function("MemberAuthorizer"))
	rest := func(id, kind, uri string, seconds any) map[string]any {
		a := map[string]any{"id": id, "name": id, "type": kind, "authorizerUri": uri}
		if seconds != nil {
			a["authorizerResultTtlInSeconds"] = seconds
		}
		return a
	}
	http := func(id, payload string, simple bool, source []string, seconds int) map[string]any {
		return map[string]any{
			"authorizerId": id, "name": id, "authorizerType": "REQUEST", "authorizerUri": key, "authorizerPayloadFormatVersion": payload,
			"enableSimpleResponses": simple, "identitySource": source, "authorizerResultTtlInSeconds": seconds,
		}
	}
	list := func(all ...map[string]any) []map[string]any { return all }
	good := rest("rg", "REQUEST", key, 0)
	r.aws.AddAPI(standin.API{ID: "r1", Name: "good", Authorizers: list(good), Stages: map[string][]map[string]any{"live": {good}}})
	r.aws.AddAPI(standin.API{
		// "other" calls a function that is not ours.
		ID: "r2", Name: "bad", Authorizers: list(good, rest("rt", "TOKEN", key, 0), rest("rd", "REQUEST", member+":live", nil), rest("other", "TOKEN", uri("arn:aws:lambda:eu-central-1:1:function:other"), 300)),
		Stages: map[string][]map[string]any{"live": {rest("rd", "REQUEST", member, nil)}, "test": {good}},
	})
	r.aws.AddAPI(standin.API{
		ID: "r3", Name: "mended", Authorizers: list(good), Stages: map[string][]map[string]any{"live": {rest("rg", "REQUEST", key, 60)}},
	})
	r.aws.AddAPI(standin.API{ID: "r4", Name: "deleted", Stages: map[string][]map[string]any{"live": {rest("rg", "REQUEST", key, 300)}}})
	r.aws.AddAPI(standin.API{ID: "h1", Name: "good", Protocol: "HTTP", Authorizers: list(
		http("g1", "1.0", false, nil, 0), map[string]any{"authorizerId": "jwt", "name": "jwt", "authorizerType": "JWT", "identitySource": []string{"$request.header.Authorization"}},
	)})
	r.aws.AddAPI(standin.API{ID: "h2", Name: "bad", Protocol: "HTTP", Authorizers: list(
		http("g2", "2.0", true, nil, 0), http("hs", "2.0", true, []string{"$request.header.Authorization"}, 0),
		http("ht", "1.0", false, []string{"$request.header.Authorization"}, 300), http("hp", "2.0", false, nil, 0),
	)})
}

// TestCheckConsumersFindsCachedAnswers runs the printed commands with the AWS CLI too. After that the check must find nothing.
func TestCheckConsumersFindsCachedAnswers(t *testing.T) {
	r := newRig(t)
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t))
	r.consumers()
	cli, err := tools.AWS(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.checkConsumers()
	refused(t, err, "8 of the above must be changed", "template")
	has(t, "output", out,
		"REST API r2 (bad), authorizer rt: its type is TOKEN", "REST API r2 (bad), authorizer rd: an answer is cached for 300 seconds",
		"REST API r2 (bad), stage live: deployed authorizer rd", "REST API r3 (mended), stage live: deployed authorizer rg: an answer is cached for 60 seconds",
		"REST API r4 (deleted), stage live: deployed authorizer rg: an answer is cached for 300 seconds",
		"HTTP API h2 (bad), authorizer hs: it has the identity source $request.header.Authorization", "HTTP API h2 (bad), authorizer ht: ", "HTTP API h2 (bad), authorizer hp: its payload is 2.0",
	)
	var commands []string
	for line := range strings.Lines(out) {
		if command := strings.TrimSpace(line); strings.HasPrefix(command, "aws ") {
			commands = append(commands, command)
		}
	}
	for _, command := range commands {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(command, "aws ", "'"+filepath.Dir(cli)+"/python' '"+cli+"' ", 1))
		for name, value := range r.env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		if result, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command, err, result)
		}
	}
	if len(commands) != 8 {
		t.Errorf("commands: %q", commands)
	}
	out, err = r.checkConsumers()
	succeeded(t, out, err)
	has(t, "output", out, "Checked 12 authorizers in eu-central-1: 10 call latchkey, and none of these can cache an answer.")
	if strings.Contains(out, "aws ") {
		t.Errorf("commands are printed for an account without faults: %s", out)
	}
}

// TestCheckConsumersNeedsOnlyToRead compares the check's calls with the rights of an operator in the runbook.
func TestCheckConsumersNeedsOnlyToRead(t *testing.T) {
	r := newRig(t)
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t))
	r.consumers()
	_, err := r.checkConsumers()
	refused(t, err, "must be changed")
	o := readOperator(t)
	if want, got := []string{"apigateway:GET", "cloudformation:DescribeStacks", "sts:GetCallerIdentity"}, r.aws.Calls(); !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	for _, path := range []string{"restapis", "restapis/r1/authorizers", "restapis/r1/stages/live/exports/oas30", "apis", "apis/h1/authorizers"} {
		if !o.may("apigateway:GET", "arn:aws:apigateway:eu-central-1::/"+path) {
			t.Errorf("operator.yaml does not allow to read /%s", path)
		}
	}
	if o.may("apigateway:PATCH", "arn:aws:apigateway:eu-central-1::/apis/h1") {
		t.Error("operator.yaml allows to change other APIs")
	}
}

// TestCheckConsumersNamesWhatItCannotCheck tries an authorizer whose function a stage variable names, consumers in other
// accounts, and a WebSocket API.
func TestCheckConsumersNamesWhatItCannotCheck(t *testing.T) {
	r := newRig(t)
	r.aws.Put("latchkey", "CREATE_COMPLETE", deployedWith(t, "ConsumerOrganizationId=o-abcdefghij"))
	variable := uri("arn:aws:lambda:eu-central-1:123456789012:function:${stageVariables.authorizer}")
	r.aws.AddAPI(standin.API{ID: "r1", Name: "shop", Authorizers: []map[string]any{{"id": "a", "name": "a", "type": "TOKEN", "authorizerUri": variable}}})
	out, err := r.checkConsumers()
	succeeded(t, out, err)
	has(t, "output", out, "REST API r1 (shop), authorizer a: a stage variable names its function", "Other accounts of o-abcdefghij are not checked", "Checked 1 authorizers")
	key := uri((&standin.Stack{Name: "latchkey"}).Function("KeyAuthorizer"))
	r.aws.AddAPI(standin.API{ID: "w1", Name: "chat", Protocol: "WEBSOCKET", Authorizers: []map[string]any{{"authorizerId": "a", "name": "a", "authorizerUri": key}}})
	out, err = r.checkConsumers()
	refused(t, err, "1 of the above")
	has(t, "output", out, "WEBSOCKET API w1 (chat), authorizer a: it is called only when a connection begins")
}

// TestCheckConsumersFailsWithoutAnAnswer checks for an error when the stack or the APIs cannot be read.
func TestCheckConsumersFailsWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status string // of the stack; "": none
		faults standin.Faults
		words  []string
	}{
		"no stack": {"", standin.Faults{}, []string{"there is no stack latchkey"}},
		// A stack whose creation was rolled back has no outputs.
		"a stack without outputs": {"ROLLBACK_COMPLETE", standin.Faults{}, []string{"no output KeyAuthorizerArn"}},
		"no right to read any":    {"CREATE_COMPLETE", standin.Faults{Refuse: map[string]string{"apigateway:GET": "not authorized to get"}}, []string{"the account's APIs cannot be read", "GET /restapis: 403"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			if c.status != "" {
				r.aws.Put("latchkey", c.status, deployedWith(t))
			}
			r.aws.Set(c.faults)
			_, err := r.checkConsumers()
			refused(t, err, c.words...)
		})
	}
}

func (r *rig) checkConsumers() (string, error) {
	return r.run(func(p *program, ctx context.Context) error { return p.onStack(ctx, p.checkConsumers) }, nil)
}
