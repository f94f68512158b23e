package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/proof"
	"latchkey/infra/tools"
	"latchkey/pkg/webhook"
)

const (
	requestTimeout = 10 * time.Second
	betweenTries   = 2 * time.Second // at most; program.pause is shorter in tests
)

// errNotYet is the error of the rotation while a new key or its tag has no effect yet: KMS answers AccessDenied, or does not show the key.
var errNotYet = errors.New("the rotation may not use its keys yet")

// rotate calls the rotation, which activates a signing key. A new key and its tag may take five minutes to
// have an effect; any other failure is final.
func (p *program) rotate(ctx context.Context) error {
	function := p.deployed.Output("RotateFunctionName")
	if function == "" {
		return fmt.Errorf("stack %s has no output RotateFunctionName", p.Stack)
	}
	p.say("Activating the signing key")
	err := p.until(ctx, p.patience, p.pause, func() (bool, error) {
		err := p.invoke(function)
		if errors.Is(err, errNotYet) {
			p.say("%v; it may take five minutes until a new key and its tag have an effect", err)
		}
		return errors.Is(err, errNotYet), err
	})
	if err != nil {
		return fmt.Errorf("no signing key is active: %w. The rotation runs again every 15 minutes; its log has more", err)
	}
	return nil
}

// invoke calls the rotation once.
func (p *program) invoke(function string) error {
	var out struct{ FunctionError, Payload string }
	if err := p.aws.Call("lambda", "invoke", cloud.Params{"FunctionName": function, "Payload": "{}"}, &out); err != nil {
		return fmt.Errorf("the rotation cannot be called: %w", err)
	}
	if out.FunctionError == "" {
		return nil
	}
	var failure struct{ ErrorMessage string }
	if err := json.Unmarshal([]byte(out.Payload), &failure); err != nil || failure.ErrorMessage == "" {
		failure.ErrorMessage = out.Payload
	}
	if text := failure.ErrorMessage; strings.Contains(text, "AccessDenied") || strings.Contains(text, webhook.ErrNoKey.Error()) {
		return fmt.Errorf("%w: %s", errNotYet, failure.ErrorMessage)
	}
	return fmt.Errorf("the rotation failed: %s", failure.ErrorMessage)
}

// readIssuer reads the issuer's keys from this machine. It only warns when this machine cannot reach the issuer.
func (p *program) readIssuer(ctx context.Context) error {
	issuer := p.value("Issuer")
	switch err := proof.ReadIssuer(ctx, proof.TokensOf(p.value), p.issuer); {
	case err == nil:
		p.say("Issuer %s: its keys were read", issuer)
	case errors.Is(err, proof.ErrUnreachable):
		p.say("WARNING: the issuer %s: %v. If the functions cannot reach it either, the deployment fails at its end.", issuer, err)
	default:
		return fmt.Errorf("the issuer %s gives no keys: %w (write ISSUER= as the issuer does, with or without a slash at its end; JwksUrl= is for an issuer without a discovery document)", issuer, err)
	}
	return nil
}

// check proves the deployed API.
func (p *program) check(ctx context.Context) error {
	api := cmp.Or(p.deployed.Output("ExecuteApiUrl"), p.deployed.Output("ApiUrl")) // a domain's DNS may come later
	if api == "" {
		return fmt.Errorf("stack %s has no output ApiUrl", p.Stack)
	}
	requests, err := proof.Deployment{API: api, Tokens: proof.TokensOf(p.value), KeyPrefix: p.value("KeyPrefix")}.Requests()
	if err != nil {
		return err
	}
	client := &http.Client{Timeout: requestTimeout, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, r := range requests {
		err := p.until(ctx, p.firstAnswer, min(betweenTries, p.pause), func() (bool, error) {
			return true, r.Send(ctx, client) // a new API may give wrong answers at first
		})
		if err != nil {
			return fmt.Errorf("the deployed API is wrong: %w", err)
		}
		p.say("%s: %d, as it should be", r.Name, r.Want)
	}
	return nil
}

// until calls try, with pauses, until try succeeds or returns again as false, or until the patience is over. It returns the
// last error.
func (p *program) until(ctx context.Context, patience, pause time.Duration, try func() (again bool, err error)) error {
	end := time.Now().Add(patience)
	for {
		again, err := try()
		if err == nil || !again || time.Now().Add(pause).After(end) {
			return err
		}
		if ended := tools.Sleep(ctx, pause); ended != nil {
			return errors.Join(err, ended)
		}
	}
}
