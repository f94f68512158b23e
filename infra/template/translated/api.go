package translated

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// API is the REST API of a template.
type API struct {
	Stage       string
	Routes      []Route // sorted by path, then method
	Authorizers map[string]Authorizer
	Responses   map[string]GatewayResponse // by response type, such as ACCESS_DENIED
	Variables   map[string]string          // the stage's variables

	CompressFrom int // answers with at least these bytes are compressed, if the client accepts it; 0: no answer is
}

// Route is one method of a path.
type Route struct {
	Method     string // "GET"; "ANY" for every method
	Path       string // as in the template: /v1/pets/{petId}
	Function   string // name; "": the Mock answers
	Mock       *Mock  // nil: the Function answers
	Authorizer string // "": open
}

// Mock is an answer that the gateway gives by itself: SAM's Cors makes such an answer to OPTIONS.
type Mock struct {
	Status int
	Header http.Header
	Body   string
}

// Authorizer is a Lambda authorizer of type REQUEST or TOKEN.
type Authorizer struct {
	Function string // name; it may be a function of another template
	TTL      time.Duration
	Identity []string // headers, such as method.request.header.Authorization
	Token    bool     // its type is TOKEN: it gets the value of its one identity source
}

// GatewayResponse is an answer of the gateway itself.
type GatewayResponse struct {
	Status     int               // 0: the type's own
	Parameters map[string]string // as in the template: gatewayresponse.header.X → 'v'
	Templates  map[string]string // by content type
}

// open is SAM's name for a route without an authorizer. It has no security scheme.
const open = "NONE"

// API returns the template's REST API.
func (t *Template) API() (*API, error) {
	apis, stages := t.Named("AWS::ApiGateway::RestApi"), t.Named("AWS::ApiGateway::Stage")
	if len(apis) != 1 || len(stages) != 1 {
		return nil, fmt.Errorf("the local stack serves one REST API of one stage, the template has %d APIs and %d stages", len(apis), len(stages))
	}
	properties, stage := t.Resources[apis[0]].Properties, t.Resources[stages[0]].Properties
	if len(List(properties["BinaryMediaTypes"])) > 0 {
		return nil, errors.New("BinaryMediaTypes are not supported by the local stack")
	}
	a := &API{
		Stage: scalar(stage["StageName"]), Variables: texts(stage["Variables"]),
		Authorizers: map[string]Authorizer{}, Responses: map[string]GatewayResponse{},
	}
	if least, err := strconv.Atoi(scalar(properties["MinimumCompressionSize"])); err == nil {
		a.CompressFrom = max(least, 1)
	}
	body := Object(properties["Body"])
	err := a.readAuthorizers(body) // first: the routes name them
	return a, errors.Join(err, a.readRoutes(t, body), a.readResponses(body))
}

// methods are the methods of routes, by their keys in an OpenAPI document.
var methods = map[string]string{
	"get": "GET", "post": "POST", "put": "PUT", "patch": "PATCH", "delete": "DELETE", "head": "HEAD", "options": "OPTIONS",
	"x-amazon-apigateway-any-method": "ANY",
}

func (a *API) readRoutes(t *Template, body map[string]any) error {
	paths := Object(body["paths"])
	var errs []error
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := Object(paths[path])
		for _, name := range slices.Sorted(maps.Keys(item)) {
			route := Route{Method: methods[name], Path: path}
			err := a.readRoute(t, &route, Object(item[name]), body["security"])
			if route.Method == "" {
				err = fmt.Errorf("%q is not a method", name)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s %s: %w", strings.ToUpper(name), path, err))
			}
			a.Routes = append(a.Routes, route)
		}
	}
	return errors.Join(errs...)
}

// readRoute sets the function or the mock of a route, and its authorizer. An operation without security has the API's security.
func (a *API) readRoute(t *Template, route *Route, operation map[string]any, apiSecurity any) (err error) {
	integration := Object(operation["x-amazon-apigateway-integration"])
	switch typ := strings.ToLower(scalar(integration["type"])); typ {
	case "aws_proxy":
		if route.Function, err = functionOf(integration["uri"]); err == nil && !t.hasFunction(route.Function) {
			err = fmt.Errorf("%s is not a function", route.Function)
		}
	case "mock":
		route.Mock, err = mockOf(integration)
	default:
		err = fmt.Errorf("integration %v: the local stack knows only aws_proxy and mock", typ)
	}
	security, ok := operation["security"]
	if !ok {
		security = apiSecurity
	}
	var errSecurity error
	route.Authorizer, errSecurity = a.authorizerOf(security)
	return errors.Join(err, errSecurity)
}

// authorizerOf reads an operation's security: nothing, NONE or the name of an authorizer. Another name is
// an error: the route would look protected and be open.
func (a *API) authorizerOf(security any) (found string, err error) {
	for _, requirement := range List(security) {
		for name := range Object(requirement) {
			_, known := a.Authorizers[name]
			switch {
			case name == open:
			case !known:
				return "", fmt.Errorf("security names %q, and there is no such authorizer", name)
			case found != "":
				return "", errors.New("two authorizers on one route")
			default:
				found = name
			}
		}
	}
	return found, nil
}

