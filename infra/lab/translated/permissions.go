package translated

import (
	"regexp"
	"strings"

	"latchkey/infra/lab/backing"
)

// LetsAuthorize reports whether the template lets API Gateway ask a function for an API, by the id of the API. "" is
// that of the template's own API.
func (t *Template) LetsAuthorize(function, api string) bool {
	if api == "" {
		api = apiID
	}
	source := "arn:aws:execute-api:" + backing.Region + ":" + AccountID + ":" + api + "/authorizers/local"
	for _, id := range t.Named("AWS::Lambda::Permission") {
		p := t.Resources[id].Properties
		if functionName(p["FunctionName"]) == function && p["Action"] == "lambda:InvokeFunction" &&
			p["Principal"] == "apigateway.amazonaws.com" && like(scalar(p["SourceArn"]), source) {
			return true
		}
	}
	return false
}

// like reports whether a text fits a pattern, in which * is any text and ? is any character.
func like(pattern, text string) bool {
	expression := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile("^" + expression + "$").MatchString(text)
}
