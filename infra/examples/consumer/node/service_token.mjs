// Gets a service's token from your issuer, and keeps it until a minute before it expires.
const { TOKEN_URL, CLIENT_ID: client_id, CLIENT_SECRET: client_secret, AUDIENCE: audience = '' } = process.env
const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, audience }) // some issuers need scope instead of audience
let kept = { until: 0 }

export async function serviceToken() {
  if (Date.now() < kept.until) return kept.token
  const answer = await fetch(TOKEN_URL, { method: 'POST', body, redirect: 'error', signal: AbortSignal.timeout(2000) })
  if (!answer.ok) throw new Error(`status ${answer.status}`)
  const { access_token: token, expires_in } = await answer.json()
  kept = { token, until: Date.now() + (expires_in - 60) * 1000 }
  return token
}
