// Small views that the pages share.
import { html, LitElement, nothing, svg } from 'lit'
import { Problem } from './api'
import { console_, type Person } from './context'
import { text } from './texts'
import type { App, Limit, OrgOfUser, Time } from './types'

// Page is one page of the console. It has no shadow root, so that one style sheet is enough for all pages.
export abstract class Page extends LitElement {
  static override properties = { person: { attribute: false }, org: { attribute: false }, appId: { attribute: false } }
  person!: Person
  org!: OrgOfUser
  appId = ''

  override createRenderRoot() { return this }

  // A new page gets the focus, even if it appears late.
  override firstUpdated() {
    if (!console_.isEmbedded && !document.querySelector('lk-dialog')) this.querySelector('h1')?.focus({ preventScroll: true })
  }

  get api() { return this.person.api }
  get isAdmin() { return this.org.role === 'admin' }
  get path() { return `orgs/${encodeURIComponent(this.org.id)}` }
  get appPath() { return `${this.path}/apps/${encodeURIComponent(this.appId)}` }
}

// Characters that change the direction of the text around them. visible replaces them by escapes, so no text can look like another.
const turning = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

export const visible = (s: string) =>
  s.replace(turning, c => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)

// given shows a text that a person entered, never as HTML. Its direction does not change the text around it.
export const given = (s: string) => html`<bdi>${visible(s)}</bdi>`

export const json = (value: unknown) => visible(JSON.stringify(value, null, 2))

const dateTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
const dateSecond = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
const numbers = new Intl.NumberFormat('en-GB')
export const number = (n: number) => numbers.format(n)

// none is shown in place of a missing value.
export const none = html`<span class="faint">${text.none}</span>`

export function time(t: Time | null | undefined, without: unknown = none, format = dateTime): unknown {
  if (!t) return html`<span class="faint">${without}</span>`
  const iso = new Date(t).toISOString()
  return html`<time datetime=${iso} title=${iso}>${format.format(t)}</time>`
}

// ago shows the hours or days since a time. The last use of a key is recorded once an hour, so minutes are not known.
export function ago(t: Time | null | undefined, without: string): unknown {
  if (!t) return html`<span class="faint">${without}</span>`
  const hours = Math.floor((Date.now() - t) / 3_600_000)
  return html`<time datetime=${new Date(t).toISOString()} title=${new Date(t).toISOString()}>${text.ago(hours)}</time>`
}

// suspended returns a notice with the owner's address for help, if the org is suspended.
export const suspended = (o: OrgOfUser) => !o.suspendedAt ? nothing : html`
  <p class="note alarm">${text.orgs.suspended} ${time(o.suspendedAt)}. ${text.orgs.suspendedAbout}
    ${console_.supportUrl ? html`<a href=${console_.supportUrl} target="_blank" rel="noopener">${text.orgs.askSupport}</a>` : nothing}</p>`

// exactTime also shows the seconds. A page with exact times shows the time zone once.
export const exactTime = (t: Time) => time(t, none, dateSecond)
export const zone = () => dateSecond.resolvedOptions().timeZone

// left returns the rest of the time before until, in its two largest units.
export function left(until: Time): string {
  const seconds = Math.max(0, Math.ceil((until - Date.now()) / 1000))
  const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']] as const
  const at = units.findIndex(([size]) => seconds >= size)
  if (at < 0) return '0 s'
  const [large, small] = [units[at]!, units[at + 1]]
  const rest = small ? Math.floor(seconds % large[0] / small[0]) : 0
  return `${Math.floor(seconds / large[0])} ${large[1]}${small && rest ? ` ${rest} ${small[1]}` : ''}`
}

