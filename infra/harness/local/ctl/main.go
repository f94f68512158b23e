// Command ctl controls the local stack, for the Makefile. Its verbs run the stack (also with the demo's data), print a token, stop and
// start the database and the KMS, call a scheduled function, and delete the table's data.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"latchkey/infra/harness/lab"
	"latchkey/infra/harness/local/demo"
	"latchkey/infra/harness/local/sam"
	"latchkey/infra/harness/local/stack"
	"latchkey/infra/tools"
	"latchkey/infra/tools/parameters"
	"latchkey/pkg/fetch"
)

const usage = "make stack needs DO=stop-db, start-db, pause-db, resume-db, stop-kms, start-kms, clean-data, or schedule with FUNCTION="

// settings are the flags; main describes them.
type settings struct {
	port                         int
	concurrency                  uint
	kind, email, name, sub       string
	function                     string
	parameters                   string
	consumer, consumerParameters string
	tap                          bool
}

func main() {
	var o settings
	flag.IntVar(&o.port, "port", 3000, "port of the stack's API; the stack also uses the next ports, see lab.Ports")
	flag.StringVar(&o.kind, "kind", string(stack.User), "token: user, unverified, service, idtoken, userinfo or otheraudience")
	flag.StringVar(&o.email, "email", "", "token: the person's email")
	flag.StringVar(&o.name, "name", "", "token: the person's name")
	flag.StringVar(&o.sub, "sub", "", "token: the subject; made from the email if empty")
	flag.StringVar(&o.function, "function", "", "schedule: the scheduled function to call, by its name in the template")
	flag.StringVar(&o.parameters, "parameters", "", "run: parameters of the template, as Name=value, separated by blanks")
	flag.StringVar(&o.consumer, "consumer", "", "run: the template of a second API that the stack also serves")
	flag.StringVar(&o.consumerParameters, "consumer-parameters", "", "run: parameters of the second template, in the same form")
	flag.UintVar(&o.concurrency, "concurrency", 0, "run: the account's limit of function calls at once; 0: 1,000")
	flag.BoolVar(&o.tap, "tap", false, "run: print the events on the owner's event bus")
	flag.Parse()
	tools.Main("latchkey: ", func(ctx context.Context) error { return do(ctx, flag.Arg(0), o) })
}

func do(ctx context.Context, verb string, o settings) error {
	switch verb {
	case "run", "demo":
		return run(ctx, o, verb == "demo")
	case "sam":
		return runSAM(ctx, o.port)
	case "token":
		return token(ctx, o)
	case "stop-db", "start-db", "pause-db", "resume-db", "stop-kms", "start-kms":
		action, service, _ := strings.Cut(verb, "-")
		return control(ctx, o.port, "/"+service+"/"+action)
	case "schedule":
		return control(ctx, o.port, "/schedules/"+url.PathEscape(o.function))
	case "clean-data":
		return cleanData(o.port)
	}
	return errors.New(usage)
}

// token prints a token of the local issuer.
func token(ctx context.Context, o settings) error {
	kind := cmp.Or(stack.Kind(o.kind), stack.User)
	if kinds := []stack.Kind{stack.User, stack.Unverified, stack.Service, stack.IDToken, stack.Userinfo, stack.OtherAudience}; !slices.Contains(kinds, kind) {
		return fmt.Errorf("unknown KIND=%q: it must be one of %q. A person's role is in an org, not in the token", kind, kinds)
	}
	if o.email == "" && kind != stack.Service {
		return errors.New("EMAIL= is missing: the email of the person; NAME= is optional")
	}
	issuer := stack.IssuerURL(lab.PortsFrom(o.port).Issuer)
	t, err := stack.IssueToken(ctx, issuer, kind, o.sub, o.email, o.name)
	if err != nil {
		return fmt.Errorf("%w (is `make run PORT=%d` running?)", err, o.port)
	}
	fmt.Println(t)
	return nil
}

// control posts to a path of the running stack's control endpoint.
func control(ctx context.Context, port int, path string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	address := fmt.Sprintf("http://127.0.0.1:%d%s", lab.PortsFrom(port).Control, path)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
	if err != nil {
		return err
	}
	a, err := fetch.Do(http.DefaultClient, req, 1<<20)
	if err != nil {
		return fmt.Errorf("%w (is `make run PORT=%d` running?)", err, port)
	}
	if a.Status != http.StatusNoContent {
		return fmt.Errorf("%d: %s", a.Status, a.Body)
	}
	return nil
}

// cleanData deletes the table's data. It fails while the stack runs, because a running database would keep a part of the data.
func cleanData(port int) error {
	ports := lab.PortsFrom(port)
	for _, p := range []int{ports.Control, ports.DynamoDB} { // the database is the last to end
		if _, err := tools.FreePort(p); err != nil {
			return fmt.Errorf("the stack on port %d is running; stop it first", port)
		}
	}
	root, err := tools.Root()
	if err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(stack.Dir(root, port), "data"))
}

