package docs_test

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"regexp"
	"strings"
	"testing"

	"latchkey/pkg/secret"
)

// TestScannersFindEveryKeyByThePublishedPattern mints keys and looks for them, in files of different forms, by the
// pattern and by each rule of the page. The checksum is computed as the page says.
func TestScannersFindEveryKeyByThePublishedPattern(t *testing.T) {
	_, section, _ := strings.Cut(document(t, "infra/docs/contract.md"), "### Finding a leaked key")
	section, _, _ = strings.Cut(section, "\n## ")
	found := regexp.MustCompile(`(?m)^(?:regex = '''|      key: '|)(\\b\[.*\\b)(?:'''|'|)$`).FindAllStringSubmatch(section, -1)
	if len(found) != 3 || found[0][1] != found[1][1] || found[0][1] != found[2][1] {
		t.Fatalf("the patterns are %q", found)
	}
	pattern := regexp.MustCompile(found[0][1])
	for n, prefix := range []string{"lk", "lkt", "a", "acme2live", "abcdefghijklmnop"} {
		for range 100 {
			minted, err := secret.Mint(prefix, [16]byte{byte(n)}, [16]byte{1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			key := minted.Text.Reveal()
			for _, in := range []string{"%s", "KEY=%s\n", `{"key":"%s"}`, "curl -H 'Authorization: Bearer %s' x", "https://x.example/?k=%s&a", "key: %s."} {
				if got := pattern.FindString(fmt.Sprintf(in, key)); got != key {
					t.Errorf(in+": %q", key, got)
				}
			}
			if body, check := key[:len(key)-6], key[len(key)-6:]; inBase62(crc32.ChecksumIEEE([]byte(body))) != check {
				t.Errorf("%s has another checksum than that of the page", key)
			}
		}
	}
	for _, other := range []string{
		"lk_9mXpQ2Lk", "LK_" + strings.Repeat("a", 43) + "_" + strings.Repeat("a", 49), "lk_" + strings.Repeat("a", 43) + "_" + strings.Repeat("a", 50),
		"lk_" + strings.Repeat("a", 42) + "_" + strings.Repeat("a", 49), base64.StdEncoding.EncodeToString(make([]byte, 300)),
	} {
		if got := pattern.FindString(other); got != "" {
			t.Errorf("%q is found in %q", got, other)
		}
	}
}

func inBase62(n uint32) string {
	out := ""
	for range 6 {
		out = string("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[n%62]) + out
		n /= 62
	}
	return out
}
