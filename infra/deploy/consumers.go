package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// checkConsumers prints each authorizer of the account and region that asks one of the stack's and
// could keep the answer, with the commands that mend it. The error says that there are some.
func (p *program) checkConsumers(_ context.Context, now *deployedStack) error {
	if now.output("KeyAuthorizerArn") == "" || now.output("MemberAuthorizerArn") == "" {
		return fmt.Errorf("stack %s has no output KeyAuthorizerArn or MemberAuthorizerArn: give another STACK=, or deploy this version", p.stack)
	}
	s := &search{program: p, shared: shared{now.output("KeyAuthorizerArn"), now.output("MemberAuthorizerArn")}}
	for _, look := range []func() error{s.lookAtREST, s.lookAtHTTP} {
		if err := look(); err != nil {
			return fmt.Errorf("the account's APIs cannot be read: %w", err)
		}
	}
	if org, _ := now.parameter("ConsumerOrganizationId"); org != "" {
		p.say("Other accounts of %s are not looked at.", org)
	}
	if s.wrong > 0 {
		return fmt.Errorf("%d of the above must be mended. Change the API's template too: its next deployment would undo the commands", s.wrong)
	}
	p.say("Looked at %d authorizers in %s: %d ask %s, and none of these can keep an answer.", s.seen, p.aws.region, s.ours, p.stack)
	if s.unknown > 0 {
		p.say("For %d of them, the function is not known.", s.unknown)
	}
	return nil
}

// search is one look through the account's APIs.
type search struct {
	*program
	shared            shared
	seen, ours, wrong int // authorizers; of these, those that ask ours; findings
	unknown           int // authorizers whose function a stage variable names
}

// asks counts an authorizer, and reports whether it asks one of the stack's.
func (s *search) asks(api, name, uri string) bool {
	s.seen++
	if strings.Contains(uri, "${stageVariables.") {
		s.unknown++
		s.say("%s, authorizer %s: a stage variable names its function. Look at it yourself.", api, name)
	}
	ours := s.shared.has(uri)
	if ours {
		s.ours++
	}
	return ours
}

// found prints one finding, unless nothing is wrong.
func (s *search) found(where string, wrong []string, mend string) {
	if len(wrong) == 0 {
		return
	}
	s.wrong++
	s.say("%s: %s. To mend it:\n  %s", where, strings.Join(wrong, "; "), mend)
}

// lookAtREST looks at the authorizers of REST APIs, and at the stages of all: a stage has the
// authorizers as they were when the API was deployed to it, also those that were deleted since.
func (s *search) lookAtREST() error {
	apis, err := pages[struct{ ID, Name string }](s.aws, "apigateway", "get_rest_apis", params{})
	if err != nil {
		return err
	}
	for _, api := range apis {
		all, err := pages[restAuthorizer](s.aws, "apigateway", "get_authorizers", params{"restApiId": api.ID})
		if err != nil {
			return err
		}
		what := fmt.Sprintf("REST API %s (%s)", api.ID, api.Name)
		for _, a := range all {
			if !s.asks(what, a.Name, a.AuthorizerURI) {
				continue
			}
			s.found(what+", authorizer "+a.Name, a.wrong(), fmt.Sprintf("aws apigateway update-authorizer --region %s --rest-api-id %s --authorizer-id %s "+
				"--patch-operations op=replace,path=/type,value=REQUEST op=replace,path=/authorizerResultTtlInSeconds,value=0", s.aws.region, api.ID, a.ID))
		}
		if err := s.lookAtStages(what, api.ID); err != nil {
			return err
		}
	}
	return nil
}

func (s *search) lookAtStages(api, id string) error {
	var stages struct{ Item []struct{ StageName string } }
	if err := s.aws.call("apigateway", "get_stages", params{"restApiId": id}, &stages); err != nil {
		return err
	}
	for _, stage := range stages.Item {
		var out struct{ Body string }
		err := s.aws.call("apigateway", "get_export", params{
			"restApiId": id, "stageName": stage.StageName, "exportType": "oas30", "accepts": "application/json", "parameters": params{"extensions": "authorizers"},
		}, &out)
		if err != nil {
			return err
		}
		wrong, err := s.shared.wrongIn(out.Body)
		if err != nil {
			return fmt.Errorf("the document of %s, stage %s: %w", api, stage.StageName, err)
		}
		s.found(api+", stage "+stage.StageName, wrong, fmt.Sprintf("aws apigateway create-deployment --region %s --rest-api-id %s --stage-name %s    # after its authorizers are mended",
			s.aws.region, id, stage.StageName))
	}
	return nil
}

