package translated

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Function is a Lambda function of a template.
type Function struct {
	Name     string // logical id, after Options.FunctionPrefix
	CodeURI  string // as in the template: folder of its main package, or of its JavaScript or Python module
	Runtime  string
	Handler  string
	Timeout  time.Duration
	Memory   int // megabytes
	Env      map[string]string
	Reserved *int // the reserved concurrency; nil: none
}

// Python reports whether the function is written in Python.
func (f Function) Python() bool { return strings.HasPrefix(f.Runtime, "python") }

// Interpreted reports whether the function's code runs as it is, without a build: in Node.js or Python.
func (f Function) Interpreted() bool { return f.Python() || strings.HasPrefix(f.Runtime, "nodejs") }

// Functions returns every function of the template, by its name. Each must have a runtime provided.* and
// the handler bootstrap, or a runtime nodejs* or python*.
func (t *Template) Functions() (map[string]Function, error) {
	all, err := readEach("function", t.Named("AWS::Lambda::Function"), t.function)
	out := make(map[string]Function)
	for _, f := range all {
		out[f.Name] = f
	}
	return out, err
}

// hasFunction reports whether the template has a function of that name.
func (t *Template) hasFunction(name string) bool {
	id, ok := strings.CutPrefix(name, t.options.FunctionPrefix)
	return ok && t.Resources[id].Type == "AWS::Lambda::Function"
}

// function reads the function with a logical id. Memory and Timeout begin with the defaults of Lambda.
func (t *Template) function(id string) (Function, error) {
	p := t.Resources[id].Properties
	f := Function{
		Name: t.options.FunctionPrefix + id, CodeURI: t.Code[id], Runtime: scalar(p["Runtime"]), Handler: scalar(p["Handler"]),
		Memory: 128,
	}
	isProgram := strings.HasPrefix(f.Runtime, "provided.") && f.Handler == "bootstrap"
	if !isProgram && !f.Interpreted() {
		return f, fmt.Errorf("runtime %s, handler %s: the local stack cannot serve it, only bootstraps of provided.*, nodejs* and python*", f.Runtime, f.Handler)
	}
	if f.CodeURI == "" {
		return f, errors.New("it has no CodeUri")
	}
	seconds, reserved := 3, 0
	var errs []error
	for property, field := range map[string]*int{"Timeout": &seconds, "MemorySize": &f.Memory, "ReservedConcurrentExecutions": &reserved} {
		if v, ok := p[property]; ok {
			var err error
			*field, err = strconv.Atoi(scalar(v))
			errs = append(errs, err)
		}
	}
	if p["ReservedConcurrentExecutions"] != nil {
		f.Reserved = &reserved
	}
	f.Timeout, f.Env = time.Duration(seconds)*time.Second, texts(Object(p["Environment"])["Variables"])
	return f, errors.Join(errs...)
}

// Schedule calls a function at intervals.
type Schedule struct {
	Name     string // logical id of the rule
	ARN      string
	Function string
	Every    time.Duration
}

var rate = regexp.MustCompile(`^rate\((\d+) (minute|hour|day)s?\)$`)

// Schedules returns the enabled schedules of the template.
func (t *Template) Schedules() ([]Schedule, error) {
	var out []Schedule
	var errs []error
	for _, name := range t.Named("AWS::Scheduler::Schedule") {
		errs = append(errs, fmt.Errorf("schedule %s: the local stack does not know the type AWS::Scheduler::Schedule", name))
	}
	for _, name := range t.Named("AWS::Events::Rule") {
		p := t.Resources[name].Properties
		if p["State"] == "DISABLED" {
			continue
		}
		every, err := interval(scalar(p["ScheduleExpression"]))
		for _, v := range List(p["Targets"]) {
			target := Object(v)
			_, function, isFunction := strings.Cut(scalar(target["Arn"]), ":function:")
			if !isFunction || target["Input"] != nil {
				err = errors.Join(err, fmt.Errorf("schedule %s: the target %v is not a function, or has an input", name, target))
			}
			errs = append(errs, err)
			out = append(out, Schedule{name, ARN("events", "rule/"+name), function, every})
		}
	}
	return out, errors.Join(errs...)
}

// interval returns the duration of a schedule's expression rate(…).
func interval(expression string) (time.Duration, error) {
	m := rate.FindStringSubmatch(expression)
	if m == nil {
		return 0, fmt.Errorf("%q is not rate(…), the only schedule that the local stack knows", expression)
	}
	n, err := strconv.Atoi(m[1])
	unit := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[m[2]]
	return time.Duration(n) * unit, err
}

// URLType is the type of a function URL.
const URLType = "AWS::Lambda::Url"

// FunctionURL is an HTTP address of a function, which any client may call.
type FunctionURL struct {
	ID       string // logical id
	Function string // name
}

// FunctionURLs returns the function URLs of the template, sorted by their ids. Errors: the local stack cannot serve a URL, or the
// template lacks a permission, so that AWS would answer 403.
func (t *Template) FunctionURLs() ([]FunctionURL, error) {
	return readEach("function URL", t.Named(URLType), t.functionURL)
}

func (t *Template) functionURL(id string) (FunctionURL, error) {
	p := t.Resources[id].Properties
	u := FunctionURL{ID: id, Function: functionName(p["TargetFunctionArn"])}
	if p["AuthType"] != "NONE" || len(p) != 2 { // the second property is the target
		return u, fmt.Errorf("the local stack serves a URL with AuthType NONE and no other property, not %v", p)
	}
	if !t.hasFunction(u.Function) {
		return u, fmt.Errorf("%s is not a function", u.Function)
	}
	return u, errors.Join(
		t.permitted(u.Function, "lambda:InvokeFunctionUrl", "FunctionUrlAuthType", "NONE"),
		t.permitted(u.Function, "lambda:InvokeFunction", "InvokedViaFunctionUrl", "true"))
}

// permitted returns nil when a permission with this property lets everyone do the action on a function. Since October
// 2025 a call by a URL needs two permissions (Lambda developer guide, "Control access to Lambda function URLs").
func (t *Template) permitted(function, action, property, value string) error {
	if t.permits(function, action, func(p map[string]any) bool { return p["Principal"] == "*" && scalar(p[property]) == value }) {
		return nil
	}
	return fmt.Errorf("AWS would answer 403: no permission of %s has Action %s, Principal '*' and %s %s", function, action, property, value)
}

// LetsAuthorize reports whether a permission of the template lets API Gateway call a function as an authorizer of
// the API with that id. "" is the template's own API.
func (t *Template) LetsAuthorize(function, api string) bool {
	source := ARN("execute-api", cmp.Or(api, apiID)+"/authorizers/local")
	return t.permits(function, "lambda:InvokeFunction", func(p map[string]any) bool {
		return p["Principal"] == "apigateway.amazonaws.com" && Like(scalar(p["SourceArn"]), source)
	})
}

// permits reports whether the template has a permission for an action on a function whose properties fit.
func (t *Template) permits(function, action string, fits func(properties map[string]any) bool) bool {
	return slices.ContainsFunc(t.Named("AWS::Lambda::Permission"), func(id string) bool {
		p := t.Resources[id].Properties
		return functionName(p["FunctionName"]) == function && p["Action"] == action && fits(p)
	})
}

// functionName returns the name of a function from its name or its ARN.
func functionName(v any) string {
	text := scalar(v)
	return text[strings.LastIndex(text, ":")+1:]
}
