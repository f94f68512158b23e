// Tests of the pages' lists and of the requests of their forms, without a browser.
import './browser'
import assert from 'node:assert/strict'
import { afterEach, mock, test } from 'node:test'
import { buttons, choose, click, enter, field, fire, rows, submit, text } from './lit'
import { aPerson, asked, calls, closeDialogs, held, inTurn, lost, opened, org, refused, serve, settle, show } from './server'
import { console_ } from '../src/context'
import { leave } from '../src/dialog'
import { findEntered, keepEntered } from '../src/kept'
import { dayLimit } from '../src/usage'
import { chart, timeline } from '../src/chart'
import '../src/audit'
import '../src/endpoints'
import '../src/events'
import '../src/keys'
import '../src/links'
import '../src/members'
import '../src/orgs'

const hour = 3_600_000, day = 24 * hour
const app = 'orgs/o/apps/app'
const member = { ...org, role: 'member' } // the org, as a member sees it
afterEach(() => { closeDialogs(); said.length = 0; mock.timers.reset(); delete globalThis.fetch; console_.maxKeyDays = 0; console_.readSettings = async () => {} })
const key = (id, o = {}) => ({
  id, keyPrefix: `lk_${id}`, name: `name-${id}`, appId: 'app', scopes: [], metadata: {}, createdAt: Date.now() - 10 * day, revokedAt: null, expiresAt: null, lastUsedAt: null,
  limits: [], ceilings: [], ...o,
})

test('each list reads its pages by cursor and appends them', async () => {
  const endpoint = id => ({ id, url: `https://${id}.example`, events: ['*'], enabled: true })
  const of = {
    'lk-endpoints': [`${app}/webhook_endpoints`, 'endpoints', endpoint],
    'lk-links': [`${app}/links`, 'links', id => ({ id, status: 'claimed', clientUserId: `user-${id}`, createdAt: 1, expiresAt: 2, claimedAt: 3 })],
    'lk-members': ['orgs/o/members', 'members', id => ({ userId: id, email: `${id}@example.com`, name: id, role: 'member', joinedAt: 1 })],
    'lk-org': ['orgs/o/apps', 'apps', id => ({ id, name: `name ${id}`, createdAt: 1 })],
  }
  for (const [name, [path, list, make]] of Object.entries(of)) {
    const pages = ({ query }) => {
      if (query.cursor === undefined) return { [list]: ['k1', 'k2'].map(make), nextCursor: 'c/1' }
      return query.cursor === 'c/1' ? { [list]: ['k3'].map(make), nextCursor: 'c2' } : { [list]: ['k4'].map(make) }
    }
    const other = { 'GET orgs/o': { id: 'o' }, 'GET orgs/o/members': { members: [] }, 'GET orgs/o/keys': { keys: [] } }
    serve({ ...other, [`GET ${path}`]: pages })
    const e = await show(name)
    const first = rows(e).map(r => r[0].match(/[kK]\d/)[0])
    for (let i = 0; i < 2; i++) { await fire(e, 'more'); await settle() }
    assert.deepEqual([first, rows(e).map(r => r[0].match(/k\d/)[0]), e.drawn.includes('lk-more')], [['k1', 'k2'], ['k1', 'k2', 'k3', 'k4'], false], name)
    assert.deepEqual(asked(`GET ${path}`).filter(c => c.query.limit === '50').map(c => c.query), [{ limit: '50' }, { limit: '50', cursor: 'c/1' }, { limit: '50', cursor: 'c2' }], name)
  }
})

test('events are shown newest first, and a button loads older ones', async () => {
  const now = Date.now()
  const event = i => ({ id: `ev${i}`, type: i % 2 ? 'odd' : 'even', createdAt: now - 1e6 - i * 1000 }) // ev0 is the newest
  const page = ({ query }) => {
    const from = Number(query.cursor ?? 0)
    const events = Array.from({ length: Math.min(100, 250 - from) }, (_, i) => event(from + i))
    return { events, nextCursor: from + 100 < 250 ? String(from + 100) : undefined }
  }
  serve({ [`GET ${app}/webhook_events`]: page })
  const e = await show('lk-events', { org: member }) // a member sees no endpoints, and so no deliveries
  assert.equal(calls.length, 1)
  assert.deepEqual([rows(e).length, rows(e)[0][2], rows(e).at(-1)[2]], [100, 'ev0', 'ev99'])
  const { since } = calls[0].query
  assert.ok(Math.abs(Number(since) - (Date.now() - day)) < 60_000)
  assert.deepEqual(calls[0].query, { since, order: 'desc', limit: '100' })
  assert.equal(e.drawn.includes('lk-more'), false) // no page loads by itself
  await click(e, 'Older')
  await settle()
  assert.deepEqual([calls.length, calls[1].query, rows(e).length, rows(e).at(-1)[2], buttons(e).includes('Older')], [2, { since, order: 'desc', limit: '100', cursor: '100' }, 200, 'ev199', true])
  await click(e, 'Older')
  await settle()
  assert.deepEqual([calls.length, rows(e).length, rows(e)[0][2], rows(e).at(-1)[2], buttons(e).includes('Older')], [3, 250, 'ev0', 'ev249', false])
  choose(e, 'type', 'odd')
  await settle()
  assert.deepEqual([rows(e).length, rows(e)[0][2]], [125, 'ev1'])
  for (const [span, hours] of [[`${hour}`, 1], [`${7 * day}`, 168], [`${30 * day}`, 720]]) {
    calls.length = 0
    choose(e, 'span', span)
    await settle()
    assert.ok(Math.abs(Number(calls[0].query.since) - (Date.now() - hours * hour)) < 60_000)
    assert.equal(rows(e).length, 50) // the type stays chosen
  }
  serve({ [`GET ${app}/webhook_events`]: { events: [event(2)], nextCursor: '1' } })
  await click(e, 'Refresh')
  await settle()
  assert.ok(text(e.drawn).includes('None of the loaded events has this type.') && buttons(e).includes('Older'))
  serve({ [`GET ${app}/webhook_events`]: { events: [event(2)] } })
  await click(e, 'Refresh')
  await settle()
  assert.ok(text(e.drawn).includes('No event in this time has this type.') && !text(e.drawn).includes('No events') && field(e, 'type').value === 'odd')
  serve({ [`GET ${app}/webhook_events`]: { events: [] } })
  await click(e, 'Refresh')
  await settle()
  assert.ok(text(e.drawn).includes('No events in this time') && field(e, 'type').value === 'odd')
})

test('events show seconds, and the table shows the time zone', async () => {
  const at = new Date(2026, 10, 29, 16, 4, 5).getTime()
  serve({ [`GET ${app}/webhook_events`]: { events: [{ id: 'ev', type: 'a.b', createdAt: at }] } })
  const e = await show('lk-events')
  assert.match(rows(e)[0][1], /^29 Nov 2026, 16:04:05$/)
  assert.equal(text(e.drawn).split(`When (${Intl.DateTimeFormat().resolvedOptions().timeZone})`).length, 2)
})

