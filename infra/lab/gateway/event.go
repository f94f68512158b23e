package gateway

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"latchkey/infra/lab/backing"
	"latchkey/infra/lab/translated"
)

const apiID = "local"

// timeFormat is the format of an event's time.
const timeFormat = "02/Jan/2006:15:04:05 -0700"

// proxyEvent returns the payload of the integration, in AWS's format 1.0.
func (x *exchange) proxyEvent() ([]byte, error) {
	e := x.commonEvent()
	e["body"] = nil
	if len(x.body) > 0 {
		e["body"] = string(x.body) // what is not UTF-8 is replaced, as on AWS
	}
	e["isBase64Encoded"] = false
	if x.principal != nil {
		e["requestContext"].(map[string]any)["authorizer"] = x.principal
	}
	return json.Marshal(e)
}

// authorizerEvent returns the payload of an authorizer. That of a REQUEST authorizer has no body.
func (x *exchange) authorizerEvent(auth translated.Authorizer) ([]byte, error) {
	if auth.Token {
		return json.Marshal(map[string]any{"type": "TOKEN", "authorizationToken": x.source(auth.Identity[0]), "methodArn": x.methodARN()})
	}
	e := x.commonEvent()
	e["type"] = "REQUEST"
	e["methodArn"] = x.methodARN()
	return json.Marshal(e)
}

func (x *exchange) commonEvent() map[string]any {
	headers, query := x.forwardedHeaders(), parameters(x.r.URL.RawQuery)
	return map[string]any{
		"resource": x.matched.route.Path, "path": x.r.URL.EscapedPath(), "httpMethod": x.r.Method,
		"headers": last(headers), "multiValueHeaders": orNil(headers),
		"queryStringParameters": last(query), "multiValueQueryStringParameters": orNil(query),
		"pathParameters": orNil(x.matched.parameters), "stageVariables": orNil(x.g.api.Variables),
		"requestContext": x.requestContext(),
	}
}

// parameters reads a query string. It keeps parameters with a semicolon, which url.ParseQuery drops.
func parameters(query string) url.Values {
	out := url.Values{}
	for part := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(part, "=")
		if part != "" {
			out.Add(unescaped(name), unescaped(value))
		}
	}
	return out
}

// unescaped decodes a part of a query string. It returns a part that is not escaped well as it is.
func unescaped(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return s
}

func (x *exchange) requestContext() map[string]any {
	return map[string]any{
		"accountId": translated.AccountID, "apiId": apiID, "resourceId": resourceID(x.matched.route.Path),
		"resourcePath": x.matched.route.Path, "httpMethod": x.r.Method, "stage": x.g.api.Stage,
		"path": "/" + x.g.api.Stage + x.r.URL.EscapedPath(), "protocol": x.r.Proto,
		"requestId": x.id, "extendedRequestId": x.extended,
		"requestTime": x.begun.UTC().Format(timeFormat), "requestTimeEpoch": x.begun.UnixMilli(),
		"domainName": x.r.Host, "domainPrefix": apiID, "identity": x.identity(),
	}
}

// identity returns what is known of the caller from the connection.
func (x *exchange) identity() map[string]any {
	id := map[string]any{"sourceIp": x.sourceIP(), "userAgent": x.r.UserAgent()}
	for _, name := range []string{
		"accessKey", "accountId", "caller", "cognitoAuthenticationProvider", "cognitoAuthenticationType",
		"cognitoIdentityId", "cognitoIdentityPoolId", "principalOrgId", "user", "userArn",
	} {
		id[name] = nil
	}
	return id
}

func (x *exchange) sourceIP() string {
	host, _, err := net.SplitHostPort(x.r.RemoteAddr)
	if err != nil {
		return x.r.RemoteAddr
	}
	return host
}

func (x *exchange) methodARN() string {
	return fmt.Sprintf("arn:aws:execute-api:%s:%s:%s/%s/%s%s", backing.Region, translated.AccountID, apiID, x.g.api.Stage, x.r.Method, x.r.URL.EscapedPath())
}

// notForwarded are the request headers that API Gateway does not pass to a function (its developer guide,
// "Important notes", the table of headers).
var notForwarded = []string{
	"Connection", "Content-Md5", "Expect", "Max-Forwards", "Proxy-Authenticate", "Server", "Te", "Trailer",
	"Upgrade", "Www-Authenticate",
}

func (x *exchange) forwardedHeaders() http.Header {
	h := x.r.Header.Clone()
	for _, name := range notForwarded {
		h.Del(name)
	}
	h.Set("Host", x.r.Host)
	h.Add("X-Forwarded-For", x.sourceIP())
	h.Set("X-Forwarded-Proto", "http")
	if _, port, err := net.SplitHostPort(x.r.Host); err == nil {
		h.Set("X-Forwarded-Port", port)
	}
	return h
}

// last returns the last value of each name, for the maps with one value a name, or nil when there is none.
func last[M http.Header | url.Values](all M) map[string]string {
	var out map[string]string
	for name, values := range all {
		if len(values) > 0 {
			if out == nil {
				out = make(map[string]string)
			}
			out[name] = values[len(values)-1]
		}
	}
	return out
}

func orNil[M ~map[string]V, V any](m M) any {
	if len(m) == 0 {
		return nil
	}
	return m
}

func resourceID(path string) string {
	return strings.Trim(strings.NewReplacer("/", "-", "{", "", "}", "").Replace(path), "-")
}

// newRequestID returns a UUID. newExtendedID returns an extendedRequestId as API Gateway's: 11
// bytes in base64.
func newRequestID() string {
	b := random(16)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func newExtendedID() string { return base64.StdEncoding.EncodeToString(random(11)) }

func random(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
