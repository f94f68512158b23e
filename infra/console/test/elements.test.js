// Tests of the elements for a page of the owner, without a browser.
import './browser'
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { text } from './lit'
import { asked, calls, closeDialogs, held, inTurn, opened, refused, serve, settle } from './server'
import { console_ } from '../src/context'
import { openDialog } from '../src/dialog'
import '../src/elements'

// token returns an access token of a person. n makes it different from other tokens.
const token = (sub, n = 0) => `h.${Buffer.from(JSON.stringify({ iss: 'i', sub, n })).toString('base64url')}.s`
const orgs = role => ({ orgs: [{ id: 'a', name: 'A', role }, { id: 'b', name: 'B', role }] })
const routes = () => ({
  'GET config.json': { maxKeyDays: 30 }, 'GET orgs': orgs('admin'),
  'GET orgs/a/apps': { apps: [{ id: 'x', name: 'X', isDefault: true }] }, 'GET orgs/b/apps': { apps: [{ id: 'y', name: 'Y', isDefault: true }] },
})
let element
afterEach(() => { closeDialogs(); delete globalThis.fetch })

// given sets attributes and properties of the element, as the owner's page does.
function given(o) {
  const changed = new Map(Object.keys(o).map(k => [k, element[k]]))
  Object.assign(element, o)
  element.willUpdate(changed)
  element.requestUpdate()
}
// keys returns the key of the drawn pages, ORG/APP; an empty list while nothing is drawn.
const keys = () => [...element.drawn.matchAll(/<keyed key="([^"]*)">/g)].map(m => m[1])

test('the settings are read once, and again after a failure', async () => {
  serve({ 'GET config.json': inTurn(refused(500), { maxKeyDays: 45, supportUrl: 'mailto:help@example.com', accent: '#0b7a5c' }) })
  await assert.rejects(console_.readSettings())
  await Promise.all([console_.readSettings(), console_.readSettings()])
  assert.deepEqual([console_.maxKeyDays, asked('GET config.json').length], [45, 2])
})

test('a late answer for an earlier org or person is ignored', async () => {
  for (const next of [{ org: 'b' }, { token: () => token('bob') }, { org: 'b', token: () => token('bob') }]) {
    for (const waits of ['GET orgs', 'GET orgs/a/apps']) {
      const old = held(), r = routes()
      serve({ ...r, [waits]: inTurn(old, r[waits]) })
      element = new (made.get('latchkey-webhooks'))()
      element.connectedCallback()
      given({ org: 'a', token: () => token('ada') })
      await settle()
      assert.deepEqual(keys(), [])
      given(next)
      await settle()
      const want = [next.org ? 'b/y' : 'a/x']
      assert.deepEqual(keys(), want)
      const of = element.held.find(h => h.api)
      old.go(waits === 'GET orgs' ? { orgs: [{ id: 'a', name: 'Old', role: 'viewer' }] } : { apps: [{ id: 'old', name: 'Old' }] })
      await settle()
      assert.deepEqual([keys(), element.held.find(h => h.api) === of], [want, true])
    }
  }
})

test('an error of an outdated read is not shown', async () => {
  const old = held()
  serve({ ...routes(), 'GET orgs': inTurn(old, orgs('admin')) })
  element = new (made.get('latchkey-keys'))()
  element.connectedCallback()
  given({ org: 'a', token: () => token('ada') })
  await settle()
  given({ org: 'b' })
  await settle()
  old.go(refused(500))
  await settle()
  assert.deepEqual(keys(), ['b/y'])
})

// ready shows an element with the token function give. It returns the person for whom the element acts.
async function ready(give, routes_ = routes()) {
  serve(routes_)
  element = new (made.get('latchkey-webhooks'))()
  element.connectedCallback()
  given({ org: 'a', token: give })
  await settle()
  calls.length = 0
  return element.held.find(h => h.api)
}
const bearer = n => `Bearer ${token('ada', n)}`

test('a token of a replaced function is not sent', async () => {
  for (const late of [token('ada', 1), token('bob', 1)]) {
    const old = held()
    const tokens = inTurn(token('ada', 0), token('ada', 0), old) // the first two read the org and its apps
    const person = await ready(() => tokens())
    const read = person.api.get('orgs')
    await settle()
    given({ token: () => token('ada', 2) })
    await settle()
    old.go(late)
    await read
    assert.deepEqual(calls.map(c => [c.what, c.token]), [['GET orgs', bearer(2)]])
    assert.equal(element.held.find(h => h.api), person)
  }
})

test('a fresh token is used for one request', async () => {
  const needs = []
  const person = await ready(need => { needs.push(need); return token('ada', needs.length) }, {
    ...routes(), 'GET x': inTurn(refused(401, 'token_expired'), {}), 'POST x': inTurn([401, { code: 'insufficient_user_authentication', maxAge: 300 }], {}),
  })
  needs.length = 0
  await person.api.get('x')
  await person.api.get('orgs')
  await person.api.post('x', {})
  await person.api.get('orgs')
  assert.deepEqual(needs, [{}, { fresh: true }, {}, {}, { fresh: true, maxAge: 300 }, {}])
  assert.deepEqual(calls.map(c => `${c.what} ${c.token}`), ['GET x', 'GET x', 'GET orgs', 'POST x', 'POST x', 'GET orgs'].map((what, i) => `${what} ${bearer(i + 1)}`))
})

test('a fresh token of a function that was replaced is not used', async () => {
  const person = await ready(need => token('ada', need.fresh ? 1 : 0))
  await person.api.session.renew()
  given({ token: () => token('ada', 2) })
  await settle()
  await person.api.get('orgs')
  assert.deepEqual(calls.map(c => c.token), [bearer(2)])
})

