// Creates three orgs and an API key, uses and revokes the key: BASE_URL=https://… ACCESS_TOKEN=… node main.js
// openapi-generator generate -g typescript-fetch -o latchkey -i openapi.yaml
import { APIKeysApi, AppsApi, Configuration, OrgsApi, ProblemFromJSON, ResponseError } from './latchkey'

/** Returns the configuration that sends a credential: an access token or an API key. */
const as = (accessToken: string) => new Configuration({ basePath: process.env.BASE_URL!, accessToken })

/** Prints the status and the code of the error that the API answers. */
const refused = (error: unknown) => {
  if (!(error instanceof ResponseError)) throw error
  return error.response.json().then((body) => console.log(error.response.status, ProblemFromJSON(body).code))
}

async function main() {
  const admin = as(process.env.ACCESS_TOKEN!)
  const orgs = new OrgsApi(admin), keys = new APIKeysApi(admin)
  let orgId = ''
  for (const name of ['Gamma', 'Beta', 'Acme']) {
    orgId = (await orgs.createOrg({ orgCreation: { name } })).id
  }
  const key = await keys.createKey({ orgId, keyCreation: { name: 'server' } })

  const server = new AppsApi(as(key.key))
  console.log('the key of', (await server.getApp()).org.name, 'works')

  await orgs.getOrg({ orgId: 'org_none' }).catch(refused)

  let count = 0, pages = 0, cursor: string | undefined
  do {
    const page = await orgs.listOrgs({ limit: 2, cursor })
    count += page.orgs.length
    pages++
    cursor = page.nextCursor
  } while (cursor)
  console.log(count, 'orgs in', pages, 'pages')

  await keys.revokeKey({ orgId, keyId: key.id })
  await server.getApp().catch(refused)
}

main()
