// Prints, for each case of a file of vectors, whether jose accepts the token: node jose.mjs webhooks.json
import { readFileSync } from 'node:fs'
import { createLocalJWKSet, errors, jwtVerify } from 'jose'

const { now, issuer, endpointId, lookups, cases } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const known = Object.values(lookups).filter((answer) => answer.status === 200)
const keySet = createLocalJWKSet({ keys: known.map((answer) => answer.body) })
const options = {
  algorithms: ['ES256'], typ: 'webhook+jwt', issuer, audience: endpointId, requiredClaims: ['exp'],
  currentDate: new Date(now * 1000), clockTolerance: 60, maxTokenAge: 300, // seconds
}
for (const { name, token } of cases) {
  const verdict = await jwtVerify(token, keySet, options).then(() => 'accepts', (error) => {
    if (!(error instanceof errors.JOSEError)) throw error
    return 'refuses'
  })
  console.log(`${verdict}\t${name}`)
}
