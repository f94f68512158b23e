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

// readBody reads the body of a request, "{}" for an empty one, up to most bytes. A body with a content
// coding is refused by its header, because the header may not fit the body that arrives: the gateway unpacks gzip and deflate and
// keeps the header, turns a smaller body (MinimumCompressionSize) into text, and answers 415 to other codings itself. Errors:
// body_too_large, unsupported_media_type, invalid_json for a body that cannot be read.
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

// decode reads the call's body into a struct, strictly. Errors: invalid_json (400) for a
// text that is not JSON, for a member that is duplicate, unknown or in other case, for broken characters, and for data
// after the value; validation_failed (422) with its pointer for a value of the wrong type. A whole number is one in each
// spelling of JSON: 60, 60.0 and 6e1.
func (c *call) decode(into any) error {
	shape := reflect.TypeOf(into).Elem()
	c.shape = shape
	if err := strictjson.Check(c.body, strictjson.Rules{Depth: maxDepth, Shape: shape, Texts: !c.mends}); err != nil {
		return invalidJSON(err)
	}
	text, err := c.body, json.Unmarshal(c.body, into)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Type.Kind() == reflect.Int64 {
		text = strictjson.Digits(c.body, shape)
		err = json.Unmarshal(text, into)
	}
	switch {
	case errors.As(err, &wrong):
		code, message := "type", "The value must be "+typeName(wrong)+"."
		if isTooLarge(wrong) {
			code, message = "range", "The value is out of range."
		}
		return problem.Invalid(strictjson.PointerAt(text, wrong.Offset), code, message)
	case err != nil:
		return problem.Wrap(problem.InvalidJSON, "The body is not valid JSON.", err)
	}
	return nil
}

// maxDepth bounds the nesting of a body. Only the data of an event that is published is nested deeply. pkg/verify accepts a
// webhook with such data (its own bound is 64).
const maxDepth = 32

// invalidJSON returns the 400 for an error of strictjson, with the pointer to the fault where it has a place in the body.
func invalidJSON(err error) error {
	var at *strictjson.Error
	hasPlace := errors.As(err, &at) && at.Pointer != "" // the whole body has no pointer in an answer
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

// isTooLarge reports whether a value is a whole number beyond an int64. strictjson.Digits has given every other number that does
// not decode a negative exponent.
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
