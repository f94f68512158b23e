// Tests of the frame of the console, without a browser: the sign-in, the menu and the shown page.
import './browser'
import assert from 'node:assert/strict'
import { afterEach, mock, test } from 'node:test'
import { choose, click, field, text } from './lit'
import { asked, closeDialogs, held, inTurn, opened, refused, serve, settle, show } from './server'
import { Session, SignInError } from '../src/auth'
import { openDialog } from '../src/dialog'
import { forgetEntered, keepEntered } from '../src/kept'
import { text as texts } from '../src/texts'
import '../src/main'

const [admin, member, viewer] = ['admin', 'member', 'viewer'].map(role => ({ id: role, name: `Org of ${role}`, role }))
const apps = id => ({ [`GET orgs/${id}/apps`]: { apps: [{ id: 'x', name: 'X', isDefault: true }, { id: 'y', name: 'Y' }] } })
let frame, questions, pushed
history.pushState = (_, __, url) => { pushed.push(url); location.hash = url }
history.replaceState = (_, __, url) => { replaced.push(url); location.hash = url }
afterEach(() => { closeDialogs(); mock.timers.reset(); delete globalThis.fetch; location.hash = ''; localStorage.removeItem(`latchkey-signed-out ${here}`) })

// begin opens the console after a sign-in. o replaces parts of the session.
async function begin(hash, orgs, o = {}, routes = {}) {
  serve({ 'GET orgs': { orgs }, ...apps('admin'), ...apps('member'), ...routes })
  questions = []
  pushed = []
  location.hash = hash
  const session = {
    keyPrefix: 'acme', maxKeyDays: 30, person: 'ada@example.com', subject: 'ada', again: false, isInterrupted: false, startedAt: 0, outs: 0, signIns: 0,
    arrive: async () => true, token: async () => 'token', onSignOut(done) { this.elsewhere = done }, signOut() { this.outs++; return true }, async signIn() { this.signIns++ }, ...o,
  }
  Session.load = async () => session
  const all = new EventTarget() // so that earlier frames get no events
  for (const name of ['addEventListener', 'dispatchEvent']) globalThis[name] = all[name].bind(all)
  frame = new (made.get('lk-console'))()
  frame.connectedCallback()
  await settle()
  return session
}
const goTo = async hash => { location.hash = hash; dispatchEvent(new Event('hashchange')); await settle() }
// shown returns the names of the page's elements; menu returns the links of the menu.
const shown = () => [...frame.drawn.matchAll(/<(lk-\w+)/g)].map(m => m[1]).join()
const menu = () => [...frame.drawn.matchAll(/<a href="(#[^"]*)" aria-current=/g)].map(m => m[1])
// answers sets the person's answer to each question, and records the questions.
const answers = agrees => { globalThis.confirm = q => { questions.push(q); return agrees } }

test('leaving a page with entered text needs a confirmation', async () => {
  await begin('#/orgs/admin/keys', [admin, member])
  const person = frame.held.find(h => h.api)
  for (const what of ['isTyped', 'isBusy']) {
    const d = openDialog(person, { title: 't' }, () => 't')
    d[what] = true
    answers(false)
    await goTo('#/orgs/admin/members')
    assert.deepEqual([shown(), location.hash, pushed.splice(0), d.isConnected, questions.length], ['lk-keys', '#/orgs/admin/keys', ['#/orgs/admin/keys'], true, 1], what)
    answers(true)
    await goTo('#/orgs/admin/members')
    assert.deepEqual([shown(), location.hash, pushed, d.isConnected, questions.splice(0).length], ['lk-members', '#/orgs/admin/members', [], false, 2], what)
    await goTo('#/orgs/admin/keys')
  }
  const d = openDialog(person, { title: 't' }, () => 't') // nothing was entered
  await goTo('#/orgs/member/keys')
  assert.deepEqual([shown(), d.isConnected, questions], ['lk-keys', false, []])
})

