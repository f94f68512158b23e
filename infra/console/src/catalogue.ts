// The owner's catalogue of scopes and event types. Forms offer them as choices. Without a catalogue, forms have only a field for words.
import { html, nothing } from 'lit'
import { Problem, send } from './api'
import { console_ } from './context'
import type { Dialog } from './dialog'
import { input, split, words } from './fields'
import type { Entered } from './kept'
import { text } from './texts'
import { given, visible } from './ui'

export interface Choice { name: string; description: string }
export interface Catalogue { scopes: Choice[]; events: { type: string; description: string; example?: unknown }[] }

// readCatalogue reads the catalogue. A page calls it when the page is shown, so that its forms open at once. null: there is no
// catalogue, or it cannot be read in time.
export async function readCatalogue(): Promise<Catalogue | null> {
  const answer = await send(new URL('catalogue.json', console_.base), { credentials: 'omit', redirect: 'error', signal: AbortSignal.timeout(3000) })
  return answer instanceof Problem ? null : answer as Catalogue
}

// isSent reports whether a word of an endpoint's form, such as link.*, matches a type of event that exists.
export function isSent(word: string, catalogue: Catalogue): boolean {
  const types = [...EVENT_TYPES, ...catalogue.events.map(e => e.type)]
  return word === '*' || (word.endsWith('.*') ? types.some(t => t.startsWith(word.slice(0, -1))) : types.includes(word))
}

interface Field { label: string; help: string; placeholder?: string; value?: string }

// inOrder returns names: first those in order, in that order, and then the rest. A name may be there twice.
function inOrder(order: string[], names: string[]): string[] {
  const rest = [...names]
  const first = order.filter(n => rest.includes(n) && rest.splice(rest.indexOf(n), 1))
  return [...first, ...rest]
}

// Choices are a part of a form: a checkbox for each name in the catalogue, and a field for other words.
export class Choices {
  #typed: string[]
  #order: string // the name of a hidden field: the words of the kept form, in the order of its request

  // The form shows a warning for each typed word that is not known.
  constructor(private name: string, private offered: Choice[], private chosen: string[], private isKnown: (word: string) => boolean) {
    this.#typed = chosen.filter(w => !offered.some(o => o.name === w))
    this.#order = `${name}-order`
  }

  // restore returns the fields of a kept form for fill. A ticked name that is not offered now becomes a word of the field for other words,
  // before the typed words as in the list of the sent form. A hidden field keeps the order of all words: with a part of the ticked
  // names offered, of would return another order, and the repeat of a request would be another request.
  restore(fields: Entered['fields']): Entered['fields'] {
    const box = `${this.name}:`
    const of = (name: string) => fields.filter(([n]) => n === name).flatMap(([, value]) => split(value))
    const ticked = fields.map(([name]) => name).filter(n => n.startsWith(box)).map(n => n.slice(box.length))
    const typed = of(this.name)
    this.#typed = [...ticked.filter(n => !this.offered.some(o => o.name === n)), ...typed]
    const order = inOrder(of(this.#order), [...ticked, ...typed])
    return [...fields.filter(([name]) => name !== this.name && name !== this.#order), [this.name, this.#typed.join(' ')], [this.#order, order.join(' ')]]
  }

  of(data: FormData): string[] {
    const ticked = this.offered.map(o => o.name).filter(n => data.has(`${this.name}:${n}`))
    return inOrder(words(data, this.#order), [...ticked, ...words(data, this.name)])
  }

  view(d: Dialog, f: Field, warning: string): unknown {
    const unknown = this.#typed.filter(w => !this.isKnown(w))
    return html`
      <input type="hidden" name=${this.#order}>
      ${this.offered.length ? html`<fieldset class="choices"><legend>${f.label}</legend>${this.offered.map(o => html`
        <div class="check"><input type="checkbox" id="f-${this.name}:${o.name}" name="${this.name}:${o.name}" ?checked=${this.chosen.includes(o.name)}>
          <div><label for="f-${this.name}:${o.name}"><code>${visible(o.name)}</code></label><p class="help">${given(o.description)}</p></div>
        </div>`)}</fieldset>` : nothing}
      ${input({
        ...f, label: this.offered.length ? text.catalogue.other : f.label, name: this.name, value: this.#typed.join(' '), typed: value => {
          this.#typed = split(value)
          d.requestUpdate()
        },
      })}
      ${unknown.length ? html`<p class="note">${warning}: ${visible(unknown.join(', '))}</p>` : nothing}`
  }
}
