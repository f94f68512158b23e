// Command cli is `latchkey`, for the owner's people at a terminal. It only calls the API, as a service: TOKEN_CMD prints the token.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"latchkey/pkg/fetch"
)

const usage = `latchkey: the API from a command line

  listen --key KEY --forward URL [--types a.b,c.*] [--state FILE]    each event of the key's app, to a server of yours, not signed
  org make --name NAME [--external-id ID]
  org show ORG              or --external-id ID
  find --locator TEXT       or --key KEY, --sha256 HASH, --email ADDRESS, --subject SUB, --external-id ID
  suspend ORG, resume ORG   all keys of an org
  stop USER, resume USER    a person
  revoke KEYID --org ORG    or --key KEY, or --org ORG --created-by USER
  usage --csv [--month 2026-11]

  revoke --all --made-before 2026-11-29T12:00:00Z [--state FILE --yes]    the keys of every org that were made before
  suspend --all [--state FILE --yes]                                      every org
  resume --from FILE [--yes]                                              the orgs that the run of suspend --all in FILE has suspended

Without --yes the last three only list and count. A run that was interrupted continues with the same --state FILE. A new
run needs a new FILE.
With --key - the key is read from the environment variable KEY, or from the standard input. --api is by default LATCHKEY_API, BASE_URL or
http://127.0.0.1:3000. TOKEN_CMD is a command that prints an access token of a service. The audit log shows --reason and --operator.
`

// acts are the commands that send one request. A name has the words, the beginning of the id, and the flags in alphabetical order.
// In a path, {id} becomes the id, and {flag} the value of a flag. Each member of the body has the value of its flag.
var acts = map[string]struct{ method, path, members string }{
	"org make --name":               {"POST", "/v1/orgs", "name"},
	"org make --external-id --name": {"POST", "/v1/orgs", "name externalId"},
	"org show org_":                 {"GET", "/v1/orgs/{id}", ""},
	"org show --external-id":        {"GET", "/v1/orgs?externalId={external-id}", ""},
	"find --locator":                {"POST", "/v1/keys/find", "locator"},
	"find --key":                    {"POST", "/v1/keys/find", "key"},
	"find --sha256":                 {"POST", "/v1/keys/find", "sha256"},
	"find --email":                  {"GET", "/v1/users?email={email}", ""},
	"find --subject":                {"GET", "/v1/users?subject={subject}", ""},
	"find --external-id":            {"GET", "/v1/orgs?externalId={external-id}", ""},
	"suspend org_":                  {"POST", "/v1/orgs/{id}/suspension", ""},
	"resume org_":                   {"DELETE", "/v1/orgs/{id}/suspension", ""},
	"stop usr_":                     {"POST", "/v1/users/{id}/stop", ""},
	"resume usr_":                   {"DELETE", "/v1/users/{id}/stop", ""},
	"revoke key_ --org":             {"DELETE", "/v1/orgs/{org}/keys/{id}", ""},
	"revoke --created-by --org":     {"DELETE", "/v1/orgs/{org}/keys?createdBy={created-by}", ""},
	"revoke --key":                  {"POST", "/key/revoke", "key"},
	"usage --csv":                   {"GET", "/v1/usage", ""},
	"usage --csv --month":           {"GET", "/v1/usage?month={month}", ""},
}

// runs are the other commands, with names of the same form.
var runs = map[string]func(context.Context, *cli) error{
	"listen --forward --key": listen, "listen --forward --key --state": listen,
	"listen --forward --key --types": listen, "listen --forward --key --state --types": listen,
	"revoke --all --made-before": revokeAll, "revoke --all --made-before --state --yes": revokeAll,
	"suspend --all": suspendAll, "suspend --all --state --yes": suspendAll,
	"resume --from": resumeFrom, "resume --from --yes": resumeFrom,
}

// cli is one run of the program.
type cli struct {
	id    string
	flags map[string]string
	client
}

func main() {
	ctx, end := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer end()
	context.AfterFunc(ctx, end) // a second Ctrl-C ends the program at once
	switch err := run(ctx, os.Args[1:]); {
	case errors.Is(err, context.Canceled):
		say("latchkey: interrupted before the end")
		os.Exit(interrupted)
	case err != nil:
		say("latchkey: %v", err)
		os.Exit(1)
	}
}

// interrupted is the exit status after a signal that came before the end of the work, as shells have it for SIGINT.
const interrupted = 130

