// Dialogs and drawers. Only the closure that draws a dialog has the dialog's data, and the closure is dropped when the dialog closes.
import { html, LitElement, nothing } from 'lit'
import { Problem } from './api'
import type { Choices } from './catalogue'
import { console_, type Person } from './context'
import type { Pairs } from './fields'
import { type Entered, entered, fill, takeEntered } from './kept'
import { text } from './texts'
import { announce, icon, isOutdated, isRefusal, problem } from './ui'

interface Options {
  title: string
  drawer?: boolean
  at?: string // the path of its content in the page's URL, after #/orgs/
  secret?: boolean // it shows a text that is never shown again, so only its own buttons close it
}

export class Dialog extends LitElement {
  options: Options = { title: '' }
  content: ((d: Dialog) => unknown) | null = null
  person: Person | null = null // for whom it acts
  keep = '' // the name of its form, if the form's fields are kept during a sign-in
  isTyped = false // the person has entered something
  isBusy = false // its request is pending
  isUnsure = false // its request may have succeeded, because no answer refused it
  #opener = focused()
  #announcement = ''
  #hashBefore = '' // the hash of the URL before it opened
  // Elements outside a modal dialog are inert, so the dialog shows announcements itself.
  #onAnnounce = (e: Event) => { this.#announcement = (e as CustomEvent<string>).detail; this.requestUpdate() }
  #beforeUnload = (e: Event) => { if (!isLeaving) e.preventDefault() }

  // isHeld reports whether closing the dialog would lose something. Then Escape does not close it, and Back asks first.
  get isHeld() { return this.options.secret || this.isTyped || this.isBusy }

  override createRenderRoot() { return this }

