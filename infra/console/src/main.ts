// The frame of the console: sign-in, the menu, and the page that the hash of the URL names.
import { html, LitElement, nothing } from 'lit'
import { keyed } from 'lit/directives/keyed.js'
import { Api } from './api'
import { Session, SignInError } from './auth'
import { console_, Person } from './context'
import { closeAll, mayLeave } from './dialog'
import { findEntered, reopen } from './kept'
import { createOrg } from './orgs'
import { skeleton } from './list'
import { text } from './texts'
import type { OrgOfUser, Role } from './types'
import { appChoice, chosenApp, head, icon, problem, suspended, visible } from './ui'
import './audit'
import './endpoints'
import './events'
import './keys'
import './links'
import './members'

// Entry is a page of an org. ofApp: the page is of one app. of: the name of the page in the menu, if this page is not in the menu.
interface Entry { name: string; roles: Role[]; ofApp?: boolean; of?: string; view: (of: Person, org: OrgOfUser, app: string) => unknown }

const pages: Entry[] = [
  { name: 'org', roles: ['admin', 'member', 'viewer'], view: (of, org) => html`<lk-org .person=${of} .org=${org}></lk-org>` },
  { name: 'members', roles: ['admin', 'member'], view: (of, org) => html`<lk-members .person=${of} .org=${org}></lk-members>` },
  { name: 'keys', roles: ['admin', 'member'], view: (of, org) => html`<lk-keys .person=${of} .org=${org}></lk-keys>` },
  { name: 'links', roles: ['admin', 'member'], ofApp: true, view: (of, org, app) => html`
    <lk-links .person=${of} .org=${org} .appId=${app}></lk-links>` },
  { name: 'endpoints', roles: ['admin'], ofApp: true, view: (of, org, app) => html`
    <lk-endpoints .person=${of} .org=${org} .appId=${app}></lk-endpoints>` },
  { name: 'deliveries', roles: ['admin'], ofApp: true, of: 'endpoints', view: (of, org, app) => html`
    <lk-deliveries .person=${of} .org=${org} .appId=${app}></lk-deliveries>` },
  { name: 'events', roles: ['admin', 'member'], ofApp: true, view: (of, org, app) => html`
    <lk-events .person=${of} .org=${org} .appId=${app}></lk-events>` },
  { name: 'audit', roles: ['admin'], view: (of, org) => html`<lk-audit .person=${of} .org=${org}></lk-audit>` },
]

// product is the owner's name for the product. The server puts it into the page.
const product = visible(document.querySelector<HTMLMetaElement>('meta[name=application-name]')?.content ?? '')

class Console extends LitElement {
  #state: 'start' | 'out' | 'in' = 'start'
  #error: unknown = null
  #appsError: unknown = null
  #announcement = ''
  #clearing = 0 // the timer that removes the announcement
  #at = '' // the hash of the page that is shown
  #person!: Person // once signed in

  override createRenderRoot() {
    this.replaceChildren()
    return this
  }

