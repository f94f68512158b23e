package standin

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
)

// s3Calls are the rights that S3's methods need.
var s3Calls = map[string]string{"HEAD": "s3:GetObject", "GET": "s3:ListBucket", "PUT": "s3:PutObject", "DELETE": "s3:DeleteObject"}

// serveS3 stores, lists and deletes objects.
func (s *Standin) serveS3(w http.ResponseWriter, r *http.Request) {
	object := strings.TrimPrefix(r.URL.Path, "/")
	if refused := s.noted(s3Calls[r.Method]); refused != "" {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, element("Error", fields{{"Code", "AccessDenied"}, {"Message", refused}}))
		return
	}
	switch r.Method {
	case http.MethodHead:
		if _, ok := s.objects[object]; !ok {
			w.WriteHeader(http.StatusNotFound)
		}
	case http.MethodPut:
		body, err := io.ReadAll(r.Body)
		if err != nil || strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") {
			http.Error(w, "the stand-in takes whole bodies", http.StatusNotImplemented)
			return
		}
		s.objects[object] = body
		w.Header().Set("ETag", `"1"`)
	case http.MethodDelete:
		delete(s.objects, object)
		w.WriteHeader(http.StatusNoContent)
	case http.MethodGet:
		bucket, prefix := strings.TrimSuffix(object, "/"), r.URL.Query().Get("prefix")
		list := fields{{"Name", bucket}}
		for _, name := range slices.Sorted(maps.Keys(s.objects)) {
			if key, ok := strings.CutPrefix(name, bucket+"/"); ok && strings.HasPrefix(key, prefix) {
				list = append(list, field{"Contents", fields{{"Key", key}}})
			}
		}
		fmt.Fprint(w, element("ListBucketResult", list))
	}
}

// Objects returns the names of the bucket's objects.
func (s *Standin) Objects() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

// serveLambda answers for the account's settings and for calls of the rotation.
func (s *Standin) serveLambda(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	function, isCall := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/2015-03-31/functions/"), "/invocations")
	call := "lambda:GetAccountSettings"
	if isCall {
		call = "lambda:InvokeFunction"
	}
	if refused := s.noted(call); refused != "" {
		refuse(w, http.StatusForbidden, "AccessDeniedException", refused)
		return
	}
	if !isCall {
		n := s.faults.Concurrency
		if n == 0 {
			n = 1000
		}
		answer(w, map[string]any{"AccountLimit": map[string]any{"ConcurrentExecutions": n, "UnreservedConcurrentExecutions": n}})
		return
	}
	if len(s.faults.Rotations) > 0 {
		said := s.faults.Rotations[0]
		s.faults.Rotations = s.faults.Rotations[1:]
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		answer(w, map[string]any{"errorMessage": said, "errorType": "wrapError"})
		return
	}
	s.rotated[strings.TrimSuffix(function, "-RotateFunction-1")] = true
	answer(w, nil)
}

func answer(w io.Writer, body any) {
	_ = json.NewEncoder(w).Encode(body) // an error: the client is gone
}

// Live is a running stack. Calls about it reach the stack.
type Live struct {
	Outputs func() map[string]string

	// Services are the endpoints of services that the stack has, by the name in a signature.
	Services map[string]string

	// Invoke calls a function by its name. Error: the function's failure.
	Invoke func(function string, payload []byte) ([]byte, error)
	// Reserve sets a function's reserved concurrency; less than 0 removes it.
	Reserve func(function string, copies int) error
}

// Lead adds a stack that runs elsewhere. The caller must call it before the first request.
func (s *Standin) Lead(name string, live Live) {
	s.Put(name, "CREATE_COMPLETE", nil)
	s.stacks[name].live, s.live = &live, &live
}

// serveLive answers a call that is for the running stack. It returns false for other calls.
func (s *Standin) serveLive(w http.ResponseWriter, r *http.Request, service string) bool {
	_, path, found := strings.Cut(r.URL.Path, "/functions/")
	if service == "lambda" && found {
		s.serveFunction(w, r, path)
		return true
	}
	endpoint, ok := s.live.Services[service]
	if !ok {
		return false
	}
	to, err := url.Parse(endpoint)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return true
	}
	(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }}).ServeHTTP(w, r)
	return true
}

// serveFunction calls a function, or sets its reserved concurrency.
func (s *Standin) serveFunction(w http.ResponseWriter, r *http.Request, path string) {
	function, action, _ := strings.Cut(path, "/")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var concurrency struct{ ReservedConcurrentExecutions int }
	switch r.Method + " " + action {
	case "POST invocations":
		s.invoke(w, function, body)
		return
	case "PUT concurrency":
		if err = json.Unmarshal(body, &concurrency); err == nil {
			err = s.live.Reserve(function, concurrency.ReservedConcurrentExecutions)
		}
	case "DELETE concurrency":
		err = s.live.Reserve(function, -1)
	default:
		http.Error(w, fmt.Sprintf("the stand-in has no %s %s of a function", r.Method, action), http.StatusNotImplemented)
		return
	}
	switch {
	case err != nil:
		refuse(w, http.StatusNotFound, "ResourceNotFoundException", err.Error())
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		answer(w, concurrency)
	}
}

func (s *Standin) invoke(w http.ResponseWriter, function string, payload []byte) {
	if len(payload) == 0 {
		payload = []byte("{}")
	}
	out, err := s.live.Invoke(function, payload)
	if err != nil {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		answer(w, map[string]any{"errorMessage": err.Error(), "errorType": "error"})
		return
	}
	_, _ = w.Write(out) // an error: the client is gone
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("X-Amzn-ErrorType", code)
	w.WriteHeader(status)
	answer(w, map[string]any{"Message": message})
}
