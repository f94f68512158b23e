// The use of an API key in the last 30 days, and of an org in this month.
import { html, nothing } from 'lit'
import { type Bar, chart } from './chart'
import type { Dialog } from './dialog'
import { skeleton } from './list'
import { text } from './texts'
import type { Key, Limit, Org, Usage } from './types'
import { announceProblem, download, empty, given, head, limitsText, number, once, Page, problem, table } from './ui'

const days = 30
const day = 86_400_000
export const isoDay = (t: number) => new Date(t).toISOString().slice(0, 10)

// dayLimit is the smallest limit or ceiling of the key for a day.
export function dayLimit(k: Key): number | null {
  const all = [...k.limits, ...k.ceilings].filter(l => l.per === 'day').map(l => l.requests)
  return all.length ? Math.min(...all) : null
}

// ofOrg returns a text about the use of the org's allowance by all its keys. Only admins may read the numbers.
async function ofOrg(page: Page): Promise<string> {
  if (!page.isAdmin) return text.usage.together
  const { allowance } = await page.api.get<Org>(page.path)
  if (!allowance?.length) return ''
  const days = (await page.api.all<Usage>(`${page.path}/usage`, 'usage')).filter(u => !u.keyId)
  return text.usage.ofOrg(limitsText(allowance), span(days.filter(u => u.date === isoDay(Date.now()))), span(days))
}

// daysOf returns one row for each day of an org. A request under an allowance is counted on the row of the org, and also on the row of its
// key if the key has limits. So the larger of the two sums is the least number of requests. Only the org's row has all requests.
function daysOf(rows: Usage[]): Usage[] {
  return [...new Set(rows.map(u => u.date))].map(date => {
    const of = rows.filter(u => u.date === date)
    const org = of.find(u => !u.keyId)
    const keys = of.filter(u => u.keyId)
    const requests = Math.max(org?.requests ?? 0, keys.reduce((sum, u) => sum + u.requests, 0))
    const isKnown = (org ? [org] : keys).every(u => u.atMost !== null)
    return { date, requests, atMost: isKnown ? Math.max(requests, org ? org.atMost! : keys.reduce((sum, u) => sum + u.atMost!, 0)) : null }
  })
}

// isCounted reports whether requests of a day were counted. Its row may have only refusals.
export const isCounted = (u: Usage) => u.atMost !== null || u.requests > 0

// span returns the number of requests as a text: a number, or a range.
export function span(of: Usage[]): string {
  const least = of.reduce((sum, u) => sum + u.requests, 0)
  const most = of.reduce((sum, u) => sum + (u.atMost ?? Infinity), 0)
  if (most === Infinity) return text.usage.atLeast(number(least))
  return least === most ? number(least) : text.usage.from(number(least), number(most))
}

// usageChart returns a function that draws the use of a key. The function reads the use at its first call.
export function usageChart(page: Page, k: Key, limit: number | null): (d: Dialog) => unknown {
  let read: Usage[] | null = null
  let together = ''
  let error: unknown = null
  let isRequested = false
  return d => {
    if (!isRequested) {
      isRequested = true
      Promise.all([page.api.get<{ days: Usage[] }>(`${page.path}/keys/${encodeURIComponent(k.id)}/usage`), ofOrg(page)])
        .then(([a, t]) => { [read, together] = [a.days, t] }, e => { error = e }).finally(() => d.requestUpdate())
    }
    if (error) return problem(error)
    if (!read) return skeleton()
    const note = together ? html`<p class="note">${together}</p>` : nothing
    const isWhole = page.isAdmin && together && !k.limits.length && !k.ceilings.length
    const refused = read.filter(u => u.refused)
    return html`
      ${read.some(isCounted) ? chart({
        title: text.usage.title, bars: barsOf(read, days), unit: text.usage.day, shadeName: text.usage.atMost,
        line: limit === null ? undefined : { value: limit, name: text.usage.limit(number(limit)) },
      }) : html`<p class="note">${isWhole ? text.usage.asWhole : text.usage.none}</p>`}
      ${note}
      ${refused.length ? html`<h3>${text.usage.refused}</h3>${table<Usage>(text.usage.refused, [
        { label: text.usage.day, cell: u => u.date },
        { label: text.usage.why, cell: u => Object.entries(u.refused!).map(([code, n]) => html`<div>${number(n)} <code>${code}</code></div>`) },
      ], refused.reverse())}<p class="help">${text.usage.refusedAbout}</p>` : nothing}`
  }
}

