// Puts an org's API keys, webhooks, members and use into a page of your own.
const { api, org } = await (await fetch('session')).json()

// token returns an access token of the person who is signed in here. The elements call it before each request, so keep the token.
// fresh: the API has refused the last token, so get another. maxAge: the person must have signed in within these seconds; send
// the person to your sign-in, and return a promise.
let kept
async function token({ fresh, maxAge }) {
  if (maxAge !== undefined) throw new Error(`Please sign in again: this needs a sign-in within the last ${maxAge} seconds.`)
  if (fresh || !kept) kept = await (await fetch('token')).text()
  return kept
}

await import(`${api}/console/files/elements.js`)
for (const element of document.querySelectorAll('latchkey-keys, latchkey-webhooks, latchkey-members, latchkey-usage')) {
  element.org = org
  element.token = token
}
