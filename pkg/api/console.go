package api

import (
	"context"
	"net/http"
	"path"
	"strings"

	"latchkey/pkg/console"
	"latchkey/pkg/problem"
)

// pages serves the console.
type pages struct{ console *console.Console }

// Console returns the handler of functions/console.
func Console(c *console.Console) http.Handler {
	p := pages{c}
	return newGroup("console", map[string]handler{
		"getConsole": handle(p.page), "getConsoleConfig": handle(p.config), "getConsoleFile": handle(p.file),
		"getVerifyPage": handle(p.verify), "getReference": handle(p.reference), "getSummary": handle(p.summary),
	}, nil, options{})
}

// errNoConsole is the answer while the deployment has no console. Any path without a route gets the same answer.
var errNoConsole = problem.New(problem.RouteNotFound, "There is no such route.")

func (p pages) page(ctx context.Context, c *call, _ none) (answer, error) {
	return p.linked(c, p.console.Page(ctx))
}

func (p pages) verify(_ context.Context, c *call, _ none) (answer, error) {
	return p.linked(c, p.console.Verify())
}

func (p pages) reference(_ context.Context, c *call, _ none) (answer, error) {
	return p.linked(c, p.console.Reference())
}

func (p pages) summary(_ context.Context, c *call, _ none) (answer, error) {
	return p.linked(c, p.console.Summary())
}

// linked answers with a page whose links are relative to its address. API Gateway also routes an address with slashes at its
// end here. From there the links would lead nowhere, so linked redirects to the address without the slashes.
func (p pages) linked(c *call, f console.File) (answer, error) {
	a, err := p.serve(f, true)
	if own := strings.TrimRight(c.URL.Path, "/"); err == nil && own != c.URL.Path {
		up := strings.Repeat("../", len(c.URL.Path)-len(own))
		return answer{status: http.StatusPermanentRedirect, header: map[string]string{"Location": up + path.Base(own)}}, nil
	}
	return a, err
}

// serve answers with a file, or with errNoConsole.
func (p pages) serve(f console.File, found bool) (answer, error) {
	if !found || !p.console.IsOn() {
		return answer{}, errNoConsole
	}
	a := ok(document{f.MediaType, f.Text})
	a.header = f.Header
	return a, nil
}

func (p pages) config(ctx context.Context, _ *call, _ none) (console.Config, error) {
	if !p.console.IsOn() {
		return console.Config{}, errNoConsole
	}
	in, err := p.console.Config(ctx)
	if err != nil {
		return in, problem.Wrap(problem.Unavailable, "The sign-in settings of the identity provider cannot be read right now. Try again.", err)
	}
	return in, nil
}

func (p pages) file(_ context.Context, c *call, _ none) (answer, error) {
	return p.serve(p.console.File(c.PathValue("file")))
}
