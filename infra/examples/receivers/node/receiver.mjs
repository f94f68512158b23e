// Receives Latchkey's webhooks. It needs verify.mjs in the same folder.
//
//   BASE_URL=https://api.example.com ENDPOINT_ID=whe_… node receiver.mjs
//
// ISSUER is the iss of the webhooks (default: BASE_URL). PORT is the port on this machine (4000).
// The answers: 204 when the event is handled, 401 when the webhook is not genuine, 500 when the
// work failed, 503 when the key cannot be looked up. After 401, 500, 503 the webhook comes again.
import { createServer } from 'node:http'
import { MAX_LENGTH, Unavailable, verifier } from './verify.mjs'

const { BASE_URL, ENDPOINT_ID, ISSUER, PORT = '4000' } = process.env
if (!BASE_URL || !ENDPOINT_ID) throw new Error('BASE_URL and ENDPOINT_ID are needed')
const verify = verifier({ baseURL: BASE_URL, endpointId: ENDPOINT_ID, issuer: ISSUER })

// Put your work here. The same event can come again; it has the same id then.
async function work(event) {
  if (event.test) return // an example event; nothing happened
  console.log(event.id, event.type)
}

async function statusOf(request) {
  let token = '', event
  try {
    for await (const chunk of request.setEncoding('latin1')) {
      if (token.length <= MAX_LENGTH) token += chunk // read the rest, but do not keep it
    }
    event = await verify(token)
  } catch (error) {
    return error instanceof Unavailable ? 503 : 401
  }
  return work(event).then(
    () => 204,
    (error) => { console.error(error); return 500 },
  )
}

createServer(async (request, response) => {
  response.writeHead(await statusOf(request)).end()
}).listen(PORT, '127.0.0.1')
