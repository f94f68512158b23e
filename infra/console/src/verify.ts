// The page that verifies a pasted webhook, without a sign-in.
import { html, LitElement, nothing } from 'lit'
import node from '../../examples/receivers/node/receiver.mjs?text'
import nodeVerify from '../../examples/receivers/node/verify.mjs?text'
import fastapi from '../../examples/receivers/python/receiver_fastapi.py?text'
import python from '../../examples/receivers/python/receiver.py?text'
import pythonVerify from '../../examples/receivers/python/verify.py?text'
import { console_ } from './context'
import { input, line } from './fields'
import { text } from './texts'
import { badge, copyButton, head, json, table, visible } from './ui'
import { type Check, tokenOf, type Verified, verify } from './webhook'

const go = `package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"example.com/acme/latchkey/pkg/verify" // the path of your copy of Latchkey
)

func main() {
	v, err := verify.New(verify.Config{BaseURL: os.Getenv("BASE_URL"), Issuer: os.Getenv("ISSUER"), EndpointID: os.Getenv("ENDPOINT_ID")})
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/", v.Handler(func(_ context.Context, e verify.Event) error {
		if e.Test {
			return nil // an example event; nothing happened
		}
		log.Print(e.ID, " ", e.Type) // the same event can come again, with the same id
		return nil
	}))
	log.Fatal(http.ListenAndServe("127.0.0.1:4000", nil))
}
`

class VerifyPage extends LitElement {
  #busy = false
  #turn = 0 // the number of presses of the button
  #verified: Verified | null = null

  override createRenderRoot() {
    this.replaceChildren()
    return this
  }

  async #verify(e: SubmitEvent) {
    e.preventDefault()
    const turn = ++this.#turn
    this.#busy = true
    this.#verified = null
    this.requestUpdate()
    const data = new FormData(e.target as HTMLFormElement)
    const expected = { endpointId: line(data, 'endpointId'), issuer: line(data, 'issuer'), now: Date.now() }
    const lookUp = (kid: string) => fetch(
      new URL(`webhook_verification_key/${kid}`, console_.base), { credentials: 'omit', redirect: 'error' },
    ).catch(() => new Response(null, { status: 503 }))
    const verified = await verify(tokenOf(String(data.get('pasted'))), expected, lookUp)
    if (turn !== this.#turn) return // the button was pressed again
    this.#verified = verified
    this.#busy = false
    this.requestUpdate()
  }

  override render() {
    const t = text.verify
    return html`
      <main class="pages plain-page">
        ${head(t.title, t.about)}
        <form class="card padded" @submit=${this.#verify}>
          <div class="field">
            <label for="f-pasted">${t.pasted}</label>
            <textarea id="f-pasted" name="pasted" rows="8" required spellcheck="false" aria-describedby="h-pasted"></textarea>
            <p class="help" id="h-pasted">${t.pastedHelp}</p>
          </div>
          <div class="two">
            ${input({ label: t.endpoint, name: 'endpointId', help: t.endpointHelp, placeholder: 'whe_…' })}
            ${input({ label: t.issuer, name: 'issuer', help: t.issuerHelp, placeholder: 'https://api.example.com' })}
          </div>
          <button class="primary">${t.button}</button>
        </form>
        <section role="status" aria-busy=${String(this.#busy)}>
          ${this.#verified ? this.#result(this.#verified, verdict(this.#verified)) : nothing}
        </section>
        <section>
          <h2>${t.code}</h2>
          <p class="small">${t.codeAbout}</p>
          ${([
            ['Go', go], ['Node: verify.mjs', nodeVerify], ['Node: receiver.mjs', node], ['Python: verify.py', pythonVerify],
            ['Python: receiver.py', python], ['FastAPI: receiver_fastapi.py', fastapi],
          ] as const).map(([name, code]) => html`
            <details class="code"><summary>${name}</summary>${copyButton(code)}<pre tabindex="0">${code}</pre></details>`)}
        </section>
        <footer class="powered">${text.powered}</footer>
      </main>`
  }

  #result({ checks, key, event }: Verified, verdict: { label: string; tone: string }) {
    const t = text.verify
    return html`
      <h2>${badge(verdict.label, verdict.tone)}</h2>
      ${table<Check>(t.result, [
        { label: t.check, kind: 'main', cell: c => c.name },
        { label: t.result, cell: c => badge(t.results[c.result], { passed: 'good', failed: 'bad', open: 'quiet' }[c.result]) },
        { label: t.why, cell: c => visible(c.why) },
      ], checks)}
      ${key ? html`<h3>${t.key}</h3><pre tabindex="0">${json(key)}</pre>` : nothing}
      ${event ? html`<h3>${t.event}</h3><pre class="payload" tabindex="0">${json(event)}</pre>` : nothing}`
  }
}
customElements.define('lk-verify', VerifyPage)

// verdict returns the result of all checks together.
function verdict({ checks, isOld }: Verified): { label: string; tone: string } {
  const failed = checks.filter(c => c.result === 'failed')
  const isOpen = checks.some(c => c.result === 'open')
  if (isOld && failed.length === 1 && !isOpen) return { label: text.verify.old, tone: 'wait' }
  if (failed.length > 0) return { label: text.verify.bad, tone: 'bad' }
  if (isOpen) return { label: text.verify.open, tone: 'accent' }
  return { label: text.verify.good, tone: 'good' }
}

console_.base = new URL('..', location.href)
