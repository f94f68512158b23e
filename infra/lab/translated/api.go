package translated

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// API is the REST API of a template.
type API struct {
	Stage       string
	Routes      []Route // sorted by path, then method
	Authorizers map[string]Authorizer
	Responses   map[string]GatewayResponse // by response type, such as ACCESS_DENIED
	Throttles   map[string]Throttle        // by method and path, such as "GET /v1/pets"; AllMethods for the rest
	Variables   map[string]string          // the stage's
}

// Route is one method of a path.
type Route struct {
	Method     string // "GET"; "ANY" for every method
	Path       string // as in the template: /v1/pets/{petId}
	Function   string // name; "" with a Mock
	Mock       *Mock  // nil: a Function answers
	Authorizer string // "": open
}

// GatewayResponse is an answer of the gateway itself.
type GatewayResponse struct {
	Status     int               // 0: the type's own
	Parameters map[string]string // as in the template: gatewayresponse.header.X → 'v'
	Templates  map[string]string // by content type
}

// Throttle limits the requests of a method.
type Throttle struct {
	Rate  float64 // a second
	Burst int     // at once
}

// AllMethods names the throttle of the methods without one of their own.
const AllMethods = "* /*"

// open is SAM's name for a route without an authorizer. It has no security scheme.
const open = "NONE"

// API returns the template's REST API.
func (t *Template) API() (*API, error) {
	names := t.Named("AWS::ApiGateway::RestApi")
	if len(names) != 1 {
		return nil, fmt.Errorf("the local stack serves one REST API, the template has %d", len(names))
	}
	properties := t.Resources[names[0]].Properties
	if binary, ok := properties["BinaryMediaTypes"].([]any); ok && len(binary) > 0 {
		return nil, errors.New("BinaryMediaTypes are not supported by the local stack")
	}
	body, _ := properties["Body"].(map[string]any)
	a := &API{Authorizers: map[string]Authorizer{}, Responses: map[string]GatewayResponse{}, Throttles: map[string]Throttle{}}
	return a, errors.Join(a.readStage(t), a.readAuthorizers(body), a.readRoutes(t, body), a.readResponses(body))
}

func (a *API) readStage(t *Template) error {
	names := t.Named("AWS::ApiGateway::Stage")
	if len(names) != 1 {
		return fmt.Errorf("the local stack serves one stage, the template has %d", len(names))
	}
	stage := t.Resources[names[0]].Properties
	a.Stage, _ = stage["StageName"].(string)
	a.Variables = texts(stage["Variables"])
	settings, _ := stage["MethodSettings"].([]any)
	var wrong []error
	for _, v := range settings {
		setting, _ := v.(map[string]any)
		wrong = append(wrong, a.readThrottle(setting))
	}
	return errors.Join(wrong...)
}

// readThrottle reads one of the stage's method settings. In its path every slash
// but the first is ~1, as in a JSON pointer.
func (a *API) readThrottle(setting map[string]any) error {
	rate, burst := setting["ThrottlingRateLimit"], setting["ThrottlingBurstLimit"]
	if rate == nil && burst == nil {
		return nil
	}
	path := scalar(setting["ResourcePath"])
	if escaped, ok := strings.CutPrefix(path, "/~1"); ok {
		path = "/" + strings.ReplaceAll(escaped, "~1", "/")
	}
	name := scalar(setting["HttpMethod"]) + " " + path
	r, errRate := strconv.ParseFloat(scalar(rate), 64)
	b, errBurst := strconv.Atoi(scalar(burst))
	if err := errors.Join(errRate, errBurst); err != nil {
		return fmt.Errorf("the throttle of %s: %w", name, err)
	}
	a.Throttles[name] = Throttle{Rate: r, Burst: b}
	return nil
}

var methods = []string{"get", "post", "put", "patch", "delete", "head", "options", "x-amazon-apigateway-any-method"}

func (a *API) readRoutes(t *Template, body map[string]any) error {
	paths, _ := body["paths"].(map[string]any)
	defaultSecurity := body["security"]
	var wrong []error
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item, _ := paths[path].(map[string]any)
		for _, method := range slices.Sorted(maps.Keys(item)) {
			if !slices.Contains(methods, method) {
				wrong = append(wrong, fmt.Errorf("%s: %q is no method", path, method))
				continue
			}
			operation, _ := item[method].(map[string]any)
			route, err := a.readRoute(t, method, path, operation, defaultSecurity)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s %s: %w", strings.ToUpper(method), path, err))
				continue
			}
			a.Routes = append(a.Routes, route)
		}
	}
	return errors.Join(wrong...)
}

func (a *API) readRoute(t *Template, method, path string, operation map[string]any, defaultSecurity any) (Route, error) {
	route := Route{Method: strings.ToUpper(method), Path: path}
	if method == "x-amazon-apigateway-any-method" {
		route.Method = "ANY"
	}
	integration, _ := operation["x-amazon-apigateway-integration"].(map[string]any)
	var err error
	switch typ := strings.ToLower(scalar(integration["type"])); typ {
	case "aws_proxy":
		if route.Function, err = functionOf(integration["uri"]); err == nil && !t.hasFunction(route.Function) {
			err = fmt.Errorf("%s is no function", route.Function)
		}
	case "mock":
		route.Mock, err = mockOf(integration)
	default:
		err = fmt.Errorf("integration %v: the local stack knows aws_proxy and mock alone", typ)
	}
	if err != nil {
		return route, err
	}
	security, ok := operation["security"]
	if !ok {
		security = defaultSecurity
	}
	route.Authorizer, err = a.authorizerOf(security)
	return route, err
}

// authorizerOf reads an operation's security: nothing, NONE or the name of an authorizer. It
// refuses another name: the route would be open and look closed.
func (a *API) authorizerOf(security any) (string, error) {
	requirements, _ := security.([]any)
	found := ""
	for _, requirement := range requirements {
		named, _ := requirement.(map[string]any)
		for name := range named {
			if name == open {
				continue
			}
			if _, ok := a.Authorizers[name]; !ok {
				return "", fmt.Errorf("security names %q, and there is no such authorizer", name)
			}
			if found != "" {
				return "", errors.New("two authorizers on one route")
			}
			found = name
		}
	}
	return found, nil
}

var functionARN = regexp.MustCompile(`:function:([^/:]+)/invocations$`)

func functionOf(uri any) (string, error) {
	m := functionARN.FindStringSubmatch(scalar(uri))
	if m == nil {
		return "", fmt.Errorf("%v is no function's invocation", uri)
	}
	return m[1], nil
}

func (a *API) readResponses(body map[string]any) error {
	responses, _ := body["x-amazon-apigateway-gateway-responses"].(map[string]any)
	for name, v := range responses {
		r, _ := v.(map[string]any)
		out := GatewayResponse{Parameters: texts(r["responseParameters"]), Templates: texts(r["responseTemplates"])}
		if s, ok := r["statusCode"]; ok {
			status, err := strconv.Atoi(scalar(s))
			if err != nil {
				return fmt.Errorf("gateway response %s: %w", name, err)
			}
			out.Status = status
		}
		a.Responses[name] = out
	}
	return nil
}

func texts(v any) map[string]string {
	out := map[string]string{}
	m, _ := v.(map[string]any)
	for k, e := range m {
		out[k] = scalar(e)
	}
	return out
}
