// Puts an org's API keys, webhooks, members and use into a page of your own.
const { api, org } = await (await fetch('session')).json()

// token returns an access token of the person who is signed in here. It is called before each request, so keep the token. With
// fresh, the API has refused the last one: get another. With maxAge, the person must have signed in within these seconds: send
// them to your sign-in, and return a promise.
let kept
async function token({ fresh, maxAge }) {
  if (maxAge !== undefined) throw new Error(`Sign in again, please: this needs a sign-in of the last ${maxAge} seconds.`)
  if (fresh || !kept) kept = await (await fetch('token')).text()
  return kept
}

await import(`${api}/console/files/elements.js`)
for (const element of document.querySelectorAll('latchkey-keys, latchkey-webhooks, latchkey-members, latchkey-usage')) {
  element.org = org
  element.token = token
}
