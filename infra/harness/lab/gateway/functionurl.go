package gateway

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"latchkey/infra/harness/lab/lambda"
)

// maxPayload is Lambda's limit for the payload of a synchronous call, in bytes.
const maxPayload = 6 << 20

// FunctionURL returns the handler of a function URL without authentication. It accepts any method and path, and writes one line
// for each request to requests.
func FunctionURL(function string, invoker Invoker, requests *log.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{r: r, begun: time.Now(), id: lambda.NewID()}
		x.trace = traceID(r, x.begun)
		w.Header().Set("X-Amzn-Requestid", x.id)
		x.answerURL(w, function, invoker)
		x.log(requests, time.Now())
	})
}

func (x *exchange) answerURL(w http.ResponseWriter, function string, invoker Invoker) {
	body, err := io.ReadAll(http.MaxBytesReader(w, x.r.Body, maxPayload))
	x.body = body
	payload, errEvent := x.urlEvent()
	if err := errors.Join(err, errEvent); err != nil || len(payload) > maxPayload {
		x.failure = fmt.Sprintf("an event of %d bytes: %v", len(payload), err)
		x.refuse(w, http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return
	}
	// No time limit here: Lambda waits until the function's time-out.
	answer, err := invoker.Invoke(lambda.WithTrace(x.r.Context(), x.trace), function, payload)
	if err == nil {
		err = x.writeURL(w, answer)
	}
	if err == nil {
		return
	}
	x.failure = err.Error()
	if errors.Is(err, lambda.ErrThrottled) {
		x.refuse(w, http.StatusTooManyRequests, "Rate Exceeded.")
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	x.send(w, http.StatusBadGateway, "Internal Server Error")
}

// refuse answers a request that does not reach the function.
func (x *exchange) refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	x.send(w, status, `{"Message":`+quoted(message)+`}`)
}

// urlEvent returns the payload of a function URL, in AWS's format 2.0 (Lambda developer guide, "Invoking Lambda
// function URLs"). It leaves out members without a value.
func (x *exchange) urlEvent() ([]byte, error) {
	path, headers := x.r.URL.EscapedPath(), x.forwardedHeaders()
	e := map[string]any{
		"version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": x.r.URL.RawQuery,
		"headers": joined(headers, strings.ToLower), "isBase64Encoded": false,
		"requestContext": map[string]any{
			"accountId": "anonymous", "apiId": apiID, "domainName": x.r.Host, "domainPrefix": apiID,
			"requestId": x.id, "routeKey": "$default", "stage": "$default",
			"time": x.begun.UTC().Format(timeFormat), "timeEpoch": x.begun.UnixMilli(),
			"http": map[string]any{
				"method": x.r.Method, "path": path, "protocol": x.r.Proto, "sourceIp": x.sourceIP(), "userAgent": x.r.UserAgent(),
			},
		},
	}
	if query := parameters(x.r.URL.RawQuery); len(query) > 0 {
		e["queryStringParameters"] = joined(query, func(name string) string { return name })
	}
	if cookies := headers.Values("Cookie"); len(cookies) > 0 {
		e["cookies"] = strings.Split(strings.Join(cookies, "; "), "; ")
	}
	switch {
	case len(x.body) == 0:
	case isText(headers.Get("Content-Type")) && utf8.Valid(x.body):
		e["body"] = string(x.body)
	default:
		e["body"], e["isBase64Encoded"] = base64.StdEncoding.EncodeToString(x.body), true
	}
	return json.Marshal(e)
}

// isText reports whether Lambda passes on a body of this type as text. A form (x-www-form-urlencoded) is not text.
func isText(contentType string) bool {
	contains := func(part string) bool { return strings.Contains(strings.ToLower(contentType), part) }
	return slices.ContainsFunc([]string{"text", "json", "xml", "javascript"}, contains)
}

// joined returns the values of each name as one text.
func joined[M http.Header | url.Values](all M, rename func(string) string) map[string]string {
	out := make(map[string]string, len(all))
	for name, values := range all {
		out[rename(name)] = strings.Join(values, ",")
	}
	return out
}

// urlAnswer is a function's answer to its URL, in format 2.0.
type urlAnswer struct {
	StatusCode      json.Number    `json:"statusCode"`
	Headers         map[string]any `json:"headers"`
	Cookies         []string       `json:"cookies"`
	Body            string         `json:"body"`
	IsBase64Encoded bool           `json:"isBase64Encoded"`
}

// writeURL sends a function's answer. JSON without a statusCode is the body of an answer with the status 200. If the
// answer is malformed, writeURL sends nothing and returns an error.
func (x *exchange) writeURL(w http.ResponseWriter, raw []byte) error {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(raw, &members) // a text or a list has no members
	a, errJSON := urlAnswer{StatusCode: "200", Body: string(raw)}, json.Unmarshal(raw, new(json.RawMessage))
	_ = json.Unmarshal(raw, &a.Body) // a JSON text is sent without its quotes
	if _, isFormatted := members["statusCode"]; isFormatted {
		a = urlAnswer{}
		errJSON = decode(raw, &a)
	}
	status, errStatus := statusOf(a.StatusCode)
	headers, errHeaders := singles(a.Headers) // Lambda renames and drops the same headers as API Gateway
	body, errBody := []byte(a.Body), error(nil)
	if a.IsBase64Encoded {
		body, errBody = base64.StdEncoding.DecodeString(a.Body)
	}
	if err := errors.Join(errJSON, errStatus, errHeaders, errBody); err != nil {
		return fmt.Errorf("malformed answer: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	maps.Copy(w.Header(), headers)
	for _, cookie := range a.Cookies {
		w.Header().Add("Set-Cookie", cookie)
	}
	w.Header().Set(traceHeader, x.trace)
	x.send(w, status, string(body))
	return nil
}
