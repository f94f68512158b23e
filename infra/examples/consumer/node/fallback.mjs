// Imports a key of your earlier system at its first use. Latchkey then checks the imported key.
import { createHash } from 'node:crypto'
import { serviceToken } from './service_token.mjs'

const { API, EARLIER_SYSTEM } = process.env
const post = (url, body, headers) => fetch(url, { // the key is in the body, because logs show URLs
  method: 'POST', body: JSON.stringify(body), redirect: 'error', signal: AbortSignal.timeout(2000),
  headers: { 'Content-Type': 'application/json', ...headers },
})

export async function importIfGood(text) {
  const old = await post(EARLIER_SYSTEM, { key: text })
  if (old.status === 404) return // your earlier system does not know the key
  if (!old.ok) throw new Error(`status ${old.status}`)
  const { orgId, name, scopes } = await old.json()
  const key = { sha256: createHash('sha256').update(text).digest('hex'), prefix: text.slice(0, 8), name, scopes }
  const made = await post(`${API}/v1/orgs/${orgId}/keys/import`, { keys: [key] }, { Authorization: `Bearer ${await serviceToken()}` })
  if (!made.ok) throw new Error(`status ${made.status}`)
  const { error } = (await made.json()).keys[0]
  if (!error || error.code === 'conflict') return // conflict: another request has imported the key
  console.error('a key was not imported:', error.code)
  throw new Error(error.code)
}
