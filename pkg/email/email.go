// Package email decides which email addresses can be used, and which addresses are the same. It is a separate package from
// org, because its Unicode tables would make every Lambda function larger.
package email

import (
	"net/mail"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// MaxLen is the limit of the contract (infra/docs/api.md, "Limits"): bytes (RFC 5321).
const MaxLen = 254

// Fold checks that s is one addr-spec (RFC 5322, without comments, display names or quoted local parts) of at most 254
// bytes. The local part must be ASCII; the domain may be internationalised. It returns the form in which addresses are
// compared: lower case, the domain in ASCII (UTS 46), also of at most 254 bytes.
func Fold(s string) (string, bool) {
	hasOtherForm := strings.ContainsAny(s, "\"()<>[]") // quotes, comments, display names and IP addresses
	if len(s) > MaxLen || hasOtherForm || !utf8.ValidString(s) {
		return "", false
	}
	if local, domain, _ := strings.Cut(s, "@"); !isASCII(domain) {
		ascii, err := idna.Lookup.ToASCII(domain)
		if err != nil {
			return "", false
		}
		s = local + "@" + ascii
	}
	if len(s) > MaxLen || !isASCII(s) {
		return "", false
	}
	a, err := mail.ParseAddress(s)
	isWholeText := err == nil && a.Address == s && a.Name == ""
	if !isWholeText {
		return "", false
	}
	return strings.ToLower(s), true
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}
