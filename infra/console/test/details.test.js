// Tests of drawers, filters, charts, kept forms and the frame, without a browser.
import './browser'
import assert from 'node:assert/strict'
import { afterEach, mock, test } from 'node:test'
import { buttons, choose, click, enter, field, rows, submit, text } from './lit'
import { aPerson, asked, calls, closeDialogs, held, inTurn, lost, opened, org, refused, serve, settle, show } from './server'
import { chart, timeline } from '../src/chart'
import { console_ } from '../src/context'
import { openEvent } from '../src/deliveries'
import { closeAll, leave, mayLeave, openDialog, openForm } from '../src/dialog'
import { select } from '../src/fields'
import { entered, fill, findEntered, keepEntered } from '../src/kept'
import { List } from '../src/list'
import { left, visible } from '../src/ui'
import { LitElement } from './lit'
import '../src/audit'
import '../src/endpoints'
import '../src/links'
import '../src/orgs'

const hour = 3_600_000, day = 24 * hour
const app = 'orgs/o/apps/app'
const now = Date.now
afterEach(() => { Date.now = now; closeDialogs(); said.length = 0; mock.timers.reset(); delete globalThis.fetch; location.hash = '' })
const drawnOf = async t => { const e = new LitElement(); e.render = () => t; e.connectedCallback(); await settle(); return e }

test('a failed page of a list can be read again', async () => {
  for (const [fails, read, want] of [['more', 'c', 'has 1,3'], ['load', undefined, 'has 3']]) { // the next page; the first page again
    const e = new LitElement(), asked = []
    const list = new List(e, async cursor => { asked.push(cursor); if (asked.length === 2) throw new Error('lost'); return { items: [asked.length], nextCursor: 'c' } })
    e.render = () => list.view(items => `has ${items}`, 'nothing')
    e.connectedCallback()
    await list.load()
    await list[fails]()
    await settle()
    assert.ok(/has 1.*lost/.test(text(e.drawn)) && !e.drawn.includes('lk-more'))
    await click(e, 'Try again')
    await settle()
    assert.deepEqual([asked, text(e.drawn)], [[undefined, read, read], want])
  }
})

const attempt = (status, error = null, at = 1) => ({ at, status, durationMs: 5, error, body: null })
const delivery = o => ({ eventId: 'v', endpointId: 'e1', eventType: 't', status: 'delivered', attempts: 1, createdAt: 1, lastAttempt: attempt(200), earlierAttempts: [], endpointOrigin: 'https://one.example', ...o })

