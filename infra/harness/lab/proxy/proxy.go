// Package proxy checks each call of the lab's functions to AWS against the function's role, and passes on the allowed calls.
package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/template/iam"
	"latchkey/infra/template/translated"
)

// Proxy is between the functions and the local AWS services. It passes on calls that the caller's role
// allows, and refuses the others like AWS.
type Proxy struct {
	authority *iam.Authority
	calls     *iam.Calls
	services  map[string]*httputil.ReverseProxy // by the name in a request's signature
	denied    func(*iam.DeniedError)

	watch atomic.Pointer[func(Call)] // gets each answered call; nil: none
	keys  sync.Map                   // the KMS's keys (*iam.Key), by the id in the call
	kms   *kms.Client
}

// New makes a proxy for services: base URLs by the names "dynamodb", "kms", "sqs" and "events". The proxy calls
// denied for each refused call. Allowed calls go through network; nil: they go directly to the service.
func New(
	t *translated.Template, a *iam.Authority, services map[string]string, network func(http.RoundTripper) http.RoundTripper, denied func(*iam.DeniedError),
) (*Proxy, error) {
	p := &Proxy{
		authority: a, services: make(map[string]*httputil.ReverseProxy), denied: denied,
		// The proxy does not retry, because the caller does.
		kms: kms.New(backing.NewKMSClient(services["kms"]).Options(), func(o *kms.Options) { o.Retryer = aws.NopRetryer{} }),
	}
	p.calls = iam.NewCalls(t, p.key)
	var transport http.RoundTripper = &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
	if network != nil {
		transport = network(transport)
	}
	for name, base := range services {
		to, err := url.Parse(base)
		if err != nil {
			return nil, err
		}
		p.services[name] = &httputil.ReverseProxy{
			Transport: transport,
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
			// If a service does not answer, the proxy closes the caller's connection.
			ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		}
	}
	return p, nil
}

// credential matches the access key id and the service in a signature (AWS Signature Version 4).
var credential = regexp.MustCompile(`Credential=([^/,]+)/\d+/[^/]+/([^/]+)/aws4_request`)

// maxCall limits a request's size: DynamoDB accepts 16 MB at most.
const maxCall = 16 << 20

func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	signer := credential.FindStringSubmatch(r.Header.Get("Authorization"))
	if signer == nil {
		// A function sends an unsigned request before its first call, only to open the connection.
		w.WriteHeader(http.StatusNotFound)
		return
	}
	function, service := signer[1], signer[2]
	next := p.services[service]
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if next == nil || operation == "" {
		http.Error(w, "the local stack does not serve "+service+" "+operation, http.StatusNotImplemented)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCall))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	var denied *iam.DeniedError
	switch err := p.decide(r.Context(), function, service, operation, body); {
	case errors.As(err, &denied):
		p.denied(denied)
		refuse(w, service, denied)
		return
	case err != nil: // errNoAnswer: the KMS does not answer, so the caller gets no answer either
		panic(http.ErrAbortHandler)
	}
	if watch := p.watch.Load(); watch != nil && *watch != nil {
		next = watched(next, Call{Function: function, Service: service, Operation: operation, Request: body}, *watch)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	next.ServeHTTP(w, r)
}

// decide returns nil for an allowed call. Errors: *iam.DeniedError, errNoAnswer.
func (p *Proxy) decide(ctx context.Context, function, service, operation string, body []byte) error {
	needs, err := p.calls.Needs(ctx, service, operation, body)
	if errors.Is(err, errNoAnswer) {
		return err
	}
	if err != nil { // the call cannot be read, so it is not allowed
		needs = []iam.Need{{Action: service + ":" + operation, Resource: err.Error()}}
	}
	if operation == "TagResource" || operation == "UntagResource" {
		p.keys.Clear() // the stored keys have the old tags
	}
	return p.authority.Decide(function, needs...)
}

// refuse answers like AWS when the caller's role does not allow the call.
func refuse(w http.ResponseWriter, service string, d *iam.DeniedError) {
	code, status := "AccessDeniedException", http.StatusBadRequest
	if service == "sqs" {
		code, status = "AccessDenied", http.StatusForbidden
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{
		"__type": "com.amazon.coral.service#" + code,
		"message": fmt.Sprintf("User: arn:aws:sts::%s:assumed-role/%s is not authorized to perform: %s on resource: %s"+
			" because no identity-based policy allows the %[3]s action", translated.AccountID, d.Function, d.Need.Action, d.Need.Resource),
	})
}

// errNoAnswer means that the KMS did not answer a request for a key.
var errNoAnswer = errors.New("proxy: the KMS does not answer")

// key reads a key from the KMS, once for each id. For an unknown key it returns nil. Error: errNoAnswer.
func (p *Proxy) key(ctx context.Context, id string) (*iam.Key, error) {
	if known, ok := p.keys.Load(id); ok {
		return known.(*iam.Key), nil
	}
	var unknown *types.NotFoundException
	out, err := p.kms.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &id})
	if errors.As(err, &unknown) {
		return nil, nil //nolint:nilnil // the KMS itself refuses an unknown key
	}
	if err != nil {
		return nil, errors.Join(errNoAnswer, err)
	}
	tags, err := p.kms.ListResourceTags(ctx, &kms.ListResourceTagsInput{KeyId: &id})
	if err != nil {
		return nil, errors.Join(errNoAnswer, err)
	}
	found := &iam.Key{ARN: aws.ToString(out.KeyMetadata.Arn), Tags: map[string]string{}}
	found.Spec, found.Usage = string(out.KeyMetadata.KeySpec), string(out.KeyMetadata.KeyUsage)
	// A new tag can have its effect five minutes late. So a key that a policy names by its ARN has no tags here: its policy must
	// not depend on them.
	if !p.authority.Names(found.ARN) {
		for _, t := range tags.Tags {
			found.Tags[aws.ToString(t.TagKey)] = aws.ToString(t.TagValue)
		}
	}
	p.keys.Store(id, found)
	return found, nil
}

// Call is an answered call of a function, with the capacity that DynamoDB counted.
type Call struct {
	Function, Service, Operation string
	Request                      []byte  // the function's JSON
	Read, Write                  float64 // capacity units
}

// Watch makes the proxy call f for each answered call from now on. Nil ends this.
func (p *Proxy) Watch(f func(Call)) { p.watch.Store(&f) }

// watched returns a copy of a service's proxy that calls watch with the answered call.
func watched(next *httputil.ReverseProxy, c Call, watch func(Call)) *httputil.ReverseProxy {
	counted := *next
	counted.Transport = Counting{next.Transport, func(units float64) {
		if strings.Contains(c.Operation, "Get") || c.Operation == "Query" {
			c.Read = units
		} else {
			c.Write = units
		}
		watch(c)
	}}
	return &counted
}

// Counting is a transport that makes DynamoDB report the capacity units of each call. It does not change calls to
// other services, and reports 0 units for them.
type Counting struct {
	http.RoundTripper
	Counted func(units float64)
}

// RoundTrip makes one call.
func (c Counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_") {
		var in map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			return nil, err
		}
		in["ReturnConsumedCapacity"] = json.RawMessage(`"TOTAL"`)
		body, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	res, err := c.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	_ = res.Body.Close() // the whole body is read, so an error does not matter
	res.Body = io.NopCloser(bytes.NewReader(answer))
	c.Counted(unitsIn(answer))
	return res, nil
}

// unitsIn returns the sum of the capacity units in an answer of DynamoDB.
func unitsIn(answer []byte) (sum float64) {
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