// Left shows the time before until, and counts down each second.
class Left extends LitElement {
  static override properties = { until: { attribute: false } }
  until = 0
  #timer = 0
  override createRenderRoot() { return this }
  override connectedCallback() {
    super.connectedCallback()
    this.#timer = window.setInterval(() => this.requestUpdate(), 1000)
  }
  override disconnectedCallback() {
    super.disconnectedCallback()
    clearInterval(this.#timer)
  }
  override render() { return text.keys.endsIn(left(this.until)) }
}
customElements.define('lk-left', Left)

const tones: Record<string, string> = {
  active: 'good', enabled: 'good', delivered: 'good', claimed: 'good', pending: 'wait', held: 'wait', replaced: 'wait',
  failed: 'bad', revoked: 'bad', disabled: 'bad', admin: 'accent', service: 'accent',
}
export const badge = (label: string, tone = tones[label] ?? 'quiet') => html`<span class="badge ${tone}">${label}</span>`

export const code = (s: string) => html`<code>${visible(s)}</code>`

export const limitsText = (limits: Limit[]) => limits.map(l => text.keys.limit(number(l.requests), l.per)).join(', ')

// once returns a handler for a button's click. While act runs, the handler ignores further clicks.
export const once = (act: () => Promise<unknown>) => async (e: Event) => {
  const button = e.currentTarget as HTMLButtonElement
  if (button.dataset.busy) return
  button.dataset.busy = '1'
  try {
    await act()
  } finally {
    delete button.dataset.busy
  }
}

// isRefusal reports whether an answer of the API means that nothing was changed.
export const isRefusal = (e: unknown) => e instanceof Problem && e.body.status >= 400 && e.body.status < 500

// isOutdated reports whether a refusal means that something is not as the page shows it: it is gone, or in another state.
export const isOutdated = (e: unknown) => e instanceof Problem && [404, 409, 410].includes(e.body.status)

export function problem(e: unknown, again?: () => void): unknown {
  const known = e instanceof Problem ? e.body : null
  return html`
    <div class="problem" role="alert">
      <strong>${known?.title ?? text.problem.title}</strong>
      <p>${visible(known?.detail ?? String(e))}</p>
      ${known?.errors?.length ? html`
        <ul>${known.errors.map(v => html`<li><code>${visible(v.pointer)}</code> ${visible(v.message)}</li>`)}</ul>` : nothing}
      ${known?.requestId ? html`<p class="small">${text.problem.requestId} <code>${known.requestId}</code></p>` : nothing}
      ${again ? html`<button @click=${again}>${text.again}</button>` : nothing}
    </div>`
}

export interface Column<T> { label: string; cell: (row: T) => unknown; kind?: 'actions' | 'number' | 'main' }

// table shows rows; on a narrow screen each row is a card. The role attributes are needed because the style sheet changes the display
// of rows, and browsers would then not treat them as a table.
export function table<T>(label: string, columns: Column<T>[], rows: T[]): unknown {
  return html`
    <div class="scroll card" role="region" tabindex="0" aria-label=${label}>
      <table role="table" aria-label=${label}>
        <thead role="rowgroup"><tr role="row">
          ${columns.map(c => html`<th role="columnheader" scope="col" class=${c.kind ?? ''}>${c.kind === 'actions'
            ? html`<span class="sr">${c.label}</span>` : c.label}</th>`)}
        </tr></thead>
        <tbody role="rowgroup">${rows.map(row => html`
          <tr role="row">${columns.map(c => html`
            <td role="cell" class=${c.kind ?? ''} data-label=${c.kind ? '' : c.label}>${c.cell(row)}</td>`)}</tr>`)}
        </tbody>
      </table>
    </div>`
}

export const head = (title: unknown, about: unknown, actions: unknown = nothing) => html`
  <div class="head">
    <div>${console_.isEmbedded ? html`<h2 class="title">${title}</h2>` : html`<h1 tabindex="-1">${title}</h1>`}<p>${about}</p></div>
    <div class="actions">${actions}</div>
  </div>`

// chosenApp returns the app with this id, or the default app.
export const chosenApp = (apps: App[], id?: string) => apps.find(a => a.id === id) ?? apps.find(a => a.isDefault) ?? apps[0]

// The property .selected of an option also counts after the person picked an option; then browsers ignore the attribute.
export function appChoice(apps: App[], chosen: App | undefined, choose: (id: string) => void): unknown {
  if (apps.length < 2) return nothing
  return html`
    <div class="app-choice"><label for="app">${text.app}</label>
      <select id="app" @change=${(e: Event) => choose((e.target as HTMLSelectElement).value)}>${apps.map(a => html`
        <option value=${a.id} .selected=${a === chosen}>${visible(a.name)}</option>`)}</select></div>`
}

// empty shows the next step: a button, or a command to paste.
export const empty = (title: string, about: string, action: unknown = nothing, command = '') => html`
  <div class="empty card">
    ${icon('empty')}<h2>${title}</h2><p>${about}</p>
    ${command ? commandLine(command) : nothing}
    ${action}
  </div>`

export const commandLine = (command: string) => html`
  <div class="command"><pre tabindex="0">${command}</pre>${copyButton(command)}</div>`

export function copyButton(what: string, label: string = text.copy, kind = ''): unknown {
  const copy = async (e: Event) => {
    const button = e.currentTarget as HTMLButtonElement
    try {
      await navigator.clipboard.writeText(what)
    } catch {
      return announce(text.notCopied)
    }
    announce(text.copied)
    button.classList.add('done')
    setTimeout(() => button.classList.remove('done'), 1500)
  }
  return html`<button type="button" class=${kind} @click=${copy}>${icon('copy')}${label}</button>`
}

// download lets the browser save a text as a file.
export function download(name: string, what: string) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([what], { type: 'text/csv' }))
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1000)
}

