// <latchkey-keys>, <latchkey-webhooks>, <latchkey-members> and <latchkey-usage>: pages of the console inside a page of the owner. The
// owner's page gives the access token.
import { adoptStyles, css, html, LitElement, nothing, type PropertyValues, unsafeCSS } from 'lit'
import { keyed } from 'lit/directives/keyed.js'
import sheet from '../page.css?text'
import { Api, Problem, send, type SignedIn } from './api'
import { console_, Person } from './context'
import { closeAll } from './dialog'
import { skeleton } from './list'
import { text } from './texts'
import type { OrgOfUser } from './types'
import { appChoice, chosenApp, empty, problem, suspended } from './ui'
import './endpoints'
import './events'
import './keys'
import './members'
import './usage'

// Need describes the token that is needed: any; a fresh one, because the API refused the last; or one from a sign-in at most maxAge
// seconds ago.
export interface Need { fresh?: boolean; maxAge?: number }
export type TokenFunction = (need: Need) => string | Promise<string>

const styles = [unsafeCSS(sheet), css`
  :host { display: block; margin-block: 1.5rem; color-scheme: inherit; color: var(--text) }
  .pages { padding: 0 }
  .pages > * + * { margin-top: 2rem }`]

// Given gets tokens from the function of the owner's page. It accepts only tokens of the first token's person. For a token of another
// person it calls other.
class Given implements SignedIn {
  readonly startedAt = 0
  readonly again = false
  #next: string | Promise<string> | undefined
  #subject: string | undefined // of the first token
  email = '' // of the last token, if it has one

  constructor(public give: TokenFunction, private other: () => void) {}

  async #getToken(need: Need): Promise<string> {
    const give = this.give
    const token = await give(need)
    if (give !== this.give) return this.#getToken(need) // the page has set another function in the meantime
    const { subject, email } = bearerOf(token)
    this.#subject ??= subject
    this.email = email
    if (subject === this.#subject) return token
    this.other()
    throw new Error(text.problem.ended)
  }

  // isStill reports whether another function gives tokens of the same person.
  async isStill(give: TokenFunction): Promise<boolean> {
    this.give = give
    this.#next = undefined
    const known = this.#subject
    return Boolean(known) && known === bearerOf(await give({})).subject
  }

  async token() {
    const token = this.#next ?? this.#getToken({})
    this.#next = undefined
    return token
  }

  async renew() {
    this.#next = await this.#getToken({ fresh: true })
    return true
  }

  async signIn(maxAge?: number) { this.#next = await this.#getToken({ fresh: true, maxAge }) }
}

// bearerOf reads the person and the person's email from an access token. Both are '' if the token is not a JWT.
function bearerOf(token: string): { subject: string; email: string } {
  try {
    const bytes = atob(token.split('.')[1]!.replaceAll('-', '+').replaceAll('_', '/'))
    const { iss, sub, email } = JSON.parse(bytes) as { iss: unknown; sub: unknown; email: unknown }
    return { subject: JSON.stringify([iss, sub]), email: typeof email === 'string' ? email : '' }
  } catch {
    return { subject: '', email: '' }
  }
}

// settings is the deployment's config.json, once an element has requested it.
let settings: Promise<unknown> | undefined
let accent: string | null = null
console_.readSettings = async () => {
  const answer = await (settings ??= send(new URL('console/config.json', console_.base), { credentials: 'omit' }))
  if (answer instanceof Problem) {
    settings = undefined
    throw answer
  }
  const given = answer as { maxKeyDays: number; supportUrl: string | null; accent: string | null }
  console_.maxKeyDays = given.maxKeyDays
  console_.supportUrl = given.supportUrl
  accent = given.accent
}

abstract class Embedded extends LitElement {
  static override styles = styles
  static override properties = { org: {}, app: {}, token: { attribute: false } }
  org = '' // the id of an org of the person
  app = '' // the id of an app of the org; '': the default one, or a choice
  token: TokenFunction | undefined
  #dialogs: HTMLElement | undefined // the parent of dialogs, inside the element, so that they have its styles
  #given: Given | undefined
  #person: Person | undefined // for whom the element acts; no other element uses this Person
  #of: OrgOfUser | undefined
  #ready = false
  #error: unknown = null

  override createRenderRoot() {
    const root = super.createRenderRoot()
    this.#dialogs = root.appendChild(document.createElement('div'))
    this.renderOptions.renderBefore = this.#dialogs
    return root
  }

  abstract pages(of: Person, org: OrgOfUser, appId: string): unknown

