package translated

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Authorizer is a Lambda authorizer of type REQUEST or TOKEN.
type Authorizer struct {
	Function string // name; it may be a function of another template
	TTL      time.Duration
	Identity []string // such as method.request.header.Authorization

	Token      bool           // its type is TOKEN: it gets the value of its one identity source
	Validation *regexp.Regexp // what a token begins with; nil: anything
}

func (a *API) readAuthorizers(body map[string]any) error {
	schemes, _ := body["securityDefinitions"].(map[string]any)
	if schemes == nil {
		components, _ := body["components"].(map[string]any)
		schemes, _ = components["securitySchemes"].(map[string]any)
	}
	var wrong []error
	for name, v := range schemes {
		auth, err := readAuthorizer(v)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("authorizer %s: %w", name, err))
		}
		a.Authorizers[name] = auth
	}
	return errors.Join(wrong...)
}

func readAuthorizer(v any) (Authorizer, error) {
	scheme, _ := v.(map[string]any)
	x, _ := scheme["x-amazon-apigateway-authorizer"].(map[string]any)
	typ := strings.ToLower(scalar(x["type"]))
	if typ != "request" && typ != "token" {
		return Authorizer{}, errors.New("it is no Lambda authorizer of type REQUEST or TOKEN; the local stack knows no other")
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
		for part := range strings.SplitSeq(source, ",") {
			auth.Identity = append(auth.Identity, strings.TrimSpace(part))
		}
	}
	if auth.Token {
		return auth, auth.readToken(scheme, x)
	}
	if auth.TTL > 0 && len(auth.Identity) == 0 {
		return Authorizer{}, errors.New("it has a cache and no identity source, which API Gateway refuses")
	}
	return auth, nil
}

// readToken reads what only an authorizer of type TOKEN has. Its identity source is the header of its security
// scheme.
func (a *Authorizer) readToken(scheme, x map[string]any) error {
	if len(a.Identity) == 0 {
		a.Identity = []string{"method.request.header." + scalar(scheme["name"])}
	}
	if len(a.Identity) > 1 || !strings.HasPrefix(a.Identity[0], "method.request.header.") {
		return fmt.Errorf("its identity source is %s: for the type TOKEN it is one header", strings.Join(a.Identity, ", "))
	}
	expression, ok := x["identityValidationExpression"].(string)
	if !ok {
		return nil
	}
	var err error
	if a.Validation, err = regexp.Compile("^(?:" + expression + ")"); err != nil {
		return fmt.Errorf("its validation expression: %w", err)
	}
	return nil
}
