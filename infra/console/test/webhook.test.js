// Tests of the page that verifies a webhook, at the limits of each check.
import './browser'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { submit, text } from './lit'
import { held, settle, show } from './server'
import { text as texts } from '../src/texts'
import { tokenOf, verify } from '../src/webhook'
import '../src/verify'

const says = texts.verify.says
const at = 1_800_000_000 // the time of the signature, in seconds
const encoded = v => Buffer.from(typeof v === 'string' ? v : JSON.stringify(v)).toString('base64url')
const kid = Buffer.alloc(32, 7).toString('base64url')
const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])
const jwk = await crypto.subtle.exportKey('jwk', pair.publicKey)
const event = { id: 'evt_1', type: 'link.made', createdAt: 1, data: {} }
const claims = o => ({ iss: 'i', aud: 'e', iat: at, exp: at + 300, event, ...o })
async function sign(payload, header = { alg: 'ES256', typ: 'webhook+jwt', kid }) {
  const signed = `${encoded(header)}.${encoded(payload)}`
  const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, pair.privateKey, new TextEncoder().encode(signed))
  return `${signed}.${Buffer.from(signature).toString('base64url')}`
}
// check verifies a token some seconds after its signature. It returns the reasons of failed checks, and the names of open ones.
async function check(token, { later = 1, endpointId = 'e', issuer = 'i', answer = () => Response.json(jwk) } = {}) {
  const asked = []
  const v = await verify(token, { endpointId, issuer, now: (at + later) * 1000 }, async k => { asked.push(k); return answer() })
  return { ...v, asked, open: v.checks.filter(c => c.result === 'open').map(c => c.name), failed: v.checks.filter(c => c.result === 'failed').map(c => c.why) }
}
const from = new Date(at * 1000).toISOString()

test('a webhook is valid from a minute before its signature to six minutes after', async () => {
  for (const [later, exp, want, isOld] of [
    [-59.999, 900, [], false], [-60, 900, [says.notYet(from)], false], [0, 900, [], false], [359.999, 900, [], false], [360, 900, [says.tooOld(from)], true],
    [9.999, 10, [], false], [10, 10, [says.tooOld(from)], true], [1, 0, [says.tooOld(from)], false], [1, -1, [says.tooOld(from)], false],
  ]) {
    const v = await check(await sign(claims({ exp: at + exp })), { later })
    assert.deepEqual([v.failed, v.isOld], [want, isOld], `${later} ${exp}`)
  }
  for (const o of [{ iat: 0 }, { iat: -1 }, { iat: 1.5 }, { iat: '1' }, { iat: undefined }, { exp: undefined }, { exp: 1.5 }, { iat: 8.64e12 + 1 }]) {
    const v = await check(await sign(claims(o)))
    assert.deepEqual([v.failed, v.isOld], [[says.noTime], false], JSON.stringify(o))
  }
  assert.deepEqual((await check(await sign(claims({ iat: 8.64e12 })))).failed, [says.notYet(new Date(8.64e15).toISOString())])
})

test('a retired key is good for earlier signatures', async () => {
  const token = await sign(claims())
  for (const [expiredAt, want] of [[null, []], [at * 1000 + 1, []], [at * 1000, [says.retiredKey]], [at * 1000 - 1, [says.retiredKey]]]) {
    assert.deepEqual((await check(token, { answer: () => Response.json({ ...jwk, expiredAt }) })).failed, want, String(expiredAt))
  }
  const unsaid = await check(await sign(claims({ iat: String(at) })), { answer: () => Response.json({ ...jwk, expiredAt: at * 1000 }) })
  assert.deepEqual(unsaid.failed, [says.noTime])
  const other = await crypto.subtle.exportKey('jwk', (await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, ['sign', 'verify'])).publicKey)
  const { checks: names } = texts.verify
  for (const [answer, why, open] of [
    [() => Response.json(other), says.notSigned, []], [() => Response.json({}), says.noKey, [names.signature]], [() => new Response('x'), says.noKey, [names.signature]],
    [() => new Response('', { status: 404 }), says.unknownKey, [names.signature]],
    [() => new Response('', { status: 410 }), says.revokedKey, [names.signature]],
    [() => new Response('', { status: 503 }), says.noAnswer(503), [names.signature]],
  ]) {
    const v = await check(token, { answer })
    assert.deepEqual([v.failed, v.open, v.asked], [[why], open, [kid]], why)
  }
})

