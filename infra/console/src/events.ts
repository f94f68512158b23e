// The events of an app.
import { html, nothing } from 'lit'
import { console_ } from './context'
import { openEvent } from './deliveries'
import { openDialog, openForm } from './dialog'
import { line, select } from './fields'
import { reopen } from './kept'
import { List } from './list'
import { text } from './texts'
import type { Endpoint, Event } from './types'
import { announce, code, empty, exactTime, head, Page, problem, table, visible, zone } from './ui'

const pageSize = 100
const hour = 3_600_000
const spans = [[`${hour}`, text.events.hour], [`${24 * hour}`, text.events.day], [`${7 * 24 * hour}`, text.events.week],
  [`${30 * 24 * hour}`, text.events.month]] as const

// Far is how far the failed deliveries of an endpoint and a span were sent again.
interface Far { endpointId: string; span: string; since: number; queued: number; cursor?: string }

class EventsPage extends Page {
  #span = `${24 * hour}`
  #since = 0
  #type = ''
  #events = new List<Event>(this, cursor => this.api.list<Event>(
    `${this.appPath}/webhook_events`, 'events', { since: this.#since, order: 'desc', limit: pageSize, cursor }))

  override connectedCallback() {
    super.connectedCallback()
    this.#read()
    reopen(`${this.appPath}/webhook_deliveries/redeliver`, () => void this.#redeliverAll())
  }

  #read() {
    this.#since = Date.now() - Number(this.#span)
    void this.#events.load()
  }

  async #redeliverAll() {
    let endpoints: Endpoint[]
    try {
      endpoints = await this.api.all<Endpoint>(`${this.appPath}/webhook_endpoints`, 'endpoints')
    } catch (error) {
      return void openDialog(this.person, { title: text.deliveries.allAgain }, () => problem(error))
    }
    if (endpoints.length === 0) return announce(`${text.endpoints.none}.`)
    let far = '' // how far earlier tries came, which a further one goes on from
    const dialog = openForm(this.person, {
      keep: `${this.appPath}/webhook_deliveries/redeliver`,
      title: text.deliveries.allAgain, submit: text.deliveries.again, intro: text.deliveries.allIntro,
      fields: () => html`
        ${select({ label: text.endpoints.url, name: 'endpointId', options: endpoints.map(e => [e.id, visible(e.url)] as const) })}
        ${select({ label: text.events.since, name: 'since', options: spans, value: `${24 * hour}` })}
        <input type="hidden" name="far" .value=${far}>`,
      run: async data => {
        const [endpointId, span] = [line(data, 'endpointId'), line(data, 'since')]
        let at: Far = { endpointId, span, since: Date.now() - Number(span), queued: 0 }
        const before = JSON.parse(line(data, 'far') || 'null') as Far | null
        if (before?.endpointId === endpointId && before.span === span) at = before
        do {
          const { since, cursor } = at
          const answer = await this.api.post<{ queued: number; nextCursor?: string }>(
            `${this.appPath}/webhook_deliveries/redeliver`, { endpointId, since, status: 'failed', cursor })
          at = { ...at, queued: at.queued + answer.queued, cursor: answer.nextCursor }
          far = JSON.stringify(at)
          dialog.requestUpdate()
        } while (at.cursor)
        return at.queued
      },
      done: queued => announce(text.deliveries.queued(queued)),
    })
  }

  override render() {
    const chosen = this.#type ? [this.#type] : [] // stays a choice in a span that has none of it
    const types = [...new Set([...this.#events.items.map(e => e.type), ...chosen])].sort()
    const shown = (events: Event[]) => events.filter(e => !this.#type || e.type === this.#type)
    const none = this.#events.hasMore ? html`<p class="note">${text.events.noneYet}</p>` : empty(text.events.none, text.events.noneAbout, this.isAdmin && !console_.isEmbedded
      ? html`<a class="button" href="#/orgs/${this.org.id}/endpoints/${this.appId}">${text.endpoints.title}</a>` : nothing)
    return html`
      ${head(text.events.title, text.events.about, html`
        <button @click=${this.#read}>${text.refresh}</button>
        ${this.isAdmin ? html`<button @click=${this.#redeliverAll}>${text.deliveries.allAgain}</button>` : nothing}`)}
      <div class="filters">
        ${select({ label: text.events.since, name: 'span', options: spans, value: this.#span,
          change: v => { this.#span = v; this.#read() } })}
        ${select({ label: text.events.type, name: 'type', value: this.#type,
          options: [['', text.events.every], ...types.map(t => [t, t] as const)],
          change: v => { this.#type = v; this.requestUpdate() } })}
      </div>
      ${this.#events.view(events => shown(events).length === 0 ? none : table<Event>(text.events.title, [
        { label: text.events.type, kind: 'main', cell: e => html`
          <button class="link" @click=${() => openEvent(this, e.id)}><code>${visible(e.type)}</code></button>` },
        { label: text.events.at(zone()), cell: e => exactTime(e.createdAt) },
        { label: text.id, cell: e => code(e.id) },
      ], shown(events)), none, text.events.older)}`
  }
}
customElements.define('lk-events', EventsPage)
