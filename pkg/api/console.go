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
	}, nil)
}

// errNoConsole is the answer while the deployment has no console: that of a path that is no route.
var errNoConsole = problem.New(problem.RouteNotFound, "There is no such route.")

func (p pages) page(ctx context.Context, _ *call, _ none) (answer, error) {
	if !p.console.IsOn() {
		return answer{}, errNoConsole
	}
	html, header := p.console.Page(ctx)
	a := ok(document{"text/html", html})
	a.header = header
	return a, nil
}

func (p pages) config(ctx context.Context, _ *call, _ none) (console.SignIn, error) {
	if !p.console.IsOn() {
		return console.SignIn{}, errNoConsole
	}
	in, err := p.console.SignIn(ctx)
	if err != nil {
		return in, problem.Wrap(problem.Unavailable, "How to sign in cannot be read from the identity provider now.", err)
	}
	return in, nil
}

func (p pages) file(_ context.Context, c *call, _ none) (answer, error) {
	f, found := p.console.File(c.PathValue("file"))
	if !found || !p.console.IsOn() {
		return answer{}, errNoConsole
	}
	a := ok(document{f.MediaType, f.Text})
	a.header = map[string]string{"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
	return a, nil
}
