package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"latchkey/pkg/problem"
	"latchkey/pkg/strictjson"
)

// readBody reads the body of a request, "{}" for an empty one, up to most bytes. A body with a content
// coding, such as gzip, is refused by its header: the gateway has turned its bytes into
// text, which cannot be decoded any more. Errors: body_too_large, unsupported_media_type,
// invalid_json for a body that cannot be read.
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
	if coding := strings.Join(r.Header.Values("Content-Encoding"), ","); coding != "" && !strings.EqualFold(coding, "identity") {
		return nil, problem.New(problem.UnsupportedMediaType, "Send the body as it is, without Content-Encoding.")
	}
	media, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := params["charset"]
	otherCharset := charset != "" && !strings.EqualFold(charset, "utf-8")
	if err != nil || media != "application/json" || otherCharset {
		return nil, problem.New(problem.UnsupportedMediaType, "Send the body as application/json.")
	}
	return body, nil
}

// decode reads the call's body into a struct, strictly. Errors: invalid_json (400) for a
// text that is not JSON, for a member that is duplicate, unknown or in other case, and for data
// after the value; validation_failed (422) with its pointer for a value of the wrong type.
func (c *call) decode(into any) error {
	var err error
	if !c.mends {
		err = checkText(c.body)
	}
	if err == nil {
		err = strictjson.Check(c.body, strictjson.Rules{Depth: maxDepth, Shape: reflect.TypeOf(into).Elem()})
	}
	if err != nil {
		return invalidJSON(err)
	}
	err = json.Unmarshal(c.body, into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		return problem.Invalid(strictjson.PointerAt(c.body, wrong.Offset), "type", "The value must be "+typeName(wrong)+".")
	case err != nil:
		return problem.Wrap(problem.InvalidJSON, "The body is not valid JSON.", err)
	}
	return nil
}

// maxDepth bounds the nesting of a body. Only the data of an event that is published is nested deeply. pkg/verify takes a
// webhook with such data (its own bound is 64).
const maxDepth = 32

// errEncoding is the fault of a body that checkText refuses.
var errEncoding = errors.New("api: broken text")

// invalidJSON returns the 400 for an error of checkText or strictjson, with the pointer of an
// unknown member.
func invalidJSON(err error) error {
	details := map[error]string{ // without UnknownMemberError, which has its own detail below
		errEncoding:             "The body is not valid UTF-8, has U+FFFD, or half a surrogate pair.",
		strictjson.ErrSyntax:    "The body is not valid JSON.",
		strictjson.ErrNotObject: "The body must be a JSON object.",
		strictjson.ErrTrailing:  "There is data behind the body's JSON value.",
		strictjson.ErrDuplicate: "The body has a member twice.",
		strictjson.ErrDepth:     "The body is nested too deeply.",
	}
	refusal := problem.Wrap(problem.InvalidJSON, details[err], err)
	var unknown *strictjson.UnknownMemberError
	if errors.As(err, &unknown) {
		refusal.Detail = "The body has a member that this route does not know."
		refusal.Fields = []problem.Field{{Pointer: unknown.Pointer, Code: "unknown", Message: "This route does not know the member."}}
	}
	return refusal
}

// typeName returns the type that a member takes, in words.
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

// replacement is U+FFFD in UTF-8. API Gateway puts it in place of bytes that are not UTF-8,
// so that the function cannot know the bytes that were sent. The escape \ufffd arrives as it
// was sent, and is taken.
var replacement = []byte("\uFFFD")

// checkText refuses a body whose text encoding/json would silently replace. The error is
// errEncoding.
func checkText(body []byte) error {
	if !utf8.Valid(body) || bytes.Contains(body, replacement) || halfSurrogate(body) {
		return errEncoding
	}
	return nil
}

// escapeLength is the length of an escape of the form \uXXXX.
const escapeLength = 6

// halfSurrogate reports whether a body has a \u escape that is one half of a surrogate pair,
// without the other half. encoding/json would silently replace it.
func halfSurrogate(body []byte) bool {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		if high, ok := escape(body[i:]); ok && utf16.IsSurrogate(high) {
			low, ok := escape(body[i+escapeLength:])
			if !ok || utf16.DecodeRune(high, low) == utf8.RuneError { // RuneError: the two are not a pair
				return true
			}
			i += escapeLength
		}
		i++ // passes the character after the backslash, which may be a backslash too
	}
	return false
}

// escape reads a \uXXXX escape at the beginning of b.
func escape(b []byte) (r rune, ok bool) {
	if len(b) < escapeLength || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:escapeLength]), 16, 16)
	return rune(n), err == nil
}
