// The webhook endpoints of an app, for admins.
import { html, nothing } from 'lit'
import { type Catalogue, Choices, isSent, readCatalogue } from './catalogue'
import { chart } from './chart'
import { delivery, isRetried, openEvent, redeliver } from './deliveries'
import { console_ } from './context'
import { type Dialog, follower, openDialog, openForm, shownId } from './dialog'
import { input, line, select } from './fields'
import { reopen } from './kept'
import { List, skeleton } from './list'
import { text } from './texts'
import type { Delivery, Endpoint } from './types'
import { announce, badge, code, empty, exactTime, facts, given, head, isOutdated, number, once, Page, problem, table, time, visible, zone } from './ui'

const hour = 3_600_000
const shown = 20 // deliveries in the drawer of an endpoint
const pagesOfBars = 5 // pages of 100 deliveries that the bars count
const spans = [24, 6, 2] as const // hours: the bars show the first span that was read completely

class EndpointsPage extends Page {
  #catalogue: Promise<Catalogue | null> = Promise.resolve(null)
  #endpoints = new List<Endpoint>(this, cursor =>
    this.api.list(`${this.appPath}/webhook_endpoints`, 'endpoints', { limit: 50, cursor }))

  override connectedCallback() {
    super.connectedCallback()
    this.#catalogue = readCatalogue()
    void this.#endpoints.load().then(() => {
      reopen(`${this.appPath}/webhook_endpoints`, () => this.#create())
      for (const e of this.#endpoints.items) if (e.id === shownId()) this.#details(e)
    })
  }

  #one(e: Endpoint) { return `${this.appPath}/webhook_endpoints/${encodeURIComponent(e.id)}` }

  async #create() {
    const known = await this.#catalogue
    const events = new Choices('events', known ? [{ name: '*', description: text.catalogue.every }, ...known.events.map(e => ({ ...e, name: e.type }))] : [],
      ['*'], word => !known || isSent(word, known))
    openForm(this.person, {
      title: text.endpoints.create, submit: text.create, intro: text.endpoints.createIntro,
      keep: `${this.appPath}/webhook_endpoints`, choices: events,
      fields: d => html`
        ${input({ label: text.endpoints.url, name: 'url', type: 'url', required: true, max: 2048,
          placeholder: 'https://example.com/hooks' })}
        ${events.view(d, { label: text.endpoints.events, help: text.endpoints.eventsHelp }, text.catalogue.unsent)}
        ${input({ label: text.endpoints.description, name: 'description', max: 200 })}`,
      run: data => this.api.create(`${this.appPath}/webhook_endpoints`, {
        url: line(data, 'url'), events: events.of(data), description: line(data, 'description') || null,
      }, data),
      list: this.#endpoints, done: () => announce(text.endpoints.created),
    })
  }

  async #test(e: Endpoint) {
    try {
      const { eventId } = await this.api.post<{ eventId: string }>(`${this.#one(e)}/test`)
      openEvent(this, eventId)
      announce(text.endpoints.tested)
    } catch (error) {
      if (isOutdated(error)) void this.#endpoints.load()
      openDialog(this.person, { title: text.endpoints.test }, () => problem(error))
    }
  }

  // #example sends the catalogue's example of an event type.
  #example(e: Endpoint, known: Catalogue['events']) {
    openForm(this.person, {
      title: text.catalogue.example, submit: text.catalogue.example, intro: text.catalogue.exampleIntro,
      fields: () => select({ label: text.catalogue.type, name: 'type', options: known.map(k => [k.type, k.type] as const) }),
      run: data => this.api.create<{ eventId: string }>(`${this.#one(e)}/test`,
        { type: line(data, 'type'), data: known.find(k => k.type === line(data, 'type'))?.example }, data),
      list: this.#endpoints, done: ({ eventId }) => { openEvent(this, eventId); announce(text.endpoints.tested) },
    })
  }

  #switch(e: Endpoint) {
    const enable = !e.enabled
    openForm(this.person, {
      title: enable ? text.endpoints.enable : text.endpoints.disable, submit: enable ? text.endpoints.enable : text.endpoints.disable,
      danger: !enable,
      intro: html`<p><code>${visible(e.url)}</code></p><p>${enable ? text.endpoints.enableIntro : text.endpoints.disableIntro}</p>`,
      run: () => this.api.patch(this.#one(e), { enabled: enable }),
      list: this.#endpoints, done: () => announce(text.saved),
    })
  }

  #delete(e: Endpoint) {
    openForm(this.person, {
      title: text.endpoints.delete, submit: text.endpoints.delete, danger: true, ends: true,
      intro: html`<p><code>${visible(e.url)}</code></p><p>${text.endpoints.deleteIntro}</p>`,
      run: () => this.api.delete(this.#one(e)),
      list: this.#endpoints, done: () => announce(text.endpoints.deleted),
    })
  }

  #details(e: Endpoint) {
    let examples: Catalogue['events'] = []
    let bars: Delivery[] | null = null
    let span = 0 // hours
    let bounded = false
    let since = 0
    let error: unknown = null
    let refusal: unknown = null // of the last redelivery
    const page = (from: number, cursor?: string) => this.api.list<Delivery>(
      `${this.appPath}/webhook_deliveries`, 'deliveries', { endpointId: e.id, since: from, order: 'desc', limit: 100, cursor })
    const readBars = async () => {
      const begin = (hours: number) => (Math.floor(Date.now() / hour) + 1 - hours) * hour
      let at = await page(begin(spans[0]))
      const all = at.items
      for (let i = 1; i < pagesOfBars && at.nextCursor; i++) {
        at = await page(begin(spans[0]), at.nextCursor)
        all.push(...at.items)
      }
      const oldest = at.nextCursor ? all.at(-1)?.createdAt ?? Infinity : 0
      const complete = spans.find(hours => begin(hours) > oldest)
      const span = complete ?? spans[spans.length - 1]!
      return { all, span, bounded: complete === undefined, since: begin(span) }
    }
    const follow = follower(() => dialog, async () => {
      const now = await this.api.get<Endpoint>(this.#one(e))
      const [read, failure] = await readBars().then(b => [b, null] as const, (f: unknown) => [null, f] as const)
      return { now, read, failure }
    }, (answer, failure) => {
      error = failure ?? answer?.failure ?? null
      if (isOutdated(failure)) void this.#endpoints.load()
      if (answer) Object.assign(e, answer.now) // also in the list, which must not offer what no longer fits
      if (answer?.read) ({ all: bars, span, bounded, since } = answer.read)
      this.requestUpdate()
      return !isOutdated(failure)
    })
    const again = async (d: Delivery) => {
      refusal = await redeliver(this, d)
      dialog.requestUpdate() // shows a refusal before the delivery is read again
      const first = follow(5) // by then the delivery has usually arrived
      if (!refusal) await first // until then the button could send it twice
    }
    const closeThen = (act: (e: Endpoint) => void) => () => { dialog.close(); act.call(this, e) }
    const dialog: Dialog = openDialog(this.person, { title: text.endpoints.one, drawer: true, at: `${this.org.id}/endpoints/${this.appId}/${e.id}` }, () => html`
      <p class="intro"><code class="wrap">${visible(e.url)}</code></p>
      <div class="row">
        <button ?disabled=${!e.enabled} @click=${closeThen(this.#test)}>${text.endpoints.test}</button>
        ${examples.length ? html`<button ?disabled=${!e.enabled} @click=${closeThen(() => this.#example(e, examples))}>${text.catalogue.example}</button>` : nothing}
        <button @click=${closeThen(this.#switch)}>${e.enabled ? text.endpoints.disable : text.endpoints.enable}</button>
        <button class="danger-text" @click=${closeThen(this.#delete)}>${text.endpoints.delete}</button>
      </div>
      ${error || refusal ? problem(error ?? refusal) : nothing}
      ${bars ? hours(bars, since, span) : error ? nothing : skeleton()}
      ${bounded ? html`<p class="small faint">${text.endpoints.bounded}</p>` : nothing}
      ${facts([
        [text.status, this.#state(e)],
        ...(e.pausedUntil && e.pausedUntil > Date.now() ? [[text.endpoints.paused, time(e.pausedUntil)]] as [string, unknown][] : []),
        ...(e.heldCount !== undefined ? [[text.endpoints.held, number(e.heldCount)]] as [string, unknown][] : []),
        [text.endpoints.events, html`<span class="chips">${e.events.map(code)}</span>`],
        [text.endpoints.description, e.description ? given(e.description) : text.none],
        [text.id, code(e.id)],
        [text.created, time(e.createdAt)],
        [text.endpoints.createdBy, e.createdByKey ? code(e.createdByKey) : text.endpoints.admin],
        ...(e.urlSetByKey ? [[text.endpoints.setBy, code(e.urlSetByKey)]] as [string, unknown][] : []),
      ])}
      <h3>${text.endpoints.last} <span class="faint">(${zone()})</span></h3>
      ${bars?.slice(0, shown).map(d => delivery(d, html`
        <button class="link" @click=${() => openEvent(this, d.eventId)}><code>${visible(d.eventType)}</code></button>
        ${exactTime(d.createdAt)}`, again, e.pausedUntil))}
      ${console_.isEmbedded ? nothing : html`
        <p><a href="#/orgs/${this.org.id}/deliveries/${this.appId}/${e.id}">${text.deliveries.all}</a></p>`}
      ${bars?.length === 0 ? html`<p class="note">${text.endpoints.quiet(span)}</p>` : nothing}`)
    void follow(1)
    void this.#catalogue.then(known => { examples = (known?.events ?? []).filter(k => k.example); dialog.requestUpdate() })
  }

  #state(e: Endpoint) {
    if (e.enabled && e.failingSince) {
      return html`${badge(text.endpoints.failing, 'bad')}<div class="sub">${text.endpoints.since} ${time(e.failingSince)}</div>`
    }
    if (e.enabled) return badge(text.endpoints.enabled, 'good')
    return html`${badge(text.endpoints.disabled, 'bad')}
      <div class="sub">${text.endpoints.reasons[e.disabledReason ?? ''] ?? e.disabledReason}, ${time(e.disabledAt)}</div>`
  }

  override render() {
    const create = html`<button class="primary" @click=${this.#create}>${text.endpoints.create}</button>`
    return html`
      ${head(text.endpoints.title, text.endpoints.about, this.#endpoints.items.length ? create : nothing)}
      ${this.#endpoints.view(endpoints => table<Endpoint>(text.endpoints.title, [
        { label: text.endpoints.url, kind: 'main', cell: e => html`
          <button class="link" @click=${() => this.#details(e)}><span class="url">${visible(e.url)}</span></button>
          ${e.description ? html`<div class="sub">${given(e.description)}</div>` : nothing}` },
        { label: text.endpoints.events, cell: e => html`<span class="chips">${e.events.slice(0, 3).map(code)}${e.events.length > 3
          ? html`<span class="faint">+${e.events.length - 3}</span>` : nothing}</span>` },
        { label: text.status, cell: e => this.#state(e) },
        { label: text.created, cell: e => time(e.createdAt) },
        { label: text.actions, kind: 'actions', cell: e => html`
          <button ?disabled=${!e.enabled} @click=${once(() => this.#test(e))}>${text.endpoints.testShort}</button>
          <button @click=${() => this.#switch(e)}>${e.enabled ? text.endpoints.disableShort : text.endpoints.enableShort}</button>` },
      ], endpoints), empty(text.endpoints.none, text.endpoints.noneAbout, create))}`
  }
}
customElements.define('lk-endpoints', EndpointsPage)

// hours draws deliveries by the hour of their event.
function hours(deliveries: Delivery[], since: number, length: number): unknown {
  const bars = Array.from({ length }, (_, i) => {
    const from = since + i * hour
    const of = deliveries.filter(d => d.createdAt >= from && d.createdAt < from + hour)
    const count = (...statuses: string[]) => of.filter(d => statuses.includes(d.status)).length
    const [delivered, failed, retried] = [count('delivered'), count('failed'), of.filter(isRetried).length]
    return {
      label: new Date(from).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' }),
      parts: [
        { name: text.deliveries.delivered, tone: 'good', value: delivered },
        { name: text.deliveries.failed, tone: 'bad', value: failed },
        { name: text.deliveries.retried, tone: 'retried', value: retried },
        { name: text.deliveries.waiting, tone: 'wait', value: of.length - delivered - failed - retried },
      ],
    }
  })
  return chart({ title: text.endpoints.hours(length), bars, unit: text.endpoints.hour })
}
