// Tests of the modules without views, without a browser.
import './browser'
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { Api, curl, Problem, written } from '../src/api'
import { limitsOf, line, Pairs, words } from '../src/fields'
import { findEntered, forgetEntered, keepEntered, reopen, takeEntered } from '../src/kept'
import { List } from '../src/list'

let sent = []
// answers makes fetch give these answers in turn: [status, body], an error to throw, or a promise of one.
function answers(...all) {
  sent = []
  globalThis.fetch = async (url, request) => {
    sent.push({ url: String(url), method: request.method, body: request.body, key: request.headers['Idempotency-Key'], token: request.headers.Authorization })
    const next = await all.shift()
    if (next instanceof Error) throw next
    const [status, body] = next
    return new Response(status === 204 ? null : JSON.stringify(body), { status })
  }
}
const session = (o = {}) => ({ startedAt: 0, again: false, token: async () => 'first', renew: async () => false, signIn: async () => { throw new Error('it signs in') }, ...o })
const form = (fields = {}) => { const f = new FormData(); for (const [k, v] of Object.entries(fields)) f.set(k, v); return f }
const refusal = (code, more = {}) => ({ code, detail: code, ...more })
afterEach(() => { delete globalThis.fetch })

test('a request has only the given parts', async () => {
  const api = new Api(session())
  answers([200, {}], [200, {}], [204], [200, { id: 1 }])
  await api.get('orgs', { limit: 50, cursor: undefined, a: 'x&y' })
  await api.patch('orgs/o', { name: null })
  assert.equal(await api.delete('orgs/o', { links: 'revoke' }), undefined)
  assert.deepEqual(await api.post('orgs/o/x'), { id: 1 })
  assert.deepEqual(sent.map(s => [s.method, s.url, s.body, s.key, s.token]), [
    ['GET', 'https://console.example/stage/v1/orgs?limit=50&a=x%26y', undefined, undefined, 'Bearer first'],
    ['PATCH', 'https://console.example/stage/v1/orgs/o', '{"name":null}', undefined, 'Bearer first'],
    ['DELETE', 'https://console.example/stage/v1/orgs/o?links=revoke', undefined, undefined, 'Bearer first'],
    ['POST', 'https://console.example/stage/v1/orgs/o/x', undefined, undefined, 'Bearer first'],
  ])
})

test('the same form and body have the same Idempotency-Key', async () => {
  const api = new Api(session())
  answers(new TypeError('lost'), [201, {}], [201, {}], [201, {}])
  const data = form({ once: 'random', other: 'one' })
  await assert.rejects(api.create('orgs', { name: 'a' }, data), e => e instanceof Problem && e.body.code === 'unreachable')
  data.set('other', 'two') // not sent
  await api.create('orgs', { name: 'a' }, data)
  await api.create('orgs', { name: 'b' }, data)
  await api.create('orgs', { name: 'a' }, form({ once: 'second' }))
  const [first, again, changed, second] = sent.map(s => s.key)
  assert.equal(first, again)
  assert.equal(new Set([first, changed, second]).size, 3)
  assert.match(first, /^[0-9a-f]{64}$/)
})

test('an expired token is renewed once, and the request is sent again', async () => {
  let token = 'first', renewals = 0
  const api = new Api(session({ token: async () => token, renew: async () => { renewals++; token = 'second'; return true } }))
  answers([401, refusal('token_expired')], [201, { id: 1 }])
  assert.deepEqual(await api.create('orgs', { name: 'a' }, form({ once: 'r' })), { id: 1 })
  assert.deepEqual([sent[0].token, sent[1].token, renewals], ['Bearer first', 'Bearer second', 1])
  assert.deepEqual([sent[0].body, sent[0].key], [sent[1].body, sent[1].key])
  answers([401, refusal('token_invalid')], [401, refusal('token_invalid')])
  await assert.rejects(api.get('orgs'), e => e.body.code === 'token_invalid')
  assert.equal(sent.length, 2)
})

test('a token that cannot be renewed leads to one sign-in', async () => {
  let signIns = 0
  const signIn = async () => { signIns++ }
  answers([401, refusal('token_expired')])
  await assert.rejects(new Api(session({ signIn })).get('orgs'))
  assert.equal(signIns, 1)
  answers([401, refusal('token_expired')])
  await assert.rejects(new Api(session({ signIn, startedAt: Date.now() })).get('orgs'))
  answers([401, refusal('missing_credentials')])
  await assert.rejects(new Api(session({ signIn })).get('orgs'))
  assert.equal(signIns, 1)
})

test('the sign-in uses the max_age of the API, once', async () => {
  const ages = []
  const o = { signIn: async age => { ages.push(age) } }
  answers([401, refusal('insufficient_user_authentication', { maxAge: 300 })], [200, {}])
  await new Api(session(o)).post('orgs/o/keys', {})
  answers([401, refusal('insufficient_user_authentication')], [401, refusal('insufficient_user_authentication')])
  await assert.rejects(new Api(session(o)).post('orgs/o/keys', {}))
  answers([401, refusal('insufficient_user_authentication', { maxAge: 300 })])
  await assert.rejects(new Api(session({ ...o, again: true, startedAt: Date.now() })).post('orgs/o/keys', {}))
  assert.deepEqual(ages, [300, 0])
})

