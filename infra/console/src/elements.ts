// <latchkey-keys> and <latchkey-webhooks>: pages of the console for a page of the owner, who gives the access token.
import { adoptStyles, css, html, LitElement, nothing, type PropertyValues, unsafeCSS } from 'lit'
import { keyed } from 'lit/directives/keyed.js'
import sheet from '../page.css?text'
import { Api, type SignedIn } from './api'
import { console_ } from './context'
import { skeleton } from './list'
import { text } from './texts'
import type { OrgOfUser } from './types'
import { appChoice, chosenApp, empty, problem } from './ui'
import './endpoints'
import './events'
import './keys'

// Need says which token is asked for: any; a fresh one, because the API refused the last; or one of a sign-in that is at most
// maxAge seconds ago.
export interface Need { fresh?: boolean; maxAge?: number }
export type TokenFunction = (need: Need) => string | Promise<string>

const styles = [unsafeCSS(sheet), css`
  :host { display: block; margin-block: 1.5rem; color-scheme: inherit; color: var(--text) }
  .pages { padding: 0 }
  .pages > * + * { margin-top: 2rem }`]

// Given is the person whose tokens the owner's page has.
class Given implements SignedIn {
  readonly startedAt = 0
  readonly again = false
  #next: string | Promise<string> | undefined

  constructor(private give: TokenFunction) {}

  async token() {
    const token = this.#next ?? this.give({})
    this.#next = undefined
    return token
  }

  async renew() {
    this.#next = await this.give({ fresh: true })
    return true
  }

  async signIn(maxAge?: number) { this.#next = await this.give({ fresh: true, maxAge }) }
}

abstract class Embedded extends LitElement {
  static override styles = styles
  static override properties = { org: {}, app: {}, token: { attribute: false } }
  org = '' // the id of an org of the person
  app = '' // the id of an app of the org; '': the default one, or a choice
  token: TokenFunction | undefined
  #of: OrgOfUser | undefined
  #ready = false
  #error: unknown = null

  abstract pages(org: OrgOfUser, appId: string): unknown

  override willUpdate(changed: PropertyValues<this>) {
    if ((changed.has('token') || changed.has('org')) && this.token && this.org) void this.#load(this.token)
  }

  async #load(token: TokenFunction) {
    this.#ready = false
    this.#error = null
    console_.api = new Api(new Given(token))
    try {
      await console_.reload()
      this.#of = console_.orgs.find(o => o.id === this.org)
      if (this.#of && this.#of.role !== 'viewer') await console_.reloadApps(this.#of)
      this.#ready = true
    } catch (e) {
      this.#error = e
    }
    this.requestUpdate()
  }

  override render() {
    if (this.#error) return problem(this.#error, () => void this.#load(this.token!))
    if (!this.#ready) return skeleton()
    const org = this.#of
    if (!org) return empty(text.nav.noOrg!, text.nav.noOrgAbout!)
    if (org.role === 'viewer') return empty(text.nav.noPage!, text.nav.noPageAbout!)
    const apps = console_.apps.get(org.id) ?? []
    const app = chosenApp(apps, this.app)
    return html`
      <div class="pages">
        ${this.ofApp && !this.getAttribute('app') ? appChoice(apps, app, id => { this.app = id }) : nothing}
        ${keyed(`${org.id}/${app?.id}`, this.pages(org, app?.id ?? ''))}
      </div>`
  }

  get ofApp() { return false }
}

class Keys extends Embedded {
  pages(org: OrgOfUser) { return html`<lk-keys .org=${org}></lk-keys>` }
}
customElements.define('latchkey-keys', Keys)

class Webhooks extends Embedded {
  override get ofApp() { return true }
  pages(org: OrgOfUser, app: string) {
    return html`
      ${org.role === 'admin' ? html`<lk-endpoints .org=${org} .appId=${app}></lk-endpoints>` : nothing}
      <lk-events .org=${org} .appId=${app}></lk-events>`
  }
}
customElements.define('latchkey-webhooks', Webhooks)

// outside is where dialogs stand, and what is announced: in the page, with the styles of the elements.
function outside(): ShadowRoot {
  const host = document.createElement('div')
  const root = host.attachShadow({ mode: 'open' })
  adoptStyles(root, styles)
  const said = document.createElement('div')
  said.className = 'said'
  said.role = 'status'
  root.append(said)
  let quiet = 0
  window.addEventListener('lk-announce', e => {
    const line = document.createElement('p')
    line.textContent = (e as CustomEvent<string>).detail
    said.replaceChildren(line)
    clearTimeout(quiet)
    quiet = window.setTimeout(() => said.replaceChildren(), 5000)
  })
  document.body.append(host)
  return root
}

console_.isEmbedded = true
console_.base = new URL('../..', import.meta.url)
console_.home = outside()
