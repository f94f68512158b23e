// Tests of the pages, without a browser: their requests, their contents and their forms.
import './browser'
import assert from 'node:assert/strict'
import { afterEach, mock, test } from 'node:test'
import { buttons, choose, click, enter, field, fire, rows, submit, text } from './lit'
import { aPerson, asked, calls, closeDialogs, held, inTurn, lost, opened, org, refused, serve, settle, show, until } from './server'
import { closeAll, leave, mayLeave, openDialog, openForm } from '../src/dialog'
import { findEntered, keepEntered } from '../src/kept'
import { console_ } from '../src/context'
import '../src/endpoints'
import '../src/events'

const hour = 3_600_000
const app = 'orgs/o/apps/app'
afterEach(() => { closeDialogs(); said.length = 0; mock.timers.reset(); delete globalThis.fetch })

test('a 404 means success after a try without an answer', async () => {
  const gone = refused(404, 'not_found')
  for (const [ends, answers, isDone, isUnsure] of [
    [true, [gone], false, false],
    [true, [lost(), gone], true], [true, [refused(500), gone], true], [true, [refused(429), gone], false, false],
    [true, [lost(), refused(429), gone], true], [true, [lost(), refused(409), lost(), refused(403), gone], true],
    [true, [lost(), refused(429)], false, true], [false, [lost(), gone], false, true], [true, [lost(), [204]], true],
  ]) {
    let done = 0
    const person = aPerson()
    serve({ 'DELETE orgs/o': inTurn(...answers) })
    const d = openForm(person, { title: 't', submit: 'Do', ends, run: () => person.api.delete('orgs/o'), done: () => { done++ } })
    await settle()
    for (const _ of answers) await submit(d)
    assert.deepEqual([done, d.isConnected], [isDone ? 1 : 0, !isDone], JSON.stringify(answers))
    if (!isDone) {
      await settle()
      assert.deepEqual([d.isUnsure, d.isBusy, text(d.drawn).includes('Something went wrong')], [isUnsure, false, true], JSON.stringify(answers))
    }
    closeDialogs()
  }
})

const endpoints = { endpoints: [{ id: 'e1', url: 'https://one.example', events: ['*'], enabled: true }, { id: 'e2', url: 'https://two.example', events: ['*'], enabled: true }] }
const redeliver = `POST ${app}/webhook_deliveries/redeliver`

test('sending failed deliveries again continues where it stopped', async () => {
  const day = `${24 * hour}`, week = `${7 * 24 * hour}`
  const failed = lost()
  mock.timers.enable({ apis: ['Date'], now: 500 * hour })
  for (const [second, goesOn] of [[{}, true], [{ since: week }, false], [{ endpointId: 'e2' }, false], [{ endpointId: 'e2', since: week }, false]]) {
    serve({
      [`GET ${app}/webhook_events`]: { events: [] }, [`GET ${app}/webhook_endpoints`]: endpoints,
      [redeliver]: inTurn({ queued: 2, nextCursor: 'c1' }, { queued: 3, nextCursor: 'c2' }, failed, { queued: 4, nextCursor: 'c3' }, { queued: 1 }),
    })
    const page = await show('lk-events')
    await click(page, 'Send failed again')
    await settle()
    const d = opened()
    await submit(d, { endpointId: 'e1', since: day })
    await settle()
    mock.timers.tick(1)
    await submit(d, second)
    const sent = asked(redeliver).map(c => c.body)
    assert.deepEqual(sent.map(b => b.cursor), [undefined, 'c1', 'c2', goesOn ? 'c2' : undefined, 'c3'])
    assert.deepEqual(sent.map(b => b.endpointId), ['e1', 'e1', 'e1', second.endpointId ?? 'e1', second.endpointId ?? 'e1'])
    const ages = sent.map(b => Math.round((Date.now() - b.since) / hour))
    const after = second.since ? 168 : 24
    assert.deepEqual([ages, new Set(sent.slice(0, 3).map(b => b.since)).size, sent[3].since === sent[0].since], [[24, 24, 24, after, after], 1, goesOn], JSON.stringify(second))
    assert.equal(said.at(-1), `${goesOn ? 10 : 5} deliveries will be sent again.`)
    closeDialogs()
  }
})

const delivery = (i, at) => ({ eventId: `ev${i}`, endpointId: 'e1', eventType: `type.${i}`, status: 'delivered', attempts: 1, createdAt: at, lastAttempt: null, earlierAttempts: [] })
const listed = d => [...text(d.drawn.split('Last deliveries')[1]).matchAll(/type\.(\d+)/g)].map(m => Number(m[1]))

test('an endpoint shows its newest 20 deliveries first', async () => {
  const now = Date.now()
  for (const n of [3, 20, 21, 130]) {
    const all = Array.from({ length: n }, (_, i) => delivery(i, now - i * 1000)) // 0 is the newest
    const page = ({ query }) => { const from = Number(query.cursor ?? 0); return { deliveries: all.slice(from, from + 100), nextCursor: from + 100 < n ? String(from + 100) : undefined } }
    serve({ [`GET ${app}/webhook_endpoints`]: endpoints, [`GET ${app}/webhook_endpoints/e1`]: endpoints.endpoints[0], [`GET ${app}/webhook_deliveries`]: page })
    const e = await show('lk-endpoints')
    click(e, 'https://one.example')
    await settle()
    assert.deepEqual(listed(opened()), all.map((_, i) => i).slice(0, 20))
    assert.ok(asked(`GET ${app}/webhook_deliveries`).every(c => c.query.order === 'desc'))
    assert.equal(opened().drawn.includes('more than 500'), false)
    closeDialogs()
  }
})

test('with more than five pages the bars show only complete hours', async () => {
  const now = Date.now()
  const begin = hours => (Math.floor(now / hour) + 1 - hours) * hour
  for (const [oldest, bars, isBounded] of [[begin(24), 6, false], [begin(6) - 1, 6, false], [begin(6), 2, false], [begin(2) - 1, 2, false], [begin(2), 2, true], [now, 2, true]]) {
    const page = ({ query }) => {
      const n = Number(query.cursor ?? 0)
      const deliveries = Array.from({ length: 100 }, (_, i) => delivery(100 * n + i, n === 4 && i === 99 ? oldest : now))
      return { deliveries, nextCursor: `${n + 1}` }
    }
    serve({ [`GET ${app}/webhook_endpoints`]: endpoints, [`GET ${app}/webhook_endpoints/e1`]: endpoints.endpoints[0], [`GET ${app}/webhook_deliveries`]: page })
    const e = await show('lk-endpoints')
    click(e, 'https://one.example')
    await settle()
    const d = opened()
    assert.ok(text(d.drawn).includes(`Deliveries of the last ${bars} hours`), `${(now - oldest) / hour}`)
    assert.equal(text(d.drawn).includes('more than 500'), isBounded)
    assert.deepEqual(listed(d), Array.from({ length: 20 }, (_, i) => i))
    const { since } = asked(`GET ${app}/webhook_deliveries`)[0].query
    assert.deepEqual(asked(`GET ${app}/webhook_deliveries`).map(c => c.query), [undefined, '1', '2', '3', '4'].map(cursor =>
      ({ endpointId: 'e1', since, order: 'desc', limit: '100', ...cursor && { cursor } })))
    closeDialogs()
  }
})
