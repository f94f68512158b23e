package secret_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"latchkey/pkg/secret"
)

// mint returns a new text, and the random ids that the text leads to.
func mint(t *testing.T, prefix string) (m secret.Minted, item, owner [16]byte) {
	t.Helper()
	_, _ = rand.Read(item[:]) // rand.Read never fails
	_, _ = rand.Read(owner[:])
	m, err := secret.Mint(prefix, item, owner, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m, item, owner
}

var form = regexp.MustCompile(`^[a-z][a-z0-9]{0,15}_[0-9A-Za-z]{43}_[0-9A-Za-z]{49}$`)

func TestATextLeadsToItsRowAndHasTheGrammar(t *testing.T) {
	for range 500 {
		m, item, owner := mint(t, "lk")
		text := m.Text.Reveal()
		p, err := secret.Parse(text)
		if err != nil || p.Prefix != "lk" || p.Item != item || p.Owner != owner {
			t.Fatalf("Parse = %+v, %v", p, err)
		}
		if want := secret.Hash(sha256.Sum256([]byte(text))); !p.Hash.Equal(want) || !m.Hash.Equal(want) {
			t.Fatal("the hash is not the SHA-256 of the whole text")
		}
		if !form.MatchString(text) || m.Prefix != text[:len("lk_")+8] {
			t.Fatalf("the text does not have the grammar, or the prefix %q is wrong", m.Prefix)
		}
	}
}

func TestTheSmallestAndTheLargestIDsFit(t *testing.T) {
	for _, b := range []byte{0, 1, 0xFF} {
		var item, owner [16]byte
		for i := range item {
			item[i], owner[i] = b, b
		}
		m, err := secret.Mint("a", item, owner, bytes.NewReader(bytes.Repeat([]byte{b}, 32)))
		if err != nil {
			t.Fatal(err)
		}
		p, err := secret.Parse(m.Text.Reveal())
		if err != nil || p.Item != item || p.Owner != owner || !form.MatchString(m.Text.Reveal()) {
			t.Errorf("%x: %+v, %v", b, p, err)
		}
	}
}

func TestATextWithOneChangedCharacterIsRefused(t *testing.T) {
	m, _, _ := mint(t, "lk")
	text := m.Text.Reveal()
	for i := range len(text) {
		for _, c := range []byte("0aZ_ .x\x00\xff") {
			if text[i] == c {
				continue
			}
			if _, err := secret.Parse(text[:i] + string([]byte{c}) + text[i+1:]); !errors.Is(err, secret.ErrMalformed) {
				t.Fatalf("character %d changed to %q: %v", i, c, err)
			}
		}
	}
	for i := range len(text) - 1 {
		if text[i] == text[i+1] {
			continue
		}
		swapped := text[:i] + text[i+1:i+2] + text[i:i+1] + text[i+2:]
		if _, err := secret.Parse(swapped); !errors.Is(err, secret.ErrMalformed) {
			t.Fatalf("characters %d and %d swapped: %v", i, i+1, err)
		}
	}
}

func TestATextWithoutTheGrammarIsRefused(t *testing.T) {
	m, _, _ := mint(t, "lk")
	text := m.Text.Reveal()
	parts := strings.Split(text, "_")
	for name, bad := range map[string]string{
		"empty": "", "shorter": text[:len(text)-1], "longer": text + "0", "doubled": text + text, "a megabyte": strings.Repeat(text, 10_000),
		"space before": " " + text, "space after": text + " ", "newline": text + "\n", "no prefix": text[2:], "only a prefix": "lk_",
		"upper case": strings.ToUpper(text), "two parts": parts[0] + "_" + parts[1], "four parts": text + "_" + parts[2],
		"three empty parts": "__", "number over 256 bits": "lk_" + strings.Repeat("Z", 43) + "_" + parts[2],
	} {
		if _, err := secret.Parse(bad); !errors.Is(err, secret.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// forged returns a text with the given locator and secret, and with the right checksum.
func forged(locator, secret string) string {
	body := "lk_" + locator + "_" + secret
	check := big.NewInt(int64(crc32.ChecksumIEEE([]byte(body)))).Text(62)
	return body + strings.Repeat("0", 6-len(check)) + check
}

// TestAWordIsA256BitNumberInBase62 checks each word as a locator and as a secret. Each text has the right checksum, because
// anyone can compute it.
func TestAWordIsA256BitNumberInBase62(t *testing.T) {
	over := new(big.Int).Lsh(big.NewInt(1), 256) // the first number that is too large
	good := strings.Repeat("0", 43)
	for word, want := range map[string]bool{
		good: true, new(big.Int).Sub(over, big.NewInt(1)).Text(62): true,
		over.Text(62): false, new(big.Int).Add(over, big.NewInt(1)).Text(62): false, strings.Repeat("Z", 43): false,
		"-" + good[1:]: false, "+" + good[1:]: false, good[1:] + " ": false, good[1:] + ".": false, good[1:] + "\x00": false, good[2:] + "é": false,
	} {
		for name, text := range map[string]string{"locator": forged(word, good), "secret": forged(good, word)} {
			_, err := secret.Parse(text)
			isMalformed := errors.Is(err, secret.ErrMalformed)
			if (err == nil) != want || isMalformed == want {
				t.Errorf("%s %q: %v", name, word, err)
			}
		}
	}
}

// TestWordsAreSpelledAsNumbersInBase62 compares with math/big. The spelling must never change, because existing keys must stay
// valid.
func TestWordsAreSpelledAsNumbersInBase62(t *testing.T) {
	for i := range 300 {
		var item, owner [16]byte
		random := make([]byte, 32)
		for _, bits := range [][]byte{item[:], owner[:], random} {
			_, _ = rand.Read(bits[min(i/10, len(bits)):]) // the first i/10 bytes are zero
		}
		m, err := secret.Mint("lk", item, owner, bytes.NewReader(random))
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(m.Text.Reveal(), "_")
		locatorBits := slices.Concat(item[6:], item[:6], owner[:])
		for part, bits := range map[string][]byte{parts[1]: locatorBits, parts[2][:43]: random} {
			if want := fmt.Sprintf("%043s", new(big.Int).SetBytes(bits).Text(62)); part != want {
				t.Fatalf("%x is %s, want %s", bits, part, want)
			}
		}
		if want := forged(parts[1], parts[2][:43]); m.Text.Reveal() != want {
			t.Fatalf("%s, want %s", m.Text.Reveal(), want)
		}
		if p, err := secret.Parse(m.Text.Reveal()); err != nil || p.Item != item || p.Owner != owner {
			t.Fatalf("%+v, %v", p, err)
		}
	}
}

func TestAPrefixHasUpTo16LowerCaseLettersOrDigits(t *testing.T) {
	for prefix, want := range map[string]bool{
		"a": true, "lk": true, "lkt": true, "a1": true, "abcdefghijklmnop": true, "abcdefghijklmnopq": false,
		"": false, "1a": false, "A": false, "lK": false, "l_k": false, "l-k": false, "é": false, "l k": false,
	} {
		if got := secret.ValidPrefix(prefix); got != want {
			t.Errorf("%q: %v", prefix, got)
		}
		m, err := secret.Mint(prefix, [16]byte{}, [16]byte{}, nil)
		if errors.Is(err, secret.ErrPrefix) == want {
			t.Errorf("Mint with %q: %v", prefix, err)
		}
		if _, err := secret.Parse(m.Text.Reveal()); (err == nil) != want {
			t.Errorf("a text with %q: %v", prefix, err)
		}
	}
	for c := range rune(256) {
		first := strings.ContainsRune("abcdefghijklmnopqrstuvwxyz", c)
		later := first || strings.ContainsRune("0123456789", c)
		if secret.ValidPrefix(string(c)) != first || secret.ValidPrefix("a"+string(c)) != later {
			t.Errorf("%q: first %v, later %v", c, !first, !later)
		}
	}
}

func TestTextsOfOneRowDiffer(t *testing.T) {
	one, _ := secret.Mint("lk", [16]byte{}, [16]byte{}, nil)
	other, _ := secret.Mint("lk", [16]byte{}, [16]byte{}, nil)
	if one.Text.Reveal() == other.Text.Reveal() || one.Hash.Equal(other.Hash) {
		t.Error("two texts of one row are the same")
	}
	if _, err := secret.Mint("lk", [16]byte{}, [16]byte{}, bytes.NewReader(make([]byte, 31))); err == nil {
		t.Error("Mint accepts too few random bytes")
	}
}

// TestTheBeginningOfATextRevealsNoTime: ids of the same time begin with the same bits, but the public parts of their texts
// differ.
func TestTheBeginningOfATextRevealsNoTime(t *testing.T) {
	seen := map[string]bool{}
	for i := range 200 {
		var item [16]byte
		_, _ = rand.Read(item[6:])
		m, err := secret.Mint("lk", item, [16]byte{1}, nil)
		if err != nil || seen[m.Prefix] {
			t.Fatalf("%d: %q, %v", i, m.Prefix, err)
		}
		seen[m.Prefix] = true
	}
}

func TestPrintingAMintedTextShowsNoSecret(t *testing.T) {
	m, _, _ := mint(t, "lk")
	shown := fmt.Sprintf("%v %+v %#v", m, m, m)
	text := m.Text.Reveal()
	endOfSecret := text[len(text)-20:]
	if strings.Contains(shown, endOfSecret) || !strings.Contains(shown, m.Prefix) {
		t.Error(shown)
	}
}

func TestASecretPrintsRedactedEverywhere(t *testing.T) {
	const hidden = "hunter2-and-more"
	type holder struct { // all ways to put a secret into a struct
		Key   secret.String
		inner *secret.String // unexported, so that fmt calls no methods
		value secret.String
		Map   map[string]secret.String
	}
	s := secret.New(hidden)
	h := holder{Key: s, inner: &s, value: s, Map: map[string]secret.String{"a": s}}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s"} {
		fmt.Fprintf(&out, verb+" "+verb+" "+verb+"\n", s, h, &h)
	}
	b, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	out.Write(b)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "s", s, "h", h)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "s", s, "h", h, "err", fmt.Errorf("with %v", s))
	for _, form := range []string{hidden, fmt.Sprintf("%x", hidden), fmt.Sprintf("%X", hidden)} {
		if strings.Contains(out.String(), form) {
			t.Errorf("shown as %q in\n%s", form, out.String())
		}
	}
	if s.Reveal() != hidden {
		t.Error("Reveal does not return the secret")
	}
}
