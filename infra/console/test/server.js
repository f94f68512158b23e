// An API for one page: what it was asked, and the person who asks.
import { Api } from '../src/api'
import { Person } from '../src/context'

export const calls = []
// serve answers each call by "METHOD path" of routes: a body, [status, body], an error, a promise, or a function of the call that
// returns one of these.
export function serve(routes) {
  calls.length = 0
  globalThis.fetch = async (url, { method = 'GET', body, headers } = {}) => {
    const u = new URL(url)
    const path = u.pathname.split('/v1/')[1] ?? u.pathname.split('/').pop()
    const call = { what: `${method} ${path}`, query: Object.fromEntries(u.searchParams), body: body && JSON.parse(body), token: headers?.Authorization, key: headers?.['Idempotency-Key'] }
    calls.push(call)
    if (!(call.what in routes)) throw new Error(`nothing serves ${call.what}`)
    const route = routes[call.what]
    const answer = await (typeof route === 'function' ? route(call) : route)
    if (answer instanceof Error) throw answer
    const [status, given] = Array.isArray(answer) ? answer : [200, answer]
    return new Response(status === 204 ? null : JSON.stringify(given), { status })
  }
}
export const asked = what => calls.filter(c => c.what === what)
// inTurn gives one answer after the other, the last for all that follow.
export const inTurn = (...all) => call => { const a = all.length > 1 ? all.shift() : all[0]; return typeof a === 'function' ? a(call) : a }
export const held = () => { let go; const p = new Promise(ok => { go = ok }); return Object.assign(p, { go }) }
export const refused = (status, code = 'refused') => [status, { code, detail: `it is ${code}` }]
export const lost = () => new TypeError('lost')

// settle lets everything happen that waits for no timer.
export const settle = async () => { for (let i = 0; i < 40; i++) await new Promise(go => setImmediate(go)) }
export const until = async is => { for (let i = 0; !is(); i++) { if (i > 5000) throw new Error(`never: ${is}`); await new Promise(go => setImmediate(go)) } }

export const aPerson = (apps = [{ id: 'app', name: 'First', isDefault: true }]) => {
  const session = { startedAt: 0, again: false, token: async () => 'token', renew: async () => false, signIn: async () => {} }
  const p = new Person(new Api(session), () => {})
  p.apps.set('o', apps)
  return p
}
export const org = { id: 'o', name: 'Org', role: 'admin', createdAt: 1, addedBy: null }

// show makes an element of the console and draws it.
export async function show(name, o = {}) {
  const e = Object.assign(new (made.get(name))(), { person: aPerson(), org, appId: 'app', ...o })
  e.connectedCallback()
  await settle()
  return e
}
// opened is the dialog that is on top, if one is open.
export const opened = () => document.body.children.filter(d => d.isConnected).at(-1)
export const closeDialogs = () => { for (const d of document.body.children) d.remove() }
