package gateway

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// unpack decompresses a gzip body, and keeps the header Content-Encoding. It does not decompress a body smaller than CompressFrom. refusal
// is the gateway response for a body that cannot be decompressed; "": none. API Gateway also accepts deflate; unpack does not.
func (x *exchange) unpack() (refusal kind) {
	coding := strings.ToLower(strings.Join(x.r.Header.Values("Content-Encoding"), ","))
	if coding == "" || coding == "identity" || coding == "gzip" && len(x.body) < max(x.g.api.CompressFrom, 1) {
		return ""
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(x.body))
	if err == nil {
		x.body, err = io.ReadAll(io.LimitReader(unzipped, maxBody+1))
	}
	switch {
	case coding != "gzip" || err != nil:
		return unsupportedMediaType
	case len(x.body) > maxBody:
		return requestTooLarge
	}
	return ""
}

// compressed returns a function's answer in gzip and sets the header, if the client's Accept-Encoding begins with gzip. API Gateway also
// reads weights (q=0.9); compressed does not.
func (x *exchange) compressed(h http.Header, body string) string {
	first, _, _ := strings.Cut(strings.ToLower(x.r.Header.Get("Accept-Encoding")), ",")
	if from := x.g.api.CompressFrom; from == 0 || len(body) < from || h.Get("Content-Encoding") != "" || first != "gzip" {
		return body
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, body) // no error: the writer is in memory
	_ = w.Close()
	h.Set("Content-Encoding", "gzip")
	return out.String()
}
