// The links of an app.
import { html, nothing } from 'lit'
import { curl } from './api'
import { openForm } from './dialog'
import { List } from './list'
import { text } from './texts'
import type { Link } from './types'
import { announce, badge, code, empty, given, head, none, Page, table, time } from './ui'

class LinksPage extends Page {
  #links = new List<Link>(this, cursor => this.api.list(`${this.appPath}/links`, 'links', { limit: 50, cursor }))

  override connectedCallback() {
    super.connectedCallback()
    void this.#links.load()
  }

  #revoke(l: Link) {
    openForm(this.person, {
      title: text.links.revoke, submit: text.links.revoke, danger: true,
      intro: html`<p><strong>${given(l.clientUserId)}</strong></p><p>${text.links.revokeIntro}</p>`,
      run: () => this.api.delete(`${this.appPath}/links/${l.id}`),
      list: this.#links, done: () => announce(text.links.revoked),
    })
  }

  #device(l: Link) {
    const device = [l.device?.name, l.device?.platform].filter(Boolean).join(', ')
    return device ? given(device) : none
  }

  override render() {
    return html`
      ${head(text.links.title, text.links.about)}
      ${this.#links.view(links => table<Link>(text.links.title, [
        { label: text.links.user, kind: 'main', cell: l => html`${given(l.clientUserId)}<div class="sub">${code(l.id)}</div>` },
        { label: text.status, cell: l => badge(l.status) },
        { label: text.links.device, cell: l => this.#device(l) },
        { label: text.created, cell: l => time(l.createdAt) },
        { label: text.links.expires, cell: l => time(l.expiresAt) },
        { label: text.links.ended, cell: l => time(l.claimedAt ?? l.revokedAt) },
        { label: text.actions, kind: 'actions', cell: l => this.isAdmin && l.status === 'pending'
          ? html`<button class="danger-text" @click=${() => this.#revoke(l)}>${text.links.revokeShort}</button>` : nothing },
      ], links), empty(text.links.none, text.links.noneAbout, nothing, curl('link/create', '$KEY', '{"clientUserId":"user-1"}')))}`
  }
}
customElements.define('lk-links', LinksPage)