test('each role sees its pages, by the menu and by the URL', async () => {
  const all = ['org', 'members', 'keys', 'links', 'endpoints', 'events', 'audit']
  for (const [of, want] of [[admin, all], [member, ['org', 'members', 'keys', 'links', 'events']], [viewer, ['org']]]) {
    await begin(`#/orgs/${of.id}`, [admin, member, viewer])
    assert.deepEqual(menu(), want.map(p => `#/orgs/${of.id}${p === 'org' ? '' : `/${p}`}`))
    for (const page of all) {
      await goTo(`#/orgs/${of.id}/${page}`)
      assert.equal(shown(), want.includes(page) ? `lk-${page}` : '', `${of.role} ${page}`)
      assert.equal(text(frame.drawn).includes('Org of'), true)
    }
    assert.equal(asked('GET orgs/viewer/apps').length, 0)
  }
  await goTo('#/orgs/other/keys')
  assert.deepEqual([shown(), menu()], ['', []])
  await goTo('#/')
  assert.equal(shown(), 'lk-orgs')
})

test('each page of a suspended org shows the suspension', async () => {
  const suspended = { ...admin, suspendedAt: Date.UTC(2026, 10, 2, 3, 4) }
  await begin('#/orgs/admin', [suspended, member, viewer])
  for (const page of ['org', 'members', 'keys', 'links', 'endpoints', 'events', 'audit', 'none']) {
    await goTo(`#/orgs/admin/${page}`)
    assert.match(text(frame.drawn), /This org is suspended since 2 Nov 2026, 03:04 ?\. Its API keys are refused/, page)
  }
  for (const page of ['#/orgs/member', '#/orgs/viewer', '#/', '#/orgs/other']) {
    await goTo(page)
    assert.doesNotMatch(text(frame.drawn), /suspended/, page)
  }
})

test('no page offers a new org if only services make orgs', async () => {
  for (const byServices of [true, false]) {
    for (const orgs of [[], [admin, member]]) {
      keepEntered({ form: 'orgs', fields: [['name', 'kept']], isPart: false, isUnsure: false }, 'ada')
      await begin('#/', orgs, { byServices })
      const list = await show('lk-orgs', { orgs })
      assert.deepEqual([frame.drawn.includes('New org'), list.drawn.includes('New org'), opened() !== undefined], [!byServices, !byServices, !byServices])
      assert.equal(text(list.drawn).includes('Ask an admin of an org to add you'), byServices && !orgs.length)
      closeDialogs()
      forgetEntered()
    }
  }
})

test('a page shows the chosen app, or else the first', async () => {
  await begin('#/orgs/admin/links', [admin, member])
  const keyOf = () => frame.drawn.match(/<keyed key="([^"]*)"/)[1]
  assert.deepEqual([keyOf(), asked('GET orgs/admin/apps').length], ['#/orgs/admin/links/x', 1])
  choose(frame, 'app', 'y')
  await goTo(location.hash)
  assert.deepEqual([location.hash, keyOf()], ['#/orgs/admin/links/y', '#/orgs/admin/links/y/y'])
  await goTo('#/orgs/admin/keys/y')
  assert.equal(keyOf(), '#/orgs/admin/keys/y')
  assert.equal(asked('GET orgs/admin/apps').length, 1)
})

test('after Back the choices show the app and org', async () => {
  await begin('#/orgs/admin/links', [admin, member])
  choose(frame, 'app', 'y')
  for (const [hash, app] of [['#/orgs/admin/links/y', 'y'], ['#/orgs/admin/links', 'x'], ['#/orgs/admin/links/y', 'y']]) {
    await goTo(hash)
    assert.equal(field(frame, 'app').value, app, hash)
  }
  choose(frame, 'org', '#/orgs/member')
  for (const hash of ['#/orgs/member', '#/orgs/admin', '#/']) {
    await goTo(hash)
    assert.equal(field(frame, 'org').value, hash)
  }
})

