// Package stack runs the whole of Latchkey on this machine. It starts Latchkey's template in the lab (latchkey/infra/harness/lab),
// with the parameters, the names and the token issuer of the local stack. `make run` and many tests use this package.
package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"latchkey/infra/harness/lab"
	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
	"latchkey/pkg/fetch"
)

// StackName is the name of the local stack, and the path of its issuer's URL.
const StackName = "latchkey"

// TableName is the name of the local table.
const TableName = "latchkey"

// Options are the options of a stack. By default Template is the repository's template, and Dir is .local/<port> if Port is set.
// Parameters replace the local stack's values, but AlarmTopicArn is always dropped. With the parameter Issuer the stack starts no
// issuer. Start sets Site, Name, Names and Marker itself.
type Options = lab.Options

// Stack is a running Latchkey in the lab.
type Stack struct {
	*lab.Stack

	Issuer    string // the iss of the tokens that the stack accepts; "": it accepts none
	TableName string
	OwnIssuer bool // the stack has started an issuer: the template has the parameter Issuer, and the caller gave no value for it

	given    map[string]string // the caller's parameters from Start and each Deploy
	template string            // path of the template
}

// Start starts a stack and returns when a request succeeds. It has the errors of lab.Start.
func Start(ctx context.Context, o Options) (*Stack, error) {
	root, err := tools.Root()
	if err != nil {
		return nil, err
	}
	o.Template = cmp.Or(o.Template, filepath.Join(root, "template.yaml"))
	if o.Dir == "" && o.Port != 0 {
		o.Dir = Dir(root, o.Port)
	}
	if o.Site, err = lab.Listen(o.Port); err != nil {
		return nil, err
	}
	s := &Stack{given: map[string]string{}, template: o.Template}
	maps.Copy(s.given, o.Parameters)
	if o.Parameters, err = s.parameters(o.Site); err != nil {
		return nil, errors.Join(err, o.Site.Close())
	}
	o.Name, o.Names, o.Marker = StackName, map[string]string{"Table": TableName}, "X-Latchkey-Local-Response"
	if s.OwnIssuer {
		o.Issuer = &backing.IssuerOptions{ID: StackName, Kinds: kinds(), Login: filepath.Join(root, "infra", "harness", "local", "stack", "login.html")}
		o.Control = map[string]http.Handler{"GET /userinfo": userinfoHandler(s.Issuer)}
	}
	if s.Stack, err = lab.Start(ctx, o); errors.Is(err, backing.ErrOtherTable) {
		return nil, fmt.Errorf("%w (make stack DO=clean-data PORT=%d deletes the data of that table)", err, o.Port)
	} else if err != nil {
		return nil, err
	}
	s.readTableName()
	if err := s.probe(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Dir returns the folder with the state of the stack on a port.
func Dir(root string, port int) string { return filepath.Join(root, ".local", strconv.Itoa(port)) }

// Deploy changes the running stack like a CloudFormation update with other parameters. All other parameters
// keep their values. See lab.Stack.Deploy.
func (s *Stack) Deploy(ctx context.Context, parameters map[string]string) error {
	maps.Copy(s.given, parameters)
	all, err := s.parameters(s.Site)
	if err != nil {
		return err
	}
	err = s.Stack.Deploy(ctx, all)
	s.readTableName() // a parameter can move the stack to a restored table
	return err
}

func (s *Stack) readTableName() {
	s.TableName = cmp.Or(s.Template.Outputs["TableName"], TableName)
}

// parameters sets Issuer and OwnIssuer, and returns the values of the template's parameters: the caller's values, and for other
// declared parameters the local stack's values.
func (s *Stack) parameters(site *lab.Site) (map[string]string, error) {
	declared, err := translated.ReadParameters(s.template)
	if err != nil {
		return nil, err
	}
	_, hasIssuer := declared["Issuer"]
	own := map[string]string{
		"Architecture": tools.Architecture(runtime.GOARCH),
		// The functions call AWS through the proxy that decides by their roles.
		"AwsEndpoint": site.AWS,
		// The stack may send webhooks to receivers on this machine.
		"WebhookAllowCidrs": "127.0.0.0/8", "WebhookIssuer": site.URL,
	}
	s.Issuer, s.OwnIssuer = s.given["Issuer"], hasIssuer && s.given["Issuer"] == ""
	if s.OwnIssuer {
		s.Issuer = IssuerURL(site.Ports.Issuer)
		own["Issuer"], own["JwksUrl"], own["UserinfoUrl"], own["Audience"] = s.Issuer, s.Issuer+"/jwks", site.Control+"/userinfo", Audience
		own["ConsoleClientId"] = ConsoleClient
		// IssueToken uses "service" as the default sub of a Service token.
		own["Services"] = "billing=" + s.Issuer + "#service,support=" + s.Issuer + "#support"
		if s.given["Services"] == "" {
			own["ServiceRights"] = "support=orgs.read+keys.read+keys.revoke"
		}
	}
	maps.DeleteFunc(own, func(name, _ string) bool { _, ok := declared[name]; return !ok })
	maps.Copy(own, s.given)
	// Alarms do not work on this machine, and the function that the template adds for them would call AWS.
	delete(own, "AlarmTopicArn")
	return own, nil
}

// probeLimit is the time limit of the first request.
const probeLimit = time.Minute

// probe makes one real request, so that gateway, authorizer and issuer work when Start returns. It sends GET /v1/orgs with a
// service's token, which creates no user. Another template may answer 404. A stack that has not started an issuer has no token
// to send, so its authorizer may refuse the request.
func (s *Stack) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/v1/orgs", nil)
	if err != nil {
		return err
	}
	if s.OwnIssuer {
		token, err := s.Token(ctx, Service, "ready", "", "")
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	a, err := fetch.Do(http.DefaultClient, req, 1<<20)
	if err != nil {
		return fmt.Errorf("the first request: %w", err)
	}
	refusesOwnToken := a.Status == http.StatusUnauthorized && s.OwnIssuer
	if a.Status >= http.StatusInternalServerError || refusesOwnToken {
		return fmt.Errorf("the first request was answered %d: %s (logs: %s)", a.Status, a.Body, s.LogDir)
	}
	return nil
}
