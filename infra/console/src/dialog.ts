// Dialogs and drawers. What a dialog shows lives in the closure that draws it, and leaves with it.
import { html, LitElement, nothing } from 'lit'
import { Problem } from './api'
import { console_, type Person } from './context'
import type { Pairs } from './fields'
import { type Entered, entered, fill, takeEntered } from './kept'
import { text } from './texts'
import { announce, icon, isRefusal, problem } from './ui'

interface Options {
  title: string
  drawer?: boolean
  at?: string // names what it shows, in the URL of the page below #/orgs/
  secret?: boolean // it shows what is never shown again: only its own buttons close it
}

export class Dialog extends LitElement {
  options: Options = { title: '' }
  content: ((d: Dialog) => unknown) | null = null
  person: Person | null = null // whom it acts for
  keep = '' // names its form, whose fields are kept over a sign-in
  isTyped = false // it has a form with contents of the person
  isBusy = false // what it sends is under way
  isUnsure = false // what it sent may have been done, for no answer said that it was not
  #opener = focused()
  #said = ''
  #under = '' // the hash of the URL before it opened
  // What is outside a modal dialog is inert, so the dialog repeats what is announced meanwhile.
  #hear = (e: Event) => { this.#said = (e as CustomEvent<string>).detail; this.requestUpdate() }
  #beforeUnload = (e: Event) => { if (!isLeaving) e.preventDefault() }

  // isHeld reports whether something would be lost with the dialog. Then neither Escape nor Back closes it without a question.
  get isHeld() { return this.options.secret || this.isTyped || this.isBusy }

  override createRenderRoot() { return this }

  override connectedCallback() {
    super.connectedCallback()
    open.add(this)
    window.addEventListener('lk-announce', this.#hear)
    if (!this.options.at || console_.isEmbedded) return
    const [hash, orgs, org, page, app] = location.hash.split('/')
    this.#under = location.hash === `#/orgs/${this.options.at}` ? [hash, orgs, org, page, ...(app ? [app] : [])].join('/') : location.hash
    history.replaceState(null, '', `#/orgs/${this.options.at}`)
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    open.delete(this)
    window.removeEventListener('lk-announce', this.#hear)
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
    this.#closed() // at once: the event comes later, and what is shown may be a secret
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

  #click(e: Event) { if (this.options.drawer && e.target === e.currentTarget) this.close() } // beside the drawer

  #closed() {
    if (!this.content) return
    this.content = null
    this.remove()
    if (this.#under && location.hash === `#/orgs/${this.options.at}`) history.replaceState(null, '', this.#under)
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
          <div class="said" role="status" aria-live="polite">${this.#said ? html`<p>${this.#said}</p>` : nothing}</div>
        </div>
      </dialog>`
  }
}
customElements.define('lk-dialog', Dialog)

// focused is the element with the focus, also inside an element that is embedded.
function focused(): Element | null {
  let at = document.activeElement
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  return at
}

// shownId is the id of what a drawer is to show, by the URL of the page.
export const shownId = () => console_.isEmbedded ? '' : location.hash.split('/')[5] ?? ''

const open = new Set<Dialog>()
const dialogs = () => [...open]

// closeAll closes the dialogs of a person, or all.
export function closeAll(of?: Person) {
  for (const d of dialogs()) if (!of || d.person === of) d.close()
}

// mayLeave asks before something is lost with a dialog.
export function mayLeave(): boolean {
  const held = dialogs().filter(d => d.isHeld)
  if (held.length === 0) return true
  return confirm(held.some(d => d.options.secret) ? text.held.leaveSecret : text.held.leaveForm)
}

let isLeaving = false // the page goes to the issuer, and the browser has nothing to ask
let waiting: (() => void)[] = []

// leave prepares to go to the issuer, once nothing is shown that is shown once. It returns the fields of the open form, if they
// are to be kept, and whether a form is open.
export async function leave(): Promise<{ form: Entered | null; isOpen: boolean }> {
  while (dialogs().some(d => d.options.secret)) await new Promise<void>(go => waiting.push(go))
  isLeaving = true
  const asking = dialogs().find(d => d.querySelector('form'))
  return { form: asking?.keep ? entered(asking.keep, asking.querySelector('form')!, asking.isUnsure) : null, isOpen: Boolean(asking) }
}

export function openDialog(person: Person, options: Options, content: (d: Dialog) => unknown): Dialog {
  const d = new Dialog()
  d.options = options
  d.content = content
  d.person = person
  if (!person.api.hasEnded) person.home.appendChild(d)
  return d
}

interface Form<T> {
  title: string
  intro?: unknown
  fields?: (d: Dialog) => unknown
  pairs?: Pairs // among the fields
  keep?: string // names the form, by the path that it calls: its fields are kept over a sign-in
  submit: string
  danger?: boolean
  ends?: boolean // it ends something: after a try without an answer, a 404 means that it is done
  run: (data: FormData) => Promise<T> // what it writes, and nothing more: the form is done when this has succeeded
  done?: (made: T) => unknown // what follows: it shows what was made, and reads lists anew
}

// openForm asks for something and does it. It closes when run succeeds, and shows the problem when not. A failure of done says
// that the reading failed, not the form.
export function openForm<T>(person: Person, form: Form<T>): Dialog {
  let error: unknown = null
  const once = crypto.randomUUID()
  const kept = takeEntered(form.keep)
  if (kept) form.pairs?.restore(kept.fields)
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
          d.isUnsure ||= !isRefusal(failure)
          d.isBusy = false
          return d.requestUpdate()
        }
      }
      d.close()
      try {
        await form.done?.(made as T)
      } catch (failure) {
        openDialog(person, { title: text.doneNotRead }, () => problem(failure))
      }
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