// run runs Latchkey on this machine until the context ends, with the demo's data if isDemo.
func run(ctx context.Context, o settings, isDemo bool) error {
	given, errGiven := parameters.Parse(o.parameters)
	consumers, errConsumers := parameters.Parse(o.consumerParameters)
	if err := errors.Join(errGiven, errConsumers); err != nil {
		return err
	}
	var buses map[string]func(string)
	if o.tap {
		const bus = "owner"
		if given == nil {
			given = map[string]string{}
		}
		given["EventBusName"] = bus
		buses = map[string]func(string){bus: func(event string) { fmt.Println("on your event bus: " + event) }}
	}
	begun := time.Now()
	s, err := stack.Start(ctx, stack.Options{
		Buses: buses,
		Port:  o.port, Parameters: given, Reload: true, Requests: os.Stdout,
		Consumer: o.consumer, ConsumerParameters: consumers, Concurrency: int(o.concurrency),
	})
	var missing *tools.MissingError
	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("%w\nLatchkey's local stack needs Go, a JDK of Java 17 or later, Maven, and Python 3.10 or later with venv", err)
	case err != nil && ctx.Err() != nil:
		return nil //nolint:nilerr // an interruption is not an error
	case err != nil:
		return err
	}
	for _, function := range slices.Sorted(maps.Keys(s.FunctionURLs)) {
		fmt.Printf("The function URL of %s is %s\n", function, s.FunctionURLs[function])
	}
	if s.Consumer != "" {
		fmt.Printf("The API of %s is at %s\n", o.consumer, s.Consumer)
	}
	if s.OwnIssuer {
		fmt.Printf("The console is at %s/console\n", s.URL)
	}
	if err := checkIssuer(ctx, s, given["JwksUrl"]); err != nil {
		fmt.Printf("The issuer %s cannot be reached. Until it answers, the API answers 503 to every token (%v)\n", s.Issuer, err)
	}
	if isDemo {
		if err := fill(ctx, s, o.port); err != nil {
			return errors.Join(err, s.Close())
		}
	}
	fmt.Printf("Latchkey is ready at %s\n", s.URL)
	tokenHint := "tokens come from " + s.Issuer
	if s.OwnIssuer {
		tokenHint = fmt.Sprintf("a token: make token EMAIL=a@example.com NAME=Ann PORT=%d", o.port)
	}
	fmt.Fprintf(os.Stderr, "started in %.1f s; logs: %s; %s\n", time.Since(begun).Seconds(), s.LogDir, tokenHint)
	select {
	case <-ctx.Done():
		return s.Close()
	case err := <-s.Failed:
		return errors.Join(err, s.Close())
	}
}

// fill fills the stack with the demo's data, and prints the email addresses to sign in with.
func fill(ctx context.Context, s *stack.Stack, port int) error {
	begun := time.Now()
	fmt.Println("writing thirty days of three customers, which takes about half a minute")
	people, err := demo.Fill(ctx, s)
	if err != nil {
		return fmt.Errorf("the demo's data: %w (a demo before may have been cut short: make stack DO=clean-data PORT=%d deletes all data of this port; then run make demo again)", err, port)
	}
	fmt.Printf("The demo's data is ready, after %.1f s. Sign in to the console as one of:\n  %s\n", time.Since(begun).Seconds(), strings.Join(people, "\n  "))
	return nil
}

// checkIssuer checks that an external issuer can be reached: it reads the issuer's keys at the URL keys, or the discovery document
// if keys is "".
func checkIssuer(ctx context.Context, s *stack.Stack, keys string) error {
	if s.OwnIssuer || s.Issuer == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cmp.Or(keys, s.Issuer+"/.well-known/openid-configuration"), nil)
	if err != nil {
		return err
	}
	a, err := fetch.Do(http.DefaultClient, req, 1<<20)
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("the issuer answered %d", a.Status)
	}
	return err
}

// runSAM runs the functions under `sam local start-api` until the context ends.
func runSAM(ctx context.Context, port int) error {
	s, err := sam.Start(ctx, port, func(line string) { fmt.Fprintln(os.Stderr, line) })
	if err != nil {
		return err
	}
	fmt.Printf("Latchkey is ready at %s (sam local)\n", s.URL)
	fmt.Printf("a token: make token EMAIL=a@example.com NAME=Ann PORT=%d\n", port+sam.BehindPort)
	select {
	case <-ctx.Done():
	case <-s.Done:
		err = errors.New("sam local ended by itself")
	case err = <-s.Stack.Failed:
	}
	return errors.Join(err, s.Close())
}