func run(ctx context.Context, args []string) error {
	c := &cli{flags: map[string]string{}}
	form, err := c.parse(args)
	if err != nil {
		return err
	}
	c.base = strings.TrimSuffix(cmp.Or(c.flags["api"], os.Getenv("LATCHKEY_API"), os.Getenv("BASE_URL"), "http://127.0.0.1:3000"), "/")
	c.header, c.token = http.Header{}, &token{command: os.Getenv("TOKEN_CMD")}
	if !fetch.IsSafe(c.base) {
		return errors.New("--api must be an https URL, or an http URL of this machine")
	}
	for flag, name := range map[string]string{"reason": "Latchkey-Reason", "operator": "Latchkey-Operator"} {
		if c.flags[flag] != "" {
			c.header.Set(name, c.flags[flag])
		}
	}
	if do := runs[form]; do != nil {
		return do(ctx, c)
	}
	if form == "help" || form == "--help" {
		_, err := fmt.Print(usage)
		return err
	}
	if acts[form].path == "" {
		return unknown(form)
	}
	return c.act(ctx, form)
}

// unknown returns an error that lists the forms of a command, or that there is no such command.
func unknown(form string) error {
	command, _, _ := strings.Cut(form, " --")
	first, _, _ := strings.Cut(command, " ")
	for _, command := range []string{command, first} {
		var forms []string
		for _, known := range slices.AppendSeq(slices.Collect(maps.Keys(acts)), maps.Keys(runs)) {
			if known == command || strings.HasPrefix(known, command+" ") {
				forms = append(forms, known)
			}
		}
		if command != "" && forms != nil {
			slices.Sort(forms)
			return fmt.Errorf("%s is one of: %s", command, strings.Join(forms, ", "))
		}
	}
	return errors.New("there is no such command: latchkey help lists them")
}

// parse reads the flags and the id. It returns the name of the command in acts or runs.
func (c *cli) parse(args []string) (form string, err error) {
	var words []string
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		name, isFlag := strings.CutPrefix(word, "--")
		kind, _, isID := strings.Cut(word, "_")
		switch {
		case isFlag && slices.Contains([]string{"all", "yes", "csv", "help"}, name):
			c.flags[name] = "given"
		case isFlag && (len(args) == 0 || args[0] == ""):
			return "", fmt.Errorf("%s has no value", word)
		case isFlag:
			c.flags[name], args = args[0], args[1:]
		case isID:
			c.id, words = word, append(words, kind+"_")
		default:
			words = append(words, word)
		}
	}
	for _, flag := range slices.Sorted(maps.Keys(c.flags)) {
		if !slices.Contains([]string{"api", "reason", "operator"}, flag) {
			words = append(words, "--"+flag)
		}
	}
	if c.flags["key"] == "-" {
		text := []byte(os.Getenv("KEY"))
		if len(text) == 0 {
			text, err = io.ReadAll(io.LimitReader(os.Stdin, 4096))
		}
		if c.flags["key"] = strings.TrimSpace(string(text)); c.flags["key"] == "" {
			err = cmp.Or(err, errors.New("--key -: there is no key in KEY or in the standard input"))
		}
	}
	return strings.Join(words, " "), err
}

// act sends the only request of a command, and prints the answer.
func (c *cli) act(ctx context.Context, form string) error {
	a, body := acts[form], map[string]string{}
	path := strings.ReplaceAll(a.path, "{id}", url.PathEscape(c.id))
	for flag, value := range c.flags {
		path = strings.ReplaceAll(path, "{"+flag+"}", url.QueryEscape(value))
	}
	for _, member := range strings.Fields(a.members) {
		body[member] = c.flags[strings.ReplaceAll(member, "externalId", "external-id")]
	}
	if a.path == "/key/revoke" { // this route needs no credential
		c.token = &token{text: "none"}
	}
	c.header.Set("Idempotency-Key", rand.Text()+rand.Text())
	if c.flags["csv"] != "" {
		c.header.Set("Accept", "text/csv")
	}
	var out string
	_, err := c.call(ctx, a.method, path, body, &out)
	if err == nil && c.flags["csv"] != "" {
		_, err = fmt.Print(out)
	} else if err == nil {
		_, err = fmt.Println(cmp.Or(clean(out), "Done."))
	}
	return err
}

// say prints a line to the standard error; results go to the standard output.
func say(format string, args ...any) { fmt.Fprintln(os.Stderr, clean(fmt.Sprintf(format, args...))) }

// clean replaces characters that could control the terminal: customers write names and data.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.TrimSpace(s))
}
