// Signs a person in: authorization code with PKCE. Tokens live in private fields only, so a reload signs in again.
/*! oauth4webapi: MIT License, Copyright (c) 2022 Filip Skokan */
import * as oauth from 'oauth4webapi'
import { unreachable, written } from './api'
import { leave } from './dialog'
import { forgetEntered, keepEntered } from './kept'
import { text } from './texts'

interface Config {
  issuer: string; clientId: string; scope: string; parameters: Record<string, string> | null
  authorizationEndpoint: string; tokenEndpoint: string; endSessionEndpoint: string | null; revocationEndpoint: string | null
  maxKeyDays: number
  orgsBy: 'anyone' | 'services'
  keyPrefix: string
  supportUrl: string | null
}

// Away is kept in sessionStorage while the person is at the issuer.
interface Away { verifier: string; state: string; nonce: string; hash: string; again: boolean; isInterrupted: boolean }

const awayKey = 'latchkey-away'
const here = () => location.origin + location.pathname
// The key of a mark in localStorage, which shows that the person signed out. All tabs see the mark until a person signs in. Without
// it, an issuer that keeps its own session would sign the person in again at once.
const signedOutKey = () => `latchkey-signed-out ${here()}`
// The signature of an ID token is not checked, because the token comes directly from the token endpoint. An ID token with another
// algorithm is refused.
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']

// SignInError is an error that the start page shows instead of the console.
export class SignInError extends Error {}

// withLogin adds "login", a new sign-in, to the prompts that the deployment sends to the issuer.
const withLogin = (prompt = '') => ['login', ...prompt.split(' ').filter(p => p && p !== 'login' && p !== 'none')].join(' ')

// A sign-out in one tab is sent to the other tabs.
const tabs = new BroadcastChannel('latchkey')

export class Session {
  #config: Config
  #as: oauth.AuthorizationServer
  #client: oauth.Client
  #accessToken = ''
  #refreshToken = ''
  #idToken = ''
  #renewAt = Infinity // the time for a new access token
  #renewing: Promise<boolean> | null = null
  person = '' // the email or name, if the ID token has one
  email = ''
  subject = '' // the issuer's id of the person, if there is an ID token
  isInterrupted = false // a form was open when this sign-in began
  again = false // the API had asked for a recent sign-in, and this is the first page after it
  startedAt = 0

