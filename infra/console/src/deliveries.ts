// Deliveries with their attempts, and the drawer of an event.
import { html, nothing } from 'lit'
import { type Dialog, follower, openDialog, shownId } from './dialog'
import { select } from './fields'
import { List, skeleton } from './list'
import { text } from './texts'
import type { Attempt, Delivery, Endpoint, Event } from './types'
import { announce, announceProblem, badge, code, exactTime, facts, given, head, json, number, once, Page, problem, visible, zone } from './ui'

const answer = (a: Attempt) => a.error ?? (a.status === null ? text.none : `HTTP ${a.status}`)
const isGood = (a: Attempt) => a.error === null && a.status !== null && a.status >= 200 && a.status < 300

const attempt = (a: Attempt) => html`
  <li>
    ${badge(answer(a), isGood(a) ? 'good' : 'bad')} ${exactTime(a.at)}
    <span class="faint">${text.deliveries.took(number(a.durationMs))}</span>
    ${a.body ? html`<pre tabindex="0">${visible(a.body)}</pre>` : nothing}
  </li>`

// isRetried reports whether a delivery waits because its last attempt failed.
export const isRetried = (d: Delivery) => d.status === 'pending' && d.lastAttempt !== null && !isGood(d.lastAttempt)

// delivery shows one delivery, collapsed. The callback again redelivers it; null: the person may not. No attempt begins while its
// endpoint is paused.
export function delivery(d: Delivery, about: unknown, again: ((d: Delivery) => Promise<unknown>) | null, pausedUntil: number | null = null): unknown {
  const next = d.nextAttemptAt && Math.max(d.nextAttemptAt, pausedUntil ?? 0)
  return html`
    <article class="delivery">
      <div class="delivery-head">
        <div>${badge(d.status, isRetried(d) ? 'bad retried' : undefined)} ${about}</div>
        ${again && d.status !== 'pending' ? html`<button @click=${once(() => again(d))}>${text.deliveries.again}</button>` : nothing}
      </div>
      <details>
        <summary class="small faint">
          ${text.deliveries.attempts(d.attempts)}${d.lastAttempt ? `: ${answer(d.lastAttempt)}` : nothing}
          ${next ? html` · ${text.deliveries.next} ${exactTime(next)}${next > d.nextAttemptAt! ? ` (${text.deliveries.paused})` : nothing}` : nothing}
          ${d.deliveredAt ? html` · ${text.deliveries.at} ${exactTime(d.deliveredAt)}` : nothing}
        </summary>
        ${d.lastAttempt ? html`<ol class="attempts">${[d.lastAttempt, ...d.earlierAttempts].map(attempt)}</ol>`
          : html`<p class="small faint">${text.deliveries.noAttempt}</p>`}
      </details>
    </article>`
}

// endpointsOf reads the endpoints of the page's app, which only admins may read.
export const endpointsOf = (of: Page): Promise<Endpoint[]> =>
  of.isAdmin ? of.api.all<Endpoint>(`${of.appPath}/webhook_endpoints`, 'endpoints').catch(() => []) : Promise.resolve([])

// pauseOf returns the time at which the pause of the delivery's endpoint ends, or null.
export const pauseOf = (d: Delivery, endpoints: Endpoint[]) => endpoints.find(e => e.id === d.endpointId)?.pausedUntil ?? null

