package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
)

// cacheContract is how long a client may keep the contract, in seconds. After that, the client compares ETags to learn whether
// the contract has changed.
const cacheContract = 300

// contractFile is infra/openapi.yaml as clients receive it.
type contractFile struct {
	text []byte
	etag func() string // computed at the first request: it costs more than the start of the process
}

func newContractFile(text []byte) contractFile {
	return contractFile{text, sync.OnceValue(func() string { return etagOf(text) })}
}

// get returns the contract, or 304 to a client that already has it. It answers HEAD like GET: the gateway removes the body.
func (f contractFile) get(_ context.Context, c *call, _ none) (answer, error) {
	return tagged(c, document{"application/yaml", f.text}, f.etag(), cacheContract), nil // RFC 9512
}

// etagOf returns the strong tag of a text.
func etagOf(text []byte) string {
	hash := sha256.Sum256(text)
	return `"` + hex.EncodeToString(hash[:16]) + `"` // 128 bits are enough to distinguish all versions
}

// tagged returns the answer with a body and an ETag, or 304 to a client that already has the tag. Caches may keep the answer
// for the seconds.
func tagged(c *call, body any, etag string, seconds int) answer {
	a := ok(body)
	if matches(c.Header.Values("If-None-Match"), etag) {
		a = answer{status: http.StatusNotModified}
	}
	a = cached(a, seconds)
	a.header["ETag"] = "W/" + etag // weak, because the gateway may compress the body
	return a
}

// matches reports whether an If-None-Match header names the tag, by weak comparison (RFC 9110, section 13.1.2). Our tags have
// no comma.
func matches(fields []string, etag string) bool {
	for _, field := range fields {
		for tag := range strings.SplitSeq(field, ",") {
			if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
				return true
			}
		}
	}
	return false
}