var functionARN = regexp.MustCompile(`:function:([^/:]+)/invocations$`)

// functionOf returns the function's name in the URI with which API Gateway calls the function.
func functionOf(uri any) (string, error) {
	m := functionARN.FindStringSubmatch(scalar(uri))
	if m == nil {
		return "", fmt.Errorf("%v does not invoke a function", uri)
	}
	return m[1], nil
}

func (a *API) readResponses(body map[string]any) error {
	for name, v := range Object(body["x-amazon-apigateway-gateway-responses"]) {
		r := Object(v)
		out := GatewayResponse{Parameters: texts(r["responseParameters"]), Templates: texts(r["responseTemplates"])}
		if s, ok := r["statusCode"]; ok {
			var err error
			if out.Status, err = strconv.Atoi(scalar(s)); err != nil {
				return fmt.Errorf("gateway response %s: %w", name, err)
			}
		}
		a.Responses[name] = out
	}
	return nil
}

// mockOf reads a mock integration with one constant answer. The value of a constant header is in quotes. A constant body has no $
// and no #, which begin the expressions of a template.
func mockOf(integration map[string]any) (*Mock, error) {
	responses := Object(integration["responses"])
	response, ok := responses["default"].(map[string]any)
	if !ok || len(responses) != 1 {
		return nil, fmt.Errorf("a mock with the answers %v: the local stack knows one, default", responses)
	}
	status, err := strconv.Atoi(scalar(response["statusCode"]))
	if err != nil {
		return nil, fmt.Errorf("a mock's status: %w", err)
	}
	m := &Mock{Status: status, Header: http.Header{}, Body: texts(response["responseTemplates"])["application/json"]}
	for parameter, value := range texts(response["responseParameters"]) {
		name, isHeader := strings.CutPrefix(parameter, "method.response.header.")
		isConstant := len(value) >= 2 && value[0] == '\'' && value[len(value)-1] == '\''
		if !isHeader || !isConstant {
			return nil, fmt.Errorf("a mock's %s: %s is not supported by the local stack", parameter, value)
		}
		m.Header.Set(name, value[1:len(value)-1])
	}
	if strings.ContainsAny(m.Body, "$#") {
		return nil, fmt.Errorf("a mock's template %q is not supported by the local stack", m.Body)
	}
	return m, nil
}

func (a *API) readAuthorizers(body map[string]any) error {
	schemes := Object(body["securityDefinitions"])
	if schemes == nil { // OpenAPI 3 has another place for them
		schemes = Object(Object(body["components"])["securitySchemes"])
	}
	var errs []error
	for name, v := range schemes {
		auth, err := readAuthorizer(Object(v))
		if err != nil {
			errs = append(errs, fmt.Errorf("authorizer %s: %w", name, err))
		}
		a.Authorizers[name] = auth
	}
	return errors.Join(errs...)
}

const headerSource = "method.request.header."

// readAuthorizer reads a security scheme. An authorizer of type TOKEN that has no identity source gets the header
// that its scheme names.
func readAuthorizer(scheme map[string]any) (Authorizer, error) {
	x := Object(scheme["x-amazon-apigateway-authorizer"])
	typ := strings.ToLower(scalar(x["type"]))
	isLambda := typ == "request" || typ == "token"
	if !isLambda || x["identityValidationExpression"] != nil {
		return Authorizer{}, errors.New("the local stack knows only Lambda authorizers of type REQUEST or TOKEN, without a validation expression")
	}
	f, err := functionOf(x["authorizerUri"])
	if err != nil {
		return Authorizer{}, err
	}
	// By default API Gateway keeps answers for five minutes.
	ttl := 300
	if v, ok := x["authorizerResultTtlInSeconds"]; ok {
		if ttl, err = strconv.Atoi(scalar(v)); err != nil {
			return Authorizer{}, fmt.Errorf("its cache time: %w", err)
		}
	}
	auth := Authorizer{Function: f, TTL: time.Duration(ttl) * time.Second, Token: typ == "token"}
	if source, ok := x["identitySource"].(string); ok && source != "" {
		auth.Identity = strings.Split(strings.ReplaceAll(source, " ", ""), ",")
	} else if auth.Token {
		auth.Identity = []string{headerSource + scalar(scheme["name"])}
	}
	notAHeader := func(source string) bool { return source == headerSource || !strings.HasPrefix(source, headerSource) }
	switch {
	case slices.ContainsFunc(auth.Identity, notAHeader):
		return auth, fmt.Errorf("its identity sources are %v: the local stack knows only headers", auth.Identity)
	case auth.Token && len(auth.Identity) > 1:
		return auth, fmt.Errorf("its identity sources are %v: for the type TOKEN there is one", auth.Identity)
	case auth.TTL > 0 && len(auth.Identity) == 0:
		return auth, errors.New("it has a cache and no identity source, which API Gateway refuses")
	}
	return auth, nil
}
