package accesstoken_test

import (
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"latchkey/pkg/problem"
)

// TestTextsWithTwoReadingsAreRefused has tokens with a valid signature. Two parsers could read different contents
// from each of them.
func TestTextsWithTwoReadingsAreRefused(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	header, payload := text(t, i.header()), text(t, i.payload())
	// add appends members to the members of a JSON object.
	add := func(o, members string) string { return strings.TrimSuffix(o, "}") + "," + members + "}" }
	for name, c := range map[string]struct{ header, payload string }{
		"sub twice":                   {header, add(payload, `"sub":"mallory"`)},
		"sub twice, the same":         {header, add(payload, `"sub":"alice"`)},
		"sub twice, once escaped":     {header, add(payload, `"s\u0075b":"mallory"`)},
		"alg twice":                   {add(header, `"alg":"ES256"`), payload},
		"kid twice":                   {add(header, `"kid":"ec"`), payload},
		"twice in a nested object":    {header, add(payload, `"a":{"b":1,"b":2}`)},
		"twice in an object in lists": {header, add(payload, `"a":[[{"b":1,"b":2}]]`)},
		"twice in a header's object":  {add(header, `"jwk":{"kty":"EC","kty":"RSA"}`), payload},
		"half a surrogate in a name":  {header, add(payload, `"\ud800":1`)},
		"half a surrogate in sub":     {header, strings.Replace(payload, `"alice"`, `"alice\ud800"`, 1)},
		"broken UTF-8":                {header, add(payload, "\"a\":\"\xff\"")},
		"data after the payload":      {header, payload + "{}"},
		"data after the header":       {header + "1", payload},
		"payload is a list":           {header, "[" + payload + "]"},
		"payload is null":             {header, "null"},
		"payload is empty":            {header, " "},
		"header is a text":            {`"ES256"`, payload},
		"comma after the last":        {header, strings.TrimSuffix(payload, "}") + ",}"},
		"a byte order mark":           {header, "\ufeff" + payload},
		"nested too deeply":           {header, add(payload, `"a":`+strings.Repeat("[", 20)+strings.Repeat("]", 20))},
		"nested very deeply":          {header, add(payload, `"a":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000))},
		"exp out of a float's range":  {header, strings.Replace(payload, `"exp":`, `"exp":1e999,"was":`, 1)},
		"exp is null":                 {header, strings.Replace(payload, `"exp":`, `"exp":null,"was":`, 1)},
		"nbf is null":                 {header, add(payload, `"nbf":null`)},
	} {
		t.Run(name, func(t *testing.T) {
			raw := signed(t, c.header, c.payload, jwt.SigningMethodES256, ecKey())
			_, err := v.Verify(t.Context(), raw)
			refused(t, err, problem.TokenInvalid, raw)
		})
	}
}

// TestOnlyTheExactFormOfATokenIsAccepted changes the text of a good token. A less strict decoder would accept some of the
// changed texts.
func TestOnlyTheExactFormOfATokenIsAccepted(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	raw := i.goodToken()
	if _, err := v.Verify(t.Context(), raw); err != nil {
		t.Fatalf("the unchanged token is refused: %v", err)
	}
	parts := strings.Split(raw, ".")
	for name, text := range map[string]string{
		"empty":                    "",
		"dots":                     "..",
		"two parts":                parts[0] + "." + parts[1],
		"four parts":               raw + ".",
		"five parts (encrypted)":   raw + "." + parts[1] + "." + parts[2],
		"no signature":             parts[0] + "." + parts[1] + ".",
		"space before":             " " + raw,
		"space after":              raw + " ",
		"line break after":         raw + "\n",
		"line break within":        raw[:20] + "\r\n" + raw[20:],
		"padded":                   raw + "==",
		"padded header":            parts[0] + "=." + parts[1] + "." + parts[2],
		"standard base64 alphabet": strings.Repeat("+/", 4) + raw,
		"a zero byte after":        raw + "\x00",
		"signature cut":            raw[:len(raw)-4],
		"signature longer":         raw + "AAAA",
		"spare bits at the end":    nonCanonical(t, raw),
		"another payload":          parts[0] + "." + b64(`{"sub":"mallory"}`) + "." + parts[2],
		"a quotation mark after":   raw + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := v.Verify(t.Context(), text)
			refused(t, err, problem.TokenInvalid, text)
		})
	}
}

// nonCanonical returns the token with one of the spare bits at its end set. A signature has 64 bytes. They need 86
// characters of 6 bits, so the last 4 bits belong to no byte. A lax decoder ignores them.
func nonCanonical(t *testing.T, raw string) string {
	t.Helper()
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, raw[len(raw)-1])
	spareBits := last & 0xf
	if last < 0 || spareBits != 0 {
		t.Fatalf("the signature's last character %q is not canonical", raw[len(raw)-1])
	}
	return raw[:len(raw)-1] + string(alphabet[last|1])
}

func TestTokensOfMoreThan8KBAreRefused(t *testing.T) {
	i := newIssuer(t)
	v := i.verifier()
	// sized returns a token of total bytes, or one or two bytes less: base64 does not have every length.
	sized := func(total int) string {
		for n := total * 3 / 4; n > 0; n-- {
			raw := i.token(i.header(), with(i.payload(), object{"pad": long(n)}))
			if len(raw) <= total {
				return raw
			}
			n -= (len(raw) - total) / 2 // only half of the surplus, so that it skips no length
		}
		t.Fatal("no such size")
		return ""
	}
	most := sized(8 << 10)
	if len(most) < 8<<10-2 {
		t.Fatalf("the token has %d bytes", len(most))
	}
	if _, err := v.Verify(t.Context(), most); err != nil {
		t.Errorf("%d bytes are refused: %v", len(most), err)
	}
	more := i.token(i.header(), with(i.payload(), object{"pad": long(8 << 10)}))
	_, err := v.Verify(t.Context(), more)
	refused(t, err, problem.TokenInvalid, more)
	flood := strings.Repeat("A.", 10<<20)
	_, err = v.Verify(t.Context(), flood)
	refused(t, err, problem.TokenInvalid, flood[:100])
}
