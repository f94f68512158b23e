package translated

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Function is a Lambda function of a template.
type Function struct {
	Name    string // logical id, after Options.FunctionPrefix
	CodeURI string // folder of its main package, or of its module in JavaScript or Python, as in the template
	Runtime string
	Handler string
	Timeout time.Duration
	Memory  int // megabytes
	Env     map[string]string

	Reserved *int // the reserved concurrency; nil: none
}

// Node reports whether the function is written for Node.js.
func (f Function) Node() bool { return strings.HasPrefix(f.Runtime, "nodejs") }

// Python reports whether the function is written in Python.
func (f Function) Python() bool { return strings.HasPrefix(f.Runtime, "python") }

// Interpreted reports whether the function's code runs as it is, without a build.
func (f Function) Interpreted() bool { return f.Node() || f.Python() }

// Functions returns every function of the template, by its name. Each must have a runtime provided.* and
// the handler bootstrap, or a runtime nodejs* or python*.
func (t *Template) Functions() (map[string]Function, error) {
	out := make(map[string]Function)
	var wrong []error
	for _, name := range t.Named("AWS::Lambda::Function") {
		f, err := t.function(name)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("function %s: %w", name, err))
		}
		out[f.Name] = f
	}
	return out, errors.Join(wrong...)
}

// hasFunction reports whether the template has a function of that name.
func (t *Template) hasFunction(name string) bool {
	id, ok := strings.CutPrefix(name, t.functionPrefix)
	return ok && t.Resources[id].Type == "AWS::Lambda::Function"
}

func (t *Template) function(name string) (Function, error) {
	p := t.Resources[name].Properties
	f := Function{
		Name: t.functionPrefix + name, CodeURI: t.Code[name], Runtime: scalar(p["Runtime"]), Handler: scalar(p["Handler"]),
		Timeout: 3 * time.Second, Memory: 128, Env: map[string]string{},
	}
	if bootstrap := strings.HasPrefix(f.Runtime, "provided.") && f.Handler == "bootstrap"; !bootstrap && !f.Interpreted() {
		return f, fmt.Errorf("runtime %s, handler %s: the local stack cannot serve it, only bootstraps of provided.*, nodejs* and python*", f.Runtime, f.Handler)
	}
	if f.CodeURI == "" {
		return f, errors.New("it has no CodeUri")
	}
	var errT, errM, errR error
	if v, ok := p["Timeout"]; ok {
		var seconds int
		seconds, errT = strconv.Atoi(scalar(v))
		f.Timeout = time.Duration(seconds) * time.Second
	}
	if v, ok := p["MemorySize"]; ok {
		f.Memory, errM = strconv.Atoi(scalar(v))
	}
	if v, ok := p["ReservedConcurrentExecutions"]; ok {
		var reserved int
		reserved, errR = strconv.Atoi(scalar(v))
		f.Reserved = &reserved
	}
	environment, _ := p["Environment"].(map[string]any)
	f.Env = texts(environment["Variables"])
	return f, errors.Join(errT, errM, errR)
}

// Schedule calls a function at intervals.
type Schedule struct {
	Name     string // logical id of the rule
	ARN      string
	Function string
	Every    time.Duration
	Input    string // JSON; "": the event of a schedule
}

var rate = regexp.MustCompile(`^rate\((\d+) (minute|hour|day)s?\)$`)

// Schedules returns the enabled schedules of the template.
func (t *Template) Schedules() ([]Schedule, error) {
	var out []Schedule
	var wrong []error
	add := func(name, arnType string, target map[string]any) {
		p := t.Resources[name].Properties
		if p["State"] == "DISABLED" {
			return
		}
		every, err := interval(scalar(p["ScheduleExpression"]))
		_, function, ok := strings.Cut(scalar(target["Arn"]), ":function:")
		if err != nil || !ok {
			wrong = append(wrong, fmt.Errorf("schedule %s: target %v: %w", name, target["Arn"], err))
			return
		}
		input, _ := target["Input"].(string)
		out = append(out, Schedule{name, strings.Replace(attributes[arnType+".Arn"], "%s", name, 1), function, every, input})
	}
	for _, name := range t.Named("AWS::Events::Rule") {
		targets, _ := t.Resources[name].Properties["Targets"].([]any)
		for _, v := range targets {
			target, _ := v.(map[string]any)
			add(name, "AWS::Events::Rule", target)
		}
	}
	for _, name := range t.Named("AWS::Scheduler::Schedule") {
		target, _ := t.Resources[name].Properties["Target"].(map[string]any)
		add(name, "AWS::Scheduler::Schedule", target)
	}
	return out, errors.Join(wrong...)
}

func interval(expression string) (time.Duration, error) {
	m := rate.FindStringSubmatch(expression)
	if m == nil {
		return 0, fmt.Errorf("%q is no rate(…), and the local stack knows no other schedule", expression)
	}
	n, err := strconv.Atoi(m[1])
	unit := map[string]time.Duration{"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour}[m[2]]
	return time.Duration(n) * unit, err
}
