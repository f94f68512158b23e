// Serves a page that embeds an org's API keys, webhooks, members and use.
//
//   API=https://api.example.com ORG=org_… TOKEN=eyJ… node serve.mjs
//
// TOKEN is an access token; a real server keeps one in each person's session. PORT is the port on this machine (default: 4001).
// The deployment's ConsoleOrigins must have the origin of the page, http://127.0.0.1:4001.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'

const { API, ORG, TOKEN, PORT = '4001' } = process.env
const origin = new URL(API).origin

// The page may load the script of the elements and call the API. The elements need no inline style.
const policy = [
  "default-src 'none'", `script-src 'self' ${origin}`, `connect-src 'self' ${origin}`, "base-uri 'none'", "form-action 'none'",
  "frame-ancestors 'none'", "require-trusted-types-for 'script'", 'trusted-types lit-html',
].join('; ')

const answers = {
  '/': ['text/html; charset=utf-8', () => readFile(new URL('index.html', import.meta.url))],
  '/embed.js': ['text/javascript; charset=utf-8', () => readFile(new URL('embed.js', import.meta.url))],
  '/session': ['application/json', () => JSON.stringify({ api: API, org: ORG })],
  '/token': ['text/plain', () => TOKEN],
}

createServer(async (request, response) => {
  const [type, body] = answers[request.url] ?? []
  if (!type) return response.writeHead(404).end()
  response.writeHead(200, { 'Content-Type': type, 'Content-Security-Policy': policy, 'Cache-Control': 'no-store' }).end(await body())
}).listen(Number(PORT), '127.0.0.1')
