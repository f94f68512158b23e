// An oidc-provider on a free port. The first line of its output is its address. PUT /keys
// sets its signing keys, such as "two,one"; the first key signs.
import http from 'node:http'
import { exportJWK, generateKeyPair } from 'jose'
import Provider from 'oidc-provider'

const audience = process.env.AUDIENCE
const jwks = new Map()
let handle // the request handler of the provider with the present keys

async function keyOf(kid) {
  if (!jwks.has(kid)) {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    jwks.set(kid, { ...(await exportJWK(privateKey)), kid, alg: 'ES256', use: 'sig' })
  }
  return jwks.get(kid)
}

const person = (id) => ({ email: `${id}@example.com`, email_verified: true, name: id })

async function provide(kids) {
  const provider = new Provider(issuer, {
    jwks: { keys: await Promise.all(kids.split(',').map(keyOf)) },
    clients: [{
      client_id: 'console', token_endpoint_auth_method: 'none', application_type: 'native',
      redirect_uris: [`${issuer}/callback`], id_token_signed_response_alg: 'ES256',
    }, {
      client_id: 'billing', client_secret: 'secret', token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['client_credentials'], response_types: [], redirect_uris: [], id_token_signed_response_alg: 'ES256',
    }],
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id, ...person(id) }) }),
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({ scope: 'api', audience, accessTokenFormat: 'jwt', jwt: { sign: { alg: 'ES256' } } }),
      },
    },
    extraTokenClaims: (_, token) => token.accountId && person(token.accountId),
  })
  handle = provider.callback()
}

const server = http.createServer(async (req, res) => {
  if (req.method !== 'PUT' || req.url !== '/keys') return handle(req, res)
  let kids = ''
  for await (const chunk of req) kids += chunk
  await provide(kids)
  res.writeHead(204).end()
})
await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
const issuer = `http://127.0.0.1:${server.address().port}`
await provide('one')
console.log(issuer)
