// Package consumers searches for other APIs that use the stack's shared authorizers and could cache their answers. Such an API
// would accept a revoked key until the cached answer ends. `make check-consumers` runs a search, and a function runs one each day.
package consumers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
)

// API reads the settings of API Gateway, by the paths of its management API.
type API interface {
	// Page reads one page of a list into out. token is "" for the first page, and then the token of the previous page.
	Page(ctx context.Context, path, token string, out any) error
	// Export reads the OpenAPI document of a REST API's stage, with its authorizers.
	Export(ctx context.Context, api, stage string) ([]byte, error)
}

// Search is one search through the APIs of an account and region.
type Search struct {
	API    API
	Region string
	Shared []string                         // the ARNs of the stack's authorizers for other APIs
	Say    func(format string, args ...any) // called for each finding, and for each authorizer that Unknown counts

	// Limited is the ARN in Shared that checks API keys. Run reports the stages of its APIs that deny a key over its limits instead of
	// answering 429. Wrong does not count such stages. "": Run does not report them.
	Limited string

	Seen    int // all authorizers
	Ours    int // authorizers that call a function of Shared
	Wrong   int // findings: authorizers and stages that could cache an answer, or that refuse everyone
	Unknown int // authorizers whose function is in a stage variable, so that the search does not know it
}

// Run checks REST APIs, and then HTTP APIs and WebSocket APIs. It continues after an API that it cannot read. Its error has all such
// failures in one line. An API that is deleted during the search is not a failure.
func (s *Search) Run(ctx context.Context) error {
	if err := errors.Join(s.checkREST(ctx), s.checkHTTP(ctx)); err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}

// ErrGone means that API Gateway does not have the requested object. It may have been deleted after it was listed. The search
// then skips the rest of its API.
var ErrGone = errors.New("consumers: it is not there")

// checkEach calls check for each API of a list. It returns the errors, except ErrGone.
func checkEach[T any](apis []T, check func(T) error) error {
	failed := make([]error, len(apis))
	for i, api := range apis {
		if err := check(api); !errors.Is(err, ErrGone) {
			failed[i] = err
		}
	}
	return errors.Join(failed...)
}

// usesOurs counts an authorizer of an API, and reports whether it calls one of the stack's functions.
func (s *Search) usesOurs(api, name, uri string) bool {
	s.Seen++
	if strings.Contains(uri, "${stageVariables.") {
		s.Unknown++
		s.Say("%s, authorizer %s: a stage variable names its function. Check this authorizer yourself.", api, name)
	}
	ours := shared(s.Shared).has(uri)
	if ours {
		s.Ours++
	}
	return ours
}

// report counts and reports one finding, unless faults is empty. repair is the command that repairs the fault, or advice.
func (s *Search) report(where string, faults []string, repair string) {
	if len(faults) == 0 {
		return
	}
	s.Wrong++
	s.Say("%s: %s. To repair it:\n  %s", where, strings.Join(faults, "; "), repair)
}

// pages reads all pages of a list.
func pages[T any](ctx context.Context, from API, path string) (all []T, err error) {
	for token := ""; ; {
		var page struct {
			// REST APIs return item and position. Other APIs return items and nextToken.
			Item, Items         []T
			Position, NextToken string
		}
		if err := from.Page(ctx, path, token, &page); err != nil {
			return nil, err
		}
		all = append(append(all, page.Item...), page.Items...)
		if token = page.Position + page.NextToken; token == "" {
			return all, nil
		}
	}
}

// checkREST checks the authorizers of REST APIs, and their stages. A stage has a copy of the authorizers from its last
// deployment, also of those that were changed or deleted later.
func (s *Search) checkREST(ctx context.Context) error {
	type restAPI struct{ ID, Name string }
	apis, err := pages[restAPI](ctx, s.API, "/restapis")
	if err != nil {
		return err
	}
	return checkEach(apis, func(api restAPI) error {
		all, err := pages[restAuthorizer](ctx, s.API, "/restapis/"+api.ID+"/authorizers")
		if err != nil {
			return err
		}
		apiName := fmt.Sprintf("REST API %s (%s)", api.ID, api.Name)
		limited := false
		for _, a := range all {
			if !s.usesOurs(apiName, a.Name, a.AuthorizerURI) {
				continue
			}
			limited = limited || s.checksKeys(a.AuthorizerURI)
			s.report(apiName+", authorizer "+a.Name, a.faults(), fmt.Sprintf("aws apigateway update-authorizer --region %s --rest-api-id %s --authorizer-id %s "+
				"--patch-operations op=replace,path=/type,value=REQUEST op=replace,path=/authorizerResultTtlInSeconds,value=0", s.Region, api.ID, a.ID))
		}
		return s.checkStages(ctx, apiName, api.ID, limited)
	})
}

