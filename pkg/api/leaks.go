package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"latchkey/pkg/problem"
	"latchkey/pkg/store"
)

const leaksWithin = 20 * time.Second // GitHub waits for 30 s, and API Gateway for 29 s

// leaks serves GitHub's reports of API keys that were found in public.
type leaks struct {
	keys
	effect string // "off", "tell" or "revoke"
	verify func(ctx context.Context, identifier, signature string, body []byte) (bool, error)
}

// Leaks returns the handler of functions/leaks. effect is "off", "tell" to report a leaked key to its app and its org, or
// "revoke" to revoke the key first. verify reports whether GitHub has signed a body; it returns an error when it cannot decide.
// imports: imported keys are accepted.
func Leaks(s *store.Store, effect string, verify func(ctx context.Context, identifier, signature string, body []byte) (bool, error), imports bool) http.Handler {
	l := leaks{keys{s}, effect, verify}
	return newGroup("leaks", map[string]handler{"reportLeaks": l.report}, nil, options{imports: imports})
}

// leakIn is one text in a report of GitHub. Other members of a report are ignored.
type leakIn struct {
	Token string `json:"token"`
	Type  string `json:"type"`
	URL   string `json:"url"` // may be empty
}

// leakBody has the SHA-256 of a text, in hex, and a label: whether the text is an API key of ours.
type leakBody struct {
	Hash  string `json:"token_hash"`
	Type  string `json:"token_type"`
	Label string `json:"label"`
}

// report tells the app and the org of each API key that GitHub has found, and revokes the key if effect is "revoke". After
// leaksWithin it answers unavailable. If GitHub sends the report again, report gets further, because a key that was already
// reported takes little time. We do not know whether GitHub does, so an error of one key does not stop the others.
func (l leaks) report(ctx context.Context, c *call) (answer, error) {
	if l.effect == "off" {
		return answer{}, problem.New(problem.RouteNotFound, "There is no such route.")
	}
	stop := l.store.Now().Add(leaksWithin)
	found, err := l.read(ctx, c)
	if err != nil {
		return answer{}, err
	}
	tokens := make([]string, len(found))
	for i, leak := range found {
		tokens[i] = leak.Token
	}
	labels, labelOf, failed := []leakBody{}, map[string]string{}, error(nil)
	for _, leak := range found {
		if l.store.Now().After(stop) {
			return answer{}, problem.New(problem.Unavailable, "Not all tokens of the report are handled yet. Send the report again.")
		}
		if labelOf[leak.Token] == "" { // each text is read once, so that repeated ones do not delay the others
			labelOf[leak.Token] = "false_positive"
			k, ok, err := l.byText(ctx, c, leak.Token)
			if ok {
				labelOf[leak.Token] = "true_positive"
				err = l.store.ReportLeak(ctx, k, placeOf(leak.URL, tokens), l.effect == "revoke")
			}
			failed = cmp.Or(failed, err)
		}
		hash := sha256.Sum256([]byte(leak.Token))
		labels = append(labels, leakBody{hex.EncodeToString(hash[:]), leak.Type, labelOf[leak.Token]})
	}
	return ok(labels), failed
}

// read reads a report that GitHub has signed. Its errors contain no part of the report.
func (l leaks) read(ctx context.Context, c *call) (found []leakIn, err error) {
	good, err := l.verify(ctx, c.Header.Get("Github-Public-Key-Identifier"), c.Header.Get("Github-Public-Key-Signature"), c.body)
	switch {
	case err != nil:
		return nil, problem.Wrap(problem.Unavailable, "The public keys of GitHub cannot be read right now. Send the report again.", err)
	case !good:
		return nil, problem.New(problem.InvalidCredentials, "The signature of the body was not made by a key of GitHub.")
	case json.Unmarshal(c.body, &found) != nil:
		return nil, problem.New(problem.InvalidJSON, "The body must be a JSON array of tokens.")
	}
	return found, nil
}

// placeOf returns the URL of a report for the audit log, cut to maxSource characters. It returns "" for a text that is not an
// http or https URL of visible ASCII, or that contains a token.
func placeOf(address string, tokens []string) string {
	if !isWeb(address) || hasText(address, tokens...) {
		return ""
	}
	return address[:min(len(address), maxSource)]
}

// isWeb reports whether a text is an http or https URL of visible ASCII characters.
func isWeb(address string) bool {
	at, err := url.Parse(address)
	return err == nil && (at.Scheme == "http" || at.Scheme == "https") && at.Host != "" && isVisible(address, 1, len(address))
}

// hasText reports whether a URL contains one of the texts, or a text with the form of an API key or a link token, also with escapes. It
// reports true for a URL with invalid escapes.
func hasText(address string, texts ...string) bool {
	plain, err := url.PathUnescape(address)
	isIn := func(text string) bool {
		return text != "" && (strings.Contains(address, text) || strings.Contains(plain, text))
	}
	return err != nil || hasSecret(plain) || slices.ContainsFunc(texts, isIn)
}

// hasSecret reports whether a text contains the two long parts of an API key or a link token (infra/openapi.yaml has the patterns).
func hasSecret(text string) bool {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '_'
	})
	for _, word := range words {
		parts := strings.Split(word, "_")
		for i := 2; i < len(parts); i++ {
			if len(parts[i-1]) == 43 && len(parts[i]) >= 49 {
				return true
			}
		}
	}
	return false
}
