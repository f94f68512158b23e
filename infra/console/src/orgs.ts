// The list of the person's orgs, and the page of one org.
import { html, nothing } from 'lit'
import { console_, type Person } from './context'
import { openForm } from './dialog'
import { input, line } from './fields'
import { reopen } from './kept'
import { isAlarm, isGood } from './keys'
import { List, skeleton } from './list'
import { text } from './texts'
import type { App, Key, Org, OrgOfUser, Usage } from './types'
import { monthOf } from './usage'
import { announce, badge, code, empty, facts, given, head, limitsText, none, Page, problem, table, time } from './ui'

const maxPrefix = 16 // characters before the first _ of a key

export function createOrg(person: Person) {
  openForm(person, {
    title: text.orgs.create, submit: text.create, intro: text.orgs.createIntro, keep: 'orgs',
    fields: () => input({ label: text.name, name: 'name', required: true, max: 100 }),
    run: data => person.api.create<Org>('orgs', { name: line(data, 'name') }, data),
    done: async org => {
      announce(text.orgs.created)
      await person.reload()
      location.hash = `#/orgs/${org.id}`
    },
  })
}

class OrgsPage extends Page {
  static override properties = { ...Page.properties, orgs: { attribute: false } }
  orgs: OrgOfUser[] = []

  override render() {
    const create = console_.byServices ? nothing : html`<button class="primary" @click=${() => createOrg(this.person)}>${text.orgs.create}</button>`
    const orgs = this.orgs
    return html`
      ${head(text.orgs.title, text.orgs.about, orgs.length ? create : nothing)}
      ${orgs.length ? table<OrgOfUser>(text.orgs.title, [
        { label: text.name, kind: 'main', cell: o => html`<a href="#/orgs/${o.id}">${given(o.name)}</a>` },
        { label: text.orgs.role, cell: o => badge(o.role) },
        { label: text.orgs.addedBy, cell: o => o.addedBy ? given(o.addedBy.email || o.addedBy.name) : none },
        { label: text.created, cell: o => time(o.createdAt) },
      ], orgs) : empty(text.orgs.none, console_.byServices ? text.orgs.noneByServices : text.orgs.noneAbout, create)}`
  }
}
customElements.define('lk-orgs', OrgsPage)

class OrgPage extends Page {
  #org: Org | null = null
  #leaked: Key[] = []
  #usage: Usage[] | null = null
  #error: unknown = null // of reading one of the three
  #apps = new List<App>(this, cursor => this.api.list(`${this.path}/apps`, 'apps', { limit: 50, cursor }))