  private constructor(config: Config) {
    this.#config = config
    this.#as = {
      issuer: config.issuer, authorization_endpoint: config.authorizationEndpoint, token_endpoint: config.tokenEndpoint,
      id_token_signing_alg_values_supported: algorithms, revocation_endpoint: config.revocationEndpoint ?? undefined,
    }
    this.#client = { client_id: config.clientId }
  }

  get maxKeyDays() { return this.#config.maxKeyDays }
  get keyPrefix() { return this.#config.keyPrefix }
  get supportUrl() { return this.#config.supportUrl }
  get byServices() { return this.#config.orgsBy === 'services' }

  static async load(): Promise<Session> {
    const answer = await fetch('console/config.json', { headers: { Accept: 'application/json' } })
      .catch(() => { throw new SignInError(text.signIn.unreachable) })
    if (!answer.ok) {
      const problem = await answer.json().catch(() => null) as { detail?: string } | null
      throw new SignInError(problem?.detail ?? text.signIn.noConfig(answer.status))
    }
    return new Session(await answer.json() as Config)
  }

  // arrive removes the issuer's answer from the page's URL, and reports whether a person is signed in.
  async arrive(): Promise<boolean> {
    const query = new URLSearchParams(location.search)
    if (!query.has('code') && !query.has('error')) return false
    const url = new URL(location.href)
    const away = JSON.parse(sessionStorage.getItem(awayKey) ?? 'null') as Away | null
    sessionStorage.removeItem(awayKey)
    history.replaceState(null, '', location.pathname + (away?.hash ?? ''))
    if (!away) throw new SignInError(text.signIn.lost)
    try {
      const answer = oauth.validateAuthResponse(this.#as, this.#client, url, away.state)
      const response = await oauth.authorizationCodeGrantRequest(
        this.#as, this.#client, oauth.None(), answer, here(), away.verifier, this.#options())
      const openid = this.#config.scope.split(' ').includes('openid')
      const options = openid ? { expectedNonce: away.nonce, requireIdToken: true } : {}
      this.#keepTokens(await oauth.processAuthorizationCodeResponse(this.#as, this.#client, response, options))
    } catch (e) {
      throw new SignInError(text.signIn.refused(reason(e)))
    }
    localStorage.removeItem(signedOutKey())
    this.again = away.again
    this.isInterrupted = away.isInterrupted
    this.startedAt = Date.now()
    return true
  }

  // signIn leaves the page once no write is under way, and keeps the fields of the open form. With maxAge a person
  // with an older sign-in must sign in again; with login, and after a sign-out, every person must.
  async signIn(maxAge?: number, login = false): Promise<void> {
    await written()
    const { form, isOpen } = await leave()
    keepEntered(form, this.subject)
    const away: Away = {
      verifier: oauth.generateRandomCodeVerifier(), state: oauth.generateRandomState(), nonce: oauth.generateRandomNonce(),
      hash: location.hash, again: maxAge !== undefined,
      isInterrupted: isOpen,
    }
    const url = new URL(this.#config.authorizationEndpoint)
    const parameters = {
      ...this.#config.parameters, response_type: 'code', client_id: this.#config.clientId, redirect_uri: here(),
      scope: this.#config.scope, state: away.state, nonce: away.nonce, code_challenge_method: 'S256',
      code_challenge: await oauth.calculatePKCECodeChallenge(away.verifier),
      ...(maxAge === undefined ? {} : { max_age: String(maxAge) }),
      ...(login || Session.isSignedOut() ? { prompt: withLogin(this.#config.parameters?.prompt) } : {}),
    }
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    sessionStorage.setItem(awayKey, JSON.stringify(away))
    location.assign(url)
    return new Promise(() => {}) // the browser leaves the page
  }

  // token returns a usable access token, or leaves the page to get one.
  async token(): Promise<string> {
    if (Date.now() > this.#renewAt && !await this.renew()) await this.signIn()
    return this.#accessToken
  }

  // renew gets a new access token with the refresh token, if the issuer gave one. It throws a Problem and keeps the refresh token if the
  // issuer cannot answer now.
  renew(): Promise<boolean> {
    if (!this.#refreshToken) return Promise.resolve(false)
    this.#renewing ??= this.#refresh().finally(() => { this.#renewing = null })
    return this.#renewing
  }

  async #refresh(): Promise<boolean> {
    const used = this.#refreshToken
    const isSignedOut = () => this.#refreshToken !== used // during the request: then no answer comes
    let status = 0 // of the answer
    try {
      const response = await oauth.refreshTokenGrantRequest(this.#as, this.#client, oauth.None(), used, this.#options())
      status = response.status
      const answer = await oauth.processRefreshTokenResponse(this.#as, this.#client, response)
      if (isSignedOut()) return await new Promise(() => {})
      this.#keepTokens(answer)
      return true
    } catch {
      const isDown = status ? status >= 500 || status === 429 : !await this.#isReachable()
      if (isSignedOut()) return new Promise(() => {})
      if (isDown) throw unreachable()
      this.#refreshToken = ''
      return false
    }
  }

  // #isReachable reports whether the issuer answers anything. If it does, it may have refused without the headers of CORS, so that the
  // browser hides its answer. A GET could be redirected to an origin that the page may not call. An answer with the header
  // Cross-Origin-Resource-Policy: same-origin looks like none.
  #isReachable = () => fetch(this.#config.tokenEndpoint, { method: 'POST', mode: 'no-cors' }).then(() => true, () => false)

  // onSignOut calls done when the person signs out in another tab of the same console.
  onSignOut(done: () => void) {
    tabs.onmessage = e => {
      if (e.data !== here()) return
      this.#forget()
      done()
    }
  }

  #forget() {
    this.#accessToken = this.#refreshToken = this.#idToken = ''
    forgetEntered()
  }

  // #revoke ends the refresh token at the issuer (RFC 7009), where that has an endpoint. An error does not delay the sign-out.
  #revoke() {
    if (!this.#refreshToken || !this.#config.revocationEndpoint) return
    const fetchOn: typeof fetch = (url, init) => fetch(url, { ...init, keepalive: true }) // the browser may leave the page
    oauth.revocationRequest(this.#as, this.#client, oauth.None(), this.#refreshToken, {
      ...this.#options(), [oauth.customFetch]: fetchOn,
    }).catch(() => {})
  }

  // signOut forgets the tokens. It reports whether the page stays, because the issuer has no page to sign out.
  signOut(): boolean {
    const hint = this.#idToken
    this.#revoke()
    this.#forget()
    localStorage.setItem(signedOutKey(), '1')
    tabs.postMessage(here())
    if (!this.#config.endSessionEndpoint) return true
    const url = new URL(this.#config.endSessionEndpoint)
    url.searchParams.set('client_id', this.#config.clientId)
    url.searchParams.set('post_logout_redirect_uri', here())
    url.searchParams.set('logout_uri', here()) // Cognito's name for it
    if (hint) url.searchParams.set('id_token_hint', hint)
    location.assign(url)
    return false
  }

  // isSignedOut reports whether the last person who used the console in this browser signed out: the page then waits for a click.
  static isSignedOut(): boolean { return localStorage.getItem(signedOutKey()) !== null }

  #options = () => ({ [oauth.allowInsecureRequests]: this.#config.issuer.startsWith('http:') })

  #keepTokens(answer: oauth.TokenEndpointResponse) {
    this.#accessToken = answer.access_token
    this.#refreshToken = answer.refresh_token ?? this.#refreshToken
    this.#idToken = answer.id_token ?? this.#idToken
    const seconds = answer.expires_in
    this.#renewAt = seconds ? Date.now() + (seconds - Math.min(30, seconds / 4)) * 1000 : Infinity // before it ends
    const claims = oauth.getValidatedIdTokenClaims(answer)
    if (!claims) return
    this.subject = claims.sub
    if (typeof claims.email === 'string') this.email = claims.email
    this.person = this.email || (typeof claims.name === 'string' ? claims.name : this.person)
  }
}

// reason returns the issuer's or the library's text for a failed sign-in.
function reason(e: unknown): string {
  if (e instanceof oauth.AuthorizationResponseError || e instanceof oauth.ResponseBodyError) {
    return e.error_description ?? e.error
  }
  return e instanceof Error ? e.message : String(e)
}