test('an ended token leads to one sign-in with a login prompt', async () => {
  const asked = []
  const o = { signIn: async (...of) => { asked.push(of) } }
  answers([401, refusal('token_ended')], [200, {}])
  await new Api(session(o)).get('orgs')
  answers([401, refusal('token_ended')], [401, refusal('token_ended')])
  await assert.rejects(new Api(session(o)).get('orgs'))
  answers([401, refusal('token_ended')])
  await assert.rejects(new Api(session({ ...o, again: true, startedAt: Date.now() })).get('orgs'))
  answers([401, refusal('user_stopped')])
  await assert.rejects(new Api(session(o)).get('orgs'))
  assert.deepEqual(asked, [[0, true], [0, true]])
})

test('a problem has the status of the HTTP answer', async () => {
  answers([403, { status: 200, code: 'insufficient_role', detail: 'no' }], [502, 'a page'])
  const api = new Api(session())
  await assert.rejects(api.get('orgs'), e => e.body.status === 403 && e.body.code === 'insufficient_role' && e.message === 'no')
  await assert.rejects(api.get('orgs'), e => e.body.status === 502)
})

test('a list is read to its end', async () => {
  answers([200, { keys: [1, 2], nextCursor: 'c/1' }], [200, { keys: [3], nextCursor: 'c2' }], [200, { keys: [] }])
  assert.deepEqual(await new Api(session()).all('k', 'keys', { order: 'asc' }), [1, 2, 3])
  assert.deepEqual(sent.map(s => s.url.split('?')[1]), ['order=asc', 'order=asc&limit=100&cursor=c%2F1', 'order=asc&limit=100&cursor=c2'])
})

test('nothing is sent after a sign-out', async () => {
  const api = new Api(session())
  answers([200, {}])
  api.end()
  await assert.rejects(api.delete('orgs/o'))
  assert.deepEqual([sent.length, api.hasEnded], [0, true])
})

test('leaving the page waits for writes, not for reads', async () => {
  let answer, done = false
  answers(new Promise(go => { answer = go }), new Promise(() => {}))
  const api = new Api(session())
  const write = api.post('orgs', {})
  void api.get('orgs')
  await new Promise(go => setTimeout(go, 5))
  const waits = written().then(() => { done = true })
  await new Promise(go => setTimeout(go, 5))
  assert.equal(done, false)
  answer([201, {}])
  await Promise.all([write, waits])
})

test('a command shows the address of the API', () => {
  assert.equal(curl('app/get'), 'curl -X POST https://console.example/stage/app/get -H "Authorization: Bearer $KEY"')
  assert.match(curl('link/create', 'k', '{}'), /Bearer k" -H "Content-Type: application\/json" -d '\{\}'$/)
})

test('an earlier load is ignored, and a failed page is read again', async () => {
  const waiting = []
  const list = new List({ requestUpdate() {} }, cursor => new Promise((ok, fail) => waiting.push({ cursor, ok, fail })))
  const first = list.load(), second = list.load()
  waiting[1].ok({ items: ['new'], nextCursor: 'a' })
  await second
  waiting[0].ok({ items: ['old'] })
  await first
  assert.deepEqual([list.items, list.hasMore, list.busy], [['new'], true, false])
  const failing = list.more()
  assert.equal(await list.more(), undefined) // a load is running
  waiting[2].fail(new Error('lost'))
  await failing
  assert.deepEqual([list.items, list.error?.message, waiting.length, waiting[2].cursor], [['new'], 'lost', 3, 'a'])
  const again = list.more()
  waiting[3].ok({ items: ['older'] })
  await again
  assert.deepEqual([list.items, list.error, list.hasMore, waiting[3].cursor], [['new', 'older'], null, false, 'a'])
})

test('fields return the entered values', () => {
  assert.deepEqual(limitsOf(form({ 'limit-minute': '', 'limit-hour': '3', 'limit-day': '0', 'limit-month': '1000000000' })), [
    { requests: 3, per: 'hour' }, { requests: 1e9, per: 'month' },
  ])
  assert.deepEqual(words(form({ s: ' a:read,\tb  c,' }), 's'), ['a:read', 'b', 'c'])
  assert.deepEqual([words(form(), 's'), line(form({ n: ' x y ' }), 'n'), line(form(), 'n')], [[], 'x y', ''])
  const pairs = new Pairs({ plan: 'pro', seats: '5' })
  assert.deepEqual(pairs.value(), { plan: 'pro', seats: '5' })
  pairs.restore([['name', 'x'], ['pair-name', 'a'], ['pair-value', '1'], ['pair-name', ''], ['pair-value', '2'], ['pair-name', 'b']])
  assert.deepEqual(pairs.value(), { a: '1', b: '' })
})

test('kept fields return once, for 15 minutes, to the same person and form', () => {
  const entered = { form: 'orgs', fields: [['name', 'x']], isPart: false, isUnsure: true }
  const after = (user, minutes = 0) => {
    keepEntered(entered, 'ada')
    const now = Date.now
    Date.now = () => now() + minutes * 60_000
    try { return [findEntered(user), takeEntered('keys'), takeEntered('orgs'), takeEntered('orgs')] } finally { Date.now = now }
  }
  assert.deepEqual(after('ada'), [true, null, entered, null])
  assert.deepEqual(after('ada', 14), [true, null, entered, null])
  assert.deepEqual(after('bob'), [false, null, null, null])
  assert.deepEqual(after('ada', 16), [false, null, null, null])
  keepEntered(entered, '')
  assert.equal(findEntered(''), false)
  keepEntered(entered, 'ada')
  forgetEntered()
  assert.equal(findEntered('ada'), false)
  keepEntered(entered, 'ada')
  findEntered('ada')
  let opened = 0
  for (const f of ['keys', 'orgs']) reopen(f, () => { opened++ })
  assert.equal(opened, 1)
})
