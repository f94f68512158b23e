// The fields of an open form, kept in sessionStorage while the person signs in again.

// Entered has the fields of a form. form is the path that the form calls. A field that can have a secret is left out.
export interface Entered {
  form: string; fields: [name: string, value: string][]
  isPart: boolean // a field was left out
  isUnsure: boolean // the form was sent, and its request may have succeeded
}
interface Kept { entered: Entered; user: string; at: number }

const key = 'latchkey-form'
const life = 15 * 60_000 // milliseconds
// Fields of other types are not kept. The URL of an endpoint, for example, can have a secret.
const keptTypes = ['text', 'email', 'number', 'checkbox', 'select-one', 'textarea', 'hidden']

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement
const controls = (form: HTMLFormElement) => ([...form.elements] as Control[]).filter(c => c.name)
const isBox = (c: Control): c is HTMLInputElement => c.type === 'checkbox'
const mayKeep = (c: Control) => keptTypes.includes(c.type)

export function entered(name: string, form: HTMLFormElement, isUnsure: boolean): Entered {
  const given = controls(form).filter(c => !isBox(c) || c.checked)
  return {
    form: name, fields: given.filter(mayKeep).map(c => [c.name, c.value]), isPart: given.some(c => c.value && !mayKeep(c)), isUnsure,
  }
}

// fill enters the kept fields. It leaves out the pairs, which the form draws itself, and a field that the kept form did not have: an
// older console may have kept it.
export function fill(form: HTMLFormElement, { fields }: Entered) {
  for (const c of controls(form).filter(c => mayKeep(c) && !c.name.startsWith('pair-'))) {
    const value = fields.find(([name]) => name === c.name)?.[1]
    if (isBox(c)) c.checked = value !== undefined
    else if (value !== undefined && (!(c instanceof HTMLSelectElement) || [...c.options].some(o => o.value === value))) c.value = value
  }
}

let kept: Kept | null = null // the fields that findEntered found after the sign-in
const isFresh = (k: Kept | null): k is Kept => k !== null && k.at <= Date.now() && Date.now() - k.at < life

function read(): Kept | null {
  const stored = JSON.parse(sessionStorage.getItem(key) ?? 'null') as Kept | null
  if (isFresh(stored)) return stored
  sessionStorage.removeItem(key)
  return null
}

// keepEntered stores the fields for a user. Without fields or without a user it only removes stored fields that are too old.
export function keepEntered(entered: Entered | null, user: string) {
  if (entered && user) sessionStorage.setItem(key, JSON.stringify({ entered, user, at: Date.now() } satisfies Kept))
  else read()
}

export function forgetEntered() {
  kept = null
  sessionStorage.removeItem(key)
}

// findEntered takes the stored fields out of the storage. It reports whether they are fields of this user; otherwise they are lost.
export function findEntered(user: string): boolean {
  const stored = read()
  forgetEntered()
  if (stored?.user === user) kept = stored
  return kept !== null
}

// takeEntered returns the kept fields of the form, once.
export function takeEntered(form: string | undefined): Entered | null {
  if (!isFresh(kept) || kept.entered.form !== form) return null
  const { entered } = kept
  kept = null
  return entered
}

// reopen opens the form if it was open before the sign-in.
export function reopen(form: string, open: () => void) {
  if (isFresh(kept) && kept.entered.form === form) open()
}
