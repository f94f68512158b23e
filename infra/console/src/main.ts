// The frame of the console: sign-in, the menu, and the page that the hash of the URL names.
import { html, LitElement, nothing } from 'lit'
import { keyed } from 'lit/directives/keyed.js'
import { Api } from './api'
import { Session, SignInError } from './auth'
import { console_ } from './context'
import type { Dialog } from './dialog'
import { createOrg } from './orgs'
import { skeleton } from './list'
import { text } from './texts'
import type { OrgOfUser, Role } from './types'
import { appChoice, chosenApp, empty, icon, problem, visible } from './ui'
import './audit'
import './endpoints'
import './events'
import './keys'
import './links'
import './members'

interface Entry { name: string; roles: Role[]; ofApp?: boolean; view: (org: OrgOfUser, app: string) => unknown }

const pages: Entry[] = [
  { name: 'org', roles: ['admin', 'member', 'viewer'], view: org => html`<lk-org .org=${org}></lk-org>` },
  { name: 'members', roles: ['admin', 'member'], view: org => html`<lk-members .org=${org}></lk-members>` },
  { name: 'keys', roles: ['admin', 'member'], view: org => html`<lk-keys .org=${org}></lk-keys>` },
  { name: 'links', roles: ['admin', 'member'], ofApp: true, view: (org, app) => html`<lk-links .org=${org} .appId=${app}></lk-links>` },
  { name: 'endpoints', roles: ['admin'], ofApp: true, view: (org, app) => html`<lk-endpoints .org=${org} .appId=${app}></lk-endpoints>` },
  { name: 'events', roles: ['admin', 'member'], ofApp: true, view: (org, app) => html`<lk-events .org=${org} .appId=${app}></lk-events>` },
  { name: 'audit', roles: ['admin'], view: org => html`<lk-audit .org=${org}></lk-audit>` },
]

class Console extends LitElement {
  #state: 'start' | 'out' | 'in' = 'start'
  #error: unknown = null
  #appsError: unknown = null
  #said = ''
  #quiet = 0

  override createRenderRoot() {
    this.replaceChildren()
    return this
  }

  override connectedCallback() {
    super.connectedCallback()
    window.addEventListener('hashchange', () => this.#moved())
    window.addEventListener('lk-announce', e => this.#announce((e as CustomEvent<string>).detail))
    console_.changed = () => this.requestUpdate()
    void this.#start()
  }

  async #start() {
    try {
      const session = await Session.load()
      console_.session = session
      if (!await session.arrive()) {
        if (!Session.cameFromSignOut()) return await session.signIn()
        this.#state = 'out'
        return this.requestUpdate()
      }
      console_.api = new Api(session)
      session.onSignOut(() => this.#out())
      await console_.reload()
      this.#state = 'in'
      const [only, another] = console_.orgs
      if (only && !another && location.hash.length < 3) history.replaceState(null, '', `#/orgs/${only.id}`)
      if (session.again) this.#announce(text.signIn.again)
      this.#moved()
    } catch (e) {
      this.#error = e
      this.requestUpdate()
    }
  }

  #announce(message: string) {
    this.#said = message
    this.requestUpdate()
    clearTimeout(this.#quiet)
    this.#quiet = window.setTimeout(() => { this.#said = ''; this.requestUpdate() }, 5000)
  }

  #route() {
    const [, first, orgId, name = 'org', appId] = location.hash.slice(1).split('/') // ids need no escapes
    const org = first === 'orgs' ? console_.orgs.find(o => o.id === orgId) : undefined
    const page = pages.find(p => p.name === name && org && p.roles.includes(org.role))
    return { asked: Boolean(orgId), org, page, name, appId }
  }

  #moved() {
    this.requestUpdate()
    for (const d of document.querySelectorAll<Dialog>('lk-dialog')) d.close()
    const { org, page } = this.#route()
    document.title = page && org ? `${text.nav[page.name]} · ${org.name} · ${text.product}` : text.product
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
    if (org.role === 'viewer' || console_.apps.has(org.id)) return
    console_.reloadApps(org).catch(e => { this.#appsError = e; this.requestUpdate() })
  }

  #signOut() {
    if (console_.session.signOut()) this.#out()
  }

  #out() {
    for (const d of document.querySelectorAll<Dialog>('lk-dialog')) d.close()
    this.#state = 'out'
    document.title = text.product
    this.requestUpdate()
  }

