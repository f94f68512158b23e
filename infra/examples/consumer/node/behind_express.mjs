// An API in Express behind the proxy: PROXY_SECRET=… node behind_express.mjs
import { createHash, timingSafeEqual } from 'node:crypto'
import express from 'express'

const { PROXY_SECRET, PORT = '8080' } = process.env
if (PROXY_SECRET === undefined) throw new Error('PROXY_SECRET is needed')
const hash = (text) => createHash('sha256').update(text).digest()

function fromProxy(req, res, next) {
  if (!timingSafeEqual(hash(req.get('X-Latchkey-Proxy-Secret') ?? ''), hash(PROXY_SECRET))) return res.sendStatus(403)
  if (req.get('X-Latchkey-V') !== '1' || req.get('X-Latchkey-Kind') !== 'key') return res.sendStatus(500) // the proxy has not checked a key
  req.caller = (field) => decodeURIComponent(req.get(`X-Latchkey-${field}`) ?? '')
  next()
}

express().use(fromProxy).get('/invoices', ({ caller }, res) => {
  res.json({ orgId: caller('Org-Id'), name: caller('Key-Name'), scopes: caller('Scopes').split(' ').filter(Boolean) })
}).listen(PORT, '127.0.0.1')
