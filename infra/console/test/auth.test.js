// Tests of the sign-in, against issuers with different answers.
import './browser'
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { Problem } from '../src/api'
import { Session, SignInError } from '../src/auth'
import { findEntered, keepEntered } from '../src/kept'

const config = {
  issuer: 'https://issuer.example', clientId: 'console', scope: 'openid email', parameters: { audience: 'api', prompt: 'consent login' },
  authorizationEndpoint: 'https://issuer.example/authorize', tokenEndpoint: 'https://issuer.example/token',
  endSessionEndpoint: 'https://issuer.example/logout', revocationEndpoint: 'https://issuer.example/revoke', maxKeyDays: 90, orgsBy: 'services', keyPrefix: 'acme',
}
const now = Date.now
// pass moves the clock forward.
const pass = seconds => { const at = Date.now() + seconds * 1000; Date.now = () => at }
const later = () => new Promise(go => setTimeout(go, 5))
const until = async is => { while (!is()) await later() }
let sent = [] // the requests to the issuer
let answer // the answer of its token endpoint: [status, body], or an error
let isOffline = false
let isDead = false // nothing answers at the issuer's address, while the console's server answers
globalThis.fetch = async (url, { body, method, mode } = {}) => {
  if (isOffline) throw new TypeError('offline')
  if (String(url).endsWith('config.json')) return Response.json(config)
  if (isDead) throw new TypeError('refused connection')
  // The browser shows only that there is an answer. The issuer may redirect a GET to a page that the CSP forbids.
  if (mode === 'no-cors' && method === 'POST') return new Response()
  sent.push([String(url).split('/').pop(), Object.fromEntries(new URLSearchParams(body))])
  const a = await answer
  if (a instanceof Error) throw a
  return Response.json(a[1], { status: a[0] })
}
const encoded = o => Buffer.from(JSON.stringify(o)).toString('base64url')
const idToken = claims => {
  const iat = Math.floor(Date.now() / 1000)
  return `${encoded({ alg: 'RS256' })}.${encoded({ iss: config.issuer, aud: 'console', sub: 'ada', iat, exp: iat + 300, ...claims })}.c2ln`
}
const tokens = (n, more = {}) => [200, { access_token: `access-${n}`, token_type: 'Bearer', expires_in: 600, ...more }]
const settings = { ...config }
afterEach(() => { Date.now = now; sent = []; isOffline = isDead = false; Object.assign(config, settings); localStorage.removeItem('latchkey-signed-out https://console.example/stage/console') })

// leave begins a sign-in, and returns the parameters of the request to the issuer. arrive returns from the issuer with its answer.
async function leave(session, maxAge) {
  const before = gone.length
  void session.signIn(maxAge)
  await until(() => gone.length > before)
  return new URL(gone.at(-1)).searchParams
}
// more adds to the token endpoint's answer, and claims to the ID token.
async function arrive(more = {}, maxAge, claims = {}) {
  const asked = await leave(await Session.load(), maxAge)
  const session = await Session.load()
  location.search = `?code=c&state=${asked.get('state')}`
  answer = tokens(1, { refresh_token: 'refresh-1', id_token: idToken({ nonce: asked.get('nonce'), ...claims }), ...more })
  try { assert.equal(await session.arrive(), true) } finally { location.search = '' }
  sent = []
  return session
}

test('the newest refresh token is used', async () => {
  const session = await arrive()
  for (const [n, given, used] of [[2, undefined, 'refresh-1'], [3, undefined, 'refresh-1'], [4, 'refresh-4', 'refresh-1'], [5, undefined, 'refresh-4']]) {
    answer = tokens(n, given ? { refresh_token: given } : {})
    pass(580)
    assert.equal(await session.token(), `access-${n}`)
    assert.deepEqual(sent.pop(), ['token', { grant_type: 'refresh_token', refresh_token: used, client_id: 'console' }])
  }
})

test('a token of any lifetime is renewed shortly before it expires', async () => {
  for (const [length, kept, over] of [[600, 569, 571], [40, 29, 31]]) {
    const session = await arrive({ expires_in: length })
    pass(kept)
    assert.equal(await session.token(), 'access-1')
    pass(over - kept)
    answer = tokens(2)
    assert.equal(await session.token(), 'access-2')
    Date.now = now
  }
  const endless = await arrive({ expires_in: undefined })
  pass(1e6)
  assert.equal(await endless.token(), 'access-1')
})

