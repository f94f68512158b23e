// A list that loads page by page, and its view.
import { html, LitElement, nothing, type ReactiveControllerHost } from 'lit'
import type { PageOf } from './api'
import { text } from './texts'
import { problem } from './ui'

export class List<T> {
  items: T[] = []
  ready = false
  busy = false
  error: unknown = null
  #cursor: string | undefined
  #failed: string | undefined // the cursor of the page that could not be read
  #turn = 0

  constructor(private host: ReactiveControllerHost, private read: (cursor?: string) => Promise<PageOf<T>>) {}

  get isSettled() { return !this.busy && !this.error }
  get hasMore() { return this.#cursor !== undefined }

  // load reads the first page again. The present items stay until the answer comes.
  load() { return this.#next(undefined) }
  more() { return this.busy ? Promise.resolve() : this.#next(this.#cursor) }

  async #next(cursor: string | undefined) {
    const turn = ++this.#turn
    this.busy = true
    this.error = null
    this.host.requestUpdate()
    try {
      const page = await this.read(cursor)
      if (turn !== this.#turn) return // a later load has started
      this.items = cursor === undefined ? page.items : [...this.items, ...page.items]
      this.#cursor = page.nextCursor
      this.ready = true
    } catch (e) {
      if (turn === this.#turn) [this.error, this.#failed] = [e, cursor]
    }
    if (turn !== this.#turn) return
    this.busy = false
    this.host.requestUpdate()
  }

  // view shows the items, or empty if it is known that there are none. With the label more, the next page loads only by a button with this label.
  view(items: (items: T[]) => unknown, empty: unknown, more = ''): unknown {
    const error = this.error ? problem(this.error, () => this.#next(this.#failed)) : nothing
    if (!this.ready) return this.error ? error : skeleton()
    return html`
      ${this.items.length ? items(this.items) : this.isSettled ? empty : nothing}
      ${error}
      ${!this.hasMore || this.error ? nothing
        : more ? html`<button class="more" ?disabled=${this.busy} @click=${() => this.more()}>${this.busy ? text.loading : more}</button>`
        : html`<lk-more .busy=${this.busy} @more=${() => this.more()}></lk-more>`}`
  }
}

export const skeleton = () => html`
  <div class="skeleton" role="status"><span class="sr">${text.loading}</span><i></i><i></i><i></i></div>`

// More loads the next page when it comes into view, or by its button.
class More extends LitElement {
  static override properties = { busy: { attribute: false } }
  busy = false
  #observer: IntersectionObserver | null = null

  override createRenderRoot() { return this }

  override connectedCallback() {
    super.connectedCallback()
    this.#observer = new IntersectionObserver(seen => { if (seen.some(s => s.isIntersecting)) this.#requestMore() })
  }

  override disconnectedCallback() {
    super.disconnectedCallback()
    this.#observer?.disconnect()
  }

  // After a page has come, the button may still be in view. Observing it again calls the observer in this case.
  override updated() {
    this.#observer?.unobserve(this)
    if (!this.busy) this.#observer?.observe(this)
  }

  #requestMore() { if (!this.busy) this.dispatchEvent(new CustomEvent('more')) }

  override render() {
    return html`<button class="more" ?disabled=${this.busy} @click=${this.#requestMore}>${this.busy ? text.loading : text.more}</button>`
  }
}
customElements.define('lk-more', More)
