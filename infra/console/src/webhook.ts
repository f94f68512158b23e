// Verifies a webhook as a receiver does (pkg/verify), and returns the result of each check.
import { text } from './texts'

export type Result = 'passed' | 'failed' | 'open' // open: the check was not tried
export interface Check { name: string; result: Result; why: string }
export interface Verified { checks: Check[]; isOld: boolean; key: JsonWebKey | null; event: unknown } // isOld: it is too old now, and its times were right when it was signed
export interface Expected { endpointId: string; issuer: string; now: number } // now in milliseconds

const reasons = text.verify.says
const maxLength = 256 * 1024
const maxAge = 300 // seconds
const leeway = 60

type Claims = Record<string, unknown>
const isObject = (v: unknown): v is Claims => typeof v === 'object' && v !== null && !Array.isArray(v)
const isText = (v: unknown): v is string => typeof v === 'string' && v !== ''
const isTime = (v: unknown): v is number => Number.isSafeInteger(v) && (v as number) > 0

// tokenOf returns the token in a pasted text. If the text is a whole request, the token is its body.
export function tokenOf(pasted: string): string {
  const all = pasted.trim()
  const end = all.search(/\r?\n\r?\n/)
  return (end < 0 ? all : all.slice(end)).trim()
}

// bytesOf decodes base64url. It refuses other spellings of the same bytes.
function bytesOf(part: string): Uint8Array<ArrayBuffer> {
  let binary = ''
  try {
    binary = atob(part.replaceAll('-', '+').replaceAll('_', '/'))
  } catch { /* binary stays empty, and the next line refuses the part */ }
  if (btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '') !== part) throw new Error(reasons.notBase64)
  return Uint8Array.from(binary, c => c.charCodeAt(0))
}

// objectOf reads a JSON object. It refuses two members with the same name: JSON.parse keeps only the last, so the value has fewer
// members than the JSON has colons outside of strings.
function objectOf(part: string): Claims {
  const json = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytesOf(part))
  let members = -1 // JSON.parse also calls the function for the whole value
  const value: unknown = JSON.parse(json, function (this: unknown, _, member: unknown) {
    if (!Array.isArray(this)) members++
    return member
  })
  const colons = json.replace(/"(?:[^"\\]|\\.)*"/g, '').split(':').length - 1
  if (!isObject(value)) throw new Error(reasons.noObject)
  if (members !== colons) throw new Error(reasons.twice)
  return value
}

// verify makes every check that is possible. Only the kid leaves the page: lookUp reads its public key from the API.
export async function verify(token: string, expected: Expected, lookUp: (kid: string) => Promise<Response>): Promise<Verified> {
  const checks: Check[] = []
  const add = (name: string, problem: string | null, why: string, open = false) =>
    checks.push({ name, result: problem !== null ? 'failed' : open ? 'open' : 'passed', why: problem ?? why })
  const names = text.verify.checks
  const parts = token.split('.')
  let [header, claims, signature]: [Claims, Claims, Uint8Array<ArrayBuffer> | null] = [{}, {}, null]
  let problem: string | null = null
  try {
    if (token.length > maxLength) throw new Error(reasons.tooLong)
    if (parts.length !== 3) throw new Error(reasons.parts(parts.length))
    header = objectOf(parts[0]!)
    claims = objectOf(parts[1]!)
    signature = bytesOf(parts[2]!)
  } catch (e) {
    problem = e instanceof SyntaxError || e instanceof TypeError ? reasons.noJson : (e as Error).message
  }
  add(names.form, problem, reasons.form)
  if (problem !== null) return { checks, isOld: false, key: null, event: null }

  problem = headerProblem(header)
  add(names.header, problem, reasons.header)
  let jwk = null as JsonWebKey & { expiredAt?: number | null } | null
  let key: CryptoKey | null = null
  if (problem === null) {
    const answer = await lookUp(header.kid as string)
    if (answer.ok) {
      jwk = await answer.json().catch(() => null) as typeof jwk
      key = await imported(jwk).catch(() => null)
    }
    const { iat } = claims
    const retired = jwk?.expiredAt && isTime(iat) && iat * 1000 >= jwk.expiredAt
    const known: Record<number, string> = { 200: reasons.noKey, 404: reasons.unknownKey, 410: reasons.revokedKey }
    add(names.key, key ? retired ? reasons.retiredKey : null : known[answer.status] ?? reasons.noAnswer(answer.status), reasons.key)
  } else add(names.key, null, reasons.notTried, true)
  if (key) {
    const good = await isSigned(key, signature!, `${parts[0]}.${parts[1]}`)
    add(names.signature, good ? null : reasons.notSigned, reasons.signature)
  } else add(names.signature, null, reasons.notTried, true)

  const audience = Array.isArray(claims.aud) && claims.aud.length === 1 ? claims.aud[0] as unknown : claims.aud
  const isOtherAudience = !isText(audience) || expected.endpointId && audience !== expected.endpointId
  add(names.audience, isOtherAudience ? reasons.otherAudience(shown(claims.aud)) : null,
    expected.endpointId ? reasons.audience : reasons.anyAudience(shown(audience)), !expected.endpointId)
  const isOtherIssuer = !isText(claims.iss) || expected.issuer && claims.iss !== expected.issuer
  add(names.issuer, isOtherIssuer ? reasons.otherIssuer(shown(claims.iss)) : null,
    expected.issuer ? reasons.issuer : reasons.anyIssuer(shown(claims.iss)), !expected.issuer)
  const late = timeProblem(claims, expected.now / 1000)
  add(names.times, late, reasons.times)
  const { event } = claims
  add(names.event, eventProblem(event), reasons.event)
  const isPast = Number(claims.iat) < expected.now / 1000
  return { checks, isOld: late !== null && isPast && timeProblem(claims, Number(claims.iat)) === null, key: jwk, event: event ?? null }
}

const shown = (v: unknown) => v === undefined ? reasons.missing : JSON.stringify(v)

function headerProblem(header: Claims): string | null {
  if (header.alg !== 'ES256') return reasons.alg(shown(header.alg))
  if (header.typ !== 'webhook+jwt') return reasons.typ(shown(header.typ))
  if ('crit' in header) return reasons.crit
  try {
    if (isText(header.kid) && bytesOf(header.kid).length === 32) return null
  } catch { /* not base64url */ }
  return reasons.kid
}

async function imported(jwk: JsonWebKey | null): Promise<CryptoKey> {
  const curve = { name: 'ECDSA', namedCurve: 'P-256' }
  return crypto.subtle.importKey('jwk', { kty: jwk?.kty, crv: jwk?.crv, x: jwk?.x, y: jwk?.y }, curve, false, ['verify'])
}

async function isSigned(key: CryptoKey, signature: Uint8Array<ArrayBuffer>, signed: string): Promise<boolean> {
  return crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, signature, new TextEncoder().encode(signed))
}

function timeProblem({ iat, exp }: Claims, now: number): string | null {
  if (!isTime(iat) || !isTime(exp) || iat > 8.64e12) return reasons.noTime // a Date cannot hold more
  const from = new Date(iat * 1000).toISOString()
  if (iat >= now + leeway) return reasons.notYet(from)
  if (now >= exp || now - iat >= maxAge + leeway) return reasons.tooOld(from)
  return null
}

function eventProblem(event: unknown): string | null {
  if (!isObject(event)) return reasons.noEvent
  const missing = !isText(event.id) ? 'id' : !isText(event.type) ? 'type' : !isTime(event.createdAt) ? 'createdAt'
    : isObject(event.data) ? '' : 'data'
  return missing ? reasons.noMember(missing) : null
}
