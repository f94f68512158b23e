// Tests of the elements for a page of the owner, without a browser.
import './browser'
import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { text } from './lit'
import { calls, closeDialogs, held, inTurn, opened, refused, serve, settle } from './server'
import { openDialog } from '../src/dialog'
import '../src/elements'

const token = (sub, n = 0) => `h.${Buffer.from(JSON.stringify({ iss: 'i', sub, n })).toString('base64url')}.s`
const orgs = role => ({ orgs: [{ id: 'a', name: 'A', role }, { id: 'b', name: 'B', role }] })
const routes = () => ({
  'GET config.json': { maxKeyDays: 30 }, 'GET orgs': orgs('admin'),
  'GET orgs/a/apps': { apps: [{ id: 'x', name: 'X', isDefault: true }] }, 'GET orgs/b/apps': { apps: [{ id: 'y', name: 'Y', isDefault: true }] },
})
let element
afterEach(() => { closeDialogs(); delete globalThis.fetch })

// given sets what the owner's page sets, as lit does.
function given(o) {
  const changed = new Map(Object.keys(o).map(k => [k, element[k]]))
  Object.assign(element, o)
  element.willUpdate(changed)
  element.requestUpdate()
}
const keys = () => [...element.drawn.matchAll(/<keyed key="([^"]*)">/g)].map(m => m[1])

test('of two reads of an element, the answer that comes last counts only for what is asked for now', async () => {
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

test('an error of a read that was overtaken is not shown', async () => {
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
