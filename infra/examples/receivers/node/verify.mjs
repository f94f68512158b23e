// Verifies Latchkey's webhooks. It needs npm install jose.
import { createRemoteJWKSet, jwtVerify } from 'jose'

export const MAX_LENGTH = 256 * 1024 // bytes of a webhook
const KEY_LIFETIME = 5 * 60 * 1000 // milliseconds for which this program remembers a key

// Unavailable means that the webhook cannot be verified now, because the key could not be looked up.
export class Unavailable extends Error {}

function check(condition) {
  if (!condition) throw new Error('the webhook is refused')
}
const isText = (value) => typeof value === 'string' && value !== ''
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

// decode reads base64url and refuses another spelling of the same bytes.
function decode(text) {
  const bytes = Buffer.from(text, 'base64url')
  check(bytes.toString('base64url') === text)
  return bytes
}

// parse reads JSON and refuses an object with two members of the same name. JSON.parse keeps only
// the last of the two: then the value has fewer members than the text has colons outside of strings.
function parse(bytes) {
  const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  let members = -1 // JSON.parse also passes the whole value as a member
  const value = JSON.parse(text, function (name, member) {
    if (!Array.isArray(this)) members++
    return member
  })
  const colons = text.replace(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1
  check(isObject(value) && members === colons)
  return value
}

// verifier returns the function verify(token), which returns the event of a genuine webhook. Any other error than Unavailable
// means: not genuine. baseURL is the URL of the API, issuer the iss of the webhooks if that is another URL.
export function verifier({ baseURL, endpointId, issuer = baseURL }) {
  // The public keys. The set is fetched again for a kid that is not in it, at most twice a minute.
  const keySetURL = new URL(baseURL + '/.well-known/jwks.json')
  const keySet = createRemoteJWKSet(keySetURL, { cacheMaxAge: KEY_LIFETIME })

  function publicKey(header, token) {
    return keySet(header, token).catch((error) => {
      throw error.code === 'ERR_JWKS_NO_MATCHING_KEY' ? error : new Unavailable()
    })
  }

  const ends = new Map() // kid → { end, until }, only for keys that have verified a signature

  // endOf returns the time, in milliseconds, from which signatures of a key are not valid: 0 if the key was revoked,
  // Infinity while it is in use.
  async function endOf(kid) {
    const known = ends.get(kid)
    if (known && known.until > Date.now()) return known.end
    const response = await fetch(baseURL + '/webhook_verification_key/get', {
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

  return async function verify(token) {
    check(token.length <= MAX_LENGTH)
    const parts = token.split('.')
    check(parts.length === 3 && decode(parts[2]).length === 64)
    const header = parse(decode(parts[0]))
    const { aud, iat, exp, event } = parse(decode(parts[1]))
    check(header.alg === 'ES256' && header.typ === 'webhook+jwt' && !('crit' in header))
    check(decode(header.kid).length === 32)
    check(aud === endpointId || (Array.isArray(aud) && aud.length === 1 && aud[0] === endpointId))
    check(Number.isInteger(iat) && Number.isInteger(exp) && exp > Date.now() / 1000)
    check(isText(event.id) && isText(event.type) && event.createdAt > 0 && isObject(event.data))
    const expected = { algorithms: ['ES256'], issuer, audience: endpointId }
    await jwtVerify(token, publicKey, { ...expected, maxTokenAge: '5m', clockTolerance: 60 })
    const end = await endOf(header.kid).catch(() => { throw new Unavailable() })
    check(iat * 1000 < end)
    return event
  }
}