// lookAtHTTP looks at the authorizers of HTTP APIs and WebSocket APIs.
func (s *search) lookAtHTTP() error {
	apis, err := pages[struct{ APIID, Name, ProtocolType string }](s.aws, "apigatewayv2", "get_apis", params{})
	if err != nil {
		return err
	}
	for _, api := range apis {
		all, err := pages[httpAuthorizer](s.aws, "apigatewayv2", "get_authorizers", params{"ApiId": api.APIID})
		if err != nil {
			return err
		}
		what := fmt.Sprintf("%s API %s (%s)", api.ProtocolType, api.APIID, api.Name)
		for _, a := range all {
			if !s.asks(what, a.Name, a.AuthorizerURI) {
				continue
			}
			if api.ProtocolType == "WEBSOCKET" {
				s.found(what+", authorizer "+a.Name, []string{"it is asked only when a connection begins, which may last two hours"},
					"use another authorizer there: no setting changes this")
				continue
			}
			s.found(what+", authorizer "+a.Name, a.wrong(), fmt.Sprintf("aws apigatewayv2 update-authorizer --region %s --api-id %s --authorizer-id %s %s",
				s.aws.region, api.APIID, a.AuthorizerID, a.settings()))
		}
	}
	return nil
}

// shared are the ARNs of the stack's authorizers for other APIs.
type shared []string

// has reports whether an authorizer's URI names one of them, or a version or an alias of one.
func (l shared) has(uri string) bool {
	_, function, _ := strings.Cut(uri, "/functions/")
	function, _, _ = strings.Cut(function, "/invocations")
	for _, arn := range l {
		if function == arn || strings.HasPrefix(function, arn+":") {
			return true
		}
	}
	return false
}

// wrongIn returns what is wrong with those authorizers of an OpenAPI document that ask ours.
func (l shared) wrongIn(document string) (wrong []string, err error) {
	var d struct {
		Components struct {
			SecuritySchemes map[string]struct {
				Authorizer restAuthorizer `json:"x-amazon-apigateway-authorizer"`
			}
		}
	}
	if err := json.Unmarshal([]byte(document), &d); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.SecuritySchemes)) {
		if a := d.Components.SecuritySchemes[name].Authorizer; l.has(a.AuthorizerURI) && len(a.wrong()) > 0 {
			wrong = append(wrong, fmt.Sprintf("of its deployed authorizer %s, %s", name, strings.Join(a.wrong(), "; ")))
		}
	}
	return wrong, nil
}

// restAuthorizer is an authorizer of a REST API.
type restAuthorizer struct {
	ID, Name, Type, AuthorizerURI string
	AuthorizerResultTTLInSeconds  *int // nil: 300, by AWS's reference of the field
}

// wrong says why API Gateway could keep an answer. An identity source is no fault here: without a time
// it only refuses requests that lack it.
func (a restAuthorizer) wrong() (all []string) {
	if strings.EqualFold(a.Type, "TOKEN") {
		all = append(all, "its type is TOKEN, which the authorizer does not answer")
	}
	kept := 300
	if a.AuthorizerResultTTLInSeconds != nil {
		kept = *a.AuthorizerResultTTLInSeconds
	}
	if kept != 0 {
		all = append(all, fmt.Sprintf("an answer is kept for %d seconds", kept))
	}
	return all
}

// httpAuthorizer is an authorizer of an HTTP API.
type httpAuthorizer struct {
	AuthorizerID, Name, AuthorizerURI string
	AuthorizerPayloadFormatVersion    string
	AuthorizerResultTTLInSeconds      int // absent is 0: API Gateway keeps an answer only by an identity source
	EnableSimpleResponses             bool
	IdentitySource                    []string
}

// wrong says why API Gateway could keep an answer, or takes none.
func (a httpAuthorizer) wrong() (all []string) {
	if len(a.IdentitySource) > 0 {
		all = append(all, fmt.Sprintf("it has the identity source %s, and the authorizer does not answer then", strings.Join(a.IdentitySource, ", ")))
	}
	if a.AuthorizerResultTTLInSeconds != 0 {
		all = append(all, fmt.Sprintf("an answer is kept for %d seconds", a.AuthorizerResultTTLInSeconds))
	}
	if a.wantsPolicy() {
		all = append(all, "its payload is 2.0 without simple responses, so it refuses everyone")
	}
	return all
}

// wantsPolicy reports whether API Gateway expects a policy, which the authorizers give for payload 1.0
// only.
func (a httpAuthorizer) wantsPolicy() bool {
	return cmp.Or(a.AuthorizerPayloadFormatVersion, "2.0") == "2.0" && !a.EnableSimpleResponses
}

// settings returns the options that mend it.
func (a httpAuthorizer) settings() string {
	text := "--identity-source '[]' --authorizer-result-ttl-in-seconds 0"
	if a.wantsPolicy() {
		text += " --enable-simple-responses"
	}
	return text
}