test('keys can be searched by words, and filtered by disuse', async () => {
  const now = Date.now()
  const all = [
    key('k1', { name: 'Billing', createdBy: 'u1', lastUsedAt: now - 59 * 60_000, scopes: ['invoices:read'] }), key('k2', { lastUsedAt: now - 3 * day - 1, createdBy: 'u9' }),
    key('k3', { createdAt: now - 91 * day }), key('k4', { createdAt: now - 200 * day, lastUsedAt: now - 89 * day }), key('k5', { createdAt: now - 200 * day, revokedAt: now - day }), key('k6'),
  ]
  const pages = ({ query }) => query.cursor ? { keys: all.slice(2) } : { keys: all.slice(0, 2), nextCursor: 'c' }
  serve({ 'GET orgs/o/keys': pages, 'GET orgs/o/members': { members: [{ userId: 'u1', email: 'ada@example.com', name: 'Ada Lovelace' }] } })
  const e = await show('lk-keys')
  const found = () => rows(e).map(r => r[0].match(/k\d/)[0]).join(' ')
  assert.equal(found(), 'k1 k2 k3 k4 k5 k6')
  assert.match(rows(e)[0][0], /by ada@example.com$/)
  assert.match(rows(e)[1][0], /by u9$/)
  assert.match(rows(e)[2][0], /by a service of the owner$/)
  assert.deepEqual(rows(e).map(r => r[2]), ['in the last hour', '3 days ago', 'Never', '89 days ago', 'Never', 'Never'])
  const search = async words => { e.held[e.drawn.match(/@input="(\d+)"/)[1]]({ target: { value: words } }); await settle() }
  for (const [words, want] of [['BILLING', 'k1'], ['ADA@example.com', 'k1'], ['love bill', 'k1'], ['u9', 'k2'], ['u1', 'k1'], ['invoices lk_k', 'k1'], ['first k2', 'k2'], ['k9', ''], ['', 'k1 k2 k3 k4 k5 k6']]) {
    await search(words)
    assert.equal(found(), want, words)
  }
  choose(e, 'use', '90')
  await settle()
  assert.equal(found(), 'k3') // dead keys and new keys are left out
})

test('the form that revokes a key shows its last use', async () => {
  const used = key('k1', { name: 'Billing', lastUsedAt: Date.now() - 5 * hour - 1 })
  const today = new Date().toISOString().slice(0, 10)
  serve({ 'GET orgs/o/keys': { keys: [used] }, 'GET orgs/o/keys/k1/usage': { days: [{ date: today, requests: 1200, atMost: 1200 }] } })
  click(await show('lk-keys'), 'Revoke')
  await settle()
  assert.match(text(opened().drawn), /Last used: 5 hours ago ; 1,200 requests today \(UTC\)/)
  assert.deepEqual(asked('GET orgs/o/keys/k1/usage').map(c => c.query), [{ from: today, to: today }])
})

test('the form that revokes a key shows no bound as a count', async () => {
  const [date] = new Date().toISOString().split('T')
  for (const [days, says] of [
    [[{ date, requests: 0, atMost: 1 }], 'hours ago ; 0 to 1 requests today'], [[{ date, requests: 7, atMost: null }], 'hours ago ; at least 7 requests today'],
    [[{ date, requests: 0, atMost: null, refused: { key_revoked: 1 } }], 'hours ago Also'], [[], 'hours ago Also'],
  ]) {
    serve({ 'GET orgs/o/keys': { keys: [key('k1', { lastUsedAt: Date.now() - 5 * hour - 1 })] }, 'GET orgs/o/keys/k1/usage': { days } })
    click(await show('lk-keys'), 'Revoke')
    await settle()
    assert.ok(text(opened().drawn).includes(says), text(opened().drawn))
    closeDialogs()
  }
})

test('after a refusal that tells of a change the list is read again', async () => {
  const endpoint = { id: 'e1', url: 'https://one.example', events: ['*'], enabled: true }
  const link = { id: 'l1', status: 'pending', clientUserId: 'u', createdAt: 1, expiresAt: 2 }
  const bob = { userId: 'bob', email: 'bob@example.com', name: '', role: 'member', joinedAt: 1 }
  const [endpoints, links, members, keys] = [`${app}/webhook_endpoints`, `${app}/links`, 'orgs/o/members', 'orgs/o/keys']
  for (const [page, list, rows, what, label, ...more] of [
    ['lk-links', links, { links: [link] }, `DELETE ${links}/l1`, 'Revoke'],
    ['lk-keys', keys, { keys: [key('k1')] }, `DELETE ${keys}/k1`, 'Revoke'], ['lk-keys', keys, { keys: [key('k1')] }, `POST ${keys}/k1/rotate`, 'Rotate'],
    ['lk-keys', keys, { keys: [key('k1')] }, `PATCH ${keys}/k1`, 'name-k1', 'Edit'],
    ['lk-members', members, { members: [bob] }, `PATCH ${members}/bob`, 'Role'], ['lk-members', members, { members: [bob] }, `DELETE ${members}/bob`, 'Remove'],
    ['lk-members', members, { members: [bob] }, `POST ${members}`, 'Add member'],
    ['lk-endpoints', endpoints, { endpoints: [endpoint] }, `PATCH ${endpoints}/e1`, 'Disable'], ['lk-endpoints', endpoints, { endpoints: [endpoint] }, `DELETE ${endpoints}/e1`, endpoint.url, 'Delete endpoint'],
    ['lk-endpoints', endpoints, { endpoints: [endpoint] }, `POST ${endpoints}/e1/test`, endpoint.url, 'Send example'],
    ['lk-endpoints', endpoints, { endpoints: [endpoint] }, `POST ${endpoints}/e1/test`, 'Test'],
    ['lk-endpoints', endpoints, { endpoints: [endpoint] }, `GET ${endpoints}/e1`, endpoint.url], // its drawer
  ]) {
    for (const [status, reads] of [[404, 2], [409, 2], [410, 2], [429, 1], [503, 1]]) {
      serve({
        [`GET ${list}`]: rows, 'GET orgs/o': {}, [`GET ${keys}/k1/usage`]: { days: [] }, [`GET ${endpoints}/e1`]: endpoint, [`GET ${app}/webhook_deliveries`]: { deliveries: [] },
        [what]: refused(status),
        'GET catalogue.json': { scopes: [], events: [{ type: 'a.b', description: '', example: {} }] },
      })
      const e = await show(page)
      click(e, label)
      await settle()
      for (const m of more) { click(opened(), m); await settle() }
      if (opened().drawn.includes('<form')) await submit(opened())
      await settle()
      assert.deepEqual([asked(what).length, asked(`GET ${list}`).length], [1, reads], `${what} ${status}`)
      assert.match(text(opened().drawn), /it is refused/)
      closeDialogs()
    }
  }
})