test('an event shows its deliveries, and reads them again while one is pending', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const waiting = { deliveries: [delivery({ status: 'pending', lastAttempt: null })] }
  const routes = {
    [`GET ${app}/webhook_events/v%2F1`]: { id: 'v/1', type: 'link.made', createdAt: 1, data: { a: 1 } },
    [`GET ${app}/webhook_deliveries`]: inTurn({ deliveries: [] }, waiting, {
      deliveries: [delivery({ status: 'failed', lastAttempt: attempt(300), earlierAttempts: [attempt(199), attempt(299), attempt(null, 'timeout')] })],
      nextCursor: 'more',
    }),
    [`POST ${app}/webhook_deliveries/redeliver`]: inTurn([202, {}], refused(409)),
  }
  serve(routes)
  const page = await show('lk-endpoints')
  serve(routes)
  const d = openEvent(page, 'v/1')
  const tick = async () => { await settle(); mock.timers.tick(1500); await settle() }
  await settle()
  assert.match(text(d.drawn), /No endpoint gets this event/)
  await tick()
  assert.match(text(d.drawn), /No attempt yet/)
  assert.equal(buttons(d).includes('Send again'), false)
  for (let i = 0; i < 4; i++) await tick()
  assert.deepEqual([asked(`GET ${app}/webhook_deliveries`).length, asked(`GET ${app}/webhook_events/v%2F1`).length], [3, 1])
  assert.deepEqual(calls.at(-1).query, { eventId: 'v/1' })
  assert.deepEqual([...d.drawn.matchAll(/badge (good|bad)">([^<]*)</g)].map(m => m.slice(1).join(' ')), ['bad failed', 'bad HTTP 300', 'bad HTTP 199', 'good HTTP 299', 'bad timeout'])
  assert.match(text(d.drawn), /Only the first deliveries/)
  await click(d, 'Send again')
  await settle()
  assert.deepEqual([asked(`POST ${app}/webhook_deliveries/redeliver`)[0].body, asked(`GET ${app}/webhook_deliveries`).length], [{ endpointId: 'e1', eventId: 'v' }, 4])
  await click(d, 'Send again')
  await settle()
  assert.match(text(d.drawn), /it is refused/)
  closeDialogs()
  serve({ ...routes, [`GET ${app}/webhook_deliveries`]: waiting })
  const endless = openEvent(page, 'v/1')
  for (let i = 0; i < 20; i++) await tick()
  assert.equal(asked(`GET ${app}/webhook_deliveries`).length, 9)
  await click(endless, 'Refresh')
  for (let i = 0; i < 3; i++) await tick()
  assert.equal(asked(`GET ${app}/webhook_deliveries`).length, 13)
  endless.close()
  for (let i = 0; i < 5; i++) await tick()
  assert.equal(asked(`GET ${app}/webhook_deliveries`).length, 13) // a closed drawer reads no more
  serve(routes)
  const seen = openEvent(await show('lk-links', { org: { ...org, role: 'member' } }), 'v/1')
  await settle()
  assert.equal(buttons(seen).includes('Send again'), false)
})

// A delivery that was held may be on its way already, because its endpoint was enabled a moment ago.
test('a refused redelivery reads the delivery again, and tells the refusal', async () => {
  const endpoint = { id: 'e1', url: 'https://one.example', events: ['*'], enabled: true }
  const drawer = of => { click(of, endpoint.url); return opened }
  for (const [page, show_] of [['lk-endpoints', drawer], ['lk-endpoints', of => { openEvent(of, 'v'); return opened }], ['lk-deliveries', of => () => of]]) {
    serve({
      [`GET ${app}/webhook_endpoints`]: { endpoints: [endpoint] }, [`GET ${app}/webhook_endpoints/e1`]: endpoint,
      [`GET ${app}/webhook_events/v`]: { id: 'v', type: 't', createdAt: 1, data: {} },
      [`GET ${app}/webhook_deliveries`]: inTurn({ deliveries: [delivery({ status: 'held' })] }, { deliveries: [delivery({ deliveredAt: 2 })] }),
      [`POST ${app}/webhook_deliveries/redeliver`]: refused(409),
    })
    const at = show_(await show(page))
    await settle()
    assert.match(at().drawn, />held</)
    click(at(), 'Send again')
    await settle()
    assert.match(at().drawn, />delivered</)
    assert.match(text(at().drawn) + said.join(), /it is refused/)
    closeDialogs()
  }
})

test('a refusal is shown at once, and its button can be pressed again', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const endpoint = { id: 'e1', url: 'https://one.example', events: ['*'], enabled: true }
  const [list, send] = [`GET ${app}/webhook_deliveries`, `POST ${app}/webhook_deliveries/redeliver`]
  for (const open of [of => click(of, endpoint.url), of => openEvent(of, 'v')]) {
    const [reading, sending] = [held(), held()]
    const pending = { deliveries: [delivery({ status: 'pending', attempts: 0, lastAttempt: attempt(410) })] } // a new round keeps the last attempt
    serve({
      [`GET ${app}/webhook_endpoints`]: { endpoints: [endpoint] }, [`GET ${app}/webhook_endpoints/e1`]: endpoint,
      [`GET ${app}/webhook_events/v`]: { id: 'v', type: 't', createdAt: 1, data: {} },
      [list]: inTurn({ deliveries: [delivery({ status: 'failed' })] }, reading, reading, pending), [send]: inTurn(refused(409), refused(503), sending),
    })
    open(await show('lk-endpoints'))
    await settle()
    for (const says of [/it is refused/, /it is refused/]) {
      click(opened(), 'Send again')
      await settle()
      assert.match(text(opened().drawn), says)
    }
    click(opened(), 'Send again') // the readings are pending still
    await settle()
    assert.equal(asked(send).length, 3)
    sending.go([202, {}])
    await settle()
    reading.go({ deliveries: [delivery({ status: 'failed' })] }) // later than the answer of a newer reading
    await settle()
    assert.match(opened().drawn, />pending</)
    for (const more of [1, 1, 1]) { // one reading at a time, though three have begun
      const before = asked(list).length
      mock.timers.tick(1500)
      await settle()
      assert.equal(asked(list).length - before, more)
    }
    closeDialogs()
  }
})

test('the drawer of an endpoint draws deliveries in the hour of their event', async () => {
  const base = Math.floor(now() / hour) * hour
  Date.now = () => base + 1000
  const at = (t, status, o) => delivery({ createdAt: t, status, lastAttempt: null, ...o })
  const endpoint = { id: 'e1', url: 'https://one.example', events: ['*'], enabled: true }
  serve({
    [`GET ${app}/webhook_endpoints`]: { endpoints: [endpoint] }, [`GET ${app}/webhook_endpoints/e1`]: { ...endpoint, heldCount: 4, pausedUntil: base + 2000 },
    [`GET ${app}/webhook_deliveries`]: { deliveries: [
      at(base - 23 * hour, 'failed'),
      at(base - hour, 'delivered'),
      at(base - 1, 'pending'),
      at(base - 2, 'pending', { lastAttempt: { at: 1, status: 500, durationMs: 1, error: null, body: null } }),
      at(base, 'delivered'),
      at(base, 'cancelled'),
      at(base + 500, 'failed'),
      at(base + 600, 'failed'),
    ] },
  })
  click(await show('lk-endpoints'), 'https://one.example')
  await settle()
  const table = rows(opened()).map(r => r.slice(1).join(' '))
  assert.deepEqual([table.length, table[0], table[1], table[2], table[23]], [24, '1 2 0 1', '1 0 1 1', '0 0 0 0', '0 1 0 0'])
  assert.equal(Number(asked(`GET ${app}/webhook_deliveries`)[0].query.since), base - 23 * hour)
  assert.match(text(opened().drawn), /Paused until.*Held deliveries 4/)
})

test('an endpoint shows its state, and can be enabled and disabled', async () => {
  const e = (id, o) => ({ id, url: `https://${id}.example`, events: ['a', 'b', 'c', 'd', 'e'], enabled: true, ...o })
  const endpoints = [e('on', {}), e('failing', { failingSince: 1e12 }), e('off', { enabled: false, disabledReason: 'gone', disabledAt: 1e12, failingSince: 1e12 })]
  serve({ [`GET ${app}/webhook_endpoints`]: { endpoints }, [`PATCH ${app}/webhook_endpoints/on`]: {}, [`PATCH ${app}/webhook_endpoints/off`]: {}, [`DELETE ${app}/webhook_endpoints/on`]: [204],
    [`POST ${app}/webhook_endpoints`]: inTurn(lost(), [201, {}]), [`GET ${app}/webhook_endpoints/on`]: endpoints[0], [`GET ${app}/webhook_deliveries`]: { deliveries: [] } })
  const page = await show('lk-endpoints')
  assert.deepEqual(rows(page).map(r => [r[1], r[2].split(' ').slice(0, 3).join(' '), r[4]]), [
    ['a b c +2', 'enabled', 'Test Disable'],
    ['a b c +2', 'failing since 9', 'Test Disable'],
    ['a b c +2', 'disabled it answered', 'Test Enable'],
  ])
  for (const [label, n, id, enabled] of [['Disable', 0, 'on', false], ['Enable', 0, 'off', true]]) {
    await click(page, label, n)
    await settle()
    await submit(opened())
    assert.deepEqual(asked(`PATCH ${app}/webhook_endpoints/${id}`)[0].body, { enabled })
  }
  assert.throws(() => click(page, 'Test', 2), /disabled/)
  await click(page, 'New endpoint')
  await settle()
  const d = opened()
  await submit(d, { url: ' https://n.example ', events: 'a.*, b' })
  await settle()
  await submit(d)
  const made = asked(`POST ${app}/webhook_endpoints`)
  assert.deepEqual([made[1].body, made[0].key === made[1].key], [{ url: 'https://n.example', events: ['a.*', 'b'], description: null }, true])
  await click(page, 'https://on.example')
  await settle()
  await click(opened(), 'Delete endpoint')
  await settle()
  await submit(opened())
  assert.deepEqual([asked(`DELETE ${app}/webhook_endpoints/on`).length, asked(`GET ${app}/webhook_endpoints`).length], [1, 5])
})

// The list was read before the endpoint answered 410. Disabling it would overwrite the reason, and lock out the app's key.
test('the drawer of an endpoint offers what its newest state allows', async () => {
  const old = { id: 'e1', url: 'https://one.example', events: ['*'], enabled: true, description: 'old' }
  const known = { scopes: [], events: [{ type: 'a.b', description: '', example: {} }] }
  for (const [before, now, wanted] of [[true, false, 'Enable'], [false, true, 'Disable']]) {
    serve({
      'GET catalogue.json': known, [`GET ${app}/webhook_endpoints`]: { endpoints: [{ ...old, enabled: before }] }, [`GET ${app}/webhook_deliveries`]: { deliveries: [] },
      [`GET ${app}/webhook_endpoints/e1`]: { ...old, enabled: now, disabledReason: now ? null : 'gone', disabledAt: 1e12, description: 'new', heldCount: 0 }, [`PATCH ${app}/webhook_endpoints/e1`]: {},
    })
    const page = await show('lk-endpoints')
    click(page, 'https://one.example')
    await settle()
    assert.deepEqual([buttons(opened()).filter(b => /able endpoint/.test(b)), buttons(page).filter(b => /able$/.test(b))], [[`${wanted} endpoint`], [wanted]])
    assert.match(text(opened().drawn), /Description new/)
    for (const b of ['Send test event', 'Send example']) if (!now) assert.throws(() => click(opened(), b), /disabled/)
    click(opened(), `${wanted} endpoint`)
    await settle()
    await submit(opened())
    assert.deepEqual(asked(`PATCH ${app}/webhook_endpoints/e1`).map(c => c.body), [{ enabled: !now }])
    closeDialogs()
    serve({ [`GET ${app}/webhook_endpoints/e1`]: { ...old, enabled: before, description: 'newest' }, [`GET ${app}/webhook_deliveries`]: refused(503) })
    click(page, 'https://one.example') // the deliveries cannot be read
    await settle()
    assert.match(text(opened().drawn), /it is refused.*Description newest/)
    closeDialogs()
  }
})

test('the drawer of an endpoint links to all deliveries, also without new ones', async () => {
  const endpoint = { id: 'e1', url: 'https://one.example', events: ['*'], enabled: true }
  for (const [isEmbedded, want] of [[false, 1], [true, 0]]) {
    console_.isEmbedded = isEmbedded
    serve({ [`GET ${app}/webhook_endpoints`]: { endpoints: [endpoint] }, [`GET ${app}/webhook_endpoints/e1`]: endpoint, [`GET ${app}/webhook_deliveries`]: { deliveries: [] } })
    click(await show('lk-endpoints'), endpoint.url)
    await settle()
    console_.isEmbedded = false
    assert.match(text(opened().drawn), /No event of the last 24 hours/)
    assert.equal(opened().drawn.split('href="#/orgs/o/deliveries/app/e1"').length - 1, want)
    closeDialogs()
  }
})

test('a list of deliveries says what it knows of the chosen state', async () => {
  const list = `GET ${app}/webhook_deliveries`
  for (const [status, nextCursor, says] of [
    ['failed', 'c', 'None of the newest deliveries has this state. Older ones may.'], ['failed', undefined, 'No delivery has this state.'],
    ['', undefined, 'No deliveries in the last 30 days.'],
  ]) {
    serve({ [list]: { deliveries: [], nextCursor }, [`GET ${app}/webhook_endpoints`]: { endpoints: [] } })
    const e = await show('lk-deliveries')
    choose(e, 'status', status)
    await settle()
    assert.deepEqual([text(e.drawn.split('class="note"')[1] ?? '').includes(says), buttons(e).includes('Older')], [true, Boolean(nextCursor)], text(e.drawn))
    for (const unknown of [held(), lost()]) {
      serve({ [list]: unknown })
      choose(e, 'status', 'pending')
      await settle()
      assert.equal(e.drawn.includes('class="note"'), false)
    }
  }
})

test('the audit log marks a leaked key, and shows the source as text', async () => {
  const entry = (id, action, source) => ({ id, at: 1, action, actor: { type: 'holder' }, target: { type: 'key', id: 'k' }, requestId: 'r', changes: {}, source })
  serve({
    'GET orgs/o/audit': { entries: [entry('b', 'key.leaked', 'https://example.com/<b>'), entry('a', 'key.revoked', 'https://example.com/2')] },
    'GET orgs/o/members': { members: [] }, 'GET orgs/o/keys': { keys: [] },
  })
  const e = await show('lk-audit')
  assert.deepEqual(rows(e).map(r => r[0].replace(/ 1 Jan.*/, '')), ['API key leaked found in public key.leaked', 'API key revoked key.revoked'])
  assert.match(rows(e)[0].join(' | '), /someone with its text \| k API key \| – found at https:\/\/example.com\/<b>/)
  assert.doesNotMatch(e.drawn, /<a\b/)
})

test('the audit log filters by the API, and shows names for ids', async () => {
  const entry = (action, actor, changes = {}) => ({ id: action + actor.id, at: 1, action, actor, target: { type: 'key', id: 'k' }, requestId: 'r', changes })
  const [ada, bob, service] = [{ type: 'user', id: 'ada' }, { type: 'api_key', id: 'k' }, { type: 'service', name: 'sync' }]
  serve({
    'GET orgs/o/audit': ({ query }) => query.cursor ? { entries: [entry('key.revoked', ada)] } : query.target ? { entries: [], nextCursor: 'c2' } : query.action === 'key.leaked' ? { entries: [] } : { entries: [
      entry('key.created', ada, { expiresAt: { from: null, to: null }, name: { from: null, to: '' }, appId: { from: null, to: 'app' } }),
      entry('key.rotated', bob, { expiresAt: { from: null, to: 86400000 }, rotatedTo: { from: null, to: 'k' }, format: { from: 5, to: 'x' } }),
      entry('did.new', service, { plan: { from: 'pro', to: null }, limits: { from: null, to: [{ requests: 5, per: 'day' }] }, scopes: { from: ['a', 'b'], to: [] } }),
      entry('key.created', { type: 'holder' }, { expiresAt: { from: null, to: null } }),
    ], nextCursor: 'c1' },
    'GET orgs/o/members': { members: [{ userId: 'ada', email: 'ada@example.com', name: 'Ada' }] }, 'GET orgs/o/keys': inTurn({ keys: [], nextCursor: 'c' }, { keys: [{ id: 'k', name: '', keyPrefix: 'lk_k' }] }),
  })
  const e = await show('lk-audit')
  assert.deepEqual(rows(e).map(r => [r[0].replace(/ 1 Jan.*/, ''), r[1], r[3].replace(/ Request id.*/, '')]), [
    ['API key made key.created', 'ada@example.com user', 'app First'],
    ['API key rotated key.rotated', 'lk_k… API key', 'expires 2 Jan 1970, 00:00 replaced by lk_k… format 5 → x'],
    ['did.new did.new', 'service sync', 'plan pro → – limits 5 per day scopes a, b → –'],
    ['API key made key.created', 'someone with its text', '–'],
  ])
  assert.deepEqual(field(e, 'actor').options.map(o => o.value), ['', 'ada', 'k', 'service:sync', 'holder'])
  assert.equal(field(e, 'action').options.length, 29)
  await click(e, 'Older')
  await settle()
  assert.deepEqual([rows(e).length, asked('GET orgs/o/audit').at(-1).query, buttons(e).includes('Older')], [5, { limit: '50', cursor: 'c1' }, false])
  const pick = async (name, value) => {
    if (field(e, name).options.length) choose(e, name, value)
    else e.held[e.drawn.match(new RegExp(`name="?${name}"?[^>]*@change="([^"]*)"`))[1]].call(e, { target: { value } })
    await settle()
    return asked('GET orgs/o/audit').at(-1).query
  }
  assert.deepEqual(await pick('actor', 'service:sync'), { actor: 'service:sync', limit: '50' })
  assert.deepEqual(await pick('from', '1970-01-02'), { actor: 'service:sync', from: '86400000', limit: '50' })
  assert.deepEqual(await pick('to', '1970-01-02'), { actor: 'service:sync', from: '86400000', to: '172800000', limit: '50' })
  assert.deepEqual(await pick('from', ''), { actor: 'service:sync', to: '172800000', limit: '50' })
  assert.deepEqual(await pick('action', 'key.leaked'), { action: 'key.leaked', actor: 'service:sync', to: '172800000', limit: '50' })
  assert.match(text(e.drawn), /No matching entries/)
  assert.deepEqual(await pick('target', ' k '), { action: 'key.leaked', actor: 'service:sync', target: 'k', to: '172800000', limit: '50' })
  assert.match(text(e.drawn), /None of the newest entries matches. Older ones may./)
  await click(e, 'Older')
  await settle()
  assert.deepEqual([asked('GET orgs/o/audit').at(-1).query, rows(e).length], [{ action: 'key.leaked', actor: 'service:sync', target: 'k', to: '172800000', limit: '50', cursor: 'c2' }, 1])
})

test('links show their state, and only a pending link can be revoked', async () => {
  const link = (id, status, o = {}) => ({ id, status, clientUserId: id, createdAt: 1, expiresAt: day, claimedAt: null, revokedAt: null, device: null, ...o })
  serve({
    [`GET ${app}/links`]: { links: [
      link('a', 'pending'),
      link('b', 'claimed', { claimedAt: 5 * day, device: { name: 'Phone', platform: 'ios' } }),
      link('c', 'revoked', { revokedAt: 9 * day }),
    ] },
    [`DELETE ${app}/links/a`]: [204],
  })
  const e = await show('lk-links')
  assert.deepEqual(rows(e).map(r => [r[2], r[4].split(',')[0], r[5].split(',')[0], r[6]]), [
    ['–', '2 Jan 1970', '–', 'Revoke'],
    ['Phone, ios', '2 Jan 1970', '6 Jan 1970', ''],
    ['–', '2 Jan 1970', '10 Jan 1970', ''],
  ])
  await click(e, 'Revoke')
  await settle()
  await submit(opened())
  assert.equal(asked(`GET ${app}/links`).length, 2)
})

test('a remaining time has two units, and direction characters are visible', () => {
  Date.now = () => 1e12
  for (const [ms, want] of [
    [-5, '0 s'],
    [1, '1 s'],
    [59_000, '59 s'],
    [60_000, '1 min'],
    [61_000, '1 min 1 s'],
    [hour, '1 h'],
    [hour + 61_000, '1 h 1 min'],
    [day, '1 d'],
    [2 * day + 23 * hour + 3_599_000, '2 d 23 h'],
  ]) assert.equal(left(1e12 + ms), want)
  assert.equal(visible('a\u202eb\u2066'), 'a\\u202eb\\u2066')
})

test('a chart scales to its largest value and a near line', async () => {
  const bars = [
    { label: 'one', parts: [{ name: 'p', tone: 'good', value: 10 }, { name: 'q', tone: 'bad', value: 10 }] },
    { label: 'two', shade: 40, parts: [{ name: 'p', tone: 'good', value: 5 }, { name: 'q', tone: 'bad', value: 0 }] },
  ]
  const { drawn } = await drawnOf(chart({ title: 'c', bars, unit: 'u', shadeName: 's', line: { value: 200, name: 'l' } }))
  const scale = 100 / 210
  const rect = [...drawn.matchAll(/<rect class="?(good|bad|shade)"? x="?([\d.]+)"? y="?([\d.]+)"?.*?height="?([\d.]+)/g)].map(m => [m[1], ...m.slice(2).map(n => Math.round(n * 100) / 100)])
  const r = n => Math.round(n * 100) / 100
  assert.deepEqual(rect, [
    ['good', 0.12, r(100 - 10 * scale), r(10 * scale)],
    ['bad', 0.12, r(100 - 20 * scale), r(10 * scale)],
    ['shade', 1.12, r(100 - 40 * scale), r(40 * scale)],
    ['good', 1.12, r(100 - 5 * scale), r(5 * scale)],
  ])
  assert.match(drawn, new RegExp(`y1="${100 - 200 * scale}"`))
  assert.match(text(drawn.split('class="scale"')[1]), /200/)
  const far = await drawnOf(chart({ title: 'c', bars, unit: 'u', line: { value: 201, name: 'l' } }))
  assert.ok(!far.drawn.includes('<line') && text(far.drawn).includes('l (above the chart)'))
  const life = await drawnOf(timeline('t', [{ label: 'ends', at: 4 * day }, { label: 'made', at: 0 }], { label: 'now', at: day }))
  assert.match(life.drawn, /aria-label="t: made 1970-01-01, now 1970-01-02, ends 1970-01-05"[^]*class="past" x1="0%" x2="25%"/)
})

test('a choice follows its value after a person chose another', async () => {
  const e = new LitElement()
  let value = 'a'
  e.render = () => select({ label: 'l', name: 's', value, options: ['a', 'b'].map(v => [v, v]), change: v => { value = v } })
  e.connectedCallback()
  await settle()
  for (const [picks, is] of [['b', 'b'], ['', 'a'], ['', 'b']]) {
    if (picks) choose(e, 's', picks)
    value = is
    e.requestUpdate()
    await settle()
    assert.equal(field(e, 's').value, is)
  }
})

test('a form is kept without secrets, and filled with matching fields', () => {
  const control = (name, type, value, checked = false) => ({ name, type, value, checked })
  const form = { elements: [control('n', 'text', 'x'), control('u', 'url', 'https://secret'), control('c', 'checkbox', 'on', true), control('d', 'checkbox', 'on'), control('', 'text', 'y')] }
  assert.deepEqual(entered('f', form, true), { form: 'f', fields: [['n', 'x'], ['c', 'on']], isPart: true, isUnsure: true })
  form.elements[1].value = ''
  assert.equal(entered('f', form, false).isPart, false)
  const s = v => Object.assign(new HTMLSelectElement(), { name: v, type: 'select-one', value: 'first', options: [{ value: 'first' }, { value: 'second' }] })
  const other = { elements: [control('n', 'text', ''), control('c', 'checkbox', 'on'), control('d', 'checkbox', 'on', true), s('s'), s('t'), control('pair-name', 'text', 'p'), control('u', 'url', 'mine'), control('once', 'hidden', 'drawn')] }
  fill(other, { fields: [['n', 'x'], ['c', 'on'], ['s', 'second'], ['t', 'gone'], ['pair-name', 'z'], ['u', 'theirs']] })
  assert.deepEqual(other.elements.map(c => c.type === 'checkbox' ? c.checked : c.value), ['x', true, false, 'second', 'first', 'p', 'mine', 'drawn'])
})

test('leaving a dialog with entered text needs a confirmation', async () => {
  const [ada, bob] = [aPerson(), aPerson()]
  let asks = []
  globalThis.confirm = q => { asks.push(q); return false }
  assert.equal(mayLeave(), true)
  const d = openDialog(ada, { title: 'a' }, () => 'a')
  const other = openDialog(bob, { title: 'b' }, () => 'b')
  assert.equal(mayLeave(), true)
  for (const what of ['isTyped', 'isBusy']) { d[what] = true; assert.equal(mayLeave(), false, what); d[what] = false }
  const secret = openDialog(ada, { title: 's', secret: true }, () => 's')
  assert.equal(mayLeave(), false)
  assert.deepEqual(asks.map(q => q.includes('not shown again')), [false, false, true])
  const away = leave()
  let gone = false
  void away.then(() => { gone = true })
  await settle()
  assert.equal(gone, false)
  closeAll(ada)
  await settle()
  assert.deepEqual([gone, d.isConnected, secret.isConnected, other.isConnected, secret.content], [true, false, false, true, null])
  ada.api.end()
  assert.equal(openDialog(ada, { title: 'a' }, () => 'a').isConnected, false)
})

test('a kept form opens with its fields after a sign-in', async () => {
  const person = aPerson()
  const form = () => openForm(person, { title: 't', submit: 'Do', keep: 'orgs/o', ends: true, fields: () => 'nothing', run: () => person.api.delete('orgs/o') })
  serve({ 'DELETE orgs/o': inTurn(lost(), refused(404)) })
  const first = form()
  await settle()
  const once = field(first, 'once').value
  await submit(first)
  await settle()
  keepEntered((await leave()).form, 'ada')
  closeDialogs()
  assert.equal(findEntered('ada'), true)
  const again = form()
  await settle()
  assert.deepEqual([field(again, 'once').value, again.isTyped, again.isUnsure, text(again.drawn).includes('may have been done')], [once, true, true, true])
  await submit(again)
  assert.equal(again.isConnected, false)
  const fresh = form()
  await settle()
  assert.notEqual(field(fresh, 'once').value, once)
})

test('a form is sent once, and a failed reading after it is shown', async () => {
  const person = aPerson()
  const answer = held()
  serve({ 'POST orgs': answer })
  const d = openForm(person, { title: 't', submit: 'Do', run: () => person.api.post('orgs', {}), done: () => { throw new Error('not read') } })
  await settle()
  const sent = submit(d)
  await submit(d)
  assert.deepEqual([calls.length, d.isHeld], [1, true])
  answer.go([201, {}])
  await sent
  await settle()
  assert.equal(d.isConnected, false)
  assert.match(text(opened().drawn), /It is done, but.*not read/)
})

test('an org can be made, renamed, left and deleted', async () => {
  const orgs = { orgs: [] }
  serve({
    'GET orgs': orgs,
    'POST orgs': [201, { id: 'new' }],
    'GET orgs/o/apps': { apps: [{ id: 'app', name: 'First' }] },
    'GET orgs/o': { allowance: [{ requests: 5, per: 'day' }], plan: 'pro-2' },
    'PATCH orgs/o': {},
    'DELETE orgs/o': [204],
    'POST orgs/o/leave': [204], 'PATCH orgs/o/apps/app': {}, 'POST orgs/o/apps': [201, {}],
  })
  const all = await show('lk-orgs', { orgs: [org] })
  await click(all, 'New org')
  await settle()
  await submit(opened(), { name: ' N ' })
  assert.deepEqual([asked('POST orgs')[0].body, asked('GET orgs').length, location.hash], [{ name: 'N' }, 1, '#/orgs/new'])
  const e = await show('lk-org', { org: { ...org, name: ' Org ' } })
  assert.match(text(e.drawn), /5 per day.*Plan pro-2/)
  assert.match(text((await show('lk-org', { org: { ...org, role: 'viewer' } })).drawn), /Plan pro-2/)
  await click(e, 'Delete org')
  await settle()
  for (const name of ['Or', 'org', '']) { await submit(opened(), { name }); assert.equal(asked('DELETE orgs/o').length, 0) }
  await submit(opened(), { name: 'Org' })
  assert.deepEqual([asked('DELETE orgs/o').length, location.hash, asked('GET orgs').length], [1, '#/', 2])
  for (const [label, fields, what, body] of [
    ['Rename org', { name: ' X ' }, 'PATCH orgs/o', { name: 'X' }],
    ['Leave org', {}, 'POST orgs/o/leave', undefined],
    ['New app', { name: 'Y' }, 'POST orgs/o/apps', { name: 'Y' }],
    ['Rename', { name: 'Z' }, 'PATCH orgs/o/apps/app', { name: 'Z' }],
  ]) {
    await click(e, label)
    await settle()
    await submit(opened(), fields)
    assert.deepEqual(asked(what).map(c => c.body), [body], what)
  }
  assert.deepEqual([asked('GET orgs').length, asked('GET orgs/o/apps').length], [4, 5])
})

test('a new app offers a prefix for test keys if it is short enough', async () => {
  serve({ 'GET orgs/o/apps': { apps: [{ id: 'app', name: 'First', keysBeginWith: 'acmetest' }] }, 'GET orgs/o': {}, 'POST orgs/o/apps': [201, {}] })
  for (const [prefix, offered] of [['acme', /placeholder="?acmetest/], ['abcdefghijklm', /placeholder=("")?\s/]]) {
    console_.keyPrefix = prefix
    const e = await show('lk-org')
    assert.match(e.drawn, /acmetest_…/)
    await click(e, 'New app')
    await settle()
    assert.match(opened().drawn, offered)
    await submit(opened(), { name: 'Y', keysBeginWith: `${prefix}x` })
    assert.deepEqual(asked('POST orgs/o/apps').at(-1).body, { name: 'Y', keysBeginWith: `${prefix}x` })
  }
})