// DeliveriesPage has all deliveries of an endpoint, newest first.
class DeliveriesPage extends Page {
  #endpointId = shownId()
  #status = ''
  #endpoint: Endpoint | undefined
  #deliveries = new List<Delivery>(this, cursor => this.api.list(`${this.appPath}/webhook_deliveries`, 'deliveries', {
    endpointId: this.#endpointId, status: this.#status || undefined, order: 'desc', limit: 50, cursor,
  }))

  override connectedCallback() {
    super.connectedCallback()
    void this.#deliveries.load()
    void endpointsOf(this).then(all => { this.#endpoint = all.find(e => e.id === this.#endpointId); this.requestUpdate() })
  }

  override render() {
    const again = async (d: Delivery) => {
      const refusal = await redeliver(this, d)
      if (refusal) announceProblem(refusal)
      await this.#deliveries.load()
    }
    const none = this.#deliveries.hasMore ? text.deliveries.noneYet : this.#status ? text.deliveries.noneLike : text.deliveries.nothing
    return html`
      ${head(text.deliveries.title, html`<code>${visible(this.#endpoint?.url ?? this.#endpointId)}</code> <span class="faint">(${zone()})</span>`,
        html`<button @click=${() => this.#deliveries.load()}>${text.refresh}</button>`)}
      <div class="filters">${select({
        label: text.status, name: 'status', options: [['', text.deliveries.every], ...statuses.map(s => [s, s] as const)],
        change: v => { this.#status = v; void this.#deliveries.load() },
      })}</div>
      ${this.#deliveries.view(all => all.map(d => delivery(d, html`
        <button class="link" @click=${() => openEvent(this, d.eventId)}><code>${visible(d.eventType)}</code></button> ${exactTime(d.createdAt)}`,
        again, this.#endpoint?.pausedUntil)), html`<p class="note">${none}</p>`, text.events.older)}`
  }
}
customElements.define('lk-deliveries', DeliveriesPage)

const statuses = ['delivered', 'failed', 'pending', 'held']

// redeliver sends one delivery again. It returns null, or the refusal. The caller reads the delivery again in both cases: a refusal
// may mean that it is on its way already, because its endpoint was enabled.
export const redeliver = (of: Page, d: Delivery): Promise<unknown> =>
  of.api.post(`${of.appPath}/webhook_deliveries/redeliver`, { endpointId: d.endpointId, eventId: d.eventId })
    .then(() => { announce(text.deliveries.queued(1)); return null }, (refusal: unknown) => refusal)

// openEvent shows an event with its deliveries, and reads them again for some seconds while one is pending.
export function openEvent(of: Page, id: string): Dialog {
  let event: Event | null = null
  let deliveries: Delivery[] | null = null
  let endpoints: Endpoint[] = []
  let more = false
  let error: unknown = null
  let refusal: unknown = null // of the last redelivery
  const follow = follower(() => dialog, async () => {
    event ??= await of.api.get<Event>(`${of.appPath}/webhook_events/${encodeURIComponent(id)}`)
    const page = await of.api.list<Delivery>(`${of.appPath}/webhook_deliveries`, 'deliveries', { eventId: id })
    return { page, paused: page.items.some(d => d.nextAttemptAt) ? await endpointsOf(of) : endpoints }
  }, (answer, failure) => {
    error = failure
    if (!answer) return false
    deliveries = answer.page.items
    more = answer.page.nextCursor !== undefined
    endpoints = answer.paused
    return deliveries.length === 0 || deliveries.some(d => d.status === 'pending' && d.attempts < 2) // the second attempt comes 5 s after the first
  })
  const read = () => follow(9)
  const again = async (d: Delivery) => {
    refusal = await redeliver(of, d)
    dialog.requestUpdate() // shows a refusal before the delivery is read again
    const first = read()
    if (!refusal) await first // until then the button could send it twice
  }
  const dialog = openDialog(of.person, { title: text.events.one, drawer: true, at: `${of.org.id}/events/${of.appId}/${id}` }, () => html`
    ${error || refusal ? problem(error ?? refusal) : nothing}
    ${event ? html`
      ${facts([[text.events.type, code(event.type)], [text.id, code(event.id)], [text.events.at(zone()), exactTime(event.createdAt)]])}
      <h3>${text.events.payload}</h3>
      ${event.data === null ? html`<p class="note">${text.events.hidden}</p>`
        : html`<pre class="payload" tabindex="0">${json(event.data)}</pre>`}
      <h3>${text.deliveries.title}</h3>` : nothing}
    ${deliveries ? html`
      ${deliveries.map(d => delivery(d, given(d.endpointOrigin ?? d.endpointId), of.isAdmin ? again : null, pauseOf(d, endpoints)))}
      ${deliveries.length ? nothing : html`<p class="note">${text.deliveries.none}</p>`}
      ${more ? html`<p class="small faint">${text.deliveries.bounded}</p>` : nothing}
      <button @click=${read}>${text.refresh}</button>` : error ? nothing : skeleton()}`)
  void read()
  return dialog
}