test('a new key is for the default app, though others are newer', async () => {
  serve({ 'GET orgs/o/keys': { keys: [] }, 'POST orgs/o/keys': [201, { id: 'n', key: 'lk_secret' }] })
  click(await show('lk-keys', { person: aPerson([{ id: 'new', name: 'Newest', isDefault: false }, { id: 'app', name: 'First', isDefault: true }]) }), 'New API key')
  await settle()
  await submit(opened())
  assert.equal(asked('POST orgs/o/keys')[0].body.appId, 'app')
})

test('an event shows its deliveries by state', async () => {
  const now = Date.now()
  const d = (eventId, status, lastAttempt = null) => ({ eventId, endpointId: 'x', status, lastAttempt, createdAt: now })
  const failed = { status: 500, error: null }
  const of = { w1: [d('a', 'delivered'), d('b', 'pending', failed), d('c', 'pending')], w2: [d('a', 'failed'), d('b', 'held', failed)] }
  serve({
    [`GET ${app}/webhook_events`]: { events: ['a', 'b', 'c', 'z'].map((id, i) => ({ id, type: 't', createdAt: now - i })) },
    [`GET ${app}/webhook_endpoints`]: { endpoints: [{ id: 'w1' }, { id: 'w2' }] },
    [`GET ${app}/webhook_deliveries`]: ({ query }) => ({ deliveries: of[query.endpointId].map(o => ({ ...o, endpointId: query.endpointId })) }),
  })
  const e = await show('lk-events')
  assert.deepEqual(rows(e).map(r => r[2]), ['1 Delivered 1 Failed', '1 Failed, to be tried again 1 Waiting', '1 Waiting', '–'])
  assert.deepEqual(asked(`GET ${app}/webhook_deliveries`).map(c => c.query), ['w1', 'w2'].map(endpointId => ({ endpointId, since: String(now - 3), order: 'desc', limit: '100' })))
})

test('an org shows the use of its allowance', async () => {
  const today = new Date().toISOString().slice(0, 10)
  const usage = [{ date: today, keyId: 'k', requests: 7, atMost: 9 }, { date: today, requests: 99, atMost: 99 }]
  serve({
    'GET orgs/o': { ...org, allowance: [{ requests: 100, per: 'day' }, { requests: 5000, per: 'month' }] }, 'GET orgs/o/apps': { apps: [] }, 'GET orgs/o/keys': { keys: [] },
    'GET orgs/o/usage': { usage },
  })
  const e = await show('lk-org')
  assert.match(text(e.drawn), /99 of 100 today, resets at 00:00 UTC 99 of 5,000 this month/)
  assert.deepEqual(rows(e)[0], [today, '99', '99'])
  const seen = await show('lk-org', { org: member })
  assert.equal(text(seen.drawn).includes('today'), false) // the API returns the use only to admins
})

test('each day of an org counts a request once', async () => {
  mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 10, 5, 12) })
  const row = (d, requests, atMost, keyId) => ({ date: `2026-11-0${d}`, requests, atMost, keyId })
  const usage = [
    row(1, 4, 5, 'k'), row(1, 3, 3, 'l'), // before the allowance
    row(2, 6, null), row(2, 4, 5, 'k'), row(2, 3, 3, 'l'), // the allowance began
    row(3, 20, 21), row(3, 4, 5, 'k'), row(4, 2, 3), row(4, 4, 5, 'k'), row(5, 1, null, 'k'),
  ]
  const want = [['2026-11-05', '1', '–'], ['2026-11-04', '4', '4'], ['2026-11-03', '20', '21'], ['2026-11-02', '7', '–'], ['2026-11-01', '7', '8']]
  for (const allowance of [[{ requests: 100, per: 'day' }, { requests: 5000, per: 'month' }], []]) { // it goes on; it ended
    serve({ 'GET orgs/o': { ...org, allowance }, 'GET orgs/o/apps': { apps: [] }, 'GET orgs/o/keys': { keys: [] }, 'GET orgs/o/usage': { usage } })
    for (const name of ['lk-org', 'lk-usage']) {
      const e = await show(name)
      assert.deepEqual(rows(e).slice(0, 5), want, `${name} ${allowance.length}`)
      assert.equal(/0 of 100 today.* at least 28 of 5,000 this month/.test(text(e.drawn)), allowance.length > 0) // the allowance counts only the rows of the org
    }
  }
})

test('the overview shows a failed reading, and reads again', async () => {
  const routes = { 'GET orgs/o/apps': { apps: [] }, 'GET orgs/o/keys': { keys: [] } }
  const usage = { usage: [{ date: new Date().toISOString().slice(0, 10), requests: 3, atMost: 3 }] }
  for (const [failed, isShown] of [['GET orgs/o', false], ['GET orgs/o/usage', false], ['GET orgs/o/keys', true]]) {
    const good = { ...routes, 'GET orgs/o': { ...org, plan: 'pro' }, 'GET orgs/o/usage': usage }
    serve({ ...good, [failed]: inTurn(refused(503), good[failed]) })
    const e = await show('lk-org')
    assert.deepEqual([text(e.drawn).includes('Use in this month'), text(e.drawn).includes('it is refused')], [isShown, true], failed)
    await click(e, 'Try again')
    await settle()
    assert.deepEqual([text(e.drawn).includes('Use in this month'), text(e.drawn).includes('it is refused'), text(e.drawn).includes('Plan pro')], [true, false, true], failed)
  }
  serve({ ...routes, 'GET orgs/o': inTurn(refused(503), { ...org, plan: 'pro' }) })
  const seen = await show('lk-org', { org: member })
  assert.match(text(seen.drawn), /it is refused/)
  await click(seen, 'Try again')
  await settle()
  assert.deepEqual([text(seen.drawn).includes('Plan pro'), asked('GET orgs/o/usage').length], [true, 0])
})

test('a key shows its refused requests by day and code', async () => {
  const days = [{ date: '2026-11-01', requests: 0, atMost: null, refused: { key_revoked: 3, rate_limited: 1200 } }]
  serve({ 'GET orgs/o/keys': { keys: [key('k1')] }, 'GET orgs/o/keys/k1/usage': { days }, 'GET orgs/o': org })
  click(await show('lk-keys'), 'name-k1')
  await settle()
  assert.deepEqual(rows(opened()), [['2026-11-01', '3 key_revoked 1,200 rate_limited']])
  assert.match(text(opened().drawn), /No requests were counted for this key/)
})

