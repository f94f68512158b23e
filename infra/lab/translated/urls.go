package translated

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// URLType is the type of a function URL.
const URLType = "AWS::Lambda::Url"

// FunctionURL is an HTTP address of a function, which any client may call.
type FunctionURL struct {
	ID       string // logical id
	Function string // name
}

// FunctionURLs returns the function URLs of the template, sorted by their ids. It is an error when the
// local stack cannot serve one, or when the template lacks a permission without which AWS answers 403.
func (t *Template) FunctionURLs() ([]FunctionURL, error) {
	var out []FunctionURL
	var wrong []error
	for _, id := range t.Named(URLType) {
		u, err := t.functionURL(id)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("function URL %s: %w", id, err))
		}
		out = append(out, u)
	}
	return out, errors.Join(wrong...)
}

func (t *Template) functionURL(id string) (FunctionURL, error) {
	p := t.Resources[id].Properties
	u := FunctionURL{ID: id, Function: functionName(p["TargetFunctionArn"])}
	for _, property := range slices.Sorted(maps.Keys(p)) {
		if !slices.Contains([]string{"AuthType", "TargetFunctionArn"}, property) {
			return u, fmt.Errorf("the local stack cannot serve one with %s", property)
		}
	}
	if p["AuthType"] != "NONE" {
		return u, fmt.Errorf("AuthType %v: the local stack serves only NONE", p["AuthType"])
	}
	if !t.hasFunction(u.Function) {
		return u, fmt.Errorf("%s is no function", u.Function)
	}
	return u, errors.Join(
		t.permitted(u.Function, "lambda:InvokeFunctionUrl", "FunctionUrlAuthType", "NONE"),
		t.permitted(u.Function, "lambda:InvokeFunction", "InvokedViaFunctionUrl", "true"))
}

// permitted looks for a permission of everyone to call a function by its URL. Since October 2025 AWS wants
// two (Lambda developer guide, "Control access to Lambda function URLs").
func (t *Template) permitted(function, action, limit, value string) error {
	for _, id := range t.Named("AWS::Lambda::Permission") {
		p := t.Resources[id].Properties
		if functionName(p["FunctionName"]) == function && p["Action"] == action && p["Principal"] == "*" && scalar(p[limit]) == value {
			return nil
		}
	}
	return fmt.Errorf("AWS would answer 403: no permission of %s has Action %s, Principal '*' and %s %s", function, action, limit, value)
}

// functionName returns the name of a function that is given by its name or its ARN.
func functionName(v any) string {
	text := scalar(v)
	return text[strings.LastIndex(text, ":")+1:]
}
