// Receives Latchkey's webhooks and verifies each of them.
//
//   npm install jose
//   BASE_URL=https://api.example.com ENDPOINT_ID=whe_… node receiver.mjs
//
// ISSUER is the iss of the webhooks (default: BASE_URL). PORT is the port on this machine (4000).
// The answers: 204 when the event is handled, 401 when the webhook is not genuine, 500 when the
// work failed, 503 when the key cannot be looked up. After 401, 500, 503 the webhook comes again.
import { createServer } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'

const { BASE_URL, ENDPOINT_ID, ISSUER = BASE_URL, PORT = '4000' } = process.env
if (!BASE_URL || !ENDPOINT_ID) throw new Error('BASE_URL and ENDPOINT_ID are needed')
const MAX_LENGTH = 256 * 1024 // bytes of a webhook
const KEY_LIFETIME = 5 * 60 * 1000 // milliseconds for which this program remembers a key

// Put your work here. The same event can come again; it has the same id then.
async function work(event) {
  if (event.test) return // an example, which did not happen
  console.log(event.id, event.type)
}

// Unavailable means that no one can say now whether the webhook is genuine.
class Unavailable extends Error {}

function check(condition) {
  if (!condition) throw new Error('the webhook is refused')
}
const isText = (value) => typeof value === 'string' && value !== ''
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

// decode reads base64url and takes no second spelling of the same bytes.
function decode(text) {
  const bytes = Buffer.from(text, 'base64url')
  check(bytes.toString('base64url') === text)
  return bytes
}

// parse reads JSON in which no object has two members of one name. Of two, JSON.parse keeps the
// last, and then there are fewer members than colons outside of strings.
function parse(bytes) {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  let members = -1 // JSON.parse passes the whole value as one member more
  const value = JSON.parse(text, function (name, member) {
    if (!Array.isArray(this)) members++
    return member
  })
  const colons = text.replace(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1
  check(isObject(value) && members === colons)
  return value
}

// The public keys. The set is fetched again for a kid that is not in it, at most twice a minute.
const keySetURL = new URL(BASE_URL + '/.well-known/jwks.json')
const keySet = createRemoteJWKSet(keySetURL, { cacheMaxAge: KEY_LIFETIME })

function publicKey(header, token) {
  return keySet(header, token).catch((error) => {
    throw error.code === 'ERR_JWKS_NO_MATCHING_KEY' ? error : new Unavailable()
  })
}

const ends = new Map() // kid → { end, until }, only of keys that have verified a signature

// endOf returns the time, in milliseconds, from which a key proves nothing: 0 when it was revoked,
// Infinity while it is in use.
async function endOf(kid) {
  const known = ends.get(kid)
  if (known && known.until > Date.now()) return known.end
  const response = await fetch(BASE_URL + '/webhook_verification_key/get', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ kid }),
    redirect: 'error',
    signal: AbortSignal.timeout(5000),
  })
  if (!response.ok && response.status !== 410) throw new Unavailable()
  const end = response.ok ? ((await response.json()).expiredAt ?? Infinity) : 0
  ends.set(kid, { end, until: Date.now() + KEY_LIFETIME })
  return end
}

// verify returns the event of a genuine webhook. Any error but Unavailable: it is not genuine.
async function verify(token) {
  check(token.length <= MAX_LENGTH)
  const parts = token.split('.')
  check(parts.length === 3 && decode(parts[2]).length === 64)
  const header = parse(decode(parts[0]))
  const { aud, iat, exp, event } = parse(decode(parts[1]))
  check(header.alg === 'ES256' && header.typ === 'webhook+jwt' && !('crit' in header))
  check(decode(header.kid).length === 32)
  check(aud === ENDPOINT_ID || (Array.isArray(aud) && aud.length === 1 && aud[0] === ENDPOINT_ID))
  check(Number.isInteger(iat) && Number.isInteger(exp) && exp > Date.now() / 1000)
  check(isText(event.id) && isText(event.type) && event.createdAt > 0 && isObject(event.data))
  const expected = { algorithms: ['ES256'], issuer: ISSUER, audience: ENDPOINT_ID }
  await jwtVerify(token, publicKey, { ...expected, maxTokenAge: '5m', clockTolerance: 60 })
  const end = await endOf(header.kid).catch(() => { throw new Unavailable() })
  check(iat * 1000 < end)
  return event
}

async function statusOf(request) {
  let token = '', event
  try {
    for await (const chunk of request.setEncoding('latin1')) {
      if (token.length <= MAX_LENGTH) token += chunk // the rest is read and dropped
    }
    event = await verify(token)
  } catch (error) {
    return error instanceof Unavailable ? 503 : 401
  }
  return work(event).then(
    () => 204,
    (error) => { console.error(error); return 500 },
  )
}

createServer(async (request, response) => {
  response.writeHead(await statusOf(request)).end()
}).listen(PORT, '127.0.0.1')
