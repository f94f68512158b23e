// The API keys of an org.
import { html, nothing } from 'lit'
import { curl } from './api'
import { type Catalogue, Choices, readCatalogue } from './catalogue'
import { console_ } from './context'
import { timeline } from './chart'
import { type Dialog, openDialog, openForm, shownId } from './dialog'
import { changed, check, input, limitFields, limitsOf, line, Pairs, select } from './fields'
import { reopen } from './kept'
import { dayLimit, isCounted, isoDay, span, usageChart } from './usage'
import { List } from './list'
import { text } from './texts'
import type { CreatedKey, Key, Member, Usage } from './types'
import { ago, announce, badge, chosenApp, code, commandLine, copyButton, empty, facts, given, head, json, limitsText, none, Page, problem, table, time } from './ui'

type Status = 'active' | 'replaced' | 'expired' | 'revoked'
const week = 7 * 86_400_000 // the longest grace
const day = 86_400
type Option = readonly [seconds: string, label: string]
const graces = [
  ['0', text.keys.graceNone], ['3600', text.keys.hours(1)], [`${day}`, text.keys.hours(24)], [`${3 * day}`, text.keys.days(3)],
  [`${7 * day}`, text.keys.days(7)],
] as const

// lifetimes returns the choices for a new key. If the deployment has a maximum, the choices are the shorter ones and the maximum.
function lifetimes(): Option[] {
  const most = console_.maxKeyDays || Infinity
  const days = [1, 7, 30, 90, 365].filter(d => d < most)
  return (most < Infinity ? [...days, most] : days).map(d => [`${d * day}`, text.keys.days(d)])
}

// longest returns the longest lifetime of a new key; '': the key never expires.
const longest = () => console_.maxKeyDays ? `${console_.maxKeyDays * day}` : ''

// ofSuccessor returns the choices for the key that replaces k. The first choice is k's lifetime, if the deployment allows it.
function ofSuccessor(k: Key): Option[] {
  if (!k.expiresAt) return console_.maxKeyDays ? lifetimes() : [['', text.keys.neverAsBefore], ...lifetimes()]
  const before = Math.round((k.expiresAt - k.createdAt) / 1000)
  const fits = !console_.maxKeyDays || before <= console_.maxKeyDays * day
  return fits ? [[`${before}`, text.keys.asBefore], ...lifetimes().filter(([s]) => s !== `${before}`)] : lifetimes()
}

export const isGood = (k: Key) => !k.revokedAt && !(k.expiresAt && k.expiresAt <= Date.now())

// isAlarm reports whether the org must be warned: the key was found in public, and is still good or was found in the last 30 days.
export const isAlarm = (k: Key) => Boolean(k.leakedAt) && (isGood(k) || k.leakedAt! > Date.now() - 30 * day * 1000)

const scopesField = { label: text.keys.scopes, help: text.keys.scopesHelp, placeholder: 'invoices:read' }
const scopesIn = (known: Catalogue | null, chosen: string[]) =>
  new Choices('scopes', known?.scopes ?? [], chosen, word => !known || known.scopes.some(s => s.name === word))

const unusedFor = 90 * day * 1000

// isUnused reports whether a good key was not used for 90 days.
const isUnused = (k: Key) => isGood(k) && (k.lastUsedAt ?? k.createdAt) < Date.now() - unusedFor

class KeysPage extends Page {
  #keys = new List<Key>(this, async () => ({ items: await this.api.all(`${this.path}/keys`, 'keys') })) // all at once: an org has few
  #members = new Map<string, Member>()
  #catalogue: Promise<Catalogue | null> = Promise.resolve(null)
  #words: string[] = [] // of the search
  #unused = false

  override connectedCallback() {
    super.connectedCallback()
    this.#catalogue = readCatalogue()
    void this.api.all<Member>(`${this.path}/members`, 'members').then(all => {
      this.#members = new Map(all.map(m => [m.userId, m]))
      this.requestUpdate()
    }, () => {}) // then the page shows ids instead of names
    void this.#keys.load().then(() => {
      reopen(`${this.path}/keys`, () => this.#create())
      for (const k of this.#keys.items) {
        if (k.id === shownId()) this.#details(k)
        reopen(this.#one(k), () => this.#edit(k))
        reopen(`${this.#one(k)}/rotate`, () => this.#rotate(k))
      }
    })
  }

  #one(k: Key) { return `${this.path}/keys/${k.id}` }

  #status(k: Key): Status {
    if (k.revokedAt) return 'revoked'
    if (k.expiresAt && k.expiresAt <= Date.now()) return 'expired'
    return k.rotatedTo ? 'replaced' : 'active'
  }

