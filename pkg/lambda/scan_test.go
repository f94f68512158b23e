package lambda

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// byEncodingJSON reads an event with encoding/json. A member must have its exact name, and the last of two with the
// same name counts.
func byEncodingJSON(text []byte) (authorizerEvent, error) {
	var e authorizerEvent
	var failed error
	members := func(text json.RawMessage) (m map[string]json.RawMessage) {
		if text != nil {
			failed = errors.Join(failed, json.Unmarshal(text, &m))
		}
		return m
	}
	read := func(text json.RawMessage, into any) {
		if text != nil {
			failed = errors.Join(failed, json.Unmarshal(text, into))
		}
	}
	top := members(text)
	context := members(top["requestContext"])
	identity := members(context["identity"])
	var single map[string]string
	var many map[string][]string
	read(top["methodArn"], &e.methodARN)
	read(top["resource"], &e.resource)
	read(top["httpMethod"], &e.httpMethod)
	read(top["routeArn"], &e.routeARN)
	read(top["routeKey"], &e.routeKey)
	read(top["type"], &e.eventType)
	read(top["version"], &e.version)
	e.identitySource, e.pathParameters = top["identitySource"], top["pathParameters"]
	read(top["headers"], &single)
	read(top["multiValueHeaders"], &many)
	read(context["extendedRequestId"], &e.extendedRequestID)
	read(identity["sourceIp"], &e.sourceIP)
	read(members(context["http"])["sourceIp"], &e.httpSourceIP)
	if single != nil {
		e.single = map[string][]string{}
	}
	for name, value := range single {
		if strings.EqualFold(name, "authorization") {
			e.single[name] = []string{value}
		}
	}
	if many != nil {
		e.many = map[string][]string{}
	}
	for name, values := range many {
		if strings.EqualFold(name, "authorization") {
			e.many[name] = values
		}
	}
	return e, failed
}

// FuzzTheScannerAgreesWithEncodingJSON: for any valid JSON text.
func FuzzTheScannerAgreesWithEncodingJSON(f *testing.F) {
	for _, seed := range []string{
		sample, `{}`, `null`, `[]`, ` { "methodArn" : "a" , "headers" : null } `, `{"resource":"\u00e9\ud83d\ude00\\\"\n"}`,
		`{"requestContext":{"identity":{"sourceIp":"1.2.3.4","x":[1,{"y":[]},"]"]},"extendedRequestId":"e"}}`,
		`{"headers":{"A":"b"},"headers":{"C":"d"}}`, `{"httpMethod":"GET","httpMethod":null}`, `{"headers":{"A":null}}`, `{"multiValueHeaders":{"A":null,"B":[null,"x"]}}`,
		`{"type":"REQUEST","version":"2.0","routeArn":"a","routeKey":"GET /","identitySource": ["x",{}] ,"pathParameters":{"a":"}"}}`,
		`{"resource":1}`, `{"headers":[]}`, `{"multiValueHeaders":{"A":"b"}}`, `{"methodArn":"` + "\xff" + `"}`, `{"a":-1.5e+3,"b":true,"c":false,"resource":"r"}`, `{"a"`, `{"a":}`, `{,}`, `{"a":1,}`, `{"a":tru`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, gotErr := readAuthorizerEvent(text)
		if !json.Valid(text) || !utf8.Valid(text) {
			return // Lambda sends no such text, so any result is fine, except a panic
		}
		want, wantErr := byEncodingJSON(text)
		if (gotErr == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, and encoding/json returns %v", text, gotErr, wantErr)
		}
		if gotErr == nil && fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	})
}

// TestInvalidEventsAreRefused: the scanner finds these faults, although it does not check the values that it skips.
func TestInvalidEventsAreRefused(t *testing.T) {
	for _, text := range []string{``, `{`, `{"a`, `{"a"`, `{"a":`, `{"a":"`, `{"a":}`, `{"a":,"b":1}`, `{"methodArn":"a"`, `{} x`, `{}{}`, `"`, `x`, `{"a":1]`} {
		if e, err := readAuthorizerEvent([]byte(text)); !errors.Is(err, errEvent) {
			t.Errorf("%s: %+v, %v", text, e, err)
		}
	}
}
