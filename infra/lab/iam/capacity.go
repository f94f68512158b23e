package iam

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// Call is an answered call of a function, with the capacity that DynamoDB counted for it.
type Call struct {
	Function, Service, Operation string
	Request                      []byte  // JSON, as the function sent it
	Read, Write                  float64 // capacity units
}

// Watch calls f for each call that is answered from now on. Nil ends the watch.
func (p *Proxy) Watch(f func(Call)) {
	if f == nil {
		p.watch.Store(nil)
		return
	}
	p.watch.Store(&f)
}

// watched is passed from a request to its answer, in the request's context.
type watched struct {
	call *Call
	tell func(Call)
}

type watchedKey struct{}

// weighed returns the request and body of a call, changed so that DynamoDB counts the call's capacity.
func weighed(r *http.Request, body []byte, c *Call, tell func(Call)) (*http.Request, []byte) {
	if c.Service == "dynamodb" {
		body = AskUnits(body)
	}
	return r.WithContext(context.WithValue(r.Context(), watchedKey{}, watched{c, tell})), body
}

// AskUnits returns the body of a call, changed so that DynamoDB's answer has what Units reads. A body that is no
// object is returned as it is.
func AskUnits(body []byte) []byte {
	var in map[string]json.RawMessage
	if json.Unmarshal(body, &in) != nil {
		return body
	}
	in["ReturnConsumedCapacity"] = json.RawMessage(`"TOTAL"`)
	text, err := json.Marshal(in)
	if err != nil {
		return body
	}
	return text
}

// weigh reads the capacity in an answer.
func weigh(res *http.Response) error {
	of, ok := res.Request.Context().Value(watchedKey{}).(watched)
	if !ok {
		return nil
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	units := &of.call.Write
	if strings.Contains(of.call.Operation, "Get") || of.call.Operation == "Query" {
		units = &of.call.Read
	}
	*units += Units(body)
	of.tell(*of.call)
	return nil
}

// Units returns the capacity units in an answer of DynamoDB to a call that asked for their total.
func Units(answer []byte) (sum float64) {
	type capacity struct{ CapacityUnits float64 }
	var one struct{ ConsumedCapacity capacity }
	var several struct{ ConsumedCapacity []capacity }
	if json.Unmarshal(answer, &several) != nil && json.Unmarshal(answer, &one) == nil {
		several.ConsumedCapacity = []capacity{one.ConsumedCapacity}
	}
	for _, c := range several.ConsumedCapacity {
		sum += c.CapacityUnits
	}
	return sum
}