  // #maker returns the name of the person or service that made a key.
  #maker(k: Key) {
    const by = k.createdBy && this.#members.get(k.createdBy)
    return by ? given(by.email || by.name) : k.createdBy ? code(k.createdBy) : text.keys.byService
  }

  #isShown(k: Key): boolean {
    const by = this.#members.get(k.createdBy ?? '')
    const all = [k.name, k.id, k.keyPrefix, this.person.appName(this.org, k.appId), ...k.scopes, k.createdBy, by?.email, by?.name].join(' ').toLowerCase()
    return this.#words.every(w => all.includes(w)) && (!this.#unused || isUnused(k))
  }

  // A key rotates once.
  #rotatable(k: Key) { return this.#status(k) === 'active' }

  // #withSettings opens a form that offers lifetimes. Before that it reads the maximum of the deployment, and the catalogue.
  async #withSettings(title: string, open: (known: Catalogue | null) => void) {
    let known: Catalogue | null
    try {
      [known] = await Promise.all([this.#catalogue, console_.readSettings()])
    } catch (error) {
      return void openDialog(this.person, { title }, () => problem(error))
    }
    open(known)
  }

  #create = () => this.#withSettings(text.keys.create, known => {
    const [pairs, scopes] = [new Pairs({}), scopesIn(known, [])]
    const apps = this.person.apps.get(this.org.id) ?? []
    openForm(this.person, {
      title: text.keys.create, submit: text.keys.create, keep: `${this.path}/keys`, pairs, choices: scopes,
      fields: d => html`
        ${input({ label: text.name, name: 'name', max: 100, help: text.keys.nameHelp })}
        <div class="two">
          ${select({ label: text.app, name: 'appId', value: chosenApp(apps)?.id, options: apps.map(a => [a.id, a.name] as const) })}
          ${select({ label: text.keys.expires, name: 'expiresIn', value: longest(),
            options: longest() ? lifetimes() : [['', text.keys.never], ...lifetimes()] })}
        </div>
        ${scopes.view(d, scopesField, text.catalogue.strange)}${pairs.view(d)}${limitFields([])}`,
      run: data => this.api.create<CreatedKey>(`${this.path}/keys`, {
        name: line(data, 'name') || null, appId: line(data, 'appId') || null, expiresIn: Number(data.get('expiresIn')) || null,
        scopes: scopes.of(data), metadata: pairs.value(), limits: limitsOf(data),
      }, data),
      list: this.#keys, done: created => this.#shown(created),
    })
  })

  // Only this closure has the key's text, and it ends with the dialog.
  #shown(created: CreatedKey) {
    const key = created.key
    openDialog(this.person, { title: text.keys.shownTitle, secret: true }, d => html`
      <p class="intro">${text.keys.shownIntro}</p>
      <div class="secret"><code id="new-key">${key}</code></div>
      <div class="row">${copyButton(key, text.keys.copyKey, 'primary first')}</div>
      <h3>${text.keys.try}</h3>
      ${commandLine(curl('app/get', key))}
      <footer><button @click=${() => d.close()}>${text.keys.shownDone}</button></footer>`)
  }

  #rotate = (k: Key) => this.#withSettings(text.keys.rotateTitle, () => {
    const expiries = ofSuccessor(k)
    openForm(this.person, {
      title: text.keys.rotateTitle, submit: text.keys.rotate, intro: html`<p>${this.#label(k)}</p><p>${text.keys.rotateIntro}</p>`,
      keep: `${this.#one(k)}/rotate`,
      fields: () => html`<div class="two">
        ${select({ label: text.keys.grace, name: 'grace', options: graces, value: `${day}`, help: text.keys.graceHelp })}
        ${select({ label: text.keys.newExpires, name: 'expiresIn', options: expiries,
          value: k.expiresAt && expiries[0]![1] === text.keys.asBefore ? expiries[0]![0] : longest() })}</div>`,
      run: data => this.api.create<CreatedKey>(`${this.#one(k)}/rotate`, {
        graceSeconds: Number(data.get('grace')), expiresIn: Number(data.get('expiresIn')) || null,
      }, data),
      list: this.#keys, done: created => this.#shown(created),
    })
  })

  #revoke(k: Key) {
    const today = isoDay(Date.now())
    let counted: unknown = nothing
    const dialog = openForm(this.person, {
      title: text.keys.revokeTitle, submit: text.keys.revoke, danger: true,
      intro: html`<p>${this.#label(k)}</p><p>${text.keys.revokeIntro}</p>`,
      fields: () => html`
        <p class="note">${text.keys.lastUsed}: ${ago(k.lastUsedAt, text.keys.neverUsed)}${counted}</p>
        ${check('endpoints', text.keys.alsoEndpoints, text.keys.alsoEndpointsHelp)}
        ${check('links', text.keys.alsoLinks, text.keys.alsoLinksHelp)}`,
      run: async data => {
        const { endpoints, links } = await this.#end(k, data)
        return [text.keys.keyRevoked, endpoints || text.keys.endpointsStay, links || text.keys.linksStay].join(' ')
      },
      list: this.#keys, done: announce,
    })
    this.api.get<{ days: Usage[] }>(`${this.#one(k)}/usage`, { from: today, to: today }).then(({ days: [u] }) => {
      if (u && isCounted(u)) counted = `; ${text.keys.today(span([u]))}`
      dialog.requestUpdate()
    }, () => {})
  }

  // #endMade is for a key that is not good. It says nothing about what is not ticked: that may have been ended before.
  #endMade(k: Key) {
    openForm(this.person, {
      title: text.keys.endMade, submit: text.keys.endMade, danger: true,
      intro: html`<p>${this.#label(k)}</p><p>${text.keys.endMadeIntro}</p>`,
      fields: () => html`
        ${check('endpoints', text.keys.endEndpoints, text.keys.endEndpointsHelp)}
        ${check('links', text.keys.endLinks, text.keys.endLinksHelp)}`,
      run: async data => {
        if (!data.has('endpoints') && !data.has('links')) throw new Error(text.keys.noneTicked)
        const { endpoints, links } = await this.#end(k, data)
        return [endpoints, links].filter(Boolean).join(' ')
      },
      list: this.#keys, done: announce,
    })
  }

  // #end revokes a key if it is not revoked yet, and ends what is ticked. It returns what to announce of each; '': not ticked.
  async #end(k: Key, data: FormData) {
    const [endpoints, links] = [data.has('endpoints'), data.has('links')]
    await this.api.delete(this.#one(k), { endpoints: endpoints ? 'disable' : undefined, links: links ? 'revoke' : undefined })
    return { endpoints: endpoints ? text.keys.endpointsEnded : '', links: links ? text.keys.linksEnded : '' }
  }

  #edit = (k: Key) => this.#withSettings(text.keys.edit, known => {
    const [pairs, scopes] = [new Pairs(k.metadata), scopesIn(known, k.scopes)]
    // A field of the body replaces the whole value. So the form sends only what differs from its first values: another person may have
    // changed the rest. The hidden field keeps the first values during a sign-in.
    const first = { name: k.name.trim() || null, scopes: k.scopes, metadata: pairs.value(), limits: k.limits }
    openForm(this.person, {
      title: text.keys.edit, submit: text.save, keep: this.#one(k), pairs, choices: scopes,
      fields: d => html`
        <input type="hidden" name="first" .value=${JSON.stringify(first)}>
        ${input({ label: text.name, name: 'name', value: k.name, max: 100, required: k.name !== '' })}
        ${scopes.view(d, scopesField, text.catalogue.strange)}${pairs.view(d)}${limitFields(k.limits)}
        ${k.ceilings.length ? html`
          <p class="note">${text.keys.ceilings}: ${limitsText(k.ceilings)}. ${text.keys.ceilingsHelp}</p>` : nothing}`,
      run: data => this.api.patch(this.#one(k), changed(JSON.parse(line(data, 'first')) as typeof first, {
        name: line(data, 'name') || null, scopes: scopes.of(data), metadata: pairs.value(), limits: limitsOf(data),
      })),
      list: this.#keys, done: () => announce(text.saved),
    })
  })

  #details(k: Key) {
    const usage = usageChart(this, k, dayLimit(k))
    const closeThen = (d: Dialog, act: (k: Key) => void) => () => { d.close(); act.call(this, k) }
    openDialog(this.person, { title: text.keys.details, drawer: true, at: `${this.org.id}/keys//${k.id}` }, d => html`
      <p class="intro">${this.#label(k)} ${this.#badge(k)}</p>
      ${k.leakedAt ? html`<p class="note alarm">${text.keys.leakedAt} ${time(k.leakedAt)}</p>` : nothing}
      ${this.isAdmin ? html`<div class="row">${isGood(k) ? html`
        <button @click=${closeThen(d, this.#edit)}>${text.edit}</button>
        ${this.#rotatable(k) ? html`<button @click=${closeThen(d, this.#rotate)}>${text.keys.rotate}</button>` : nothing}
        <button class="danger-text" @click=${closeThen(d, this.#revoke)}>${text.keys.revoke}</button>` : html`
        <button class="danger-text" @click=${closeThen(d, this.#endMade)}>${text.keys.endMade}</button>`}</div>` : nothing}
      ${usage(d)}
      ${timeline(text.usage.life, [
        { label: text.created, at: k.createdAt },
        ...(k.expiresAt ? [{ label: k.rotatedTo ? text.keys.ends : text.keys.expires, at: k.expiresAt }] : []),
        ...(k.revokedAt ? [{ label: text.keys.revokedAt, at: k.revokedAt }] : []),
      ], { label: text.usage.now, at: Date.now() })}
      ${facts([
        [text.id, code(k.id)],
        ...(k.locator ? [[text.keys.locator, html`${code(k.locator)} ${copyButton(k.locator, text.keys.copyLocator)}`]] as [string, unknown][] : []),
        [text.app, given(this.person.appName(this.org, k.appId))],
        [text.created, html`${time(k.createdAt)} ${text.keys.by} ${this.#maker(k)}`],
        [text.keys.lastUsed, ago(k.lastUsedAt, text.keys.neverUsed)],
        [text.keys.expires, time(k.expiresAt, text.keys.never)],
        ...(k.revokedAt ? [[text.keys.revokedAt, time(k.revokedAt)]] as [string, unknown][] : []),
        ...(k.rotatedTo ? [[text.keys.rotatedTo, code(k.rotatedTo)]] as [string, unknown][] : []),
        [text.keys.scopes, this.#scopes(k)],
        [text.keys.limits, limitsText(k.limits) || text.none],
        [text.keys.ceilings, k.ceilings.length
          ? html`${limitsText(k.ceilings)} <span class="faint">${text.keys.ceilingsHelp}</span>` : text.none],
        [text.keys.metadata, Object.keys(k.metadata).length ? html`<pre tabindex="0">${json(k.metadata)}</pre>` : text.none],
      ])}`)
  }

  #label(k: Key) { return html`<strong>${k.name ? given(k.name) : text.keys.unnamed}</strong> <code>${k.keyPrefix}…</code>` }

  #scopes(k: Key) {
    return k.scopes.length ? html`<span class="chips">${k.scopes.map(s => html`<code>${s}</code>`)}</span>` : none
  }

  #badge(k: Key) {
    const status = this.#status(k)
    const soon = isGood(k) && k.expiresAt && k.expiresAt - Date.now() <= week
    return html`${badge(status)}${k.leakedAt ? html` ${badge(text.keys.leaked, 'bad')}` : nothing}${soon ? html`<lk-left class="sub" .until=${k.expiresAt}></lk-left>` : nothing}`
  }

  override render() {
    const create = this.isAdmin ? html`<button class="primary" @click=${this.#create}>${text.keys.create}</button>` : nothing
    const filters = html`<div class="filters">
      ${input({ label: text.keys.search, name: 'search', type: 'search', typed: v => {
        this.#words = v.toLowerCase().split(/\s+/)
        this.requestUpdate()
      } })}
      ${select({ label: text.keys.use, name: 'use', options: [['', text.keys.anyUse], ['90', text.keys.unused]], change: v => {
        this.#unused = v !== ''
        this.requestUpdate()
      } })}</div>`
    const shown = this.#keys.items.filter(k => this.#isShown(k))
    return html`
      ${head(text.keys.title, text.keys.about, this.#keys.items.length ? create : nothing)}
      ${this.#keys.view(() => html`${filters}${shown.length ? nothing : html`<p class="note">${text.keys.noneShown}</p>`}${table<Key>(text.keys.title, [
        { label: text.keys.key, kind: 'main', cell: k => html`
          <button class="link" @click=${() => this.#details(k)}>${k.name ? given(k.name) : text.keys.unnamed}</button>
          <div class="sub"><code>${k.keyPrefix}…</code> · ${given(this.person.appName(this.org, k.appId))}</div>
          <div class="sub">${text.created} ${time(k.createdAt)} ${text.keys.by} ${this.#maker(k)}</div>` },
        { label: text.keys.scopes, cell: k => this.#scopes(k) },
        { label: text.keys.lastUsed, cell: k => ago(k.lastUsedAt, text.keys.neverUsed) },
        { label: text.keys.expires, cell: k => time(k.expiresAt, text.keys.never) },
        { label: text.status, cell: k => this.#badge(k) },
        { label: text.actions, kind: 'actions', cell: k => this.isAdmin && isGood(k) ? html`
          ${this.#rotatable(k) ? html`<button @click=${() => this.#rotate(k)}>${text.keys.rotate}</button>` : nothing}
          <button class="danger-text" @click=${() => this.#revoke(k)}>${text.keys.revoke}</button>` : nothing },
      ], shown)}`, empty(text.keys.none, this.isAdmin ? text.keys.noneAbout : text.keys.noneMember, create,
        this.isAdmin ? curl('app/get') : ''))}`
  }
}
customElements.define('lk-keys', KeysPage)