  override connectedCallback() {
    super.connectedCallback()
    window.addEventListener('hashchange', () => this.#moved())
    window.addEventListener('lk-announce', e => this.#announce((e as CustomEvent<string>).detail))
    window.addEventListener('pageshow', e => { if (e.persisted) location.reload() }) // back from the issuer, without a sign-in
    void this.#start()
  }

  async #start() {
    try {
      const session = await Session.load()
      console_.session = session
      console_.keyPrefix = session.keyPrefix
      console_.maxKeyDays = session.maxKeyDays
      console_.byServices = session.byServices
      console_.supportUrl = session.supportUrl
      if (!await session.arrive()) {
        if (!Session.isSignedOut()) return await session.signIn()
        this.#state = 'out'
        return this.requestUpdate()
      }
      this.#person = new Person(new Api(session), () => this.requestUpdate())
      this.#person.email = session.email
      session.onSignOut(() => this.#showSignedOut())
      await this.#person.reload()
      if (this.#state === 'out') return // in another tab, during the reading
      this.#state = 'in'
      const [only, another] = this.#person.orgs
      if (only && !another && location.hash.length < 3) history.replaceState(null, '', `#/orgs/${only.id}`)
      const isKept = findEntered(session.subject)
      if (isKept || session.again || session.isInterrupted) this.#announce(isKept ? text.signIn.kept : text.signIn.again)
      this.#show()
      if (!console_.byServices) reopen('orgs', () => createOrg(this.#person))
    } catch (e) {
      if (this.#state !== 'out') this.#error = e
      this.requestUpdate()
    }
  }

  #announce(message: string) {
    this.#announcement = message
    this.requestUpdate()
    clearTimeout(this.#clearing)
    this.#clearing = window.setTimeout(() => { this.#announcement = ''; this.requestUpdate() }, 5000)
  }

  #route() {
    const [, first, orgId, name = 'org', appId] = this.#at.slice(1).split('/') // ids need no escapes
    const org = first === 'orgs' ? this.#person.orgs.find(o => o.id === orgId) : undefined
    const page = pages.find(p => p.name === name && org && p.roles.includes(org.role))
    return { namesOrg: Boolean(orgId), org, page, name, appId }
  }

  // The page stays if the person does not want to lose the contents of a dialog.
  #moved() {
    if (this.#state !== 'in') return
    if (mayLeave()) this.#show()
    else history.pushState(null, '', this.#at || '#/')
  }

  #show() {
    this.#at = location.hash
    this.requestUpdate()
    closeAll()
    const { org, page } = this.#route()
    document.title = page && org ? `${text.nav[page.name]} · ${org.name} · ${product}` : product
    if (org) this.#readApps(org)
    void this.updateComplete.then(() => {
      scrollTo(0, 0)
      this.querySelector('h1')?.focus({ preventScroll: true })
      const here = this.querySelector<HTMLElement>('.menu [aria-current]')
      here?.parentElement?.scrollTo({ left: here.offsetLeft - 48 }) // on a narrow screen the menu is a line that scrolls
    })
  }

  #readApps(org: OrgOfUser) {
    this.#appsError = null
    this.requestUpdate()
    if (org.role === 'viewer' || this.#person.apps.has(org.id)) return
    this.#person.reloadApps(org).catch(e => { this.#appsError = e; this.requestUpdate() })
  }

  #signOut() {
    if (console_.session.signOut()) this.#showSignedOut()
  }

  #showSignedOut() {
    closeAll()
    this.#state = 'out'
    document.title = product
    this.requestUpdate()
  }

  #page(): unknown {
    const { namesOrg, org, page, appId } = this.#route()
    if (!org) return namesOrg ? head(text.nav.noOrg!, text.nav.noOrgAbout!, html`<a class="button" href="#/">${text.orgs.title}</a>`)
      : html`<lk-orgs .person=${this.#person} .orgs=${this.#person.orgs}></lk-orgs>`
    if (!page) return head(text.nav.noPage!, text.nav.noPageAbout!)
    if (org.role === 'viewer') return page.view(this.#person, org, '')
    const apps = this.#person.apps.get(org.id)
    if (!apps) return this.#appsError ? problem(this.#appsError, () => this.#readApps(org)) : skeleton()
    const app = chosenApp(apps, appId)
    if (!page.ofApp) return keyed(this.#at, page.view(this.#person, org, ''))
    return html`
      ${appChoice(apps, app, id => { location.hash = `#/orgs/${org.id}/${page.of ?? page.name}/${id}` })}
      ${keyed(`${this.#at}/${app?.id}`, page.view(this.#person, org, app?.id ?? ''))}`
  }

  #menu(org: OrgOfUser, name: string) {
    return html`
      <nav class="menu" aria-label=${text.nav.menu!}>
        ${pages.filter(p => p.roles.includes(org.role) && !p.of).map(p => html`
          <a href="#/orgs/${org.id}${p.name === 'org' ? '' : `/${p.name}`}" aria-current=${p.name === name ? 'page' : nothing}>
            ${icon(p.name)}${text.nav[p.name]}</a>`)}
        <a class="aside" href="console/verify">${icon('verify')}${text.verify.title}</a>
        <a href="reference">${icon('reference')}${text.nav.reference}</a>
      </nav>`
  }

  #orgChoice(org: OrgOfUser | undefined) {
    const at = org ? `#/orgs/${org.id}` : '#/'
    const choose = (e: Event) => {
      const select = e.target as HTMLSelectElement
      if (select.value !== '+') return void (location.hash = select.value)
      select.value = at // this choice only opens a form: the page stays
      createOrg(this.#person)
    }
    return html`
      <label class="sr" for="org">${text.orgs.one}</label>
      <select id="org" class="org-choice" @change=${choose}>
        <option value="#/" .selected=${!org}>${text.orgs.all}</option>
        ${this.#person.orgs.map(o => html`<option value="#/orgs/${o.id}" .selected=${o === org}>${visible(o.name)}</option>`)}
        ${console_.byServices ? nothing : html`<option value="+">${text.orgs.create}…</option>`}
      </select>`
  }

  #startPage() {
    const signIn = () => void console_.session.signIn()
    return html`
      <main class="start">
        <div class="card padded">
          <div class="brand">${logo()}${product}</div>
          ${this.#error instanceof SignInError ? html`
              <h1 tabindex="-1">${text.signIn.title}</h1><div class="problem" role="alert"><p>${visible(this.#error.message)}</p></div>`
            : this.#error ? html`<h1 tabindex="-1">${product}</h1>${problem(this.#error)}` : html`<h1 tabindex="-1">${text.signIn.out}</h1><p>${text.signIn.outAbout}</p>`}
          ${console_.session ? html`<button class="primary" @click=${signIn}>${text.signIn.button}</button>`
            : html`<button @click=${() => location.reload()}>${text.again}</button>`}
        </div>
        <footer class="powered">${text.powered}</footer>
      </main>`
  }

  override render() {
    if (this.#error || this.#state === 'out') return this.#startPage()
    if (this.#state === 'start') return html`<p class="boot">${text.loading}</p>`
    const { org, page } = this.#route()
    return html`
      <header class="top">
        <a class="skip" href=${location.hash} @click=${this.#skip}>${text.nav.skip}</a>
        <a class="brand" href="#/" aria-label=${product}>${logo()}<span>${product}</span></a>
        ${this.#orgChoice(org)}
        <div class="person"><span title=${console_.session.person}>${visible(console_.session.person)}</span>
          <button class="plain" @click=${this.#signOut}>${text.signIn.signOut}</button></div>
      </header>
      <div class="body ${org ? '' : 'wide'}">
        ${org ? this.#menu(org, page?.of ?? page?.name ?? '') : nothing}
        <main class="pages">
          ${org ? suspended(org) : nothing}
          ${this.#page()}
        </main>
      </div>
      <footer class="powered">${text.powered}</footer>
      <div class="said" role="status" aria-live="polite">${this.#announcement ? html`<p>${this.#announcement}</p>` : nothing}</div>`
  }

  #skip(e: Event) {
    e.preventDefault()
    this.querySelector('h1')?.focus()
  }
}

const logo = () => html`
  <svg class="logo" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/>
    <g><circle cx="12" cy="20" r="4.5"/><path d="M15.2 16.8 23.5 8.5M20 12l3.4 3.4"/></g></svg>`

customElements.define('lk-console', Console)
