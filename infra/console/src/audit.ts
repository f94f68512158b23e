// The audit log of an org, for admins.
import { html, nothing } from 'lit'
import type { Query } from './api'
import { input, select } from './fields'
import { List } from './list'
import { text } from './texts'
import type { AuditEntry, Key, Member, Subject } from './types'
import { announceProblem, badge, download, empty, given, head, limitsText, none, once, Page, table, time, visible } from './ui'

// midnight returns the beginning of a day in the person's time zone. after is a number of days to add.
function midnight(day: string | undefined, after = 0): number | undefined {
  if (!day) return undefined
  const at = new Date(`${day}T00:00`)
  at.setDate(at.getDate() + after)
  return at.getTime()
}

class AuditPage extends Page {
  #entries = new List<AuditEntry>(this, cursor => this.#read(cursor))
  #names = new Map<string, string>() // of members, keys and apps, by id
  #actors = new Map<string, string>() // labels, by the value of the API's parameter
  #filter: Record<string, string> = {}

  override connectedCallback() {
    super.connectedCallback()
    void this.#entries.load()
    void this.#readNames()
  }

  get #query(): Query {
    const { action, actor, target, from, to } = this.#filter
    return { action, actor, target, from: midnight(from), to: midnight(to, 1) }
  }

  #csv = once(() => this.api.csv(`${this.path}/audit`, this.#query).then(what => download('audit.csv', what), announceProblem))

  async #read(cursor?: string) {
    const page = await this.api.list<AuditEntry>(`${this.path}/audit`, 'entries', { ...this.#query, limit: 50, cursor })
    for (const { actor: { id, type, name } } of page.items) {
      if (id && !this.#actors.has(id)) this.#actors.set(id, id)
      if (name) this.#actors.set(`service:${name}`, `${text.audit.service} ${name}`)
      if (type === 'holder') this.#actors.set(type, text.audit.holder)
    }
    return page
  }

  async #readNames() {
    const [members, keys] = await Promise.allSettled([
      this.api.all<Member>(`${this.path}/members`, 'members'),
      this.api.all<Key>(`${this.path}/keys`, 'keys'),
    ])
    if (members.status === 'fulfilled') for (const m of members.value) this.#names.set(m.userId, m.email || m.name)
    if (keys.status === 'fulfilled') for (const k of keys.value) this.#names.set(k.id, k.name || `${k.keyPrefix}…`)
    for (const [id, name] of this.#names) this.#actors.set(id, name)
    for (const a of this.person.apps.get(this.org.id) ?? []) this.#names.set(a.id, a.name)
    this.#names.set(this.org.id, this.org.name)
    this.requestUpdate()
  }

  #subject(s: Subject, withId = false) {
    if (s.type === 'service') return html`<span>${badge(text.audit.service, 'accent')} ${given(s.name ?? '')}</span>`
    if (s.type === 'holder') return html`<span>${text.audit.holder}</span>`
    const name = this.#names.get(s.id ?? '')
    const kind = text.audit.types[s.type] ?? s.type
    return html`<span title=${s.id ?? ''}>${name ? given(name) : html`<code>${s.id}</code>`}</span>
      <div class="sub">${kind}${name && withId ? html` <code>${s.id}</code>` : nothing}</div>`
  }

  #filterField(name: string, label: string, type: string | [string, string][]) {
    const change = (v: string) => {
      if (v.trim()) this.#filter[name] = v.trim()
      else delete this.#filter[name]
      void this.#entries.load()
    }
    if (typeof type === 'string') return input({ label, name, type, change })
    return select({ label, name, value: this.#filter[name], options: [['', text.audit.every], ...type.map(([v, shown]) => [v, visible(shown)] as const)], change })
  }

  #changes(e: AuditEntry) {
    const isNothing = (v: unknown) => v === null || v === ''
    const changes = Object.entries(e.changes).filter(([, c]) => !isNothing(c.from) || !isNothing(c.to))
    if (changes.length === 0) return none
    const value = (name: string, v: unknown) => {
      if (isNothing(v)) return none
      if (name.endsWith('At') && typeof v === 'number') return time(v)
      if (Array.isArray(v)) return v.length === 0 ? none : given(typeof v[0] === 'string' ? v.join(', ') : limitsText(v))
      return given(typeof v === 'string' ? this.#names.get(v) ?? v : JSON.stringify(v))
    }
    return html`<ul class="changes">${changes.map(([name, c]) => html`
      <li><span class="faint">${text.audit.names[name] ?? name}</span>
        ${isNothing(c.from) ? nothing : html`${value(name, c.from)} →`} ${value(name, c.to)}</li>`)}</ul>`
  }

  override render() {
    const left = this.#entries.hasMore ? html`<p class="note">${text.audit.noneYet}</p>` : Object.keys(this.#filter).length === 0 ? empty(text.audit.none, text.audit.noneAbout) : empty(text.audit.noneSuch, '')
    return html`
      ${head(text.audit.title, text.audit.about, html`<button @click=${this.#csv}>${text.csv}</button>`)}
      <div class="filters">
        ${this.#filterField('action', text.audit.what, Object.entries(text.audit.actions))}${this.#filterField('actor', text.audit.who, [...this.#actors])}
        ${this.#filterField('target', text.audit.targetId, 'text')}${this.#filterField('from', text.audit.from, 'date')}${this.#filterField('to', text.audit.to, 'date')}
      </div>
      ${this.#entries.view(entries => table<AuditEntry>(text.audit.title, [
        { label: text.audit.what, kind: 'main', cell: e => html`${text.audit.actions[e.action] ?? e.action}
          ${e.action === 'key.leaked' ? badge(text.keys.leaked, 'bad') : nothing}<div class="sub"><code>${e.action}</code> ${time(e.at)}</div>` },
        { label: text.audit.who, cell: e => this.#subject(e.actor) },
        { label: text.audit.target, cell: e => this.#subject(e.target, true) },
        { label: text.audit.changes, cell: e => html`${this.#changes(e)}
          ${e.source ? html`<div class="sub">${text.audit.source} <code>${visible(e.source)}</code></div>` : nothing}
          <div class="sub">${text.problem.requestId} <code>${visible(e.requestId)}</code></div>` },
      ], entries), left, text.events.older)}`
  }
}
customElements.define('lk-audit', AuditPage)