test('forms offer the catalogue, and warn of unknown words', async () => {
  const known = { scopes: [{ name: 'invoices:read', description: 'Read <b>' }, { name: 'invoices:write', description: 'Write' }],
    events: [{ type: 'invoice.paid', description: 'Paid', example: { invoice: 'in_1' } }, { type: 'invoice.sent', description: 'Sent' }] }
  const endpoint = { id: 'e1', url: 'https://one.example', events: ['*'], enabled: true }
  serve({
    'GET catalogue.json': known, 'GET orgs/o/keys': { keys: [key('k1', { scopes: ['invoices:read', 'old'] })] }, 'PATCH orgs/o/keys/k1': {},
    [`GET ${app}/webhook_endpoints`]: { endpoints: [endpoint] }, [`POST ${app}/webhook_endpoints`]: {}, [`GET ${app}/webhook_endpoints/e1`]: endpoint,
    [`GET ${app}/webhook_deliveries`]: { deliveries: [] }, [`POST ${app}/webhook_endpoints/e1/test`]: { eventId: 'ev1' },
  })
  click(await show('lk-keys'), 'name-k1')
  await settle()
  click(opened(), 'Edit')
  await settle()
  const d = opened()
  assert.deepEqual([field(d, 'scopes:invoices:read').checked, field(d, 'scopes:invoices:write').checked, field(d, 'scopes').value], [true, false, 'old'])
  assert.match(text(d.drawn), /Read <b>.*Not in the catalogue: old/)
  await submit(d, { 'scopes:invoices:read': '', 'scopes:invoices:write': 'on', scopes: 'old new' })
  assert.deepEqual(asked('PATCH orgs/o/keys/k1')[0].body.scopes, ['invoices:write', 'old', 'new'])
  assert.equal(asked('GET catalogue.json').length, 1) // read when the page was shown, so that its forms open at once

  const e = await show('lk-endpoints')
  click(e, 'New endpoint')
  await settle()
  const form = opened()
  assert.deepEqual(['events:*', 'events:invoice.paid'].map(n => field(form, n).checked), [true, false])
  const says = async words => {
    form.held[form.drawn.match(/id="f-events" @input="(\d+)"/)[1]]({ target: { value: words } })
    await settle()
    return text(form.drawn).match(/Nothing sends this type: (\S+( \S+\.\S+)*)/)?.[1]
  }
  assert.deepEqual([await says('invoce.paid, key.revoked link.* invoice.* test *'), await says('key.revokd x.* invoic.* invoice.sent'), await says('')], ['invoce.paid', 'key.revokd, x.*, invoic.*', undefined])
  await submit(form, { url: 'https://n.example', 'events:*': '', 'events:invoice.paid': 'on', events: 'link.*' })
  assert.deepEqual(asked(`POST ${app}/webhook_endpoints`)[0].body.events, ['invoice.paid', 'link.*'])

  click(e, 'https://one.example')
  await settle()
  click(opened(), 'Send example')
  await settle()
  assert.deepEqual(field(opened(), 'type').options.map(o => o.value), ['invoice.paid']) // the other has no example
  await submit(opened(), { type: 'invoice.paid' })
  assert.deepEqual(asked(`POST ${app}/webhook_endpoints/e1/test`)[0].body, { type: 'invoice.paid', data: { invoice: 'in_1' } })
})

test('a button does one thing at a time', async () => {
  const answer = held()
  serve({ [`GET ${app}/webhook_endpoints`]: { endpoints: [{ id: 'e1', url: 'https://one.example', events: ['*'], enabled: true }] }, [`POST ${app}/webhook_endpoints/e1/test`]: answer })
  const e = await show('lk-endpoints')
  click(e, 'Test'); click(e, 'Test')
  answer.go({ eventId: 'ev1' })
  await settle()
  assert.equal(asked(`POST ${app}/webhook_endpoints/e1/test`).length, 1)
})

test('a key shows its state and the allowed actions', async () => {
  const now = Date.now()
  const keys = [
    key('a'),
    key('b', { rotatedTo: 'n', expiresAt: now + hour }),
    key('c', { expiresAt: now - 1 }),
    key('d', { revokedAt: now, rotatedTo: 'n' }),
    key('e', { expiresAt: now + 8 * day }),
    key('f', { expiresAt: now + 6 * day }),
  ]
  serve({ 'GET orgs/o/keys': { keys } })
  const states = e => rows(e).map(r => [r[4], r[5]])
  assert.deepEqual(states(await show('lk-keys')), [['active', 'Rotate Revoke'], ['replaced', 'Revoke'], ['expired', ''], ['revoked', ''], ['active', 'Rotate Revoke'], ['active', 'Rotate Revoke']])
  const e = await show('lk-keys')
  assert.deepEqual(e.drawn.split('<tr').map(r => r.includes('lk-left')).slice(2), [false, true, false, false, false, true])
  assert.deepEqual(states(await show('lk-keys', { org: member })).map(s => s[1]), ['', '', '', '', '', ''])
})

