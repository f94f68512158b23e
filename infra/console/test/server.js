// An API for the tests of a page. It records the calls, and has a person who makes them.
import { Api } from '../src/api'
import { Person } from '../src/context'

export const calls = [] // the calls since serve, in their order
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
// asked returns the calls of "METHOD path".
export const asked = what => calls.filter(c => c.what === what)
// inTurn returns a route with one answer after the other. The last answer repeats.
export const inTurn = (...all) => call => { const a = all.length > 1 ? all.shift() : all[0]; return typeof a === 'function' ? a(call) : a }
// held returns a promise with a function go, which resolves it.
export const held = () => { let go; const p = new Promise(ok => { go = ok }); return Object.assign(p, { go }) }
// refused is an answer of the API with an error; lost is a failed connection.
export const refused = (status, code = 'refused') => [status, { code, detail: `it is ${code}` }]
export const lost = () => new TypeError('lost')

// settle waits for all pending promises. It does not wait for timers.
export const settle = async () => { for (let i = 0; i < 40; i++) await new Promise(go => setImmediate(go)) }
// until waits until is() returns true.
export const until = async is => { for (let i = 0; !is(); i++) { if (i > 5000) throw new Error(`never: ${is}`); await new Promise(go => setImmediate(go)) } }

// aPerson returns a signed-in person whose org o has these apps.
export const aPerson = (apps = [{ id: 'app', name: 'First', isDefault: true }]) => {
  const session = { startedAt: 0, again: false, token: async () => 'token', renew: async () => false, signIn: async () => {} }
  const p = new Person(new Api(session), () => {})
  p.apps.set('o', apps)
  return p
}
export const org = { id: 'o', name: 'Org', role: 'admin', createdAt: 1, addedBy: null }

// show makes an element of the console, and waits until it is drawn.
export async function show(name, o = {}) {
  const e = Object.assign(new (made.get(name))(), { person: aPerson(), org, appId: 'app', ...o })
  e.connectedCallback()
  await settle()
  return e
}
// opened returns the top dialog; undefined if none is open.
export const opened = () => document.body.children.filter(d => d.isConnected).at(-1)
export const closeDialogs = () => { for (const d of document.body.children) d.remove() }