// announce shows a message on the page, also for screen readers.
export function announce(message: string) {
  window.dispatchEvent(new CustomEvent('lk-announce', { detail: message }))
}

// announceProblem announces an error that has no other place on the page.
export const announceProblem = (e: unknown) => announce(e instanceof Error ? e.message : String(e))

export const facts = (rows: [string, unknown][]) => html`
  <dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`

const icons: Record<string, unknown> = {
  org: svg`<path d="M4 21V5l8-2v18M12 9l8 2v10M2 21h20M8 8v.01M8 12v.01M8 16v.01M16 14v.01M16 17v.01"/>`,
  members: svg`<circle cx="9" cy="8" r="3.5"/>
    <path d="M2.5 20c.5-4 3-6 6.5-6s6 2 6.5 6M16 5a3.5 3.5 0 0 1 0 6.5M18 14.5c2 .8 3.2 2.7 3.5 5.5"/>`,
  keys: svg`<circle cx="8" cy="16" r="4.5"/><path d="m11.2 12.8 8.3-8.3M16 8l3.5 3.5"/>`,
  links: svg`<path d="M10 14a4.5 4.5 0 0 0 6.5 0l3-3A4.6 4.6 0 0 0 13 4.5l-1 1M14 10a4.5 4.5 0 0 0-6.5 0l-3 3A4.6 4.6 0 0 0 11 19.5l1-1"/>`,
  endpoints: svg`<path d="M3 12h6M15 12h6"/><circle cx="12" cy="12" r="3"/><path d="M18 9l3 3-3 3"/>`,
  events: svg`<path d="M3 12h4l3-8 4 16 3-8h4"/>`,
  audit: svg`<path d="M6 3h9l4 4v14H6zM15 3v4h4M9 12h7M9 16h7"/>`,
  reference: svg`<path d="M12 6.5C10 5 7 4.5 3 4.5v14c4 0 7 .5 9 2 2-1.5 5-2 9-2v-14c-4 0-7 .5-9 2zM12 6.5v14"/>`,
  verify: svg`<path d="M12 3l7.5 3v5.5c0 4.5-3 7.5-7.5 9.5-4.5-2-7.5-5-7.5-9.5V6zM8.5 12l2.5 2.5 4.5-5"/>`,
  close: svg`<path d="M6 6l12 12M18 6 6 18"/>`,
  copy: svg`<rect x="9" y="9" width="11" height="11" rx="2"/>
    <path d="M15 5.5V5a1.5 1.5 0 0 0-1.5-1.5h-8A1.5 1.5 0 0 0 4 5v8a1.5 1.5 0 0 0 1.5 1.5H6"/>`,
  empty: svg`<path d="M3 13l3-8h12l3 8v6H3zM3 13h5l1.5 3h5L16 13h5"/>`,
}

export const icon = (name: string) => html`
  <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">${icons[name]}</svg>`
