package api

import (
	"context"
	"net/http"

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
	}, nil)
}

// errNoConsole is the answer while the deployment has no console: that of a path that is no route.
var errNoConsole = problem.New(problem.RouteNotFound, "There is no such route.")

func (p pages) page(ctx context.Context, _ *call, _ none) (answer, error) {
	return p.serve(p.console.Page(ctx), true)
}

func (p pages) verify(context.Context, *call, none) (answer, error) {
	return p.serve(p.console.Verify(), true)
}

func (p pages) reference(context.Context, *call, none) (answer, error) {
	return p.serve(p.console.Reference(), true)
}

func (p pages) summary(context.Context, *call, none) (answer, error) {
	return p.serve(p.console.Summary(), true)
}

// serve answers a file that was found.
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
		return in, problem.Wrap(problem.Unavailable, "How to sign in cannot be read from the identity provider now.", err)
	}
	return in, nil
}

func (p pages) file(_ context.Context, c *call, _ none) (answer, error) {
	return p.serve(p.console.File(c.PathValue("file")))
}
