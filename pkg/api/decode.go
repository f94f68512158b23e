package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"latchkey/pkg/problem"
	"latchkey/pkg/strictjson"
)

// readBody reads the body of a request up to most bytes, and returns "{}" for an empty body. It refuses every body with another
// Content-Encoding than identity, because the gateway may have changed the body: it unpacks gzip and deflate but keeps the
// header, and turns a body below MinimumCompressionSize into text. The gateway itself answers 415 to other codings. Errors: body_too_large,
// unsupported_media_type, invalid_json for a body that cannot be read.
func readBody(r *http.Request, most int) ([]byte, error) {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodOptions: // a body of these has no meaning (RFC 9110, section 9.3)
		return []byte("{}"), nil
	}
	if r.Body == nil {
		return []byte("{}"), nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, int64(most)+1))
	if err != nil {
		return nil, problem.Wrap(problem.InvalidJSON, "The body cannot be read.", err)
	}
	switch {
	case len(body) > most:
		return nil, problem.New(problem.BodyTooLarge, fmt.Sprintf("The body is larger than %d KB.", most>>10))
	case len(body) == 0:
		return []byte("{}"), nil
	}
	codings := strings.Fields(strings.ReplaceAll(strings.Join(r.Header.Values("Content-Encoding"), ","), ",", " "))
	if slices.ContainsFunc(codings, func(c string) bool { return !strings.EqualFold(c, "identity") }) {
		return nil, problem.New(problem.UnsupportedMediaType, "Send the body without Content-Encoding.")
	}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := params["charset"]
	otherCharset := charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "utf8")
	if err != nil || media != "application/json" || otherCharset {
		return nil, problem.New(problem.UnsupportedMediaType, "Send the body as application/json.")
	}
	return body, nil
}

// decode reads the body of a call into a struct. Errors: invalid_json (400) for a text that is not JSON, for a member that is
// duplicate, unknown or spelled in another case, for invalid characters, and for data after the value; validation_failed (422)
// with a pointer for a value of the wrong type. A whole number may have each spelling of JSON: 60, 60.0 and 6e1.
func (c *call) decode(into any) error {
	shape := reflect.TypeOf(into).Elem()
	c.shape = shape
	if err := strictjson.Check(c.body, strictjson.Rules{Depth: maxDepth, Shape: shape, Texts: !c.mends}); err != nil {
		return invalidJSON(err)
	}
	text, err := c.body, json.Unmarshal(c.body, into)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Type.Kind() == reflect.Int64 {
		text = strictjson.Digits(c.body, shape)
		err = json.Unmarshal(text, into)
	}
	switch {
	case errors.As(err, &mismatch):
		code, message := "type", "The value must be "+typeName(mismatch)+"."
		if isTooLarge(mismatch) {
			code, message = "range", "The value is out of range."
		}
		return problem.Invalid(strictjson.PointerAt(text, mismatch.Offset), code, message)
	case err != nil:
		return problem.Wrap(problem.InvalidJSON, "The body is not valid JSON.", err)
	}
	return nil
}

// maxDepth bounds the nesting of a body. Only the data of a published event is nested deeply. pkg/verify accepts a webhook with
// such data, because its own bound is 64.
const maxDepth = 32

// invalidJSON returns the 400 for an error of strictjson. It has a pointer to the fault, unless the fault is the whole body.
func invalidJSON(err error) error {
	var at *strictjson.Error
	hasPlace := errors.As(err, &at) && at.Pointer != ""
	for _, f := range []struct {
		fault                 *error
		detail, code, message string
	}{
		{&strictjson.ErrSyntax, "The body is not valid JSON.", "syntax", "The text is not valid JSON here."},
		{&strictjson.ErrNotObject, "The body must be a JSON object.", "", ""},
		{&strictjson.ErrTrailing, "The body has more data after its JSON value.", "", ""},
		{&strictjson.ErrDuplicate, "The body has the same member twice.", "duplicate", "The object has this member twice."},
		{&strictjson.ErrDepth, "The body is nested too deeply.", "depth", "The value is nested too deeply."},
		{&strictjson.ErrUnknown, "The body has a member that this route does not know.", "unknown", "This route does not know this member."},
		{&strictjson.ErrText, "The body has invalid characters: bytes that are not UTF-8, U+FFFD or half of a surrogate pair.", "encoding", "The text has invalid characters."},
	} {
		if !errors.Is(err, *f.fault) {
			continue
		}
		refusal := problem.Wrap(problem.InvalidJSON, f.detail, err)
		if hasPlace {
			refusal.Fields = []problem.Field{{Pointer: at.Pointer, Code: f.code, Message: f.message}}
		}
		return refusal
	}
	return problem.Wrap(problem.InvalidJSON, "The body cannot be read.", err)
}

// isTooLarge reports whether a value is a whole number that does not fit an int64. strictjson.Digits has changed every other
// number that cannot be decoded: it now has a negative exponent.
func isTooLarge(e *json.UnmarshalTypeError) bool {
	return e.Type.Kind() == reflect.Int64 && strings.HasPrefix(e.Value, "number") && !strings.Contains(e.Value, "e-")
}

// typeName returns the type that a member must have, in words.
func typeName(e *json.UnmarshalTypeError) string {
	switch kind := e.Type.Kind().String(); {
	case strings.HasPrefix(kind, "int"):
		return "a whole number"
	case kind == "string":
		return "a string"
	case kind == "bool":
		return "true or false"
	case kind == "slice":
		return "an array"
	default:
		return "an object"
	}
}
