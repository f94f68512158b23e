package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// answersAfter is how long the fake services wait. The SDK drops a connection whose answer arrives
// before its own goroutine waits for it.
const answersAfter = time.Millisecond

// services answers as DynamoDB, KMS, SQS and a webhook's receiver do, from rows that a real table
// had. It takes every write and keeps none, so that one delivery can be attempted any number of
// times.
type services struct {
	*httptest.Server
	rows map[[2]string]json.RawMessage // by PK and SK
}

func newServices(rows map[[2]string]json.RawMessage) *services {
	s := &services{rows: rows}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

func (s *services) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	time.Sleep(answersAfter)
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	answer, err := s.answer(operation, body)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		answer = []byte(err.Error())
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_, _ = w.Write(answer) // the program that has gone is found by its answers
}

type rowKey struct{ PK, SK struct{ S string } }

func (s *services) row(k rowKey) json.RawMessage { return s.rows[[2]string{k.PK.S, k.SK.S}] }

func (s *services) answer(operation string, body []byte) ([]byte, error) {
	switch operation {
	case "GetItem":
		var in struct{ Key rowKey }
		if err := json.Unmarshal(body, &in); err != nil {
			return nil, err
		}
		if row := s.row(in.Key); row != nil {
			return fmt.Appendf(nil, `{"Item":%s}`, row), nil
		}
		return []byte(`{}`), nil
	case "BatchGetItem":
		return s.batch(body)
	case "Sign":
		return json.Marshal(map[string]string{"KeyId": "bench", "Signature": signature, "SigningAlgorithm": "ECDSA_SHA_256"})
	case "SendMessageBatch":
		return []byte(`{"Successful":[],"Failed":[]}`), nil
	case "", "UpdateItem", "TransactWriteItems":
		return []byte(`{}`), nil
	}
	return nil, fmt.Errorf("no answer to %s", operation)
}

func (s *services) batch(body []byte) ([]byte, error) {
	var in struct {
		RequestItems map[string]struct{ Keys []rowKey }
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	found := map[string][]json.RawMessage{}
	for name, request := range in.RequestItems {
		for _, k := range request.Keys {
			if row := s.row(k); row != nil {
				found[name] = append(found[name], row)
			}
		}
	}
	return json.Marshal(map[string]any{"Responses": found, "UnprocessedKeys": map[string]any{}})
}

// signature is one of KMS: DER of r and s, in base64.
const signature = "MEQCIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAiACAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAg=="
