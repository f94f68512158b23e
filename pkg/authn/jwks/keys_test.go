package jwks

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"testing"
)

type object = map[string]any

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// ecJWK returns a good EC key with the id k.
func ecJWK(t testing.TB) object {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := k.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return object{"kty": "EC", "crv": "P-256", "kid": "k", "x": b64(point[1:33]), "y": b64(point[33:])}
}

// rsaJWK returns a JWK that only has the form of an RSA key: its modulus is an odd number with this number of bits, but not the
// product of two primes.
func rsaJWK(bits int, e int64) object {
	n := new(big.Int).SetBit(big.NewInt(1), bits-1, 1)
	return object{"kty": "RSA", "kid": "k", "n": b64(n.Bytes()), "e": b64(big.NewInt(e).Bytes())}
}

// with returns a copy of an object with another value of one member.
func with(o object, name string, v any) object {
	out := maps.Clone(o)
	out[name] = v
	return out
}

// set returns a JWK set with these keys.
func set(t testing.TB, keys ...any) []byte {
	t.Helper()
	b, err := json.Marshal(object{"keys": keys})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestKeyIsUsedOnlyForItsAlgorithms parses a set of two keys: the key of the case and another key, which must stay usable.
func TestKeyIsUsedOnlyForItsAlgorithms(t *testing.T) {
	ec, rsa := ecJWK(t), rsaJWK(2048, 65537)
	y := ec["y"].(string)
	evenModulus := rsaJWK(2048, 65537)
	evenModulus["n"] = b64(new(big.Int).Lsh(big.NewInt(1), 2047).Bytes())
	for name, c := range map[string]struct {
		key  object
		want []string // the algorithms of the key; nil: the key is skipped
	}{
		"P-256":                      {ec, []string{ES256}},
		"P-256 for ES256":            {with(ec, "alg", "ES256"), []string{ES256}},
		"RSA":                        {rsa, []string{RS256, PS256}},
		"RSA for RS256":              {with(rsa, "alg", "RS256"), []string{RS256}},
		"RSA for PS256":              {with(rsa, "alg", "PS256"), []string{PS256}},
		"for signatures":             {with(ec, "use", "sig"), []string{ES256}},
		"to verify":                  {with(ec, "key_ops", []string{"verify"}), []string{ES256}},
		"RSA of 8192 bits":           {rsaJWK(8192, 3), []string{RS256, PS256}},
		"RSA exponent of 31 bits":    {rsaJWK(2048, 1<<31-1), []string{RS256, PS256}},
		"for encryption":             {with(rsa, "use", "enc"), nil},
		"key_ops is empty":           {with(ec, "key_ops", []string{}), nil},
		"P-256 for RS256":            {with(ec, "alg", "RS256"), nil},
		"RSA for HS256":              {with(rsa, "alg", "HS256"), nil},
		"RSA for ES256":              {with(rsa, "alg", "ES256"), nil},
		"P-384":                      {with(ec, "crv", "P-384"), nil},
		"EC kty re-cased":            {with(ec, "kty", "ec"), nil},
		"a symmetric key":            {object{"kty": "oct", "kid": "k", "k": "AAAA"}, nil},
		"no kid":                     {with(ec, "kid", ""), nil},
		"kid is a number":            {with(ec, "kid", 1), nil},
		"a point not on the curve":   {with(ec, "x", y), nil},
		"a short coordinate":         {with(ec, "x", b64([]byte{1})), nil},
		"a coordinate too long":      {with(ec, "x", "AA"+y), nil},
		"a coordinate not base64":    {with(ec, "x", "*"), nil},
		"RSA of 2047 bits":           {rsaJWK(2047, 65537), nil},
		"RSA of 8193 bits":           {rsaJWK(8193, 65537), nil},
		"RSA exponent 1":             {rsaJWK(2048, 1), nil},
		"RSA exponent 2":             {rsaJWK(2048, 2), nil},
		"RSA exponent even":          {rsaJWK(2048, 65536), nil},
		"RSA exponent huge":          {rsaJWK(2048, 1<<32+1), nil},
		"RSA modulus even":           {evenModulus, nil},
		"RSA without a modulus":      {with(rsa, "n", ""), nil},
		"RSA modulus that is a list": {with(rsa, "n", []int{1}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			other := with(ecJWK(t), "kid", "other")
			got, err := parse(set(t, c.key, other))
			if err != nil {
				t.Fatal(err)
			}
			if len(got[ref{"other", ES256}]) != 1 {
				t.Error("the other key of the set is lost")
			}
			uses := 0
			for r := range got {
				if r.alg != "" { // an entry without algorithm only records the kid
					uses++
				}
			}
			if uses != 1+len(c.want) {
				t.Errorf("got %d uses, want %d and one of the other key", uses, len(c.want))
			}
			for _, alg := range c.want {
				if len(got[ref{"k", alg}]) != 1 {
					t.Errorf("the key is not used for %s", alg)
				}
			}
		})
	}
}

func TestSetWithoutAUsableKeyIsAFault(t *testing.T) {
	for name, body := range map[string]string{
		"empty": ``, "null": `null`, "no member keys": `{}`, "no keys": `{"keys":[]}`, "keys is an object": `{"keys":{}}`,
		"only unreadable keys": `{"keys":[1,{"kty":"EC"}]}`, "cut": `{"keys":[`,
	} {
		if got, err := parse([]byte(body)); err == nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestKeysUnderOneIDAreBounded(t *testing.T) {
	var many []any
	for range 50 {
		many = append(many, ecJWK(t))
	}
	got, err := parse(set(t, many...))
	if n := len(got[ref{"k", ES256}]); err != nil || n != maxSame {
		t.Errorf("got %d keys under one id, %v; want %d", n, err, maxSame)
	}
}

func TestTheDiscoveryDocumentIsChecked(t *testing.T) {
	const https, http = "https://id.example", "http://127.0.0.1:1"
	for name, c := range map[string]struct {
		issuer                string // as configured
		named, jwks, userinfo string // the values in the document
		ok                    bool   // whether the document is accepted
	}{
		"both":                      {https, https, https + "/jwks", https + "/me", true},
		"another host":              {https, https, "https://keys.example/jwks", "", true},
		"a local issuer":            {http, http, http + "/jwks", http + "/me", true},
		"local, with keys by https": {http, http, https + "/jwks", "", true},
		"no userinfo":               {https, https, https + "/jwks", "", true},
		"another issuer":            {https, "https://evil.example", https + "/jwks", "", false},
		"a slash after the issuer":  {https, https + "/", https + "/jwks", "", false},
		"keys by http":              {https, https, "http://id.example/jwks", "", false},
		"userinfo by http":          {https, https, https + "/jwks", "http://id.example/me", false},
		"keys in a file":            {http, http, "file:///etc/passwd", "", false},
		"keys by a relative path":   {https, https, "/jwks", "", false},
		"keys by no scheme":         {https, https, "//id.example/jwks", "", false},
		"userinfo http, no keys":    {https, https, "", "http://id.example/me", false},
		"userinfo is not a URL":     {https, https, https + "/jwks", "https://%zz", false},
		"userinfo without a host":   {https, https, https + "/jwks", "https:///me", false},
	} {
		body := fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q,"userinfo_endpoint":%q}`, c.named, c.jwks, c.userinfo)
		got, err := parseDocument([]byte(body), c.issuer)
		want := Document{}
		if c.ok {
			want = Document{JWKSURI: c.jwks, Userinfo: c.userinfo}
		}
		if got != want || (err == nil) != c.ok {
			t.Errorf("%s: got %+v %v", name, got, err)
		}
	}
}

// FuzzParse: parse never panics, and returns no weak key and no key for a wrong algorithm.
func FuzzParse(f *testing.F) {
	f.Add(set(f, ecJWK(f), rsaJWK(2048, 65537)))
	f.Add([]byte(`{"keys":[{"kty":"RSA","kid":"k","n":"","e":"AQAB"}]}`))
	f.Add([]byte(`{"keys":null}`))
	key := ecJWK(f)
	f.Add(set(f, key, key, key, key, key, with(key, "use", "enc"), with(key, "kid", ""), with(key, "y", key["x"]), with(key, "alg", RS256)))
	f.Add(set(f, rsaJWK(1024, 65537), rsaJWK(2048, 1), rsaJWK(2048, 65536), with(rsaJWK(2048, 3), "alg", PS256), with(rsaJWK(2048, 3), "key_ops", []string{"encrypt"})))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := parse(body)
		if err != nil {
			return
		}
		usable := 0
		for r, found := range got {
			for _, k := range found {
				k, isRSA := k.(*rsa.PublicKey)
				isWeak := isRSA && (k.N.BitLen() < 2048 || k.N.BitLen() > 8192 || k.N.Bit(0) == 0 || k.E < 3 || k.E%2 == 0)
				if isWeak || isRSA != (r.alg == RS256 || r.alg == PS256) || !isRSA && r.alg != ES256 || r.kid == "" {
					t.Errorf("%+v is the key of %+v", k, r)
				}
			}
			if usable += len(found); len(found) > 4 {
				t.Errorf("%d keys are tried for %+v", len(found), r)
			}
		}
		if usable == 0 {
			t.Errorf("%q is accepted without a key", body)
		}
	})
}
