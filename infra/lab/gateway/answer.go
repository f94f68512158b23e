package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// proxyAnswer is a function's answer to a proxy event.
type proxyAnswer struct {
	StatusCode        json.Number         `json:"statusCode"`
	Headers           map[string]any      `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	Body              *string             `json:"body"`
}

// Headers of a function's answer that API Gateway sends under another name, and those that it does not
// send (its developer guide, "Important notes", the table of headers).
var (
	remapped = []string{
		"Authorization", "Connection", "Content-Length", "Content-Md5", "Date", "Max-Forwards", "Server", "User-Agent",
		"Www-Authenticate",
	}
	dropped = []string{"Expect", "Host", "Proxy-Authenticate", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Via"}
)

const remappedPrefix = "X-Amzn-Remapped-"

// write sends a function's answer. If the answer is malformed it sends nothing and returns an error.
func (x *exchange) write(w http.ResponseWriter, answer []byte) error {
	status, headers, body, err := parseAnswer(answer)
	if err != nil {
		return err
	}
	for name, values := range headers {
		for _, v := range values {
			w.Header().Add(name, v)
		}
	}
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	x.send(w, status, body)
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

// parseAnswer reads a proxy answer. It ignores isBase64Encoded, as API Gateway does without binary media
// types, which the local stack does not have.
func parseAnswer(raw []byte) (status int, headers http.Header, body string, err error) {
	var a proxyAnswer
	if err := json.Unmarshal(raw, &a); err != nil {
		return 0, nil, "", err
	}
	if status, err = statusOf(a.StatusCode); err != nil {
		return 0, nil, "", err
	}
	if headers, err = singles(a.Headers); err != nil {
		return 0, nil, "", err
	}
	for name, values := range a.MultiValueHeaders {
		// When both name a header, that of multiValueHeaders wins.
		headers.Del(name)
		for _, v := range values {
			add(headers, name, v)
		}
	}
	if a.Body != nil {
		body = *a.Body
	}
	return status, headers, body, nil
}

// statusOf returns the status of a function's answer.
func statusOf(code json.Number) (int, error) {
	n, err := code.Int64()
	if err != nil || n < 200 || n > 599 {
		return 0, errors.New("statusCode is missing or none")
	}
	return int(n), nil
}

// singles returns the headers of a function's answer that have one value each.
func singles(all map[string]any) (http.Header, error) {
	headers := make(http.Header)
	for name, value := range all {
		switch value.(type) {
		case string, bool, float64:
			add(headers, name, fmt.Sprint(value))
		default:
			return nil, fmt.Errorf("header %s is no text", name)
		}
	}
	return headers, nil
}

func add(h http.Header, name, value string) {
	for _, d := range dropped {
		if strings.EqualFold(name, d) {
			return
		}
	}
	for _, r := range remapped {
		if strings.EqualFold(name, r) {
			name = remappedPrefix + r
		}
	}
	h.Add(name, value)
}
