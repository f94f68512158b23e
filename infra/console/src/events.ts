// The events of an app.
import { html, nothing } from 'lit'
import { console_ } from './context'
import { endpointsOf, isRetried, openEvent } from './deliveries'
import { openDialog, openForm, shownId } from './dialog'
import { line, select } from './fields'
import { reopen } from './kept'
import { List } from './list'
import { text } from './texts'
import type { Delivery, Endpoint, Event } from './types'
import { announce, badge, code, empty, exactTime, head, none, Page, problem, table, visible, zone } from './ui'

const pageSize = 100
const maxStates = 2000 // events whose deliveries are read
const hour = 3_600_000
const spans = [[`${hour}`, text.events.hour], [`${24 * hour}`, text.events.day], [`${7 * 24 * hour}`, text.events.week],
  [`${30 * 24 * hour}`, text.events.month]] as const

// Progress is the progress of sending the failed deliveries of an endpoint and a span again.
interface Progress { endpointId: string; span: string; since: number; queued: number; cursor?: string }

class EventsPage extends Page {
  #span = `${24 * hour}`
  #since = 0
  #type = ''
  #events = new List<Event>(this, cursor => this.api.list<Event>(
    `${this.appPath}/webhook_events`, 'events', { since: this.#since, order: 'desc', limit: pageSize, cursor }).then(page => {
      void this.#readStates(page.items)
      return page
    }))
  #states = new Map<string, Delivery[]>() // by the event's id

  override connectedCallback() {
    super.connectedCallback()
    this.#read()
    if (shownId()) openEvent(this, shownId())
    reopen(`${this.appPath}/webhook_deliveries/redeliver`, () => void this.#redeliverAll())
  }

  #read() {
    this.#since = Date.now() - Number(this.#span)
    void this.#events.load()
  }

  // #readStates reads the deliveries of a page of events to each endpoint of the app, if the person may see the endpoints.
  async #readStates(events: Event[]) {
    const oldest = events.at(-1)
    if (!oldest) return
    for (const { id: endpointId } of await endpointsOf(this)) {
      let cursor: string | undefined
      do {
        const page = await this.api.list<Delivery>(`${this.appPath}/webhook_deliveries`, 'deliveries',
          { endpointId, since: oldest.createdAt, order: 'desc', limit: pageSize, cursor }).catch(() => ({ items: [], nextCursor: undefined }))
        for (const d of page.items) {
          this.#states.set(d.eventId, [...(this.#states.get(d.eventId) ?? []).filter(o => o.endpointId !== endpointId), d])
        }
        cursor = page.nextCursor
      } while (cursor && this.isConnected && this.#states.size < maxStates)
    }
    this.requestUpdate()
  }

  #state(e: Event): unknown {
    const of = this.#states.get(e.id) ?? []
    const count = (label: string, tone: string, some: Delivery[]) => some.length ? html`${badge(`${some.length} ${label}`, tone)} ` : nothing
    const waits = (d: Delivery) => d.status !== 'delivered' && d.status !== 'failed'
    return of.length === 0 ? none : html`
      ${count(text.deliveries.delivered, 'good', of.filter(d => d.status === 'delivered'))}
      ${count(text.deliveries.failed, 'bad', of.filter(d => d.status === 'failed'))}
      ${count(text.deliveries.retried, 'bad retried', of.filter(isRetried))}
      ${count(text.deliveries.waiting, 'wait', of.filter(d => waits(d) && !isRetried(d)))}`
  }

  async #redeliverAll() {
    let endpoints: Endpoint[]
    try {
      endpoints = await this.api.all<Endpoint>(`${this.appPath}/webhook_endpoints`, 'endpoints')
    } catch (error) {
      return void openDialog(this.person, { title: text.deliveries.allAgain }, () => problem(error))
    }
    if (endpoints.length === 0) return announce(`${text.endpoints.none}.`)
    let far = '' // the progress of earlier tries as JSON; the next try continues there
    const dialog = openForm(this.person, {
      keep: `${this.appPath}/webhook_deliveries/redeliver`,
      title: text.deliveries.allAgain, submit: text.deliveries.again, intro: text.deliveries.allIntro,
      fields: () => html`
        ${select({ label: text.endpoints.url, name: 'endpointId', options: endpoints.map(e => [e.id, visible(e.url)] as const) })}
        ${select({ label: text.events.since, name: 'since', options: spans, value: `${24 * hour}` })}
        <input type="hidden" name="far" .value=${far}>`,
      run: async data => {
        const [endpointId, span] = [line(data, 'endpointId'), line(data, 'since')]
        let at: Progress = { endpointId, span, since: Date.now() - Number(span), queued: 0 }
        const before = JSON.parse(line(data, 'far') || 'null') as Progress | null
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
    const chosen = this.#type ? [this.#type] : [] // stays in the choice even if the span has no such event
    const types = [...new Set([...this.#events.items.map(e => e.type), ...chosen])].sort()
    const shown = (events: Event[]) => events.filter(e => !this.#type || e.type === this.#type)
    const noneOfType = html`<p class="note">${this.#events.hasMore ? text.events.noneYet : text.events.noneOfType}</p>`
    const nothingHere = this.#events.hasMore ? noneOfType : empty(text.events.none, text.events.noneAbout, this.isAdmin && !console_.isEmbedded
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
      ${this.#events.view(events => shown(events).length === 0 ? this.#events.isSettled ? noneOfType : nothing : table<Event>(text.events.title, [
        { label: text.events.type, kind: 'main', cell: e => html`
          <button class="link" @click=${() => openEvent(this, e.id)}><code>${visible(e.type)}</code></button>` },
        { label: text.events.at(zone()), cell: e => exactTime(e.createdAt) },
        ...(this.isAdmin ? [{ label: text.deliveries.title, cell: (e: Event) => this.#state(e) }] : []),
        { label: text.id, cell: e => code(e.id) },
      ], shown(events)), nothingHere, text.events.older)}`
  }
}
customElements.define('lk-events', EventsPage)