  override willUpdate(changed: PropertyValues<this>) {
    if (!changed.has('token') && !changed.has('org')) return
    if (!this.token || !this.org) this.#end()
    else void this.#changeToken(this.token, changed.has('org'))
  }

  // #changeToken continues if another function gives tokens of the same person. For another person or org it starts again. Only the
  // newest function decides.
  async #changeToken(token: TokenFunction, isOtherOrg: boolean) {
    const given = this.#given
    const continues = given && !isOtherOrg && !this.#error && await given.isStill(token).catch(() => false)
    if (!continues && given === this.#given && token === this.token) void this.#begin()
  }

  #end() {
    if (this.#person) {
      this.#person.api.end()
      closeAll(this.#person)
    }
    this.#given = this.#person = undefined
    this.#ready = false
    this.#error = null
  }

  async #begin() {
    this.#end()
    const given = this.#given = new Given(this.token!, () => { if (given === this.#given) void this.#begin() })
    const person = this.#person = new Person(new Api(given), () => this.requestUpdate(), this.#dialogs)
    this.requestUpdate()
    try {
      console_.readSettings().then(() => this.#applyAccent(), () => {}) // after an error, a form reads them again
      await person.reload()
      const org = person.orgs.find(o => o.id === this.org)
      if (org && org.role !== 'viewer') await person.reloadApps(org)
      if (person !== this.#person) return
      person.email = given.email
      this.#of = org
      this.#ready = true
    } catch (e) {
      if (person === this.#person) this.#error = e
    }
    this.requestUpdate()
  }

  // #applyAccent gives the element the colour of the deployment. --latchkey-accent overrides it.
  #applyAccent() {
    if (accent) this.style.setProperty('--accent-of-product', accent)
    this.requestUpdate()
  }

  override render() {
    if (this.#error) return problem(this.#error, () => void this.#begin())
    const person = this.#person
    if (!this.#ready || !person) return skeleton()
    const org = this.#of
    if (!org) return empty(text.nav.noOrg!, text.nav.noOrgAbout!)
    if (org.role === 'viewer') return empty(text.nav.noPage!, text.nav.noPageAbout!)
    const apps = person.apps.get(org.id) ?? []
    const app = chosenApp(apps, this.app)
    return html`
      <div class="pages">
        ${suspended(org)}
        ${this.ofApp && !this.getAttribute('app') ? appChoice(apps, app, id => { this.app = id }) : nothing}
        ${keyed(`${org.id}/${app?.id}`, this.pages(person, org, app?.id ?? ''))}
      </div>`
  }

  get ofApp() { return false }
}

class Keys extends Embedded {
  pages(of: Person, org: OrgOfUser) { return html`<lk-keys .person=${of} .org=${org}></lk-keys>` }
}
customElements.define('latchkey-keys', Keys)

class Webhooks extends Embedded {
  override get ofApp() { return true }
  pages(of: Person, org: OrgOfUser, app: string) {
    return html`
      ${org.role === 'admin' ? html`<lk-endpoints .person=${of} .org=${org} .appId=${app}></lk-endpoints>` : nothing}
      <lk-events .person=${of} .org=${org} .appId=${app}></lk-events>`
  }
}
customElements.define('latchkey-webhooks', Webhooks)

class Members extends Embedded {
  pages(of: Person, org: OrgOfUser) { return html`<lk-members .person=${of} .org=${org}></lk-members>` }
}
customElements.define('latchkey-members', Members)

class Use extends Embedded {
  pages(of: Person, org: OrgOfUser) {
    return org.role === 'admin' ? html`<lk-usage .person=${of} .org=${org}></lk-usage>` : empty(text.nav.noPage!, text.nav.noPageAbout!)
  }
}
customElements.define('latchkey-usage', Use)

// announceInPage shows announcements in the owner's page, with the styles of the elements.
function announceInPage() {
  const host = document.createElement('div')
  const root = host.attachShadow({ mode: 'open' })
  adoptStyles(root, styles)
  const status = document.createElement('div')
  status.className = 'said'
  status.role = 'status'
  root.append(status)
  let clearing = 0 // the timer
  window.addEventListener('lk-announce', e => {
    const line = document.createElement('p')
    line.textContent = (e as CustomEvent<string>).detail
    status.replaceChildren(line)
    clearTimeout(clearing)
    clearing = window.setTimeout(() => status.replaceChildren(), 5000)
  })
  document.body.append(host)
}

console_.isEmbedded = true
console_.base = new URL('../..', import.meta.url)
announceInPage()
