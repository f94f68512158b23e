package standin

import (
	"cmp"
	"encoding/json"
	"errors"
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
	object, moved := objectAt(r.URL.Path)
	if moved != "" {
		w.Header().Set("Location", s.URL+moved+"?"+r.URL.RawQuery)
		w.WriteHeader(http.StatusTemporaryRedirect)
		fmt.Fprint(w, element("Error", fields{{"Code", "TemporaryRedirect"}}))
		return
	}
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
			http.Error(w, "the stand-in does not accept chunked bodies", http.StatusNotImplemented)
			return
		}
		s.objects[object] = body
		w.Header().Set("ETag", `"1"`)
	case http.MethodDelete:
		if version := r.URL.Query().Get("versionId"); version == "marker" {
			delete(s.markers, object)
		} else {
			delete(s.objects, object)
			s.markers[object] = s.markers[object] || version == "" // in a bucket that keeps versions
		}
		w.WriteHeader(http.StatusNoContent)
	case http.MethodGet:
		if body, ok := s.objects[object]; ok {
			_, _ = w.Write(body) // an error means that the client has closed the connection
			return
		}
		fmt.Fprint(w, s.listed(strings.TrimSuffix(object, "/"), r.URL.Query()))
	}
}

// listed lists the objects of a bucket, or their versions with their delete markers.
func (s *Standin) listed(bucket string, query url.Values) string {
	list, one := "ListBucketResult", "Contents"
	if query.Has("versions") {
		list, one = "ListVersionsResult", "Version"
	}
	all := fields{{"Name", bucket}}
	add := func(name, kind, version string) {
		if key, ok := strings.CutPrefix(name, bucket+"/"); ok && strings.HasPrefix(key, query.Get("prefix")) {
			all = append(all, field{kind, fields{{"Key", key}, {"VersionId", version}}})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		add(name, one, "1")
	}
	for name, isMarked := range s.markers {
		if isMarked && one == "Version" {
			add(name, "DeleteMarker", "marker")
		}
	}
	return element(list, all)
}

// serveCertificates answers for every certificate of ACM.
func (s *Standin) serveCertificates(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if refused := s.noted("acm:DescribeCertificate"); refused != "" {
		refuse(w, http.StatusBadRequest, "AccessDeniedException", refused)
		return
	}
	answer(w, map[string]any{"Certificate": map[string]any{"Status": cmp.Or(s.faults.Certificate, "ISSUED")}})
}

// serveBuses answers for every event bus.
func (s *Standin) serveBuses(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	refused := s.noted("events:DescribeEventBus")
	if s.faults.NoBus {
		refuse(w, http.StatusBadRequest, "ResourceNotFoundException", "Event bus owner does not exist.")
	} else if refused != "" {
		refuse(w, http.StatusBadRequest, "AccessDeniedException", refused)
	} else {
		answer(w, map[string]any{"Name": "owner"})
	}
}

// Publish puts an event on every bus.
func (s *Standin) Publish(event string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, event)
}

// serveQueue answers with the events of all buses, as if a rule sent them to this queue.
func (s *Standin) serveQueue(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	all := []any{}
	for n, event := range s.events {
		all = append(all, map[string]any{"MessageId": fmt.Sprint(n), "Body": event})
	}
	answer(w, map[string]any{"Messages": all})
}

// serveLambda answers for the account's settings, and for calls of functions and their reserved concurrency.
func (s *Standin) serveLambda(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, path, ofFunction := strings.Cut(r.URL.Path, "/functions/")
	function, action, _ := strings.Cut(path, "/")
	call := "lambda:GetAccountSettings"
	if ofFunction {
		call = "lambda:InvokeFunction"
	}
	if refused := s.noted(call); refused != "" {
		refuse(w, http.StatusForbidden, "AccessDeniedException", refused)
		return
	}
	switch {
	case !ofFunction:
		n := cmp.Or(s.faults.Concurrency, 1000)
		answer(w, map[string]any{"AccountLimit": map[string]any{"ConcurrentExecutions": n, "UnreservedConcurrentExecutions": n}})
	case action == "invocations":
		s.call(w, r, function)
	case action == "concurrency" && s.live != nil:
		s.reserve(w, r, function)
	default:
		s.unknown = append(s.unknown, r.Method+" "+r.URL.Path)
		http.Error(w, fmt.Sprintf("the stand-in has no %s %s of a function", r.Method, action), http.StatusNotImplemented)
	}
}

// call calls a function of the running stack. Without a running stack every call is a call of the rotation.
func (s *Standin) call(w http.ResponseWriter, r *http.Request, function string) {
	payload, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has closed the connection
	}
	if len(payload) == 0 {
		payload = []byte("{}")
	}
	out := []byte("null")
	switch {
	case s.live != nil:
		out, err = s.live.Invoke(function, payload)
	case len(s.faults.Rotations) > 0:
		err = errors.New(s.faults.Rotations[0])
		s.faults.Rotations = s.faults.Rotations[1:]
	default:
		s.rotated[strings.TrimSuffix(function, "-RotateFunction-1")] = true // the rest is the stack's name (see physical)
	}
	if err != nil {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		answer(w, map[string]any{"errorMessage": err.Error(), "errorType": "error"})
		return
	}
	_, _ = w.Write(out) // an error means that the client has closed the connection
}

// reserve sets a function's reserved concurrency, or removes it.
func (s *Standin) reserve(w http.ResponseWriter, r *http.Request, function string) {
	concurrency := struct{ ReservedConcurrentExecutions int }{-1} // for DELETE: Live.Reserve removes it
	var err error
	if r.Method == http.MethodPut {
		err = json.NewDecoder(r.Body).Decode(&concurrency)
	}
	if err == nil {
		err = s.live.Reserve(function, concurrency.ReservedConcurrentExecutions)
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

func answer(w io.Writer, body any) {
	_ = json.NewEncoder(w).Encode(body) // an error means that the client has closed the connection
}

// Live is a running stack. The stand-in passes calls for the stack on to it.
type Live struct {
	Outputs func() map[string]string

	// Services has the endpoints of the running stack's services, by the service's name in a signature.
	Services map[string]string

	// Invoke calls a function by its name. Error: the function's failure.
	Invoke func(function string, payload []byte) ([]byte, error)
	// Reserve sets a function's reserved concurrency; a number below 0 removes it.
	Reserve func(function string, concurrency int) error
}

// Lead adds a stack that runs elsewhere. Call it before the first request, because it sets live without the lock.
func (s *Standin) Lead(name string, live Live) {
	s.Put(name, "CREATE_COMPLETE", nil)
	s.stacks[name].live, s.live = &live, &live
}

// serveLive passes a call on to a service of the running stack.
func serveLive(w http.ResponseWriter, r *http.Request, endpoint string) {
	to, err := url.Parse(endpoint)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(to) }}).ServeHTTP(w, r)
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("X-Amzn-ErrorType", code)
	w.WriteHeader(status)
	answer(w, map[string]any{"Message": message})
}