test('several calls for a token renew it only once', async () => {
  const session = await arrive()
  for (const n of [2, 3]) {
    answer = tokens(n, { refresh_token: `refresh-${n}` })
    pass(580)
    assert.deepEqual(await Promise.all([session.token(), session.token(), session.renew()]), [`access-${n}`, `access-${n}`, true])
    assert.equal(sent.length, n - 1)
  }
})

test('after a refused refresh token the page goes to the sign-in', async () => {
  const session = await arrive()
  answer = [400, { error: 'invalid_grant' }]
  assert.equal(await session.renew(), false)
  assert.equal(await session.renew(), false)
  assert.equal(sent.length, 1)
  const before = gone.length
  pass(580)
  void session.token()
  await until(() => gone.length > before)
  assert.equal(new URL(gone.at(-1)).searchParams.has('max_age'), false)
})

test('without an answer of the issuer the page stays', async () => {
  const session = await arrive()
  const before = gone.length
  pass(580)
  for (const [what, given] of [['offline'], ['dead'], ['', [503, { error: 'temporarily_unavailable' }]], ['', [500, 'a page']], ['', [429, { error: 'slow_down' }]]]) {
    isOffline = what === 'offline'
    isDead = what === 'dead'
    answer = given
    for (const call of ['renew', 'token']) await assert.rejects(session[call](), e => e instanceof Problem && e.body.code === 'unreachable', `${what} ${given}`)
  }
  isDead = false
  answer = tokens(2)
  sent = []
  assert.deepEqual([await session.token(), sent[0][1].refresh_token, gone.length], ['access-2', 'refresh-1', before])
})

test('an unreadable answer of the issuer is a refusal', async () => {
  for (const given of [new TypeError('CORS'), [403, 'a page'], [400, { error: 'invalid_grant' }], [401, {}]]) {
    const session = await arrive()
    answer = given
    assert.deepEqual([await session.renew(), await session.renew(), sent.length], [false, false, 1])
  }
})

test('an answer after a sign-out is not kept', async () => {
  for (const end of [tokens(2, { refresh_token: 'refresh-2' }), new TypeError('lost')]) {
    const session = await arrive()
    let come
    answer = new Promise(go => { come = go })
    let over = false
    void session.renew().then(() => { over = true })
    await until(() => sent.length)
    session.signOut()
    come(end)
    await later()
    assert.deepEqual([over, await session.token(), await session.renew()], [false, '', false])
  }
})

test('a sign-out reaches the issuer and the other tabs', async () => {
  const session = await arrive()
  keepEntered({ form: 'orgs', fields: [], isPart: false, isUnsure: false }, 'ada')
  posted.length = 0
  answer = [200, {}]
  assert.equal(session.signOut(), false)
  await until(() => sent.length)
  assert.deepEqual(sent, [['revoke', { token: 'refresh-1', client_id: 'console' }]])
  const { origin, pathname, searchParams } = new URL(gone.at(-1))
  assert.equal(origin + pathname, config.endSessionEndpoint)
  const { id_token_hint, ...rest } = Object.fromEntries(searchParams)
  assert.deepEqual(rest, { client_id: 'console', post_logout_redirect_uri: here, logout_uri: here })
  assert.equal(JSON.parse(Buffer.from(id_token_hint.split('.')[1], 'base64url')).sub, 'ada')
  assert.deepEqual([posted, findEntered('ada'), Session.isSignedOut()], [[here], false, true])
  const asked = await leave(await Session.load())
  assert.deepEqual([asked.get('prompt'), asked.get('audience')], ['login consent', 'api'])
  assert.equal(Session.isSignedOut(), true) // until a person signs in
  await arrive()
  assert.equal(Session.isSignedOut(), false)
  assert.equal((await leave(await Session.load())).get('prompt'), 'consent login')
})