test('only the last token function decides whether the element continues', async () => {
  for (const [late, last, goesOn] of [['bob', 'ada', true], ['ada', 'ada', true], [null, 'ada', true], ['ada', 'bob', false]]) {
    for (const isLastFirst of [true, false]) {
      const person = await ready(() => token('ada'))
      const [slow, next] = [held(), held()]
      openDialog(person, { title: 'open' }, () => 'open')
      given({ token: () => slow })
      given({ token: () => next })
      await settle()
      const ends = [() => slow.go(late ? token(late) : Promise.reject(new Error('no token'))), () => next.go(token(last))]
      for (const end of isLastFirst ? ends.reverse() : ends) { end(); await settle() }
      assert.deepEqual([Boolean(opened()), element.held.find(h => h.api) === person], [goesOn, goesOn], `${late}, then ${last}, ${isLastFirst}`)
      closeDialogs()
    }
  }
})

test('a token of another person is not sent and ends the page of the first', async () => {
  let who = 'ada'
  const first = await ready(() => token('ada'))
  const mine = await ready(() => token(who)) // of a second element
  const [other, own] = [openDialog(first, { title: 'other' }, () => 'other'), openDialog(mine, { title: 'own' }, () => 'own')]
  who = 'bob'
  calls.length = 0
  await assert.rejects(mine.api.delete('orgs/a'), /another person/)
  await settle()
  const next = element.held.find(h => h.api)
  assert.deepEqual([asked('DELETE orgs/a').length, next === mine, mine.api.hasEnded, own.isConnected, keys()], [0, false, true, false, ['a/x']])
  assert.ok(calls.length > 0 && calls.every(c => c.token === `Bearer ${token('bob')}`))
  assert.deepEqual([first.api.hasEnded, other.isConnected], [false, true])
})

test('a late token for an earlier org ends nothing', async () => {
  const late = held()
  const tokens = inTurn(token('ada'), token('ada'), late, token('ada'))
  const person = await ready(() => tokens())
  const read = assert.rejects(person.api.get('orgs'))
  await settle()
  given({ org: 'b' })
  await settle()
  const next = element.held.find(h => h.api)
  late.go(token('bob'))
  await read
  await settle()
  assert.deepEqual([keys(), element.held.find(h => h.api) === next], [['b/y'], true])
})

test('a new org and a new function start the element once', async () => {
  await ready(() => token('ada'))
  const slow = held()
  given({ token: () => slow })
  given({ org: 'b' })
  await settle()
  slow.go(token('bob'))
  await settle()
  assert.deepEqual([keys(), asked('GET orgs').length], [['b/y'], 1])
})

test('an element starts again if the next function may belong to another person', async () => {
  const opaque = await ready(() => 'opaque') // names no person
  given({ token: () => 'opaque' })
  await settle()
  assert.notEqual(element.held.find(h => h.api), opaque)
  await ready(() => token('ada'), { ...routes(), 'GET orgs': inTurn(refused(500), orgs('admin')) })
  assert.deepEqual(keys(), [])
  given({ token: () => token('ada') })
  await settle()
  assert.deepEqual(keys(), ['a/x'])
})

test('without an org or a token an element is empty', async () => {
  for (const gone of [{ org: '' }, { token: undefined }, { org: '', token: undefined }]) {
    const person = await ready(() => token('ada'))
    const d = openDialog(person, { title: 'open' }, () => 'open')
    given(gone)
    await settle()
    assert.deepEqual([keys(), person.api.hasEnded, d.isConnected, calls.length, element.drawn.includes('problem')], [[], true, false, 0, false])
  }
})

test('elements show the members and the use to the right roles', async () => {
  const claims = { iss: 'i', sub: 'ada', email: 'ada@example.com' }
  const ada = () => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`
  for (const [name, page] of [['latchkey-members', 'lk-members'], ['latchkey-usage', 'lk-usage']]) {
    for (const [role, isShown] of [['admin', true], ['member', name === 'latchkey-members'], ['viewer', false]]) {
      serve({ ...routes(), 'GET orgs': orgs(role) })
      element = new (made.get(name))()
      element.connectedCallback()
      given({ org: 'a', token: ada })
      await settle()
      assert.deepEqual([element.drawn.includes(`<${page} `), element.held.find(h => h.api)?.email], [isShown, isShown ? 'ada@example.com' : undefined], `${name} ${role}`)
    }
  }
})

test('an element shows the suspension, the support link and the colour', async () => {
  serve({ ...routes(), 'GET orgs': { orgs: [{ id: 'a', name: 'A', role: 'admin', suspendedAt: Date.UTC(2026, 0, 2) }] } })
  element = new (made.get('latchkey-keys'))()
  element.connectedCallback()
  given({ org: 'a', token: () => token('ada') })
  await settle()
  assert.match(text(element.drawn), /suspended since 2 Jan 2026/)
  assert.match(element.drawn, /<a href="mailto:help@example.com"/)
  assert.deepEqual([...element.style], [['--accent-of-product', '#0b7a5c']])
})

test('a token that is not a JWT is sent, and marks no member as "you"', async () => {
  for (const claims of ['null', '7', '{"sub":"ada","email":7}']) {
    const odd = `h.${Buffer.from(claims).toString('base64url')}.s`
    const person = await ready(() => odd)
    assert.deepEqual([person.email, element.drawn.includes('<lk-events ')], ['', true], claims)
  }
})
