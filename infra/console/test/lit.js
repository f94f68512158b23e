// Replaces lit. An element keeps its drawn HTML as text, and its listeners and property values in the list held. Tests read the text
// and call the listeners.
export const nothing = Symbol('nothing')
export const html = (strings, ...values) => ({ strings, values })
export const svg = html
export const css = () => ''
export const unsafeCSS = css
export const adoptStyles = css
export const keyed = (key, template) => html`<keyed key=${key}>${template}</keyed>`

export class LitElement extends HTMLElement {
  isConnected = false
  drawn = '' // HTML; each listener or property value is written as its index in held
  held = []
  entered = {} // the values of fields that a test entered, by field name
  picked = {} // the values of selects that a test chose, by name or id
  updateComplete = Promise.resolve()
  #drawing = false
  shadowRoot = null
  style = Object.assign(new Map(), { setProperty(name, value) { this.set(name, value) } })
  requestUpdate() {
    if (this.#drawing) return
    this.#drawing = true
    this.updateComplete = this.updateComplete.then(() => {
      this.#drawing = false
      this.held = []
      this.drawn = raw(this.render(), this.held)
      this.updated?.()
    })
  }
  connectedCallback() {
    this.isConnected = true
    this.requestUpdate()
  }
  disconnectedCallback() { this.isConnected = false }
  remove() { this.disconnectedCallback() }
  getAttribute() { return null }
  querySelector(what) { return what === 'form' && this.drawn.includes('<form') ? { elements: controls(this) } : null }
}

// escaped escapes a text for HTML, and plain removes the escapes.
const escaped = s => String(s).replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const plain = s => s.replaceAll('&gt;', '>').replaceAll('&lt;', '<').replaceAll('&quot;', '"').replaceAll('&amp;', '&')

// raw returns the HTML of a template, and adds its listeners and property values to held.
function raw(t, held) {
  if (t === nothing || t === null || t === undefined) return ''
  if (Array.isArray(t)) return t.map(o => raw(o, held)).join('')
  if (!t.strings) return escaped(t)
  let out = ''
  t.strings.forEach((s, i) => {
    out += s
    if (i === t.values.length) return
    const v = t.values[i]
    const value = typeof v === 'function' || typeof v === 'object' && v !== null ? held.push(v) - 1 : v === nothing ? '' : v
    if (/[\w-]=$/.test(s)) out += `"${escaped(value)}"`
    else out += out.lastIndexOf('<') > out.lastIndexOf('>') ? escaped(value) : raw(v, held)
  })
  return out
}

// text returns the text of an element's HTML, without tags.
export const text = drawn => plain(drawn.replace(/<[^>]*>/g, ' ')).replace(/\s+/g, ' ').trim()
const attribute = (tag, name) => {
  const at = tag.match(new RegExp(`\\s${name.replace(/[.?]/, '\\$&')}="([^"]*)"`))
  return at && plain(at[1])
}

globalThis.HTMLSelectElement = class {}
// controls returns the inputs, text areas and selects of a dialog or page, with their values as in a browser.
function controls(d) {
  const all = [...d.drawn.matchAll(/<(input|textarea|select)([^>]*)>((?:(?!<\/?select)[^])*<\/select>)?/g)]
  return all.map(([, kind, tag, inner]) => {
    const options = [...(inner ?? '').matchAll(/<option([^>]*)>/g)].map(o => ({
      value: attribute(o[1], 'value'), selected: attribute(o[1], '.selected') === 'true', isFirst: attribute(o[1], '?selected') === 'true',
    }))
    // As in a browser, the attribute selected has no effect after a person picked an option. The property has.
    const name = attribute(tag, 'name') ?? attribute(tag, 'id')
    const chosen = options.find(o => o.selected) ?? options.find(o => o.value === d.picked[name]) ?? options.find(o => o.isFirst)
    const first = (chosen ?? options[0])?.value ?? attribute(tag, '.value') ?? attribute(tag, '.defaultValue') ?? ''
    return Object.setPrototypeOf({
      name, options, type: kind === 'select' ? 'select-one' : kind === 'textarea' ? kind : attribute(tag, 'type') ?? 'text',
      get value() { return d.entered[name] ?? first }, set value(v) { d.entered[name] = v },
      get checked() { return name in d.entered ? Boolean(d.entered[name]) : attribute(tag, '?checked') === 'true' }, set checked(v) { d.entered[name] = v ? 'on' : undefined },
    }, kind === 'select' ? HTMLSelectElement.prototype : Object.prototype)
  })
}

const RealFormData = FormData
globalThis.FormData = class extends RealFormData {
  constructor(form) {
    super()
    for (const c of form?.elements ?? []) if (c.type !== 'checkbox' || c.checked) this.append(c.name, c.value)
  }
}

const event = o => ({ preventDefault() {}, currentTarget: null, ...o })

// enter fills fields of a form, and submit sends the form.
export function enter(d, fields) {
  const names = controls(d).map(c => c.name)
  for (const name of Object.keys(fields)) if (!names.includes(name)) throw new Error(`no field ${name} of ${names}`)
  Object.assign(d.entered, fields)
}
export function submit(d, fields = {}) {
  enter(d, fields)
  return d.held[attribute(d.drawn, '@submit')].call(d, event({ target: d.querySelector('form') }))
}

// click clicks the nth button with a label.
export function click(e, label, n = 0) {
  const all = [...e.drawn.matchAll(/<button([^>]*)>([^]*?)<\/button>/g)].filter(b => text(b[2]) === label || attribute(b[1], 'aria-label') === label)
  if (!all[n]) throw new Error(`no button ${label} in ${text(e.drawn)}`)
  if (attribute(all[n][1], '?disabled') === 'true') throw new Error(`${label} is disabled`)
  e.pressed ??= {} // a button stays the same when its page is drawn again
  return e.held[attribute(all[n][1], '@click')].call(e, event({ currentTarget: e.pressed[`${label} ${n}`] ??= { dataset: {}, classList: { add() {}, remove() {} } } }))
}
// buttons returns the labels of all buttons.
export const buttons = e => [...e.drawn.matchAll(/<button[^>]*>([^]*?)<\/button>/g)].map(b => text(b[1]))
// choose selects a value of a select, by the select's name or id.
export function choose(e, name, value) {
  const [, tag] = e.drawn.match(new RegExp(`<select([^>]*\\sname="${name}"[^>]*)>`)) ?? e.drawn.match(new RegExp(`<select([^>]*\\sid="${name}"[^>]*)>`))
  e.picked[name] = value
  return e.held[attribute(tag, '@change')].call(e, event({ target: { value } }))
}
// fire calls the first listener of an event.
export const fire = (e, name) => e.held[attribute(e.drawn, `@${name}`)].call(e, event())
// rows returns the rows of the tables without the head, each as a list of its cells' texts.
export const rows = e => [...e.drawn.matchAll(/<tr role="row">([^]*?)<\/tr>/g)].slice(1).map(r => [...r[1].matchAll(/<td[^>]*>([^]*?)<\/td>/g)].map(c => text(c[1])))
// field returns a control by its name, or by its id if it has none.
export const field = (d, name) => controls(d).find(c => c.name === name)