  #page(): unknown {
    const { asked, org, page, name, appId } = this.#route()
    if (!org) return asked ? empty(text.nav.noOrg!, text.nav.noOrgAbout!, html`<a class="button" href="#/">${text.orgs.title}</a>`)
      : html`<lk-orgs .orgs=${console_.orgs}></lk-orgs>`
    if (!page) return empty(text.nav.noPage!, text.nav.noPageAbout!)
    if (org.role === 'viewer') return page.view(org, '')
    const apps = console_.apps.get(org.id)
    if (!apps) return this.#appsError ? problem(this.#appsError, () => this.#readApps(org)) : skeleton()
    const app = chosenApp(apps, appId)
    if (!page.ofApp) return keyed(`${org.id}/${name}`, page.view(org, ''))
    return html`
      ${appChoice(apps, app, id => { location.hash = `#/orgs/${org.id}/${name}/${id}` })}
      ${keyed(`${org.id}/${name}/${app?.id}`, page.view(org, app?.id ?? ''))}`
  }

  #menu(org: OrgOfUser, name: string) {
    return html`
      <nav class="menu" aria-label=${text.nav.menu!}>
        ${pages.filter(p => p.roles.includes(org.role)).map(p => html`
          <a href="#/orgs/${org.id}${p.name === 'org' ? '' : `/${p.name}`}" aria-current=${p.name === name ? 'page' : nothing}>
            ${icon(p.name)}${text.nav[p.name]}</a>`)}
        <a class="aside" href="console/verify">${icon('verify')}${text.verify.title}</a>
        <a href="reference">${icon('reference')}${text.nav.reference}</a>
      </nav>`
  }

  #orgChoice(org: OrgOfUser | undefined) {
    const choose = (e: Event) => {
      const value = (e.target as HTMLSelectElement).value
      if (value === '+') {
        this.requestUpdate()
        createOrg()
      } else location.hash = value
    }
    return html`
      <label class="sr" for="org">${text.orgs.one}</label>
      <select id="org" class="org-choice" .value=${org ? `#/orgs/${org.id}` : '#/'} @change=${choose}>
        <option value="#/" ?selected=${!org}>${text.orgs.all}</option>
        ${console_.orgs.map(o => html`<option value="#/orgs/${o.id}" ?selected=${o === org}>${visible(o.name)}</option>`)}
        <option value="+">${text.orgs.create}…</option>
      </select>`
  }

  #startPage() {
    const signIn = () => void console_.session.signIn()
    return html`
      <main class="start">
        <div class="card padded">
          <div class="brand">${logo()}${text.product}</div>
          ${this.#error instanceof SignInError ? html`
              <h1 tabindex="-1">${text.signIn.title}</h1><div class="problem" role="alert"><p>${visible(this.#error.message)}</p></div>`
            : this.#error ? problem(this.#error) : html`<h1 tabindex="-1">${text.signIn.out}</h1><p>${text.signIn.outAbout}</p>`}
          ${console_.session ? html`<button class="primary" @click=${signIn}>${text.signIn.button}</button>`
            : html`<button @click=${() => location.reload()}>${text.again}</button>`}
        </div>
      </main>`
  }

  override render() {
    if (this.#error || this.#state === 'out') return this.#startPage()
    if (this.#state === 'start') return html`<p class="boot">${text.loading}</p>`
    const { org, page } = this.#route()
    return html`
      <header class="top">
        <a class="skip" href=${location.hash} @click=${this.#skip}>${text.nav.skip}</a>
        <a class="brand" href="#/" aria-label=${text.product}>${logo()}<span>${text.product}</span></a>
        ${this.#orgChoice(org)}
        <div class="person"><span title=${console_.session.person}>${visible(console_.session.person)}</span>
          <button class="plain" @click=${this.#signOut}>${text.signIn.signOut}</button></div>
      </header>
      <div class="body ${org ? '' : 'wide'}">
        ${org ? this.#menu(org, page?.name ?? '') : nothing}
        <main class="pages">${this.#page()}</main>
      </div>
      <div class="said" role="status" aria-live="polite">${this.#said ? html`<p>${this.#said}</p>` : nothing}</div>`
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
