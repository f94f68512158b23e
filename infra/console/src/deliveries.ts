// Deliveries with their attempts, and the drawer of an event.
import { html, nothing } from 'lit'
import { type Dialog, openDialog } from './dialog'
import { skeleton } from './list'
import { text } from './texts'
import type { Attempt, Delivery, Event } from './types'
import { announce, badge, code, exactTime, facts, given, json, number, type Page, problem, visible, zone } from './ui'

const answer = (a: Attempt) => a.error ?? (a.status === null ? text.none : `HTTP ${a.status}`)
const isGood = (a: Attempt) => a.error === null && a.status !== null && a.status >= 200 && a.status < 300

const attempt = (a: Attempt) => html`
  <li>
    ${badge(answer(a), isGood(a) ? 'good' : 'bad')} ${exactTime(a.at)}
    <span class="faint">${text.deliveries.took(number(a.durationMs))}</span>
    ${a.body ? html`<pre tabindex="0">${visible(a.body)}</pre>` : nothing}
  </li>`

// delivery shows one delivery; again sends it once more, for those who may.
export function delivery(d: Delivery, about: unknown, again: ((d: Delivery) => void) | null): unknown {
  return html`
    <article class="delivery">
      <div class="delivery-head">
        <div>${badge(d.status)} ${about}</div>
        ${again && d.status !== 'pending' ? html`<button @click=${() => again(d)}>${text.deliveries.again}</button>` : nothing}
      </div>
      <p class="small faint">
        ${text.deliveries.attempts(d.attempts)}${d.nextAttemptAt ? html` · ${text.deliveries.next} ${exactTime(d.nextAttemptAt)}` : nothing}
        ${d.deliveredAt ? html` · ${text.deliveries.at} ${exactTime(d.deliveredAt)}` : nothing}
      </p>
      ${d.lastAttempt ? html`<ol class="attempts">${[d.lastAttempt, ...d.earlierAttempts].map(attempt)}</ol>`
        : html`<p class="small faint">${text.deliveries.noAttempt}</p>`}
    </article>`
}

// redeliver sends one delivery again.
export async function redeliver(of: Page, d: Delivery) {
  await of.api.post(`${of.appPath}/webhook_deliveries/redeliver`, { endpointId: d.endpointId, eventId: d.eventId })
  announce(text.deliveries.queued(1))
}

// openEvent shows an event with its deliveries, which it reads anew for a while where one is on its way.
export function openEvent(of: Page, id: string): Dialog {
  let event: Event | null = null
  let deliveries: Delivery[] | null = null
  let more = false
  let error: unknown = null
  let turns = 0
  const read = async () => {
    try {
      const eventId = encodeURIComponent(id)
      event ??= await of.api.get<Event>(`${of.appPath}/webhook_events/${eventId}`)
      const page = await of.api.list<Delivery>(`${of.appPath}/webhook_deliveries`, 'deliveries', { eventId: id })
      deliveries = page.items
      more = page.nextCursor !== undefined
      error = null
    } catch (e) {
      error = e
    }
    dialog.requestUpdate()
    const waits = deliveries?.length === 0 || deliveries?.some(d => d.status === 'pending' && d.lastAttempt === null)
    if (!error && waits && dialog.isConnected && turns++ < 8) setTimeout(read, 1500)
  }
  const again = (d: Delivery) => {
    redeliver(of, d).then(() => { turns = 0; return read() }, e => { error = e; dialog.requestUpdate() })
  }
  const dialog = openDialog(of.person, { title: text.events.one, drawer: true }, () => html`
    ${error ? problem(error) : nothing}
    ${event ? html`
      ${facts([[text.events.type, code(event.type)], [text.id, code(event.id)], [text.events.at(zone()), exactTime(event.createdAt)]])}
      <h3>${text.events.payload}</h3>
      ${event.data === null ? html`<p class="note">${text.events.hidden}</p>`
        : html`<pre class="payload" tabindex="0">${json(event.data)}</pre>`}
      <h3>${text.deliveries.title}</h3>` : nothing}
    ${deliveries ? html`
      ${deliveries.map(d => delivery(d, given(d.endpointOrigin ?? d.endpointId), of.isAdmin ? again : null))}
      ${deliveries.length ? nothing : html`<p class="note">${text.deliveries.none}</p>`}
      ${more ? html`<p class="small faint">${text.deliveries.bounded}</p>` : nothing}
      <button @click=${() => { turns = 0; void read() }}>${text.refresh}</button>` : error ? nothing : skeleton()}`)
  void read()
  return dialog
}
