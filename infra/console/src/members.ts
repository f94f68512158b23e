// The members of an org.
import { html, nothing } from 'lit'
import { openForm } from './dialog'
import { check, input, line, select } from './fields'
import { reopen } from './kept'
import { isGood } from './keys'
import { List } from './list'
import { text } from './texts'
import type { Key, Member, Role } from './types'
import { announce, badge, given, head, none, Page, table, time } from './ui'

const roles: Role[] = ['admin', 'member', 'viewer']
const roleOptions = roles.map(r => [r, `${r}: ${text.roles[r]}`] as const)

class MembersPage extends Page {
  #members = new List<Member>(this, cursor => this.api.list(`${this.path}/members`, 'members', { limit: 50, cursor }))

  override connectedCallback() {
    super.connectedCallback()
    void this.#members.load().then(() => {
      reopen(`${this.path}/members`, () => this.#add())
      for (const m of this.#members.items) reopen(this.#one(m), () => this.#changeRole(m))
    })
  }

  #one(m: Member) { return `${this.path}/members/${m.userId}` }

  #adder({ addedBy }: Member): unknown {
    if (!addedBy) return none
    const adder = this.#members.items.find(o => o.userId === addedBy)
    return given(adder ? adder.email || adder.name : addedBy.replace(':', ' '))
  }

  #add() {
    openForm(this.person, {
      title: text.members.add, submit: text.members.addSubmit, intro: text.members.addIntro,
      keep: `${this.path}/members`,
      fields: () => html`
        ${input({ label: text.members.email, name: 'email', type: 'email', required: true, max: 254 })}
        ${select({ label: text.orgs.role, name: 'role', options: roleOptions, value: 'member' })}`,
      run: data => this.api.create(`${this.path}/members`, { email: line(data, 'email'), role: line(data, 'role') }, data),
      list: this.#members, done: () => announce(text.members.added),
    })
  }

  #changeRole(m: Member) {
    openForm(this.person, {
      title: text.members.changeRole, submit: text.save, intro: given(m.email || m.name), keep: this.#one(m),
      fields: () => select({ label: text.orgs.role, name: 'role', options: roleOptions, value: m.role }),
      run: data => this.api.patch(this.#one(m), { role: line(data, 'role') }),
      list: this.#members, done: () => { announce(text.saved); return this.person.reload() },
    })
  }

  #remove(m: Member) {
    openForm(this.person, {
      title: text.members.remove, submit: text.remove, danger: true, ends: true,
      intro: html`<p><strong>${given(m.email || m.name)}</strong></p><p>${text.members.removeIntro}</p>`,
      run: () => this.api.delete(this.#one(m)),
      list: this.#members, done: () => { announce(text.members.removed); return this.#offerKeysOf(m) },
    })
  }

  // #offerKeysOf lists the good keys of a person after the person was removed. If all keys are ticked, it calls the route that revokes
  // all keys of the person, also keys that are not in the list.
  async #offerKeysOf(m: Member) {
    const path = `${this.path}/keys`
    const keys = (await this.api.all<Key>(path, 'keys', { createdBy: m.userId })).filter(isGood)
    if (!keys.length) return
    openForm(this.person, {
      title: text.members.keys, submit: text.members.revoke, danger: true,
      intro: html`<p><strong>${given(m.email || m.name)}</strong></p><p>${text.members.keysIntro}</p>`,
      fields: () => keys.map(k => check(k.id, k.name ? given(k.name) : text.keys.unnamed, html`
        <code>${k.keyPrefix}…</code> · ${text.keys.lastUsed}: ${time(k.lastUsedAt, text.keys.neverUsed)}`)),
      run: async data => {
        const ticked = keys.filter(k => data.has(k.id))
        if (!ticked.length) throw new Error(text.members.noneTicked)
        if (ticked.length === keys.length) return this.api.delete(path, { createdBy: m.userId })
        for (const k of ticked) await this.api.delete(`${path}/${k.id}`)
      },
      done: () => announce(text.members.keysRevoked),
    })
  }

  override render() {
    const me = (m: Member) => m.email !== '' && m.email.toLowerCase() === this.person.email.toLowerCase()
    const add = this.isAdmin ? html`<button class="primary" @click=${this.#add}>${text.members.add}</button>` : nothing
    return html`
      ${head(text.members.title, text.members.about, add)}
      ${this.#members.view(members => table<Member>(text.members.title, [
        { label: text.members.person, kind: 'main', cell: m => html`
          ${given(m.name || m.email)} ${me(m) ? badge(text.members.you) : nothing}
          ${m.name && m.email !== m.name ? html`<div class="sub">${given(m.email)}</div>` : nothing}` },
        { label: text.orgs.role, cell: m => badge(m.role) },
        { label: text.members.joined, cell: m => time(m.joinedAt) },
        ...(this.isAdmin ? [
          { label: text.orgs.addedBy, cell: (m: Member) => this.#adder(m) },
          { label: text.actions, kind: 'actions' as const, cell: (m: Member) => html`
            <button @click=${() => this.#changeRole(m)}>${text.members.role}</button>
            ${me(m) ? nothing : html`<button class="danger-text" @click=${() => this.#remove(m)}>${text.remove}</button>`}` },
        ] : []),
      ], members), nothing)}`
  }
}
customElements.define('lk-members', MembersPage)
