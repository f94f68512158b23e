package receivers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"latchkey/infra/tools"
)

// retiredKeyTest is a program. It accepts a webhook, retires the key, and checks that a webhook of the key is refused five
// minutes later.
const retiredKeyTest = `import assert from 'node:assert'
import { mock } from 'node:test'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { verifier } from './verify.mjs'
const kid = Buffer.alloc(32, 7).toString('base64url'), { privateKey, publicKey } = await generateKeyPair('ES256')
const jwk = { ...await exportJWK(publicKey), kid, alg: 'ES256', use: 'sig' }
let expiredAt = null
mock.timers.enable({ apis: ['Date'], now: Date.now() })
globalThis.fetch = async url => Response.json(String(url).endsWith('jwks.json') ? { keys: [jwk] } : { ...jwk, expiredAt })
function sign() {
  const now = Math.floor(Date.now() / 1000), event = { id: 'evt_1', type: 'a.b', createdAt: 1, data: {} }
  return new SignJWT({ event }).setProtectedHeader({ alg: 'ES256', typ: 'webhook+jwt', kid }).setIssuer('https://a.example')
    .setAudience('e').setIssuedAt(now).setExpirationTime(now + 300).sign(privateKey)
}
const verify = verifier({ baseURL: 'https://a.example', endpointId: 'e' })
assert.equal((await verify(await sign())).id, 'evt_1')
expiredAt = Date.now()
mock.timers.tick(5 * 60_000 + 1)
await assert.rejects(verify(await sign()), /refused/)
`

func TestTheNodeModuleKeepsAKeyForFiveMinutes(t *testing.T) {
	modules, err := tools.NodeModules(t.Context(), "receiver-node", fileOf(t, "node/package.json"), fileOf(t, "node/package-lock.json"), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(modules, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"verify.mjs": fileOf(t, "node/verify.mjs"), "retired.mjs": retiredKeyTest} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "retired.mjs")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func fileOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
