// Dialogs and drawers. What a dialog shows lives in the closure that draws it, and leaves with it.
import { html, LitElement, nothing } from 'lit'
import { console_ } from './context'
import { text } from './texts'
import { icon, problem } from './ui'

interface Options {
  title: string
  drawer?: boolean
  sticky?: boolean // only its own buttons close it
}

export class Dialog extends LitElement {
  options: Options = { title: '' }
  content: ((d: Dialog) => unknown) | null = null
  #opener = focused()
  #said = ''
  // What is outside a modal dialog is inert, so the dialog repeats what is announced meanwhile.
  #hear = (e: Event) => { this.#said = (e as CustomEvent<string>).detail; this.requestUpdate() }

  override createRenderRoot() { return this }

  override connectedCallback() {
    super.connectedCallback()
    window.addEventListener('lk-announce', this.#hear)
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    window.removeEventListener('lk-announce', this.#hear)
  }

  override firstUpdated() {
    this.querySelector('dialog')?.showModal()
    const first = this.querySelector<HTMLElement>('form input, form select, .first') ?? this.querySelector('h2')
    first?.focus()
  }

  close() {
    this.querySelector('dialog')?.close()
    this.#closed() // at once: the event comes later, and what is shown may be a secret
  }

  #cancel(e: Event) { if (this.options.sticky) e.preventDefault() }

  #click(e: Event) { if (this.options.drawer && e.target === e.currentTarget) this.close() } // beside the drawer

  #closed() {
    if (!this.content) return
    this.content = null
    this.remove()
    if (this.#opener?.isConnected) (this.#opener as HTMLElement).focus()
    else if (!document.querySelector('lk-dialog')) document.querySelector('h1')?.focus()
  }

  override render() {
    const { title, drawer, sticky } = this.options
    return html`
      <dialog class=${drawer ? 'drawer' : 'modal'} aria-labelledby="dialog-title" @close=${this.#closed} @cancel=${this.#cancel}
        @click=${this.#click}>
        <div class="dialog-body">
          <div class="dialog-head">
            <h2 id="dialog-title" tabindex="-1">${title}</h2>
            ${sticky ? nothing : html`
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

export function openDialog(options: Options, content: (d: Dialog) => unknown): Dialog {
  const d = new Dialog()
  d.options = options
  d.content = content
  console_.home.appendChild(d)
  return d
}

interface Form {
  title: string
  intro?: unknown
  fields?: (d: Dialog) => unknown
  submit: string
  danger?: boolean
  run: (data: FormData) => Promise<void>
}

// openForm asks for something and does it. It closes when run succeeds, and shows the problem when not.
export function openForm(form: Form): Dialog {
  let busy = false
  let error: unknown = null
  return openDialog({ title: form.title }, d => {
    const submit = async (e: SubmitEvent) => {
      e.preventDefault()
      if (busy) return
      busy = true
      error = null
      d.requestUpdate()
      try {
        await form.run(new FormData(e.target as HTMLFormElement))
        d.close()
      } catch (failure) {
        error = failure
      }
      busy = false
      d.requestUpdate()
    }
    return html`
      <form @submit=${submit}>
        ${form.intro ? html`<div class="intro">${form.intro}</div>` : nothing}
        ${form.fields?.(d)}
        ${error ? problem(error) : nothing}
        <footer>
          <button type="button" @click=${() => d.close()}>${text.cancel}</button>
          <button class=${form.danger ? 'danger' : 'primary'} ?disabled=${busy}>${busy ? text.working : form.submit}</button>
        </footer>
      </form>`
  })
}