  override connectedCallback() {
    super.connectedCallback()
    open.add(this)
    window.addEventListener('lk-announce', this.#onAnnounce)
    if (!this.options.at || console_.isEmbedded) return
    const [hash, orgs, org, page, app] = location.hash.split('/')
    this.#hashBefore = location.hash === `#/orgs/${this.options.at}` ? [hash, orgs, org, page, ...(app ? [app] : [])].join('/') : location.hash
    history.replaceState(null, '', `#/orgs/${this.options.at}`)
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    open.delete(this)
    window.removeEventListener('lk-announce', this.#onAnnounce)
    window.removeEventListener('beforeunload', this.#beforeUnload)
  }

  override firstUpdated() {
    this.querySelector('dialog')?.showModal()
    const first = this.querySelector<HTMLElement>('form input:not([type=hidden]), form select, .first') ?? this.querySelector('h2')
    first?.focus()
  }

  override updated() {
    if (this.isHeld) window.addEventListener('beforeunload', this.#beforeUnload)
    else window.removeEventListener('beforeunload', this.#beforeUnload)
  }

  close() {
    this.querySelector('dialog')?.close()
    this.#closed() // not only by the close event, which comes later: the content may be a secret
  }

  typed() {
    this.isTyped = true
    this.requestUpdate()
  }

  #refuse(e: Event) {
    if (!this.isHeld) return
    e.preventDefault()
    announce(this.options.secret ? text.held.secret : text.held.form)
  }

  #key(e: KeyboardEvent) { if (e.key === 'Escape') this.#refuse(e) }

  // A browser may close a dialog although its cancel event was prevented: Chromium does so at the second Escape.
  #closedByBrowser() {
    if (this.isHeld && this.content) this.querySelector('dialog')?.showModal()
    else this.#closed()
  }

  #click(e: Event) { if (this.options.drawer && e.target === e.currentTarget) this.close() } // outside the drawer

  #closed() {
    if (!this.content) return
    this.content = null
    this.remove()
    if (this.#hashBefore && location.hash === `#/orgs/${this.options.at}`) history.replaceState(null, '', this.#hashBefore)
    for (const go of waiting.splice(0)) go()
    if (this.#opener?.isConnected) (this.#opener as HTMLElement).focus()
    else if (!document.querySelector('lk-dialog')) document.querySelector('h1')?.focus()
  }

  override render() {
    const { title, drawer, secret } = this.options
    return html`
      <dialog class=${drawer ? 'drawer' : 'modal'} aria-labelledby="dialog-title" closedby=${this.isHeld ? 'none' : 'closerequest'}
        @close=${this.#closedByBrowser} @cancel=${this.#refuse} @keydown=${this.#key} @input=${this.typed} @click=${this.#click}>
        <div class="dialog-body">
          <div class="dialog-head">
            <h2 id="dialog-title" tabindex="-1">${title}</h2>
            ${secret ? nothing : html`
              <button class="plain" aria-label=${text.close} @click=${this.close}>${icon('close')}</button>`}
          </div>
          ${this.content?.(this)}
          <div class="said" role="status" aria-live="polite">${this.#announcement ? html`<p>${this.#announcement}</p>` : nothing}</div>
        </div>
      </dialog>`
  }
}
customElements.define('lk-dialog', Dialog)

// focused returns the element with the focus, also inside an embedded element.
function focused(): Element | null {
  let at = document.activeElement
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  return at
}

// shownId returns the id in the page's URL for which a drawer opens.
export const shownId = () => console_.isEmbedded ? '' : location.hash.split('/')[5] ?? ''

const open = new Set<Dialog>()
const dialogs = () => [...open]

// closeAll closes the dialogs of a person, or all.
export function closeAll(of?: Person) {
  for (const d of dialogs()) if (!of || d.person === of) d.close()
}

// mayLeave reports whether the page may change. If that would lose something in a dialog, mayLeave asks the person.
export function mayLeave(): boolean {
  const held = dialogs().filter(d => d.isHeld)
  if (held.length === 0) return true
  return confirm(held.some(d => d.options.secret) ? text.held.leaveSecret : text.held.leaveForm)
}

let isLeaving = false // the page goes to the issuer, so the browser must not ask
let waiting: (() => void)[] = []

// leave waits until no secret is shown, and then prepares to go to the issuer. It returns the fields of the open form if they are
// kept, and whether a form is open.
export async function leave(): Promise<{ form: Entered | null; isOpen: boolean }> {
  while (dialogs().some(d => d.options.secret)) await new Promise<void>(go => waiting.push(go))
  isLeaving = true
  const withForm = dialogs().find(d => d.querySelector('form'))
  return { form: withForm?.keep ? entered(withForm.keep, withForm.querySelector('form')!, withForm.isUnsure) : null, isOpen: Boolean(withForm) }
}

export function openDialog(person: Person, options: Options, content: (d: Dialog) => unknown): Dialog {
  const d = new Dialog()
  d.options = options
  d.content = content
  d.person = person
  if (!person.api.hasEnded) person.home.appendChild(d)
  return d
}

// follower returns a function that reads what a drawer shows, up to that many times with 1.5 s between, while the drawer is open and
// show returns true. Of several readings only the newest counts, so a late answer never replaces a newer one, and its caller waits for
// the newest.
export function follower<T>(drawer: () => Dialog, read: () => Promise<T>, show: (answer: T | null, error: unknown) => boolean) {
  let turn = 0
  let newest: Promise<void>
  const reading = async (mine: number, turns: number): Promise<void> => {
    const [answer, error] = await read().then(a => [a, null] as const, (e: unknown) => [null, e] as const)
    if (mine !== turn) return newest
    const goesOn = show(answer, error)
    drawer().requestUpdate()
    if (goesOn && turns > 1) setTimeout(() => { if (mine === turn && drawer().isConnected) void follow(turns - 1) }, 1500)
  }
  const follow = (turns: number): Promise<void> => newest = reading(++turn, turns)
  return follow
}

interface Form<T> {
  title: string
  intro?: unknown
  fields?: (d: Dialog) => unknown
  pairs?: Pairs // if the fields have some
  choices?: Choices // the same
  keep?: string // the path that the form calls, if its fields are kept during a sign-in
  submit: string
  danger?: boolean
  ends?: boolean // it deletes something: after a try without an answer, a 404 means that the deletion is done
  run: (data: FormData) => Promise<T> // only writes: when run has succeeded, the form has succeeded
  done?: (made: T) => unknown // runs after a success: shows the result, and reads again what list does not have
  list?: { load(): Promise<void> } // read again after a success, and after a refusal that tells of another change. load never fails
}

// openForm shows a form, and calls run when the person sends it. If run fails, the form shows the problem. If run succeeds, the form
// closes, and done is called. If done fails, another dialog shows that only the reading failed, and can call done again.
export function openForm<T>(person: Person, form: Form<T>): Dialog {
  let error: unknown = null
  const once = crypto.randomUUID()
  const kept = takeEntered(form.keep)
  if (kept) {
    form.pairs?.restore(kept.fields)
    kept.fields = form.choices?.restore(kept.fields) ?? kept.fields
  }
  const show = async (made: T): Promise<void> => {
    try {
      await Promise.all([form.done?.(made), form.list?.load()])
    } catch (failure) {
      openDialog(person, { title: text.doneNotRead }, d => problem(failure, () => { d.close(); void show(made) }))
    }
  }
  const dialog = openDialog(person, { title: form.title }, d => {
    const submit = async (e: SubmitEvent) => {
      e.preventDefault()
      if (d.isBusy) return
      d.isBusy = true
      error = null
      d.requestUpdate()
      let made: T | undefined
      try {
        made = await form.run(new FormData(e.target as HTMLFormElement))
      } catch (failure) {
        const isGone = failure instanceof Problem && failure.body.status === 404
        if (!(form.ends && d.isUnsure && isGone)) {
          error = failure
          if (isOutdated(failure)) void form.list?.load()
          d.isUnsure ||= !isRefusal(failure)
          d.isBusy = false
          return d.requestUpdate()
        }
      }
      d.close()
      await show(made as T)
    }
    return html`
      <form @submit=${submit}>
        <input type="hidden" name="once" .value=${once}>
        ${kept ? html`<p class="note">${kept.isUnsure ? text.signIn.filledUnsure : text.signIn.filled}
          ${kept.isPart ? text.signIn.notKept : nothing}</p>` : nothing}
        ${form.intro ? html`<div class="intro">${form.intro}</div>` : nothing}
        ${form.fields?.(d)}
        ${error ? problem(error) : nothing}
        <footer>
          <button type="button" @click=${() => d.close()}>${text.cancel}</button>
          <button class=${form.danger ? 'danger' : 'primary'} ?disabled=${d.isBusy}>${d.isBusy ? text.working : form.submit}</button>
        </footer>
      </form>`
  })
  dialog.keep = form.keep ?? ''
  if (kept) {
    dialog.isTyped = true
    dialog.isUnsure = kept.isUnsure
    void dialog.updateComplete.then(() => fill(dialog.querySelector('form')!, kept))
  }
  return dialog
}