test('a drawer is in the URL of its page until it closes', async () => {
  for (const [name, page, drawer] of [['lk-keys', '#/orgs/o/keys', '#/orgs/o/keys//k1'], ['lk-endpoints', '#/orgs/o/endpoints/app', '#/orgs/o/endpoints/app/e1']]) {
    serve({
      'GET orgs/o/keys': { keys: [{ id: 'k1', appId: 'app', keyPrefix: 'lk', name: 'K', scopes: [], metadata: {}, limits: [], ceilings: [], createdAt: 1 }] }, 'GET orgs/o/members': { members: [] },
      'GET orgs/o/apps/app/webhook_endpoints': { endpoints: [{ id: 'e1', url: 'https://one.example', events: ['*'], enabled: true }] },
    })
    location.hash = drawer
    const e = await show(name)
    for (const open of [() => {}, () => click(e, name === 'lk-keys' ? 'K' : 'https://one.example')]) {
      open()
      await settle()
      assert.equal(location.hash, drawer)
      opened().close()
      assert.deepEqual([location.hash, opened()], [page, undefined])
    }
  }
})

test('a button reads the apps again after an error', async () => {
  await begin('#/orgs/admin/keys', [admin, member], {}, { 'GET orgs/admin/apps': inTurn(refused(500), apps('admin')['GET orgs/admin/apps']) })
  assert.deepEqual([shown(), text(frame.drawn).includes('it is refused')], ['', true])
  await click(frame, 'Try again')
  await settle()
  assert.deepEqual([shown(), asked('GET orgs/admin/apps').length], ['lk-keys', 2])
  await begin('#/orgs/admin/keys', [admin, member], {}, { 'GET orgs/admin/apps': inTurn(refused(500), { apps: [] }) })
  const waits = held()
  serve({ 'GET orgs/member/apps': waits, 'GET orgs/admin/apps': { apps: [] } })
  await goTo('#/orgs/member/keys')
  assert.equal(text(frame.drawn).includes('it is refused'), false) // the error was about the other org
  await goTo('#/orgs/admin/keys')
  assert.deepEqual([shown(), text(frame.drawn).includes('it is refused')], ['lk-keys', false])
})

test('a person with one org starts at this org', async () => {
  for (const [hash, orgs, want] of [['', [admin], '#/orgs/admin'], ['#/', [admin], '#/orgs/admin'], ['#/orgs/admin/keys', [admin], '#/orgs/admin/keys'], ['', [admin, member], ''], ['', [], '']]) {
    await begin(hash, orgs)
    assert.equal(location.hash, want, `${hash} of ${orgs.length}`)
  }
})

test('without a sign-in no data is read', async () => {
  const out = { arrive: async () => false }
  let session = await begin('#/orgs/admin/keys', [admin], out)
  assert.deepEqual([session.signIns, asked('GET orgs').length, shown()], [1, 0, ''])
  localStorage.setItem(`latchkey-signed-out ${here}`, '1')
  session = await begin('#/orgs/admin/keys', [admin], out)
  assert.deepEqual([session.signIns, asked('GET orgs').length, shown(), text(frame.drawn).includes('You are signed out')], [0, 0, '', true])
  await goTo('#/orgs/admin/members')
  assert.equal(shown(), '')
  await click(frame, 'Sign in')
  assert.equal(session.signIns, 1)
  session = await begin('#/', [admin], { arrive: async () => { throw new SignInError('no <entry>') } })
  assert.deepEqual([text(frame.drawn).includes('no <entry>'), session.signIns, asked('GET orgs').length], [true, 0, 0])
  await begin('#/', [admin], {}, { 'GET orgs': refused(403) })
  assert.deepEqual([text(frame.drawn).includes('it is refused'), shown()], [true, ''])
})

test('a sign-out here or in another tab closes all dialogs', async () => {
  for (const ends of [() => click(frame, 'Sign out'), s => s.elsewhere()]) {
    const session = await begin('#/orgs/admin/keys', [admin, member])
    openDialog(frame.held.find(h => h.api), { title: 't', secret: true }, () => 'secret')
    ends(session)
    await settle()
    assert.deepEqual([opened(), shown(), document.title], [undefined, '', 'A product'])
  }
  const away = await begin('#/orgs/admin/keys', [admin], { signOut() { return false } }) // the page is on its way to the issuer
  click(frame, 'Sign out')
  await settle()
  assert.deepEqual([shown(), away.outs], ['lk-keys', 0])
})