// barsOf returns a bar for each of the last days. rows has at most one row of a day.
function barsOf(rows: Usage[], length: number): Bar[] {
  return Array.from({ length }, (_, i) => {
    const label = isoDay(Date.now() - (length - 1 - i) * day)
    const { requests, atMost } = rows.find(u => u.date === label) ?? { requests: 0, atMost: 0 }
    return { label, shade: atMost, parts: [{ name: text.usage.requests, tone: 'accent', value: requests }] }
  })
}

// monthOf shows the use of an org's allowance, or of the keys that are counted, since the month began.
export function monthOf(page: Page, allowance: Limit[], rows: Usage[]): unknown {
  if (!allowance.length && !rows.length) return nothing
  const today = isoDay(Date.now())
  const counted = rows.filter(u => !u.keyId) // of the allowance
  const month = today.slice(0, 7)
  const csv = once(() => page.api.csv(`${page.path}/usage`, { month }).then(what => download(`usage-${month}.csv`, what), announceProblem))
  return html`
    <section class="card padded">
      <div class="head lesser"><div><h2>${text.usage.month}</h2>
        ${allowance.filter(l => l.per === 'day').map(l => html`
          <p>${text.usage.today(span(counted.filter(u => u.date === today)), number(l.requests))}</p>`)}
        ${allowance.filter(l => l.per === 'month').map(l => html`<p>${text.usage.ofMonth(span(counted), number(l.requests))}</p>`)}
        </div><div class="actions"><button @click=${csv}>${text.csv}</button></div></div>
      ${chart({ title: text.usage.byDay, bars: barsOf(daysOf(rows), Number(today.slice(8))), unit: text.usage.day, shadeName: text.usage.atMost })}
    </section>`
}

// lastOf returns the last of the keys that replaced each other. The API counts them together, under the id of the first one.
function lastOf(id: string, keys: Key[]): Key | undefined {
  const key = keys.find(k => k.id === id)
  return key?.rotatedTo ? lastOf(key.rotatedTo, keys) ?? key : key
}

// UsagePage shows admins the use of an org in this month, and of each of its API keys.
class UsagePage extends Page {
  #read: { allowance: Limit[]; rows: Usage[]; keys: Key[] } | null = null
  #error: unknown = null

  override connectedCallback() {
    super.connectedCallback()
    void this.#load()
  }

  async #load() {
    this.#error = null
    try {
      const [org, rows, keys] = await Promise.all([
        this.api.get<Org>(this.path), this.api.all<Usage>(`${this.path}/usage`, 'usage'), this.api.all<Key>(`${this.path}/keys`, 'keys')])
      this.#read = { allowance: org.allowance ?? [], rows, keys }
    } catch (e) {
      this.#error = e
    }
    this.requestUpdate()
  }

  override render() {
    if (this.#error) return problem(this.#error, () => void this.#load())
    if (!this.#read) return skeleton()
    const { allowance, rows, keys } = this.#read
    const ids = [...new Set(rows.flatMap(u => u.keyId ?? []))]
    const month = monthOf(this, allowance, rows)
    return html`
      ${head(text.usage.org, text.usage.orgAbout)}
      ${month === nothing ? empty(text.usage.nothing, text.usage.nothingAbout) : month}
      ${ids.length ? html`<section>${table<string>(text.usage.byKey, [
        { label: text.keys.key, kind: 'main', cell: id => {
          const key = lastOf(id, keys)
          return key ? html`${key.name ? given(key.name) : text.keys.unnamed}<div class="sub"><code>${key.keyPrefix}…</code></div>` : html`<code>${id}</code>`
        } },
        { label: text.usage.requests, kind: 'number', cell: id => span(rows.filter(u => u.keyId === id)) },
      ], ids)}</section>` : nothing}`
  }
}
customElements.define('lk-usage', UsagePage)
