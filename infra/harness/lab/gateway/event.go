package gateway

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"latchkey/infra/harness/lab/lambda"
	"latchkey/infra/template/translated"
)

const apiID = "local"

// timeFormat is the format of the time in an event's requestContext.
const timeFormat = "02/Jan/2006:15:04:05 -0700"

// proxyEvent returns the payload of the integration, in AWS's format 1.0.
func (x *exchange) proxyEvent() ([]byte, error) {
	e := x.commonEvent()
	e["body"] = nil
	if len(x.body) > 0 {
		e["body"] = string(x.body) // Marshal replaces bytes that are not UTF-8, as AWS does
	}
	e["isBase64Encoded"] = false
	if x.principal != nil {
		e["requestContext"].(map[string]any)["authorizer"] = x.principal
	}
	return json.Marshal(e)
}

// authorizerEvent returns the payload of an authorizer. For the type REQUEST it is a proxy event without the body.
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
		"resource": x.matched.route.Path, "path": x.path(), "httpMethod": x.r.Method,
		"headers": orNil(last(headers)), "multiValueHeaders": orNil(headers),
		"queryStringParameters": orNil(last(query)), "multiValueQueryStringParameters": orNil(query),
		"pathParameters": orNil(x.matched.parameters), "stageVariables": orNil(x.g.api.Variables),
		"requestContext": x.requestContext(),
	}
}

// parameters reads a query string. Unlike url.ParseQuery, it keeps parameters with a semicolon.
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

// unescaped decodes a part of a query string. It returns a malformed part unchanged.
func unescaped(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return s
}

func (x *exchange) requestContext() map[string]any {
	return map[string]any{
		"accountId": translated.AccountID, "apiId": apiID, "resourceId": x.matched.route.Path,
		"resourcePath": x.matched.route.Path, "httpMethod": x.r.Method, "stage": x.g.api.Stage,
		"path": "/" + x.g.api.Stage + x.r.URL.EscapedPath(), "protocol": x.r.Proto,
		"requestId": x.id, "extendedRequestId": x.extended,
		"requestTime": x.begun.UTC().Format(timeFormat), "requestTimeEpoch": x.begun.UnixMilli(),
		"domainName": x.r.Host, "domainPrefix": apiID, "identity": x.identity(), "deploymentId": "local",
	}
}

// identity returns the caller's address and user agent. The other members are null without IAM and Cognito.
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
	return translated.ARN("execute-api", apiID+"/"+x.g.api.Stage+"/"+x.r.Method+x.path())
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
	h.Set(traceHeader, x.trace)
	h.Add("X-Forwarded-For", x.sourceIP())
	h.Set("X-Forwarded-Proto", "http")
	if _, port, err := net.SplitHostPort(x.r.Host); err == nil {
		h.Set("X-Forwarded-Port", port)
	}
	return h
}

// last returns the last value of each name, for the event's maps with one value for each name.
func last[M http.Header | url.Values](all M) map[string]string {
	out := make(map[string]string, len(all))
	for name, values := range all {
		if len(values) > 0 {
			out[name] = values[len(values)-1]
		}
	}
	return out
}

// orNil returns nil for an empty map, so that the event has null.
func orNil[M ~map[string]V, V any](m M) any {
	if len(m) == 0 {
		return nil
	}
	return m
}

// traceHeader is the header with the trace id of a request.
const traceHeader = "X-Amzn-Trace-Id"

// traceID returns the trace id that the client sent, or a new one.
func traceID(r *http.Request, now time.Time) string {
	return cmp.Or(r.Header.Get(traceHeader), lambda.NewTrace(now))
}

// newExtendedID returns an extendedRequestId in the form of API Gateway: 11 bytes in base64.
func newExtendedID() string {
	b := make([]byte, 11)
	_, _ = rand.Read(b) // never fails
	return base64.StdEncoding.EncodeToString(b)
}

// proxyAnswer is a function's answer to a proxy event. Other members are not allowed.
type proxyAnswer struct {
	StatusCode        json.Number         `json:"statusCode"`
	Headers           map[string]any      `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	Body              string              `json:"body"`
	IsBase64Encoded   any                 `json:"isBase64Encoded"` // ignored: the lab has no binary media types
}

// Headers of a function's answer that API Gateway renames, and headers that it drops (its developer guide, "Important notes",
// the table of headers).
var (
	remapped = []string{
		"Authorization", "Connection", "Content-Length", "Content-Md5", "Date", "Max-Forwards", "Server", "User-Agent",
		"Www-Authenticate",
	}
	dropped = []string{"Expect", "Host", "Proxy-Authenticate", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Via"}
)

const remappedPrefix = "X-Amzn-Remapped-"

// write sends a function's answer. If the answer is malformed it sends nothing and returns an error.
func (x *exchange) write(w http.ResponseWriter, raw []byte) error {
	var a proxyAnswer
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	if err := decoder.Decode(&a); err != nil {
		return err
	}
	if decoder.More() {
		return errors.New("there is more text after the JSON")
	}
	if a.StatusCode == "" && (a.Headers != nil || a.MultiValueHeaders != nil || a.Body != "") {
		a.StatusCode = "200"
	}
	status, errStatus := statusOf(a.StatusCode)
	headers, errHeaders := singles(a.Headers)
	if err := errors.Join(errStatus, errHeaders); err != nil {
		return err
	}
	for name, values := range a.MultiValueHeaders {
		before := headers.Values(name) // the value in headers comes after those in multiValueHeaders
		headers.Del(name)
		for _, v := range append(slices.Clone(values), before...) {
			add(headers, name, v)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	maps.Copy(w.Header(), headers)
	w.Header().Set(traceHeader, x.trace)
	x.send(w, status, x.compressed(w.Header(), a.Body))
	return nil
}

// send sends a body and its length. To HEAD, net/http sends the length without the body.
func (x *exchange) send(w http.ResponseWriter, status int, body string) {
	x.status = status
	if status != http.StatusNoContent && status != http.StatusNotModified {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

// statusOf returns the status of a function's answer.
func statusOf(code json.Number) (int, error) {
	n, err := code.Int64()
	if err != nil || n < 200 || n > 599 {
		return 0, errors.New("statusCode is missing or not a status")
	}
	return int(n), nil
}

// decode is json.Unmarshal, but in an any each number keeps its digits: AWS passes on 1790000000, not 1.79e+09.
func decode(raw []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	return cmp.Or(json.Unmarshal(raw, new(json.RawMessage)), decoder.Decode(into))
}

// singles returns the headers of a function's answer that have one value each.
func singles(all map[string]any) (http.Header, error) {
	headers := make(http.Header)
	for name, value := range all {
		switch value.(type) {
		case string, bool, json.Number:
			add(headers, name, fmt.Sprint(value))
		default:
			return nil, fmt.Errorf("header %s is not a text", name)
		}
	}
	return headers, nil
}

// add adds a header to an answer. Like API Gateway, it renames some headers and drops others.
func add(h http.Header, name, value string) {
	isThisName := func(other string) bool { return strings.EqualFold(name, other) }
	if slices.ContainsFunc(dropped, isThisName) {
		return
	}
	if slices.ContainsFunc(remapped, isThisName) {
		name = remappedPrefix + http.CanonicalHeaderKey(name)
	}
	h.Add(name, value)
}