test('a sign-out in another tab counts while the page loads', async () => {
  for (const answer of [{ orgs: [admin] }, refused(500)]) {
    const waits = held()
    keepEntered({ form: 'orgs', fields: [['name', 'kept']], isPart: false, isUnsure: false }, 'ada')
    const session = await begin('#/orgs/admin/keys', [], {}, { 'GET orgs': waits })
    session.elsewhere()
    waits.go(answer)
    await settle()
    assert.deepEqual([shown(), text(frame.drawn).includes('You are signed out'), document.title, opened()], ['', true, 'A product', undefined])
    forgetEntered()
  }
})

// says returns the announcement that the page shows.
const says = () => text(`<div ${frame.drawn.split('class="said"')[1]}`)

test('an announcement is shown for five seconds', async () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  await begin('#/orgs/admin/keys', [admin])
  const say = async detail => { dispatchEvent(new CustomEvent('lk-announce', { detail })); await settle(); return says() }
  const pass = async ms => { mock.timers.tick(ms); await settle(); return says() }
  assert.deepEqual([says(), await say('one'), await pass(3000), await say('two'), await pass(4999), await pass(1)], ['', 'one', 'one', 'two', 'two', ''])
})

test('after an interrupted form the page shows a message', async () => {
  for (const [o, form, want] of [
    [{}, null, ''],
    [{ again: true }, null, texts.signIn.again],
    [{ isInterrupted: true }, null, texts.signIn.again],
    [{}, 'orgs', texts.signIn.kept],
    [{ again: true }, 'orgs', texts.signIn.kept],
    [{}, 'keys', texts.signIn.kept],
  ]) {
    forgetEntered()
    if (form) keepEntered({ form, fields: [['name', 'kept']], isPart: false, isUnsure: false }, 'ada')
    await begin('#/', [admin, member], o)
    assert.deepEqual([says(), opened() && field(opened(), 'name').value], [want, form === 'orgs' ? 'kept' : undefined], JSON.stringify([o, form]))
    closeDialogs()
  }
  forgetEntered()
})

test('the choice of orgs opens an org or the form for a new org', async () => {
  await begin('#/orgs/admin/keys', [admin, member])
  const choice = chosen => { const target = { value: chosen }; frame.held[frame.drawn.match(/org-choice"[^>]*@change="(\d+)"/)[1]]({ target }); return target.value }
  assert.deepEqual([choice('#/orgs/member'), location.hash, opened()], ['#/orgs/member', '#/orgs/member', undefined])
  await goTo('#/orgs/member')
  assert.equal(choice('+'), '#/orgs/member')
  await settle()
  assert.deepEqual([location.hash, Boolean(field(opened(), 'name'))], ['#/orgs/member', true])
})

test('a page from the back-forward cache is loaded again', async () => {
  await begin('#/', [admin, member])
  let loads = 0
  location.reload = () => { loads++ }
  for (const persisted of [false, true]) dispatchEvent(Object.assign(new Event('pageshow'), { persisted }))
  assert.equal(loads, 1)
})

test('a suspended org shows the support link', async () => {
  for (const supportUrl of ['mailto:help@example.com', null]) {
    await begin(`#/orgs/${admin.id}`, [{ ...admin, suspendedAt: 5 }], { supportUrl }, { [`GET orgs/${admin.id}`]: {}, [`GET orgs/${admin.id}/keys`]: { keys: [] }, [`GET orgs/${admin.id}/usage`]: { usage: [] } })
    assert.match(text(frame.drawn), /This org is suspended since/)
    assert.equal(frame.drawn.includes('href="mailto:help@example.com"'), supportUrl !== null)
  }
})