// checksKeys reports whether an authorizer's URI names Limited.
func (s *Search) checksKeys(uri string) bool { return s.Limited != "" && shared{s.Limited}.has(uri) }

// reportMissingLimits reports a stage without the variable LatchkeyLimits.
func (s *Search) reportMissingLimits(api, stage string, variables map[string]string) {
	if variables["LatchkeyLimits"] != "handler" {
		s.Say("%s, stage %s: a key over its limits is denied, and not answered 429. For that, set the stage variable LatchkeyLimits=handler "+
			"and answer it in your function (infra/docs/protect.md, \"Limits\").", api, stage)
	}
}

// checkStages checks the deployed authorizers of a REST API. api describes the API for people.
func (s *Search) checkStages(ctx context.Context, api, id string, limited bool) error {
	stages, err := pages[struct {
		StageName string
		Variables map[string]string
	}](ctx, s.API, "/restapis/"+id+"/stages")
	if err != nil {
		return err
	}
	for _, stage := range stages {
		if limited {
			s.reportMissingLimits(api, stage.StageName, stage.Variables)
		}
		document, err := s.API.Export(ctx, id, stage.StageName)
		if err != nil {
			return err
		}
		faults, err := shared(s.Shared).faultsIn(document)
		if err != nil {
			return fmt.Errorf("the document of %s, stage %s: %w", api, stage.StageName, err)
		}
		s.report(api+", stage "+stage.StageName, faults, fmt.Sprintf("aws apigateway create-deployment --region %s --rest-api-id %s --stage-name %s    # after its authorizers are repaired",
			s.Region, id, stage.StageName))
	}
	return nil
}

// checkHTTP checks the authorizers of HTTP APIs and WebSocket APIs.
func (s *Search) checkHTTP(ctx context.Context) error {
	type httpAPI struct{ APIID, Name, ProtocolType string }
	apis, err := pages[httpAPI](ctx, s.API, "/v2/apis")
	if err != nil {
		return err
	}
	return checkEach(apis, func(api httpAPI) error {
		all, err := pages[httpAuthorizer](ctx, s.API, "/v2/apis/"+api.APIID+"/authorizers")
		if err != nil {
			return err
		}
		apiName := fmt.Sprintf("%s API %s (%s)", api.ProtocolType, api.APIID, api.Name)
		limited := false
		for _, a := range all {
			if !s.usesOurs(apiName, a.Name, a.AuthorizerURI) {
				continue
			}
			limited = limited || s.checksKeys(a.AuthorizerURI)
			if api.ProtocolType == "WEBSOCKET" {
				s.report(apiName+", authorizer "+a.Name, []string{"it is called only when a connection begins, and a connection may last two hours"},
					"use another authorizer there: no setting changes this")
				continue
			}
			s.report(apiName+", authorizer "+a.Name, a.faults(), fmt.Sprintf("aws apigatewayv2 update-authorizer --region %s --api-id %s --authorizer-id %s %s",
				s.Region, api.APIID, a.AuthorizerID, a.settings()))
		}
		if !limited || api.ProtocolType == "WEBSOCKET" {
			return nil
		}
		stages, err := pages[struct {
			StageName      string
			StageVariables map[string]string
		}](ctx, s.API, "/v2/apis/"+api.APIID+"/stages")
		for _, stage := range stages {
			s.reportMissingLimits(apiName, stage.StageName, stage.StageVariables)
		}
		return err
	})
}

// Daily runs a Search on a schedule. It logs each finding.
type Daily struct {
	API    API
	Region string
	Shared []string // see Search
}

// Run returns an error if an API could cache an answer, or if not all APIs can be read. An error of the function raises an alarm.
func (d Daily) Run(ctx context.Context) error {
	s := Search{API: d.API, Region: d.Region, Shared: d.Shared, Say: func(format string, args ...any) {
		slog.ErrorContext(ctx, "a consumer", "finding", fmt.Sprintf(format, args...))
	}}
	if err := s.Run(ctx); err != nil {
		return fmt.Errorf("the account's APIs cannot be read: %w", err)
	}
	slog.InfoContext(ctx, "looked at consumers", "authorizers", s.Seen, "ours", s.Ours, "wrong", s.Wrong, "unknown", s.Unknown)
	if s.Wrong > 0 {
		return fmt.Errorf("%d authorizers or stages could keep an answer", s.Wrong)
	}
	return nil
}
