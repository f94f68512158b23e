package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"latchkey/infra/deploy/cloud"
	"latchkey/infra/deploy/settings"
)

// unreservable is the part of the account's concurrency that AWS lets no function reserve. In an account with 100 or less, no
// function can reserve any.
const unreservable = 100

// connect finds the region and the account. The error names everything that is missing.
func (p *program) connect(ctx context.Context) error {
	var err error
	if p.aws, err = cloud.New(ctx, p.python, p.environment, p.Region); err != nil {
		return fmt.Errorf("no AWS credentials: %w", err)
	}
	var missing settings.Faults
	if p.aws.Region == "" {
		missing.Note(settings.ErrNoRegion)
	}
	if !p.aws.HasCredentials {
		missing.Note(errors.New("no AWS credentials: set AWS_PROFILE, or sign in with aws sso login or aws login"))
	}
	if err := missing.Err(); err != nil {
		return err
	}
	var who struct{ Account, Arn string }
	if err := p.aws.Call("sts", "get_caller_identity", cloud.Params{}, &who); err != nil {
		return explainFirstCall(err, p.aws.Region)
	}
	p.account = who.Account
	p.say("Account %s in %s, as %s", who.Account, p.aws.Region, who.Arn)
	return nil
}

// explainFirstCall explains why the first call of AWS failed. It looks for the names of botocore's exceptions and for AWS's codes.
func explainFirstCall(err error, region string) error {
	for _, name := range []string{"EndpointConnectionError", "ConnectTimeoutError", "ReadTimeoutError", "ProxyConnectionError"} {
		if strings.Contains(err.Error(), name) {
			return fmt.Errorf("AWS cannot be reached in %s: %w: does the region exist, and does this machine reach the Internet?", region, err)
		}
	}
	also := ""
	if strings.Contains(err.Error(), "InvalidClientTokenId") {
		also = " (a region that the account has not enabled gives the same answer)"
	}
	return fmt.Errorf("no AWS credentials that work: %w: set AWS_PROFILE, or sign in with aws sso login or aws login%s", err, also)
}

// preflight refuses a deployment that cannot succeed. It prints the stack, the account's limits and the cost.
func (p *program) preflight(ctx context.Context) error {
	checkValues := func() error { return cmp.Or(p.template.CheckTogether(p.value), p.template.CheckEnvironments(p.value)) }
	checkIssuer := func() error { return p.readIssuer(ctx) }
	for _, check := range []func() error{p.checkStack, p.checkReaders, checkValues, p.checkOptions, checkIssuer, p.checkConcurrency} {
		if err := check(); err != nil {
			return err
		}
	}
	if !p.Yes && !p.Dry && !p.terminal {
		return errors.New("there is no terminal to confirm the change set at: give YES=1")
	}
	p.say("An idle stack costs about $2 a month: about a dollar a month for each signing key, and the functions that run once a minute (infra/docs/costs.md).")
	return nil
}

// checkStack finds the deployed stack. Errors: a new stack needs ISSUER=, the stack's status allows no deployment, or the stack
// is not Latchkey's.
func (p *program) checkStack() error {
	var err error
	if p.deployed, err = p.describe(); err != nil {
		return err
	}
	if p.deployed != nil && p.deployed.StackStatus == cloud.InReview {
		p.deployed = nil
	}
	if p.deployed == nil && p.Parameters["Issuer"] == "" {
		return fmt.Errorf("there is no stack %s in %s; a new one needs the issuer of your access tokens: %s", p.Stack, p.aws.Region, settings.Usage)
	}
	p.Architecture = cmp.Or(p.Architecture, p.value("Architecture"))
	if p.deployed == nil {
		p.say("Stack %s: new, for %s", p.Stack, p.Architecture)
		return nil
	}
	if err := checkDeployable(p.Stack, p.deployed.StackStatus); err != nil {
		return err
	}
	if err := p.checkOurs(p.deployed); err != nil {
		return err
	}
	p.say("Stack %s: %s, for %s. A parameter that is not given keeps its value.", p.Stack, p.deployed.StackStatus, p.Architecture)
	if dropped := p.template.Dropped(p.deployed.Values()); dropped != nil {
		p.say("The template no longer has these parameters, and this deployment ends their values (infra/docs/CHANGELOG.md says what replaces them): %s", strings.Join(dropped, ", "))
	}
	return nil
}

// checkConcurrency compares the account's concurrency with the concurrency that the parameters need.
func (p *program) checkConcurrency() error {
	var out struct {
		AccountLimit struct{ ConcurrentExecutions, UnreservedConcurrentExecutions int }
	}
	if err := p.aws.Call("lambda", "get_account_settings", cloud.Params{}, &out); err != nil {
		return fmt.Errorf("the account's Lambda concurrency cannot be read: %w", err)
	}
	limit := out.AccountLimit
	deliver, errDeliver := number(p.value, "DeliverConcurrency")
	authorizer, forward, errReserved := reserved(p.value)
	if err := errors.Join(errDeliver, errReserved); err != nil {
		return err
	}
	p.say("Lambda runs %d functions at once here: DeliverConcurrency uses up to %d of them, AuthorizerConcurrency reserves %d.", limit.ConcurrentExecutions, deliver, authorizer)
	reservations := fmt.Sprintf("AuthorizerConcurrency=%d", authorizer)
	if forward > 0 {
		p.say("ForwardAuthConcurrency reserves %d.", forward)
		reservations += fmt.Sprintf(" with ForwardAuthConcurrency=%d", forward)
	}
	reserve := authorizer + forward
	free := limit.UnreservedConcurrentExecutions - reserve + p.reservedNow()
	if least := min(unreservable, limit.ConcurrentExecutions); reserve > 0 && free < least {
		return fmt.Errorf("%s leaves %d to other functions, and AWS requires %d: give less, or ask AWS for more (runbook, \"Raising limits\")", reservations, free, least)
	}
	if deliver >= free {
		p.say("Webhooks could use all of Lambda's concurrency, and requests would get 503: ask AWS for 1,000 (runbook, \"Raising limits\").")
	}
	return nil
}

// reserved returns the concurrency that the authorizer and the function URL, if it is on, reserve by these values.
func reserved(value func(name string) string) (authorizer, forward int, err error) {
	authorizer, err = number(value, "AuthorizerConcurrency")
	if err == nil && value("ForwardAuth") == "true" {
		forward, err = number(value, "ForwardAuthConcurrency")
	}
	return authorizer, forward, err
}

// number returns the value of a parameter as a number.
func number(value func(name string) string, name string) (int, error) {
	n, err := strconv.Atoi(value(name))
	if err != nil {
		return 0, fmt.Errorf("%s=%s is not a number", name, value(name))
	}
	return n, nil
}

// reservedNow returns the concurrency that the deployed functions reserve.
func (p *program) reservedNow() int {
	values := p.deployed.Values()
	authorizer, forward, err := reserved(func(name string) string { return values[name] })
	if err != nil {
		return 0 // no stack, or a stack that is older than the parameter, reserves nothing
	}
	return authorizer + forward
}
