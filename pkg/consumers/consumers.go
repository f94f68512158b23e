// Package consumers looks for other APIs that use the stack's shared authorizers and could cache their answers. Such an
// API would accept a revoked key until its cached answer ends. `make check-consumers` searches by hand, and a function
// once a day.
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
	// Page reads one page of a list into out. token is "" for the first page, else the token of the page before.
	Page(ctx context.Context, path, token string, out any) error
	// Export reads the OpenAPI document of a REST API's stage, with its authorizers.
	Export(ctx context.Context, api, stage string) ([]byte, error)
}

// Search is one look through the APIs of an account and region.
type Search struct {
	API    API
	Region string
	Shared []string                         // the ARNs of the stack's authorizers for other APIs
	Say    func(format string, args ...any) // called with each finding, and for each of Unknown

	// Limited is the one of Shared that decides on API keys. Run reports the stages of its APIs where a key over its limits is
	// denied, not answered 429. Such a stage is not counted as Wrong. "": Run does not report them.
	Limited string

	Seen    int // authorizers in all
	Ours    int // authorizers that call a function of Shared
	Wrong   int // findings: authorizers and stages that could keep an answer, or refuse everyone
	Unknown int // authorizers whose function a stage variable names, so that the search cannot know it
}

// Run looks at REST APIs, and then at HTTP APIs and WebSocket APIs. An API that cannot be read does not stop the
// search. The error of Run names all such APIs' failures, in one line. An API that is deleted during the search is not
// a failure.
func (s *Search) Run(ctx context.Context) error {
	if err := errors.Join(s.lookAtREST(ctx), s.lookAtHTTP(ctx)); err != nil {
		return errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}

// ErrGone means that API Gateway does not have the requested object, which may have been deleted since it was listed. The
// rest of an API that loses an object during the search is left to the next search.
var ErrGone = errors.New("consumers: it is not there")

// lookAtEach calls look for all APIs of a list and returns the errors, except ErrGone.
func lookAtEach[T any](apis []T, look func(T) error) error {
	failed := make([]error, len(apis))
	for i, api := range apis {
		if err := look(api); !errors.Is(err, ErrGone) {
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
		s.Say("%s, authorizer %s: a stage variable names its function. Look at it yourself.", api, name)
	}
	ours := shared(s.Shared).has(uri)
	if ours {
		s.Ours++
	}
	return ours
}

// report counts and reports one finding, unless faults is empty. mend is the command that mends it, or advice.
func (s *Search) report(where string, faults []string, mend string) {
	if len(faults) == 0 {
		return
	}
	s.Wrong++
	s.Say("%s: %s. To mend it:\n  %s", where, strings.Join(faults, "; "), mend)
}

// pages reads all pages of a list.
func pages[T any](ctx context.Context, from API, path string) (all []T, err error) {
	for token := ""; ; {
		var page struct {
			// A page of REST APIs has item and position. A page of the others has items and nextToken.
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

// lookAtREST looks at the authorizers of REST APIs, and at their stages. A stage has the authorizers as they were when
// the API was deployed to it, also those that were changed or deleted since.
func (s *Search) lookAtREST(ctx context.Context) error {
	type restAPI struct{ ID, Name string }
	apis, err := pages[restAPI](ctx, s.API, "/restapis")
	if err != nil {
		return err
	}
	return lookAtEach(apis, func(api restAPI) error {
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
			limited = limited || s.limits(a.AuthorizerURI)
			s.report(apiName+", authorizer "+a.Name, a.faults(), fmt.Sprintf("aws apigateway update-authorizer --region %s --rest-api-id %s --authorizer-id %s "+
				"--patch-operations op=replace,path=/type,value=REQUEST op=replace,path=/authorizerResultTtlInSeconds,value=0", s.Region, api.ID, a.ID))
		}
		return s.lookAtStages(ctx, apiName, api.ID, limited)
	})
}

// limits reports whether an authorizer's URI names Limited.
func (s *Search) limits(uri string) bool { return s.Limited != "" && shared{s.Limited}.has(uri) }

// reportMissingLimits reports a stage that lacks the variable LatchkeyLimits.
func (s *Search) reportMissingLimits(api, stage string, variables map[string]string) {
	if variables["LatchkeyLimits"] != "handler" {
		s.Say("%s, stage %s: a key over its limits is denied, and not answered 429. For that, set the stage variable LatchkeyLimits=handler "+
			"and answer it in your function (infra/docs/protect.md, \"Limits\").", api, stage)
	}
}

// lookAtStages looks at the deployed authorizers of a REST API. api describes the API for people.
func (s *Search) lookAtStages(ctx context.Context, api, id string, limited bool) error {
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
		s.report(api+", stage "+stage.StageName, faults, fmt.Sprintf("aws apigateway create-deployment --region %s --rest-api-id %s --stage-name %s    # after its authorizers are mended",
			s.Region, id, stage.StageName))
	}
	return nil
}

// lookAtHTTP looks at the authorizers of HTTP APIs and WebSocket APIs.
func (s *Search) lookAtHTTP(ctx context.Context) error {
	type httpAPI struct{ APIID, Name, ProtocolType string }
	apis, err := pages[httpAPI](ctx, s.API, "/v2/apis")
	if err != nil {
		return err
	}
	return lookAtEach(apis, func(api httpAPI) error {
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
			limited = limited || s.limits(a.AuthorizerURI)
			if api.ProtocolType == "WEBSOCKET" {
				s.report(apiName+", authorizer "+a.Name, []string{"it is asked only when a connection begins, which may last two hours"},
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
	Shared []string // as in Search
}

// Run returns an error when an API could keep an answer, or when not all APIs can be read. The errors of the function
// raise an alarm.
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
