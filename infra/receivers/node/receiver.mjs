// Receives Latchkey's webhooks: BASE_URL=https://… ENDPOINT_ID=whe_… [ISSUER=…] [PORT=4000] node receiver.mjs
import { createServer } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'
const { BASE_URL, ENDPOINT_ID, ISSUER = BASE_URL, PORT = '4000' } = process.env
if (!BASE_URL || !ENDPOINT_ID) throw new Error('BASE_URL and ENDPOINT_ID are needed')
const work = async (event) => console.log(event.id, event.type) // yours: an event may come again, with the same id
const must = (ok, status = 401) => { if (!ok) throw { status } } // 401: bad; 503: unknown for now, it comes again
const keySet = createRemoteJWKSet(new URL(BASE_URL + '/.well-known/jwks.json'), { cacheMaxAge: 300_000 })
const keyOf = (h, t) => keySet(h, t).catch((e) => must(false, e.code === 'ERR_JWKS_NO_MATCHING_KEY' ? 401 : 503))
const ends = new Map() // kid → { at, until }: of keys that verified something, and so no more than there are
async function endOf(kid) { // ms since the epoch: what a key signed then or later proves nothing; 0: it was revoked
  if (ends.get(kid)?.until > Date.now()) return ends.get(kid).at
  const res = await fetch(BASE_URL + '/webhook_verification_key/get', { method: 'POST', body: JSON.stringify({ kid }),
    headers: { 'Content-Type': 'application/json' }, redirect: 'error', signal: AbortSignal.timeout(5000) })
  must(res.ok || res.status === 410, 503)
  ends.set(kid, { at: res.ok ? (await res.json()).expiredAt ?? Infinity : 0, until: Date.now() + 300_000 })
  return ends.get(kid).at
}
function part(text) { // strict base64url, UTF-8, and JSON in which no object has a member twice
  const bytes = Buffer.from(text, 'base64url'), json = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  let members = -1, value = JSON.parse(json, function (_, v) { members += !Array.isArray(this); return v })
  must(bytes.toString('base64url') === text && json.replace(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1 === members)
  return value
}
async function verify(req) {
  let token = '' // of which there are at most 256 KB
  for await (const chunk of req.setEncoding('latin1')) if (token.length <= 262144) token += chunk
  const [header, { aud, iat, exp, event }] = token.split('.', 2).map(part)
  const isText = (v) => v && typeof v === 'string', isObject = (v) => v && typeof v === 'object' && !Array.isArray(v)
  must(token.length <= 262144 && /\.[\w-]{85}[AQgw]$/.test(token) && [aud].flat().length === 1)
  must(header.alg === 'ES256' && header.typ === 'webhook+jwt' && !('crit' in header))
  must(isText(header.kid) && /^[\w-]{42}[AEIMQUYcgkosw048]$/.test(header.kid))
  must(Number.isInteger(iat) && Number.isInteger(exp) && exp > Date.now() / 1000)
  must(isObject(event) && isText(event.id) && isText(event.type) && event.createdAt > 0 && isObject(event.data))
  await jwtVerify(token, keyOf, { algorithms: ['ES256'], issuer: ISSUER, audience: ENDPOINT_ID, maxTokenAge: '5m', clockTolerance: 60 })
  return must(iat * 1000 < await endOf(header.kid).catch(() => must(false, 503))) ?? event
}
createServer((req, res) => verify(req).then((event) => work(event).then(() => 204, () => 500), (e) => e.status ?? 401)
  .then((status) => res.writeHead(status).end())).listen(PORT, '127.0.0.1')
