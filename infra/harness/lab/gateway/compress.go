package gateway

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// unpack replaces a body in gzip by what it holds, and keeps the header. A body smaller than CompressFrom stays as it is. refusal is the
// gateway response of a body that cannot be unpacked, "" for none. API Gateway knows deflate too.
func (x *exchange) unpack() (refusal kind) {
	coding := strings.ToLower(strings.Join(x.r.Header.Values("Content-Encoding"), ","))
	if coding == "" || coding == "identity" || coding == "gzip" && len(x.body) < max(x.g.api.CompressFrom, 1) {
		return ""
	}
	from, err := gzip.NewReader(bytes.NewReader(x.body))
	if err == nil {
		x.body, err = io.ReadAll(io.LimitReader(from, maxBody+1))
	}
	switch {
	case coding != "gzip" || err != nil:
		return unsupportedMediaType
	case len(x.body) > maxBody:
		return requestTooLarge
	}
	return ""
}

// compressed returns a function's answer in gzip, and sets the header, for a client that names gzip first. API Gateway reads weights too.
func (x *exchange) compressed(h http.Header, body string) string {
	first, _, _ := strings.Cut(strings.ToLower(x.r.Header.Get("Accept-Encoding")), ",")
	if from := x.g.api.CompressFrom; from == 0 || len(body) < from || h.Get("Content-Encoding") != "" || first != "gzip" {
		return body
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, body) // into memory: never fails
	_ = w.Close()
	h.Set("Content-Encoding", "gzip")
	return out.String()
}
