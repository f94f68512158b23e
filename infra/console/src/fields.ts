// Fields of forms.
import { html, nothing } from 'lit'
import { text } from './texts'
import type { Dialog } from './dialog'
import type { Limit } from './types'
import { icon } from './ui'

interface Field { label: string; name: string; help?: string }

const wrap = (f: Field, control: unknown) => html`
  <div class="field">
    <label for="f-${f.name}">${f.label}</label>
    ${control}
    ${f.help ? html`<p class="help" id="h-${f.name}">${f.help}</p>` : nothing}
  </div>`

const describedBy = (f: Field) => f.help ? `h-${f.name}` : nothing

export const input = (f: Field & {
  type?: string; value?: string; required?: boolean; max?: number; pattern?: string; placeholder?: string
  typed?: (value: string) => void; change?: (value: string) => void // typed: at each letter; change: when the value is complete
}) => wrap(f, html`
  <input id="f-${f.name}" @input=${(e: Event) => f.typed?.((e.target as HTMLInputElement).value)} name=${f.name} type=${f.type ?? 'text'} .defaultValue=${f.value ?? ''} ?required=${f.required}
    maxlength=${f.max ?? nothing} pattern=${f.pattern ?? nothing} placeholder=${f.placeholder ?? nothing}
    autocomplete="off" spellcheck="false" aria-describedby=${describedBy(f)}
    @change=${(e: Event) => f.change?.((e.target as HTMLInputElement).value)}>`)

export const select = (f: Field & {
  options: readonly (readonly [string, string])[]; value?: string; change?: (value: string) => void
}) => wrap(f, html`
  <select id="f-${f.name}" name=${f.name} aria-describedby=${describedBy(f)}
    @change=${(e: Event) => f.change?.((e.target as HTMLSelectElement).value)}>
    ${f.options.map(([value, label]) => html`<option value=${value} .selected=${value === f.value}>${label}</option>`)}
  </select>`)

export const check = (name: string, label: unknown, help: unknown) => html`
  <div class="check">
    <input type="checkbox" id="f-${name}" name=${name} aria-describedby="h-${name}">
    <div><label for="f-${name}">${label}</label><p class="help" id="h-${name}">${help}</p></div>
  </div>`

const windows = ['minute', 'hour', 'day', 'month']

// limitFields draws a number for each length of window. An empty field is no limit.
export const limitFields = (limits: Limit[]) => html`
  <fieldset>
    <legend>${text.keys.limits}</legend>
    <div class="four">${windows.map(per => html`
      <div class="field">
        <label for="f-limit-${per}">${text.keys.per(per)}</label>
        <input id="f-limit-${per}" name="limit-${per}" type="number" min="1" max="1000000000" inputmode="numeric"
          .defaultValue=${String(limits.find(l => l.per === per)?.requests ?? '')} aria-describedby="h-limits">
      </div>`)}
    </div>
    <p class="help" id="h-limits">${text.keys.limitsHelp}</p>
  </fieldset>`

export const limitsOf = (data: FormData): Limit[] =>
  windows.map(per => ({ requests: Number(data.get(`limit-${per}`)), per })).filter(l => l.requests > 0)

// canonical returns a value as JSON, in the same order of items and members for equal values.
function canonical(v: unknown): string {
  if (typeof v !== 'object' || v === null) return JSON.stringify(v)
  const items = Array.isArray(v) ? v.map(canonical) : Object.entries(v).map(([name, member]) => `${canonical(name)}:${canonical(member)}`)
  return `[${items.sort().join()}]`
}

// changed returns the members of now that differ from before, in any order of their items.
export const changed = <T extends object>(before: T, now: T): Partial<T> => Object.fromEntries(
  Object.entries(now).filter(([name, value]) => canonical(value) !== canonical(before[name as keyof T]))) as Partial<T>

export const split = (typed: string) => typed.split(/[\s,]+/).filter(Boolean)
export const words = (data: FormData, name: string) => split(String(data.get(name) ?? ''))
export const line = (data: FormData, name: string) => String(data.get(name) ?? '').trim()

// Pairs are the metadata of a key while a form edits them.
export class Pairs {
  #rows: [string, string][]
  #mayBeUnnamed: boolean // a service gave the key a value with the name ''

  constructor(metadata: Record<string, string>) {
    this.#rows = Object.entries(metadata)
    this.#mayBeUnnamed = '' in metadata
  }

  // restore sets the rows from the fields of a kept form.
  restore(fields: [name: string, value: string][]) {
    const of = (field: string) => fields.filter(([name]) => name === field).map(([, value]) => value)
    const values = of('pair-value')
    this.#rows = of('pair-name').map((name, i) => [name, values[i] ?? ''])
  }

  value(): Record<string, string> {
    return Object.fromEntries(this.#rows.filter(([name, value]) => name !== '' || this.#mayBeUnnamed && value !== ''))
  }

  view(d: Dialog): unknown {
    const set = (row: [string, string], at: 0 | 1) => (e: Event) => { row[at] = (e.target as HTMLTextAreaElement).value }
    const remove = (row: [string, string]) => {
      this.#rows = this.#rows.filter(r => r !== row)
      d.typed()
    }
    const add = async () => {
      this.#rows.push(['', ''])
      d.requestUpdate()
      await d.updateComplete
      d.querySelector<HTMLElement>('.pair:last-of-type input')?.focus()
    }
    return html`
      <fieldset>
        <legend>${text.keys.metadata}</legend>
        ${this.#rows.map(row => html`
          <div class="pair">
            <input name="pair-name" aria-label=${text.keys.metadataName} placeholder=${text.keys.metadataName} .value=${row[0]} @input=${set(row, 0)}>
            <textarea name="pair-value" rows="1" aria-label=${text.keys.metadataValue} placeholder=${text.keys.metadataValue} .value=${row[1]}
              @input=${set(row, 1)}></textarea>
            <button type="button" class="plain" aria-label=${text.remove} @click=${() => remove(row)}>${icon('close')}</button>
          </div>`)}
        <button type="button" class="small-button" @click=${add}>${text.keys.metadataAdd}</button>
        <p class="help">${text.keys.metadataHelp}</p>
      </fieldset>`
  }
}
