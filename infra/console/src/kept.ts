// The fields of an open form, kept in sessionStorage while the person signs in again.

// Entered are the fields of a form, which is named by the path that it calls. A field that can have a secret is left out.
export interface Entered {
  form: string; fields: [name: string, value: string][]
  isPart: boolean // a field was left out
  isUnsure: boolean // the form was sent, and may have been done
}
interface Kept { entered: Entered; user: string; at: number }

const key = 'latchkey-form'
const life = 15 * 60_000
// What is not of these is not kept: an endpoint's URL, for one, can have a secret in it.
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

// fill enters what was kept, but for the pairs, which the form itself draws.
export function fill(form: HTMLFormElement, { fields }: Entered) {
  for (const c of controls(form).filter(c => mayKeep(c) && !c.name.startsWith('pair-'))) {
    const value = fields.find(([name]) => name === c.name)?.[1]
    if (isBox(c)) c.checked = value !== undefined
    else if (!(c instanceof HTMLSelectElement) || [...c.options].some(o => o.value === value)) c.value = value ?? ''
  }
}

let kept: Kept | null = null // after the sign-in
const isFresh = (k: Kept | null): k is Kept => k !== null && k.at <= Date.now() && Date.now() - k.at < life

function read(): Kept | null {
  const waits = JSON.parse(sessionStorage.getItem(key) ?? 'null') as Kept | null
  if (isFresh(waits)) return waits
  sessionStorage.removeItem(key)
  return null
}

// keepEntered keeps the fields for a user, whom the page must know. Without fields it ends what waited too long for a sign-in.
export function keepEntered(entered: Entered | null, user: string) {
  if (entered && user) sessionStorage.setItem(key, JSON.stringify({ entered, user, at: Date.now() } satisfies Kept))
  else read()
}

export function forgetEntered() {
  kept = null
  sessionStorage.removeItem(key)
}

// findEntered removes from the storage what the user entered before the sign-in, and reports whether there was something.
export function findEntered(user: string): boolean {
  const waits = read()
  forgetEntered()
  if (waits?.user === user) kept = waits
  return kept !== null
}

// takeEntered returns once what was entered in the form.
export function takeEntered(form: string | undefined): Entered | null {
  if (!isFresh(kept) || kept.entered.form !== form) return null
  const { entered } = kept
  kept = null
  return entered
}

// reopen opens the form that was open before the sign-in, if it is this one.
export function reopen(form: string, open: () => void) {
  if (isFresh(kept) && kept.entered.form === form) open()
}
