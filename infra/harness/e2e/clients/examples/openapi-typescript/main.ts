// Creates three orgs and an API key, uses and revokes the key: BASE_URL=https://… ACCESS_TOKEN=… node main.js
import createClient from 'openapi-fetch'
import type { paths } from './latchkey' // openapi-typescript openapi.yaml -o latchkey.ts

/** Returns a client that sends a credential: an access token or an API key. */
const client = (credential: string) =>
  createClient<paths>({ baseUrl: process.env.BASE_URL, headers: { Authorization: `Bearer ${credential}` } })

async function main() {
  const admin = client(process.env.ACCESS_TOKEN!)
  let orgId = ''
  for (const name of ['Gamma', 'Beta', 'Acme']) {
    const { data: org } = await admin.POST('/v1/orgs', { body: { name } })
    orgId = org!.id
  }
  const { data: key } = await admin.POST('/v1/orgs/{orgId}/keys', { params: { path: { orgId } }, body: { name: 'server' } })

  const server = client(key!.key)
  const { data: access } = await server.POST('/app/get')
  console.log('the key of', access!.org.name, 'works')

  const missing = await admin.GET('/v1/orgs/{orgId}', { params: { path: { orgId: 'org_none' } } })
  console.log(missing.response.status, missing.error?.code)

  let count = 0, pages = 0, cursor: string | undefined
  do {
    const { data: page } = await admin.GET('/v1/orgs', { params: { query: { limit: 2, cursor } } })
    count += page!.orgs.length
    pages++
    cursor = page!.nextCursor
  } while (cursor)
  console.log(count, 'orgs in', pages, 'pages')

  await admin.DELETE('/v1/orgs/{orgId}/keys/{keyId}', { params: { path: { orgId, keyId: key!.id } } })
  const refused = await server.POST('/app/get')
  console.log(refused.response.status, refused.error?.code)
}

main()