test('a key is read only for the right header', async () => {
  const header = { alg: 'ES256', typ: 'webhook+jwt', kid }
  for (const [o, why] of [
    [{ alg: 'none' }, says.alg('"none"')], [{ alg: undefined }, says.alg(says.missing)], [{ typ: 'JWT' }, says.typ('"JWT"')], [{ crit: [] }, says.crit], [{ crit: '' }, says.crit],
    [{ kid: Buffer.alloc(31, 7).toString('base64url') }, says.kid],
    [{ kid: Buffer.alloc(33, 7).toString('base64url') }, says.kid],
    [{ kid: '' }, says.kid],
    [{ kid: 5 }, says.kid],
    [{ kid: `${kid}=` }, says.kid],
  ]) {
    const v = await check(await sign(claims(), { ...header, ...o }))
    assert.deepEqual([v.failed, v.asked], [[why], []], JSON.stringify(o))
  }
})

test('a webhook names its endpoint and its issuer', async () => {
  const { checks: names } = texts.verify
  for (const [o, expected, failed, open] of [
    [{ aud: ['e'] }, {}, [], []], [{ aud: ['e', 'f'] }, {}, [says.otherAudience('["e","f"]')], []], [{ aud: 'f' }, {}, [says.otherAudience('"f"')], []], [{ aud: [] }, {}, [says.otherAudience('[]')], []],
    [{ aud: undefined }, { endpointId: '' }, [says.otherAudience(says.missing)], []], [{}, { endpointId: '' }, [], [names.audience]],
    [{ iss: 'j' }, {}, [says.otherIssuer('"j"')], []], [{ iss: '' }, { issuer: '' }, [says.otherIssuer('""')], []], [{}, { issuer: '' }, [], [names.issuer]],
    [{ event: null }, {}, [says.noEvent], []],
    [{ event: [] }, {}, [says.noEvent], []],
    [{ event: { ...event, id: '' } }, {}, [says.noMember('id')], []],
    [{ event: { ...event, type: 1 } }, {}, [says.noMember('type')], []],
    [{ event: { ...event, createdAt: 0 } }, {}, [says.noMember('createdAt')], []],
    [{ event: { ...event, data: null } }, {}, [says.noMember('data')], []],
    [{ event: { ...event, data: 'x' } }, {}, [says.noMember('data')], []],
  ]) {
    const v = await check(await sign(claims(o)), expected)
    assert.deepEqual([v.failed, v.open, v.asked], [failed, open, [kid]], JSON.stringify([o, expected]))
  }
})