test('a sign-out works without endpoints of the issuer', async () => {
  Object.assign(config, { endSessionEndpoint: null, revocationEndpoint: null })
  const session = await arrive({ refresh_token: undefined })
  assert.equal(await session.renew(), false)
  const before = gone.length
  assert.equal(session.signOut(), true)
  await later()
  assert.deepEqual([sent, gone.length], [[], before])
})

test('a sign-out in another tab counts only for the same console', async () => {
  const session = await arrive()
  let outs = 0
  session.onSignOut(() => { outs++ })
  channel.onmessage({ data: 'https://console.example/other/console' })
  assert.deepEqual([outs, await session.token()], [0, 'access-1'])
  channel.onmessage({ data: here })
  assert.deepEqual([outs, await session.token(), await session.renew()], [1, '', false])
})

test('an answer of the issuer is accepted once, in the same tab, with its nonce', async () => {
  assert.equal(await (await Session.load()).arrive(), false)
  for (const [search, claims, why] of [
    [s => `?code=c&state=${s}x`, {}, /./], [s => `?code=c&state=${s}`, { nonce: 'another' }, /./],
    [s => `?code=c&state=${s}`, { iss: 'https://other.example' }, /./], [s => `?error=access_denied&error_description=no+entry&state=${s}`, {}, /no entry/],
  ]) {
    const asked = await leave(await Session.load())
    answer = tokens(1, { id_token: idToken({ nonce: asked.get('nonce'), ...claims }) })
    location.search = search(asked.get('state'))
    await assert.rejects((await Session.load()).arrive(), e => e instanceof SignInError && why.test(e.message))
    await assert.rejects((await Session.load()).arrive(), SignInError) // a second time
    location.search = ''
  }
})

test('the first ID token names the person', async () => {
  location.hash = '#/orgs/o/keys'
  const session = await arrive({}, 300, { email: 'ada@example.com', name: 'Ada' })
  assert.deepEqual([session.person, session.email, session.subject, session.again, session.maxKeyDays, session.byServices, session.keyPrefix], ['ada@example.com', 'ada@example.com', 'ada', true, 90, true, 'acme'])
  assert.equal(replaced.at(-1), '/stage/console#/orgs/o/keys')
  assert.ok(Date.now() - session.startedAt < 60_000)
  answer = tokens(2)
  await session.renew()
  assert.deepEqual([session.person, session.subject], ['ada@example.com', 'ada'])
  const named = await arrive({}, undefined, { name: 'Ada' })
  assert.deepEqual([named.person, named.email, named.again, named.isInterrupted], ['Ada', '', false, false])
  location.hash = ''
})

test('a sign-in uses PKCE and the given max_age, also 0', async () => {
  const session = await Session.load()
  for (const [age, want] of [[undefined, null], [0, '0'], [300, '300']]) {
    const asked = await leave(session, age)
    assert.deepEqual([asked.get('max_age'), asked.get('redirect_uri'), asked.get('response_type'), asked.get('code_challenge_method')], [want, here, 'code', 'S256'])
  }
})

test('after a failed sign-in the person stays signed out', async () => {
  const gone = error => [400, { error }]
  for (const [name, search, answers] of [
    ['cancelled', s => `?error=access_denied&state=${s}`, null], ['of another tab', s => `?code=c&state=${s}x`, null], ['refused', s => `?code=c&state=${s}`, gone('invalid_grant')],
    ['lost', s => `?code=c&state=${s}`, new TypeError('lost')],
    ['without an ID token', s => `?code=c&state=${s}`, tokens(1)],
    ['of another sign-in', s => `?code=c&state=${s}`, tokens(1, { id_token: idToken({ nonce: 'another' }) })],
    ['forgotten', s => { sessionStorage.removeItem('latchkey-away'); return `?code=c&state=${s}` }, null],
  ]) {
    ;(await arrive()).signOut()
    const asked = await leave(await Session.load(), 300)
    location.search = search(asked.get('state'))
    answer = answers
    const session = await Session.load()
    try { await assert.rejects(session.arrive(), SignInError, name) } finally { location.search = '' }
    assert.deepEqual([Session.isSignedOut(), await session.token(), session.startedAt, session.again], [true, '', 0, false], name)
    assert.equal((await leave(session)).get('prompt'), 'login consent', name)
  }
})
