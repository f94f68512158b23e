package standin

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
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