test('a token has one valid spelling, and each member once', async () => {
  const good = await sign(claims())
  const [header, payload, signature] = good.split('.')
  const length = n => { const short = `${header}.${payload}.`; return short + 'A'.repeat(n - short.length) }
  for (const [token, why] of [
    [`${header}.${payload}`, says.parts(2)], [`${good}.x`, says.parts(4)], [`${header}=.${payload}.${signature}`, says.notBase64], [`${header}.${payload}.${signature}=`, says.notBase64],
    [`${header}.${encoded('[]')}.${signature}`, says.noObject],
    [`${header}.${encoded('{')}.${signature}`, says.noJson],
    [`${header}.${Buffer.from('{"a":"\xff"}', 'latin1').toString('base64url')}.${signature}`, says.noJson],
    [`${header}.${encoded('\ufeff{}')}.${signature}`, says.noJson],
    [`${header}.${encoded('{"a":1,"a":2}')}.${signature}`, says.twice],
    [`${header}.${encoded('{"a":{"b":1,"b":2}}')}.${signature}`, says.twice],
    [`${header}.${encoded('{"a":[{"b":1,"b":1}]}')}.${signature}`, says.twice],
    [length(256 * 1024 + 1), says.tooLong],
  ]) {
    const v = await check(token)
    assert.deepEqual([v.failed, v.asked], [[why], []], token.slice(0, 400))
  }
  for (const data of [{ a: 'x:y', b: ['"c":1', { d: [] }], 'e:f': '\\":' }]) assert.deepEqual((await check(await sign(claims({ event: { ...event, data } })))).failed, [])
  assert.deepEqual((await check(length(256 * 1024))).failed.includes(says.tooLong), false)
  assert.deepEqual([tokenOf(' a.b.c\n'), tokenOf('POST / HTTP/1.1\r\nHost: x\r\n\r\na.b.c\r\n'), tokenOf('Host: x\n\na.b.c')], ['a.b.c', 'a.b.c', 'a.b.c'])
  for (const pasted of ['a.b.c\r\n\r\n', '\n\na.b.c', '\n\nHost: x\n\na.b.c\n\n']) assert.equal(tokenOf(pasted), 'a.b.c', JSON.stringify(pasted))
  const v = await check(good)
  assert.deepEqual([v.failed, v.open, v.event, v.key], [[], [], event, jwk])
})

test('only a webhook of which just the time is wrong was genuine', async () => {
  const now = Math.floor(Date.now() / 1000)
  const { verify: t } = texts
  for (const [iat, expected, want] of [
    [now, {}, t.good], [now, { endpointId: '' }, t.open], [now - 900, {}, t.old], [now + 900, {}, t.bad],
    [now - 900, { endpointId: '' }, t.bad], [now - 900, { issuer: '' }, t.bad], [now - 900, { endpointId: 'f' }, t.bad],
  ]) {
    globalThis.fetch = async () => Response.json(jwk)
    const e = await show('lk-verify')
    await submit(e, { pasted: await sign(claims({ iat, exp: iat + 300 })), endpointId: 'e', issuer: 'i', ...expected })
    await settle()
    assert.deepEqual([t.good, t.open, t.old, t.bad].filter(s => text(e.drawn).includes(s)), [want], JSON.stringify([iat - now, expected]))
  }
})

test('each receiver on the page ignores an event that is an example', async () => {
  const e = await show('lk-verify')
  const receivers = [...e.drawn.matchAll(/<pre[^>]*>([^]*?)<\/pre>/g)].map(m => text(m[1])).filter(code => /the same event can come again/i.test(code))
  assert.equal(receivers.length, 4)
  for (const code of receivers) assert.match(code, /if (e\.Test \{|\(event\.test\)|(not )?event\.get\("test"\):)/)
})

test('the page shows only the result of the last press', async () => {
  const now = Math.floor(Date.now() / 1000)
  const pasted = await sign(claims({ iat: now, exp: now + 300 }))
  for (const order of [[0, 1], [1, 0]]) {
    const answers = [held(), held()]
    const waiting = [...answers]
    globalThis.fetch = async () => waiting.shift()
    const e = await show('lk-verify')
    const sent = [submit(e, { pasted, endpointId: 'e', issuer: 'i' }), submit(e)]
    for (const i of order) {
      answers[i].go(i ? new Response('', { status: 404 }) : Response.json(jwk))
      await sent[i]
      await settle()
      assert.equal(e.drawn.includes(texts.verify.good), false, `${order}: ${i}`)
    }
    assert.match(text(e.drawn), /A receiver refuses this webhook.*No key has this kid/)
    assert.match(e.drawn, /aria-busy="?false/)
  }
})