test('an admin ends what a dead key made, in its details', async () => {
  const now = Date.now()
  const dead = [key('expired', { expiresAt: now - 1 }), key('revoked', { revokedAt: now }), key('rotated', { rotatedTo: 'n', expiresAt: now - 1 })]
  const good = [key('active'), key('replaced', { rotatedTo: 'n', expiresAt: now + hour })]
  const ids = [...dead, ...good].map(k => k.id)
  const routes = {
    'GET orgs/o/keys': { keys: [...dead, ...good] }, ...Object.fromEntries(ids.map(id => [`GET orgs/o/keys/${id}/usage`, { days: [] }])),
    ...Object.fromEntries(dead.map(k => [`DELETE orgs/o/keys/${k.id}`, inTurn(refused(503), [204])])),
  }
  serve(routes)
  const offers = async (page, id) => { await click(page, `name-${id}`); await settle(); const all = buttons(opened()); closeDialogs(); return all }
  const e = await show('lk-keys')
  for (const id of ids) {
    const isGood = good.some(k => k.id === id), all = await offers(e, id)
    assert.deepEqual([all.includes('End what it made'), all.includes('Revoke'), all.includes('Edit')], [!isGood, isGood, isGood], id)
  }
  const seen = await show('lk-keys', { org: member })
  for (const id of ids) assert.equal((await offers(seen, id)).includes('End what it made'), false, id)
  for (const [{ id }, entered, query, told] of [ // nothing is told of what was not ticked: it may have been ended before
    [dead[0], { endpoints: 'on' }, { endpoints: 'disable' }, /^Its endpoints are disabled; an admin can enable them\.$/],
    [dead[1], { links: 'on' }, { links: 'revoke' }, /^Its pending links can no longer be claimed; the list shows it within minutes\.$/],
    [dead[2], { endpoints: 'on', links: 'on' }, { endpoints: 'disable', links: 'revoke' }, /^Its endpoints are disabled.*no longer/],
  ]) {
    serve(routes)
    await click(e, `name-${id}`)
    await settle()
    await click(opened(), 'End what it made')
    await settle()
    const d = opened()
    assert.match(d.drawn, /<button class="?danger\b/)
    assert.doesNotMatch(text(d.drawn), /Revoke API key|refused at once|Also|If not/)
    await submit(d) // ends nothing, so it is not sent
    await settle()
    assert.match(text(d.drawn), /Tick what to end, or cancel/)
    assert.equal(asked(`DELETE orgs/o/keys/${id}`).length, 0)
    for (const says of [/it is refused/, null]) {
      await submit(d, entered)
      await settle()
      if (says) assert.match(text(d.drawn), says)
    }
    assert.deepEqual(asked(`DELETE orgs/o/keys/${id}`).map(c => c.query), [query, query])
    assert.deepEqual([opened(), asked('GET orgs/o/keys').length], [undefined, 1])
    assert.match(said.at(-1), told)
  }
})

test('a leaked key is marked in the list, in its details and on the overview', async () => {
  const now = Date.now()
  const keys = [key('a'), key('b', { leakedAt: now - 40 * day }), key('c', { leakedAt: now - 40 * day, revokedAt: now }), key('d', { leakedAt: now - day, expiresAt: now - 1, name: '<b>' })]
  const routes = {
    'GET orgs/o/keys': ({ query }) => query.limit && !query.cursor ? { keys } : query.cursor ? { keys: keys.slice(2) } : { keys: keys.slice(0, 2), nextCursor: 'c' },
    'GET orgs/o/keys/b/usage': { days: [] },
    'GET orgs/o/keys/a/usage': { days: [] },
    'GET orgs/o': {},
    'GET orgs/o/apps': { apps: [] },
  }
  serve(routes)
  const e = await show('lk-keys')
  assert.deepEqual(rows(e).map(r => r[4]), ['active', 'active found in public', 'revoked found in public', 'expired found in public'])
  for (const [name, found] of [['name-a', false], ['name-b', true]]) {
    await click(e, name)
    await settle()
    assert.equal(/class="note alarm">The text of this key was found in public: <time/.test(opened().drawn), found, name)
    closeDialogs()
  }
  for (const [of, wanted] of [[org, true], [member, true], [{ ...org, role: 'viewer' }, false]]) {
    serve(routes)
    const page = await show('lk-org', { org: of })
    assert.equal(page.drawn.includes('note alarm'), wanted, of.role)
    if (!wanted) { assert.equal(asked('GET orgs/o/keys').length, 0); continue }
    const alarm = text(page.drawn.split('note alarm')[1].split('</div>')[0])
    assert.match(alarm, /name-b lk_b… .* still good .*<b> lk_d… .* no longer good/)
    assert.doesNotMatch(alarm, /name-[ac]/)
  }
  serve({ ...routes, 'GET orgs/o/keys': { keys: [key('a'), key('c', { leakedAt: now - 31 * day, revokedAt: now })] } })
  assert.equal((await show('lk-org')).drawn.includes('note alarm'), false)
})

test('forms of a key send the entered values', async () => {
  const one = key('k1', { name: 'old', scopes: ['a:b'], metadata: { plan: 'pro' }, limits: [{ requests: 5, per: 'hour' }], createdAt: 1000, expiresAt: Date.now() + day })
  one.createdAt = one.expiresAt - 45 * day
  serve({
    'GET orgs/o/keys': { keys: [key('k0'), one] }, 'POST orgs/o/keys': [201, { id: 'n', key: 'lk_secret' }], 'POST orgs/o/keys/k1/rotate': [201, { id: 'n', key: 'lk_other' }],
    'POST orgs/o/keys/k0/rotate': [201, { id: 'n', key: 'lk_other' }],
    'PATCH orgs/o/keys/k1': {}, 'DELETE orgs/o/keys/k1': [204], 'GET orgs/o/keys/k1/usage': { days: [] }, 'GET orgs/o': {},
  })
  const e = await show('lk-keys', { person: aPerson([{ id: 'app', name: 'First' }, { id: 'two', name: 'Second' }]) })
  const sent = what => asked(what).at(-1)
  await click(e, 'New API key')
  await settle()
  await submit(opened(), { name: ' n ', appId: 'two', expiresIn: '604800', scopes: 'x:y, z', 'limit-day': '7' })
  await settle()
  assert.deepEqual(sent('POST orgs/o/keys').body, { name: 'n', appId: 'two', expiresIn: 604800, scopes: ['x:y', 'z'], metadata: {}, limits: [{ requests: 7, per: 'day' }] })
  assert.match(sent('POST orgs/o/keys').key, /^[0-9a-f]{64}$/)
  assert.ok(opened().options.secret && text(opened().drawn).includes('lk_secret'))
  assert.equal(asked('GET orgs/o/keys').length, 2)
  await click(opened(), 'I have saved the key')
  await click(e, 'New API key')
  await settle()
  await submit(opened())
  assert.deepEqual(sent('POST orgs/o/keys').body, { name: null, appId: 'app', expiresIn: null, scopes: [], metadata: {}, limits: [] })
  closeDialogs()
  await click(e, 'Rotate', 1)
  await settle()
  assert.deepEqual(field(opened(), 'grace').options.map(o => Number(o.value)), [0, 3600, 86400, 259200, 604800])
  await submit(opened(), { grace: '3600' })
  assert.deepEqual(sent('POST orgs/o/keys/k1/rotate').body, { graceSeconds: 3600, expiresIn: 45 * 86400 })
  closeDialogs()
  await click(e, 'Rotate', 0)
  await settle()
  await submit(opened())
  assert.deepEqual(sent('POST orgs/o/keys/k0/rotate').body, { graceSeconds: 86400, expiresIn: null })
  closeDialogs()
  await click(e, 'Revoke', 1)
  for (const [entered, query, told] of [
    [{}, {}, /as they were.*still be claimed/],
    [{ endpoints: 'on' }, { endpoints: 'disable' }, /are disabled.*still be claimed/],
    [{ links: 'on' }, { links: 'revoke' }, /as they were.*no longer/],
  ]) {
    closeDialogs()
    await click(e, 'Revoke', 1)
    await settle()
    await submit(opened(), entered)
    assert.deepEqual(sent('DELETE orgs/o/keys/k1').query, query)
    assert.match(said.at(-1), told)
  }
  await click(e, 'old')
  await settle()
  await click(opened(), 'Edit')
  await settle()
  assert.deepEqual(['name', 'scopes', 'pair-name', 'pair-value', 'limit-hour', 'limit-day'].map(n => field(opened(), n).value), ['old', 'a:b', 'plan', 'pro', '5', ''])
  await submit(opened(), { name: '', 'limit-hour': '', 'limit-month': '9' })
  assert.deepEqual(sent('PATCH orgs/o/keys/k1').body, { name: null, limits: [{ requests: 9, per: 'month' }] })
})

test('an edited key sends only its changed fields', async () => {
  const one = key('k1', { scopes: ['b:c', 'a:b', 'x:y'], metadata: { '': 'unnamed', plan: 'pro' }, limits: [{ requests: 5, per: 'hour' }, { requests: 1, per: 'minute' }] })
  serve({ 'GET catalogue.json': { scopes: [{ name: 'x:y', description: '' }], events: [] }, 'GET orgs/o/keys': { keys: [one] }, 'PATCH orgs/o/keys/k1': {}, 'GET orgs/o/keys/k1/usage': { days: [] }, 'GET orgs/o': {} })
  const e = await show('lk-keys')
  const edit = async () => { await click(e, 'name-k1'); await settle(); await click(opened(), 'Edit'); await settle(); return opened() }
  const pairOf = async (d, value) => { d.held[d.drawn.split('name="pair-value"')[2].match(/@input="?(\d+)/)[1]]({ target: { value } }); await settle() }
  for (const [entered, value, body] of [
    [{ name: ' new ' }, null, { name: 'new' }], [{}, null, {}], [{ scopes: 'a:b b:c' }, null, {}], [{ scopes: 'a:b' }, null, { scopes: ['x:y', 'a:b'] }],
    [{ 'limit-hour': '6' }, null, { limits: [{ requests: 1, per: 'minute' }, { requests: 6, per: 'hour' }] }], [{}, 'free', { metadata: { '': 'unnamed', plan: 'free' } }],
  ]) {
    const d = await edit()
    if (value) await pairOf(d, value)
    await submit(d, entered)
    await settle()
    assert.deepEqual(asked('PATCH orgs/o/keys/k1').at(-1).body, body, JSON.stringify([entered, value]))
  }
})

test('a kept key form sends only its own changes', async () => {
  const limits = [{ requests: 9, per: 'day' }]
  const before = key('k1', { scopes: ['a:b', 'c:d'], limits })
  for (const [isOld, want] of [[false, { name: 'new' }], [true, { name: 'new', scopes: before.scopes, limits }]]) {
    serve({ 'GET orgs/o/keys': inTurn({ keys: [before] }, { keys: [{ ...before, scopes: ['a:b'], limits: [] }] }), 'PATCH orgs/o/keys/k1': {}, 'GET orgs/o/keys/k1/usage': { days: [] }, 'GET orgs/o': {} })
    await click(await show('lk-keys'), 'name-k1')
    await settle()
    await click(opened(), 'Edit')
    await settle()
    enter(opened(), { name: 'new' })
    const { form } = await leave()
    if (isOld) form.fields = form.fields.filter(([name]) => name !== 'first') // an older console kept the form
    keepEntered(form, 'ada')
    closeDialogs()
    findEntered('ada')
    await show('lk-keys') // reads the key again, which another person changed
    await submit(opened())
    assert.deepEqual(asked('PATCH orgs/o/keys/k1').map(c => c.body), [want], text(opened()?.drawn ?? ''))
    closeDialogs()
  }
})

test('a kept form has its ticked words without the catalogue', async () => {
  const choice = (name, id) => ({ [id]: name, description: '' })
  const catalogue = { scopes: ['b:c', 'a:b'].map(n => choice(n, 'name')), events: ['link.a', 'link.b'].map(n => choice(n, 'type')) }
  const less = { scopes: [choice('z:z', 'name')], events: [choice('link.c', 'type')] }
  for (const [page, label, path, part, entered, want] of [
    ['lk-keys', 'New API key', 'orgs/o/keys', 'scopes', { 'scopes:b:c': 'on', 'scopes:a:b': 'on', scopes: 'z:z' }, ['b:c', 'a:b', 'z:z']],
    ['lk-endpoints', 'New endpoint', `${app}/webhook_endpoints`, 'events', { 'events:*': '', 'events:link.b': 'on', url: 'https://n.example' }, ['link.b']],
  ]) for (const after of [[503], less, catalogue]) {
    serve({
      'GET catalogue.json': inTurn(catalogue, after), [`GET ${path}`]: { [page === 'lk-keys' ? 'keys' : 'endpoints']: [] }, [`POST ${path}`]: inTurn(lost(), [201, { id: 'n', key: 'lk_secret' }]),
    })
    click(await show(page), label)
    await settle()
    await submit(opened(), entered)
    await settle()
    keepEntered((await leave()).form, 'ada')
    closeDialogs()
    findEntered('ada')
    await show(page)
    if (after !== catalogue) assert.match(field(opened(), part).value, new RegExp(`^${want.slice(0, -1).join(' ')}`))
    if (after === less && part === 'scopes') assert.match(text(opened().drawn), /Not in the catalogue: b:c, a:b/)
    await submit(opened(), entered.url ? { url: entered.url } : {})
    await settle()
    const made = asked(`POST ${path}`)
    assert.deepEqual([made.map(c => c.body[part]), made[0].key === made[1].key], [[want, want], true], `${part} ${JSON.stringify(after)}`)
    closeDialogs()
  }
})

const scopesOf = names => ({ scopes: names.map(name => ({ name, description: '' })), events: [] })
test('a repeat keeps the order of its words after each sign-in', async () => {
  const first = scopesOf(['a', 'b', 'c'])
  for (const [typed, ...after] of [
    ['d', scopesOf(['b', 'c'])], ['d', scopesOf(['c', 'b', 'a'])], ['d a', scopesOf(['b', 'c'])], ['d', scopesOf(['b', 'c']), first], ['d', scopesOf(['c']), scopesOf(['b', 'c'])], ['d', [503], scopesOf(['c'])],
    ['d', scopesOf(['d', 'b', 'c'])],
  ]) {
    serve({ 'GET catalogue.json': inTurn(first, ...after), 'GET orgs/o/keys': { keys: [] }, 'POST orgs/o/keys': inTurn(lost(), [201, { id: 'n', key: 'lk_secret' }]) })
    click(await show('lk-keys'), 'New API key')
    await settle()
    await submit(opened(), { 'scopes:a': 'on', 'scopes:b': 'on', 'scopes:c': 'on', scopes: typed })
    for (const _ of after) {
      await settle()
      keepEntered((await leave()).form, 'ada')
      closeDialogs()
      findEntered('ada')
      await show('lk-keys')
    }
    await submit(opened())
    await settle()
    const made = asked('POST orgs/o/keys')
    const want = ['a', 'b', 'c', ...typed.split(' ')]
    assert.deepEqual([made.map(c => c.body.scopes), made[0].key === made[1].key], [[want, want], true], JSON.stringify([typed, after]))
    closeDialogs()
  }
})

test('words added to a kept form follow the kept words', async () => {
  serve({ 'GET catalogue.json': inTurn(scopesOf(['a', 'b', 'c']), scopesOf(['c', 'b'])), 'GET orgs/o/keys': { keys: [] }, 'POST orgs/o/keys': inTurn(lost(), [201, { id: 'n', key: 'lk_secret' }]) })
  click(await show('lk-keys'), 'New API key')
  await settle()
  await submit(opened(), { 'scopes:a': 'on', 'scopes:b': 'on', scopes: 'd' })
  await settle()
  keepEntered((await leave()).form, 'ada')
  closeDialogs()
  findEntered('ada')
  await show('lk-keys')
  await submit(opened(), { 'scopes:b': '', 'scopes:c': 'on', scopes: 'a e d' })
  assert.deepEqual(asked('POST orgs/o/keys').map(c => c.body.scopes), [['a', 'b', 'd'], ['a', 'd', 'c', 'e']])
})

test('a form offers only lifetimes that the deployment allows', async () => {
  const now = Date.now(), s = 86400
  const keys = [
    key('never'),
    key('long', { createdAt: now - day, expiresAt: now + 44 * day }),
    key('fits', { createdAt: now - day, expiresAt: now + 29 * day }),
    key('same', { createdAt: now - day, expiresAt: now + 6 * day }),
  ]
  for (const [most, create, chosen, ...rotate] of [
    [0, ['', s, 7 * s, 30 * s, 90 * s, 365 * s], '', [['', s, 7 * s, 30 * s, 90 * s, 365 * s], ''], [[45 * s, s, 7 * s, 30 * s, 90 * s, 365 * s], 45 * s], [[30 * s, s, 7 * s, 90 * s, 365 * s], 30 * s]],
    [30, [s, 7 * s, 30 * s], 30 * s, [[s, 7 * s, 30 * s], 30 * s], [[s, 7 * s, 30 * s], 30 * s], [[30 * s, s, 7 * s], 30 * s], [[7 * s, s, 30 * s], 7 * s]],
  ]) {
    console_.readSettings = async () => { console_.maxKeyDays = most }
    serve({ 'GET orgs/o/keys': { keys } })
    const e = await show('lk-keys')
    const offered = async () => { await settle(); const f = field(opened(), 'expiresIn'); closeDialogs(); return [f.options.map(o => o.value), f.value] }
    const asText = ([all, one]) => [all.map(String), String(one)]
    await click(e, 'New API key')
    assert.deepEqual(await offered(), asText([create, chosen]))
    for (const [i, want] of rotate.entries()) {
      await click(e, 'Rotate', i)
      assert.deepEqual(await offered(), asText(want), `${most} ${keys[i].id}`)
    }
  }
  console_.readSettings = async () => { throw new Error('no settings') }
  const e = await show('lk-keys')
  await click(e, 'New API key')
  await settle()
  assert.ok(text(opened().drawn).includes('no settings') && !opened().drawn.includes('<form'))
})

test('the use of a key is drawn by UTC days, with sums for the org', async () => {
  const days = n => new Date(Date.now() - n * day).toISOString().slice(0, 10)
  const usage = [{ date: days(0), requests: 3, atMost: 5 }, { date: days(1), requests: 2, atMost: 2 }, { date: days(0), requests: 100, atMost: 100, keyId: 'k1' }]
  for (const [of, extra, note] of [
    [org, [], 'Counted for the org as a whole: 3 to 5 requests today, 5 to 7 this month'],
    [org, [{ date: days(2), requests: 1, atMost: null }], '3 to 5 requests today, at least 6 this month'],
    [org, [{ date: days(2), requests: 0, atMost: 0 }], '3 to 5 requests today, 5 to 7 this month'], [member, [], 'its admins see how much is used'],
  ]) {
    serve({
      'GET orgs/o/keys': { keys: [key('k1')] }, 'GET orgs/o': { allowance: [{ requests: 1000, per: 'month' }] },
      'GET orgs/o/usage': inTurn({ usage: usage.slice(0, 1), nextCursor: 'c' }, { usage: [...usage.slice(1), ...extra] }),
      'GET orgs/o/keys/k1/usage': { days: [{ date: days(0), requests: 4, atMost: null }, { date: days(29), requests: 7, atMost: 9 }, { date: days(30), requests: 50, atMost: 50 }] },
    })
    const e = await show('lk-keys', { org: of })
    click(e, 'name-k1')
    await settle()
    const d = opened()
    const table = rows(d)
    assert.deepEqual([table.length, table[0], table[1], table[29]], [30, [days(0), '4', '–'], [days(1), '0', '0'], [days(29), '7', '9']])
    assert.match(text(d.drawn.split('class="ends"')[1]), new RegExp(`${days(29)} ${days(0)}`))
    assert.ok(text(d.drawn).includes(note))
    closeDialogs()
  }
  assert.deepEqual([
    dayLimit({ limits: [{ requests: 9, per: 'day' }, { requests: 1, per: 'hour' }], ceilings: [{ requests: 7, per: 'day' }] }),
    dayLimit({ limits: [{ requests: 2, per: 'day' }], ceilings: [{ requests: 7, per: 'day' }] }),
    dayLimit({ limits: [], ceilings: [{ requests: 7, per: 'month' }] }),
  ], [7, 2, null])
})

test('a key without counted requests says why', async () => {
  const [whole, none] = ['This key has no limits: its requests are counted for the whole org.', 'No requests were counted for this key in the last 30 days.']
  const perDay = [{ requests: 5, per: 'day' }]
  for (const [of, k, allowance, says, not, note] of [
    [org, {}, perDay, whole, none, 'Counted for the org as a whole'], [org, { limits: perDay }, perDay, none, whole, 'Counted for the org as a whole'],
    [org, { ceilings: perDay }, perDay, none, whole, 'Counted for the org as a whole'], [org, {}, [], none, whole, ''],
    [member, {}, undefined, none, whole, 'If the org has an allowance, it is counted for all its keys together'], [member, { limits: perDay }, undefined, none, whole, 'If the org has an allowance'],
  ]) {
    serve({ 'GET orgs/o/keys': { keys: [key('k1', k)] }, 'GET orgs/o/keys/k1/usage': { days: [] }, 'GET orgs/o': { allowance }, 'GET orgs/o/usage': { usage: [] } })
    click(await show('lk-keys', { org: of }), 'name-k1')
    await settle()
    const shown = text(opened().drawn)
    assert.deepEqual([says, not, note].map(t => shown.includes(t)), [true, false, true], JSON.stringify([of.role, k, allowance]))
    closeDialogs()
  }
})

test('the use of a rotated key has the name of its last key', async () => {
  const date = new Date().toISOString().slice(0, 10)
  const keys = [key('k3'), key('k2', { rotatedTo: 'k3', revokedAt: 1 }), key('k1', { rotatedTo: 'k2', revokedAt: 1 }), key('n1', { rotatedTo: 'gone' })]
  serve({ 'GET orgs/o': org, 'GET orgs/o/keys': { keys }, 'GET orgs/o/usage': { usage: ['k1', 'n1', 'old'].map(keyId => ({ date, keyId, requests: 1, atMost: 1 })) } })
  const e = await show('lk-usage')
  assert.deepEqual(rows(e).slice(-3).map(r => r[0]), ['name-k3 lk_k3…', 'name-n1 lk_n1…', 'old'])
})

test('members show who added them, and cannot remove themselves', async () => {
  const m = (userId, name = '', addedBy = undefined) => ({ userId, email: `${userId}@example.com`, name, role: 'member', joinedAt: 1, addedBy })
  const routes = {
    'GET orgs/o/members': { members: [m('ada'), m('bob', 'Bob', 'ada'), m('cy', '', 'service:sync'), m('dan', '', 'gone')] },
    'GET orgs/o/keys': { keys: [] }, 'PATCH orgs/o/members/bob': {}, 'DELETE orgs/o/members/bob': [204], 'POST orgs/o/members': [201, {}], 'GET orgs': { orgs: [] },
  }
  serve(routes)
  const e = await show('lk-members', { person: Object.assign(aPerson(), { email: 'Ada@Example.com' }) })
  assert.deepEqual(rows(e).map(r => [r[0], r[3], r[4]]), [
    ['ada@example.com you', '–', 'Role'],
    ['Bob bob@example.com', 'ada@example.com', 'Role Remove'],
    ['cy@example.com', 'service sync', 'Role Remove'],
    ['dan@example.com', 'gone', 'Role Remove'],
  ])
  await click(e, 'Role', 1)
  await settle()
  assert.equal(field(opened(), 'role').value, 'member')
  await submit(opened(), { role: 'viewer' })
  await settle()
  assert.deepEqual([asked('PATCH orgs/o/members/bob')[0].body, asked('GET orgs').length, asked('GET orgs/o/members').length], [{ role: 'viewer' }, 1, 2])
  await click(e, 'Add member')
  await settle()
  await submit(opened(), { email: ' dy@example.com ' })
  await settle()
  assert.deepEqual([asked('POST orgs/o/members')[0].body, asked('GET orgs/o/members').length], [{ email: 'dy@example.com', role: 'member' }, 3])
  await click(e, 'Remove', 0)
  await settle()
  await submit(opened())
  assert.deepEqual([asked('DELETE orgs/o/members/bob').length, asked('GET orgs/o/keys').map(c => c.query), opened()], [1, [{ createdBy: 'bob' }], undefined])
  serve(routes)
  serve({ ...routes, 'GET orgs/o/members': { members: [{ ...m('eve', 'Eve'), email: '' }] } }) // without an email no member is marked as "you"
  assert.deepEqual(rows(await show('lk-members', { person: aPerson() })).map(r => [r[0], r[4]]), [['Eve', 'Role Remove']])
  serve(routes)
  const seen = await show('lk-members', { org: member })
  assert.deepEqual([rows(seen)[1].length, buttons(seen).includes('Add member')], [3, false])
})

test('after a removal the ticked keys of the member are revoked', async () => {
  const now = Date.now()
  const made = [
    { ...key('k1'), name: 'Server', lastUsedAt: Date.UTC(2026, 10, 2, 3, 4) }, { ...key('k2'), name: '', rotatedTo: 'k3', expiresAt: now + 1e6 },
    { ...key('k4'), revokedAt: 5 }, { ...key('k5'), expiresAt: now - 1 },
  ]
  for (const [ticked, sent] of [[['k2'], ['DELETE orgs/o/keys/k2']], [['k1', 'k2'], ['DELETE orgs/o/keys']], [[], []]]) {
    serve({
      'GET orgs/o/members': { members: [{ userId: 'bob', email: 'bob@example.com', name: '', role: 'admin', joinedAt: 1 }] },
      'DELETE orgs/o/members/bob': [204], 'GET orgs/o/keys': ({ query }) => query.cursor ? { keys: made.slice(1) } : { keys: made.slice(0, 1), nextCursor: 'c' },
      'DELETE orgs/o/keys': inTurn(refused(503), [204]), 'DELETE orgs/o/keys/k2': [204],
    })
    const e = await show('lk-members')
    await click(e, 'Remove')
    await settle()
    await submit(opened())
    await settle()
    const d = opened()
    assert.match(text(d.drawn), /API keys that they made.*bob@example.com.*Server.*Last used: 2 Nov 2026, 03:04.*Unnamed key.*Last used: Never/)
    assert.deepEqual([...d.drawn.matchAll(/type="checkbox"[^>]* name="?([^ ">]+)/g)].map(m => m[1]), ['k1', 'k2'])
    const whats = calls.map(c => c.what)
    assert.ok(whats.indexOf('DELETE orgs/o/members/bob') < whats.indexOf('GET orgs/o/keys'))
    await submit(d, Object.fromEntries(ticked.map(k => [k, 'on'])))
    await settle()
    const revocations = () => calls.filter(c => /^DELETE orgs.o.keys/.test(c.what)).map(c => c.what)
    assert.deepEqual(revocations(), sent)
    if (ticked.length === 1) { assert.equal(opened(), undefined); continue }
    assert.match(text(d.drawn), ticked.length ? /it is refused/ : /Tick the keys to revoke, or cancel/)
    await submit(d, { k1: 'on', k2: 'on' }) // sends the same request again after the 503
    await settle()
    assert.deepEqual([revocations(), calls.at(-1).query, opened()], [[...sent, 'DELETE orgs/o/keys'], { createdBy: 'bob' }, ticked.length ? undefined : d])
    closeDialogs()
  }
})

test('after a removal a failed reading can be repeated', async () => {
  serve({
    'GET orgs/o/members': { members: [{ userId: 'bob', email: 'bob@example.com', name: '', role: 'admin', joinedAt: 1 }] },
    'DELETE orgs/o/members/bob': [204], 'GET orgs/o/keys': inTurn(lost(), refused(503), { keys: [key('k1')] }),
  })
  await click(await show('lk-members'), 'Remove')
  await settle()
  await submit(opened())
  for (const says of [/It is done, but.*cannot be reached/, /It is done, but.*it is refused/]) {
    await settle()
    assert.match(text(opened().drawn), says)
    assert.equal(document.body.children.filter(d => d.isConnected).length, 1)
    await click(opened(), 'Try again')
  }
  await settle()
  assert.match(text(opened().drawn), /API keys that they made.*name-k1/)
  assert.deepEqual([asked('DELETE orgs/o/members/bob').length, asked('GET orgs/o/keys').length], [1, 3])
})
