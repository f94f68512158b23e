package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/infra/examples/receivers"
	"latchkey/infra/lab/backing"
	"latchkey/infra/local/stack"
	"latchkey/infra/tools"
	"latchkey/pkg/id"
	"latchkey/pkg/pipeline/signing"
	"latchkey/pkg/webhook"
)

// missingLanguage prints a line and skips the test when a language is missing. In CI it fails the test.
func missingLanguage(t *testing.T, l receivers.Language, err error) {
	t.Helper()
	var missing *tools.MissingError
	if errors.As(err, &missing) && os.Getenv("CI") == "" {
		fmt.Fprintf(os.Stderr, "SKIPPED: %s with %s: %v. CI never skips it.\n", t.Name(), l, missing)
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// output keeps a program's output.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) has(text string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Contains(o.b.String(), text)
}

// documentedReceivers starts the receivers of infra/docs/webhooks.md, and sends them webhooks.
func documentedReceivers(t *testing.T, s *stack.Stack, tg *target) {
	c := tg.server(t)
	other := c.receiver(t, nil)
	c.ok(t, "/webhook_endpoint/test", members{"endpointId": other.endpoint})
	foreign := other.one(t, "test", "").Token
	for _, l := range []receivers.Language{receivers.Node, receivers.Python} {
		t.Run(string(l), func(t *testing.T) {
			endpoint := c.endpoint(t, tg.deaf())
			var out output
			r, err := receivers.Start(t.Context(), l, receivers.Config{BaseURL: s.URL, EndpointID: endpoint, Output: &out})
			missingLanguage(t, l, err)
			defer func() {
				c.ok(t, "/webhook_endpoint/delete", members{"endpointId": endpoint})
				if err := r.Stop(); err != nil {
					t.Error(err)
				}
			}()
			c.ok(t, "/webhook_endpoint/update", members{"endpointId": endpoint, "url": r.URL})
			test := c.ok(t, "/webhook_endpoint/test", members{"endpointId": endpoint}).str("eventId")
			link, token := c.link(t, "u-"+string(l))
			tg.want(t, newDevice().claims(token), 200, "")
			claimed := other.one(t, "link.claimed", link).ID
			for _, event := range []string{test, claimed} {
				d := c.delivered(t, endpoint, event)
				last, _ := d["lastAttempt"].(members)
				if number(d["attempts"]) != 1 || number(last["status"]) != 204 {
					t.Errorf("the delivery: %v", d)
				}
			}
			if !out.has(test+" test\n") || !out.has(claimed+" link.claimed\n") {
				t.Errorf("it printed %q", out.b.String())
			}
			if got := postToken(t, r.URL, foreign); got != 401 {
				t.Errorf("a token of another endpoint: %d", got)
			}
		})
	}
}

// manySignatures are enough for a leading zero, which r and s each have with a probability of
// 1/256: one of 50,000 runs has none.
const manySignatures = 1400

// signatures signs webhooks with the stack's KMS, and verifies them with the libraries of the
// documented receivers. Some have a leading zero in r or s: without padding, one signature in 128
// would fail.
func signatures(t *testing.T, s *stack.Stack, tg *target) {
	active, ok := signingKeys(t, s).Active()
	if !ok {
		t.Fatal("no key is active")
	}
	begun := time.Now()
	tokens, zeroR, zeroS := signMany(t, signing.New(backing.NewKMSClient(s.DataPlane.KMS), "local"), active, tg.url)
	t.Logf("%d signatures in %s; r begins with a zero in %d of them, s in %d", len(tokens), time.Since(begun), zeroR, zeroS)
	if len(tokens) != manySignatures || zeroR+zeroS == 0 {
		t.Errorf("%d signatures; leading zeros in %d r and %d s", len(tokens), zeroR, zeroS)
	}
	jwk := fmt.Sprintf(`{"kty":"EC","crv":"P-256","alg":"ES256","kid":%q,"x":%q,"y":%q}`, active.Kid, active.X, active.Y)
	for l, program := range map[receivers.Language]string{receivers.Node: verifyInNode, receivers.Python: verifyInPython} {
		t.Run(string(l), func(t *testing.T) {
			begun := time.Now()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "tokens"), []byte(jwk+"\n"+strings.Join(tokens, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd, err := interpreter(t, l, dir, program)
			missingLanguage(t, l, err)
			out, err := cmd.CombinedOutput()
			if got := trimmed(out); err != nil || got != fmt.Sprintf("%d verified, 1 refused", manySignatures) {
				t.Errorf("%v: %s", err, got)
			}
			t.Logf("%s after %s", trimmed(out), time.Since(begun))
		})
	}
}

// signMany signs webhooks as the pipeline does, and counts the leading zeros.
func signMany(t *testing.T, keys *signing.Keys, active webhook.SigningKey, issuer string) (tokens []string, zeroR, zeroS int) {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	var begun atomic.Int64
	now := time.Now()
	for range 8 {
		wg.Go(func() {
			for n := begun.Add(1); n <= manySignatures; n = begun.Add(1) {
				draft, err := webhook.Attempt{
					ID: fmt.Sprint("attempt-", n), Issuer: issuer, Endpoint: "whe_01k5n5t0000000000000000000", At: now,
					Event: webhook.Event{ID: id.Event(fmt.Sprint("evt_", n)), Type: webhook.Test, CreatedAt: now.UnixMilli(), Data: []byte(`{}`)},
				}.Draft(active.Kid)
				if err != nil {
					t.Error(err)
					return
				}
				sig, err := keys.Sign(t.Context(), active.ARN, draft.Digest)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				tokens = append(tokens, draft.Token(sig))
				if sig[0] == 0 {
					zeroR++
				}
				if sig[32] == 0 {
					zeroS++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return tokens, zeroR, zeroS
}

// interpreter writes a program beside the libraries of the documented receiver in its language, and
// returns the command that runs it.
func interpreter(t *testing.T, l receivers.Language, dir, program string) (*exec.Cmd, error) {
	t.Helper()
	read := func(path string) string {
		b, err := os.ReadFile(filepath.Join("../examples/receivers", path))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	name := map[receivers.Language]string{receivers.Node: "verify.mjs", receivers.Python: "verify.py"}[l]
	if err := os.WriteFile(filepath.Join(dir, name), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	say := func(line string) { t.Log(line) }
	var cmd *exec.Cmd
	if l == receivers.Python {
		python, err := tools.VirtualEnv(t.Context(), "receiver-python", read("python/requirements.txt"), say)
		if err != nil {
			return nil, err
		}
		cmd = exec.CommandContext(t.Context(), python, name)
	} else {
		modules, err := tools.NodeModules(t.Context(), "receiver-node", read("node/package.json"), read("node/package-lock.json"), say)
		if err != nil {
			return nil, err
		}
		if err := os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		cmd = exec.CommandContext(t.Context(), "node", name)
	}
	cmd.Dir = dir
	return cmd, nil
}

// Each program reads a JWK and tokens, one a line, and verifies all tokens. It must refuse the
// first token with another character in its signature.
const (
	verifyInNode = `import { readFileSync } from 'node:fs'
import { importJWK, jwtVerify } from 'jose'
const [jwk, ...tokens] = readFileSync('tokens', 'utf8').split('\n')
const key = await importJWK(JSON.parse(jwk), 'ES256')
tokens.push(tokens[0].slice(0, -10) + (tokens[0].at(-10) === 'A' ? 'B' : 'A') + tokens[0].slice(-9))
let verified = 0, refused = 0
for (const t of tokens) {
  try { await jwtVerify(t, key, { algorithms: ['ES256'], typ: 'webhook+jwt' }); verified++ } catch { refused++ }
}
console.log(verified + ' verified, ' + refused + ' refused')
`
	verifyInPython = `import json, jwt
jwk, *tokens = open('tokens').read().split('\n')
key = jwt.PyJWK(json.loads(jwk), 'ES256')
tokens.append(tokens[0][:-10] + ('B' if tokens[0][-10] == 'A' else 'A') + tokens[0][-9:])
verified = refused = 0
for t in tokens:
    try:
        jwt.decode(t, key, ['ES256'], options={'verify_aud': False})
        verified += 1
    except jwt.InvalidSignatureError:
        refused += 1
print(verified, 'verified,', refused, 'refused')
`
)
