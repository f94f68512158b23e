// An API in Express without a proxy: LATCHKEY=https://… node ask_express.mjs
//
// LATCHKEY is the output ForwardAuthUrl, SECRET the parameter ForwardAuthSecret, if it is set.
import express from 'express'

const { LATCHKEY, SECRET = '', PORT = '8080' } = process.env
// One credential that is not a Latchkey key: only such a text can be a key of an earlier system.
const EARLIER = /^Bearer +(?![a-z0-9]+_\w{43}_\w{49}$)(\S+)$/i
const PASSED = ['Content-Type', 'X-Latchkey-Code', 'Retry-After', 'RateLimit', 'RateLimit-Policy', 'WWW-Authenticate']

// key makes a middleware that requires an API key with these scopes. fallback imports a key of an earlier system.
function key(scopes, fallback) {
  const url = new URL('/authorize?' + new URLSearchParams(scopes.map((scope) => ['scope', scope])), LATCHKEY)
  return async (req, res, next) => {
    const given = req.headersDistinct.authorization?.join(', ') // Latchkey refuses two credentials
    const headers = { 'X-Latchkey-Secret': SECRET, ...(given && { Authorization: given }) }
    const check = async () => {
      const answer = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.timeout(3000) })
      return { status: answer.status, get: (name) => answer.headers.get(name), body: Buffer.from(await answer.arrayBuffer()) }
    }
    let answer = { status: 503, get: () => null }
    try {
      answer = await check()
      const earlier = EARLIER.exec(given)
      if (fallback && earlier && answer.get('X-Latchkey-Code') === 'invalid_credentials') {
        await fallback(earlier[1])
        answer = await check()
      }
    } catch (error) { // log the name only: the message can have the key
      console.error('a key was not checked:', error.name)
      answer.status = 503
    }
    const { status, get, body } = answer
    if (status === 200 && get('X-Latchkey-V') === '1') {
      req.caller = (field) => decodeURIComponent(get(`X-Latchkey-${field}`) ?? '')
      return next()
    }
    if (![401, 403, 429].includes(status) || !get('X-Latchkey-Code')) return res.status(503).set('Retry-After', '1').json({ code: 'unavailable' })
    for (const name of PASSED) { // a function URL on AWS renames WWW-Authenticate
      const value = get(name) ?? get('X-Amzn-Remapped-' + name)
      if (value !== null) res.setHeader(name, value)
    }
    res.status(status).end(body)
  }
}

express().get('/invoices', key(['invoices:read']), ({ caller }, res) => {
  res.json({ orgId: caller('Org-Id'), name: caller('Key-Name'), scopes: caller('Scopes').split(' ').filter(Boolean) })
}).listen(PORT, '127.0.0.1')
