// Who did what in an org, for admins.
import { html, nothing } from 'lit'
import { select } from './fields'
import { List } from './list'
import { text } from './texts'
import type { AuditEntry, Key, Member, Subject } from './types'
import { badge, empty, given, head, none, Page, table, time, visible } from './ui'

class AuditPage extends Page {
  #entries = new List<AuditEntry>(this, cursor => this.api.list(`${this.path}/audit`, 'entries', { limit: 50, cursor }))
  #names = new Map<string, string>() // of members and keys, by id
  #filter = { action: '', actor: '' }

  override connectedCallback() {
    super.connectedCallback()
    void this.#entries.load()
    void this.#readNames()
  }

  async #readNames() {
    const [members, keys] = await Promise.allSettled([
      this.api.all<Member>(`${this.path}/members`, 'members'),
      this.api.all<Key>(`${this.path}/keys`, 'keys'),
    ])
    if (members.status === 'fulfilled') for (const m of members.value) this.#names.set(m.userId, m.email || m.name)
    if (keys.status === 'fulfilled') for (const k of keys.value) this.#names.set(k.id, k.name || `${k.keyPrefix}…`)
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

  #actor = ({ actor }: AuditEntry) => actor.type === 'service' ? `${text.audit.service} ${actor.name}` : actor.id ?? text.audit.holder

  // filterBy chooses among what the entries that are loaded have. Names of ids may come later.
  #filterBy(name: 'action' | 'actor', label: string, of: (e: AuditEntry) => string) {
    const values = [...new Set(this.#entries.items.map(of))].map(v => [v, visible(this.#names.get(v) ?? v)] as const)
    return select({ label, name, value: this.#filter[name],
      options: [['', text.audit.every], ...values.sort((a, b) => a[1].localeCompare(b[1]))],
      change: v => { this.#filter[name] = v; this.requestUpdate() } })
  }

  #changes(e: AuditEntry) {
    const changes = Object.entries(e.changes)
    if (changes.length === 0) return none
    const value = (name: string, v: unknown) => {
      if (v === null) return none
      if (name.endsWith('At') && typeof v === 'number') return time(v)
      return html`<code>${visible(typeof v === 'string' ? v : JSON.stringify(v))}</code>`
    }
    return html`<ul class="changes">${changes.map(([name, c]) => html`
      <li><span class="faint">${name}</span> ${value(name, c.from)} → ${value(name, c.to)}</li>`)}</ul>`
  }

  override render() {
    const { action, actor } = this.#filter
    const chosen = (e: AuditEntry) => (!action || e.action === action) && (!actor || this.#actor(e) === actor)
    return html`
      ${head(text.audit.title, text.audit.about)}
      <div class="filters">
        ${this.#filterBy('action', text.audit.what, e => e.action)}${this.#filterBy('actor', text.audit.who, this.#actor)}
      </div>
      ${this.#entries.view(entries => table<AuditEntry>(text.audit.title, [
        { label: text.audit.what, kind: 'main', cell: e => html`<code>${e.action}</code>
          ${e.action === 'key.leaked' ? badge(text.keys.leaked, 'bad') : nothing}<div class="sub">${time(e.at)}</div>` },
        { label: text.audit.who, cell: e => this.#subject(e.actor) },
        { label: text.audit.target, cell: e => this.#subject(e.target, true) },
        { label: text.audit.changes, cell: e => html`${this.#changes(e)}
          ${e.source ? html`<div class="sub">${text.audit.source} <code>${visible(e.source)}</code></div>` : nothing}
          <div class="sub">${text.problem.requestId} <code>${visible(e.requestId)}</code></div>` },
      ], entries.filter(chosen)), empty(text.audit.none, text.audit.noneAbout))}`
  }
}
customElements.define('lk-audit', AuditPage)