  override connectedCallback() {
    super.connectedCallback()
    reopen(this.path, () => this.#rename())
    if (this.org.role !== 'viewer') {
      void this.#apps.load().then(() => {
        reopen(`${this.path}/apps`, () => this.#app())
        for (const a of this.#apps.items) reopen(`${this.path}/apps/${a.id}`, () => this.#app(a))
      })
    }
    this.#read()
  }

  #read() {
    const draw = (read: Promise<void>) => void read.catch(e => { this.#error = e }).finally(() => this.requestUpdate())
    this.#error = null
    draw(this.api.get<Org>(this.path).then(o => { this.#org = o }))
    if (this.isAdmin) draw(this.api.all<Usage>(`${this.path}/usage`, 'usage').then(u => { this.#usage = u }))
    if (this.org.role !== 'viewer') draw(this.api.all<Key>(`${this.path}/keys`, 'keys').then(keys => { this.#leaked = keys.filter(isAlarm) }))
  }

  #rename() {
    openForm(this.person, {
      title: text.orgs.rename, submit: text.save, keep: this.path,
      fields: () => input({ label: text.name, name: 'name', value: this.org.name, required: true, max: 100 }),
      run: data => this.api.patch(this.path, { name: line(data, 'name') }),
      done: () => { announce(text.saved); return this.person.reload() },
    })
  }

  #showOrgs(message: string): Promise<void> {
    location.hash = '#/'
    announce(message)
    return this.person.reload()
  }

  #leave() {
    openForm(this.person, {
      title: text.orgs.leave, submit: text.orgs.leave, danger: true, ends: true, intro: text.orgs.leaveIntro,
      run: () => this.api.post(`${this.path}/leave`),
      done: () => this.#showOrgs(text.orgs.left),
    })
  }

  #delete() {
    openForm(this.person, {
      title: text.orgs.delete, submit: text.orgs.delete, danger: true, ends: true,
      intro: html`<p>${text.orgs.deleteIntro}</p><p>${text.orgs.typeName} <strong>${given(this.org.name)}</strong></p>`,
      fields: () => input({ label: text.name, name: 'name', required: true }),
      run: async data => {
        if (line(data, 'name') !== this.org.name.trim()) throw new Error(text.orgs.otherName)
        await this.api.delete(this.path)
      },
      done: () => this.#showOrgs(text.orgs.deleted),
    })
  }

  #app(app?: App) {
    const path = `${this.path}/apps${app ? `/${app.id}` : ''}`
    const prefix = console_.keyPrefix
    const forTests = `${prefix}test`
    openForm(this.person, {
      keep: path, title: app ? text.apps.rename : text.apps.create, submit: app ? text.save : text.create,
      intro: app ? undefined : text.apps.createIntro,
      fields: () => html`
        ${input({ label: text.name, name: 'name', value: app?.name, required: true, max: 100 })}
        ${app ? nothing : input({
          label: text.apps.keysBeginWith, name: 'keysBeginWith', help: text.apps.keysBeginWithHelp(prefix), max: maxPrefix,
          pattern: `${prefix}[a-z0-9]*`, placeholder: forTests.length > maxPrefix ? undefined : forTests,
        })}`,
      run: data => {
        const body = { name: line(data, 'name'), keysBeginWith: line(data, 'keysBeginWith') || undefined }
        return app ? this.api.patch(path, body) : this.api.create(path, body, data)
      },
      list: this.#apps, done: () => { announce(text.saved); return this.person.reloadApps(this.org) },
    })
  }

  override render() {
    const o = this.org
    return html`
      ${head(given(o.name), text.orgs.oneAbout, this.isAdmin ? html`<button @click=${this.#rename}>${text.orgs.rename}</button>` : nothing)}
      ${this.#leaked.length ? html`<div class="note alarm"><p>${text.keys.leakedTitle}</p><ul>${this.#leaked.map(k => html`
        <li><a href="#/orgs/${o.id}/keys">${k.name ? given(k.name) : text.keys.unnamed}</a> <code>${k.keyPrefix}…</code> ${time(k.leakedAt)}
          ${isGood(k) ? badge(text.keys.stillGood, 'bad') : badge(text.keys.isDead)}</li>`)}</ul></div>` : nothing}
      <section class="card padded">${facts([
        [text.orgs.role, html`${badge(o.role)} <span class="faint">${text.roles[o.role]}</span>`],
        [text.id, code(o.id)],
        [text.created, time(o.createdAt)],
        ...(o.addedBy ? [[text.orgs.addedBy, given(o.addedBy.email || o.addedBy.name)]] as [string, unknown][] : []),
        ...(o.externalId ? [[text.orgs.externalId, code(o.externalId)]] as [string, unknown][] : []),
        ...(this.#org?.allowance?.length ? [[text.orgs.allowance, limitsText(this.#org.allowance)]] as [string, unknown][] : []),
        ...(this.#org?.plan ? [[text.orgs.plan, this.#org.plan]] as [string, unknown][] : []),
      ])}</section>
      ${this.#error ? problem(this.#error, () => this.#read()) : nothing}
      ${this.#org && this.#usage ? monthOf(this, this.#org.allowance ?? [], this.#usage)
        : this.isAdmin && !this.#error ? skeleton() : nothing}
      ${o.role === 'viewer' ? html`<p class="note">${text.orgs.viewer}</p>` : html`
        <section>
          <div class="head lesser"><div><h2>${text.apps.title}</h2><p>${text.apps.about}</p></div>
            ${this.isAdmin ? html`
              <div class="actions"><button @click=${() => this.#app()}>${text.apps.create}</button></div>` : nothing}</div>
          ${this.#apps.view(apps => table<App>(text.apps.title, [
            { label: text.name, kind: 'main', cell: a => html`${given(a.name)} ${a.isDefault ? badge(text.apps.default) : nothing}
              ${a.keysBeginWith ? html`<code>${a.keysBeginWith}_…</code>` : nothing}` },
            { label: text.id, cell: a => code(a.id) },
            { label: text.created, cell: a => time(a.createdAt) },
            { label: text.actions, kind: 'actions', cell: a => this.isAdmin
              ? html`<button @click=${() => this.#app(a)}>${text.rename}</button>` : nothing },
          ], apps), nothing)}
        </section>`}
      <section class="card padded danger-zone">
        <div><h2>${text.orgs.leave}</h2><p>${text.orgs.leaveIntro}</p></div>
        <button @click=${this.#leave}>${text.orgs.leave}</button>
        ${this.isAdmin ? html`
          <div><h2>${text.orgs.delete}</h2><p>${text.orgs.deleteIntro}</p></div>
          <button class="danger" @click=${this.#delete}>${text.orgs.delete}</button>` : nothing}
      </section>`
  }
}
customElements.define('lk-org', OrgPage)
