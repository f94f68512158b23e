// Calls the API by URLs relative to the page or the script, so that a deployment's path prefix needs no setting.
import { console_ } from './context'
import { text } from './texts'

export type Query = Record<string, string | number | undefined>
export interface PageOf<T> { items: T[]; nextCursor?: string }
interface Body {
  title: string; status: number; detail: string; code: string; requestId: string; maxAge?: number
  errors?: { pointer: string; message: string }[]
}

// Problem is an error that the API returned, or a failed connection to the API.
export class Problem extends Error {
  constructor(readonly body: Body) {
    super(body.detail)
  }
}

// unreachable is the problem of a request without an answer.
export const unreachable = () => new Problem({ ...text.problem.unreachable, status: 0, code: 'unreachable', requestId: '' })

// digest makes an Idempotency-Key from the random text of a form and the body that the form sends. The same body gives the same key.
async function digest(text: string): Promise<string> {
  const sum = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return [...new Uint8Array(sum)].map(b => b.toString(16).padStart(2, '0')).join('')
}

const writes = new Set<Promise<unknown>>()

// written waits until no write is pending, and each form has its answer.
export async function written() {
  while (writes.size) {
    await Promise.allSettled(writes)
    await new Promise(go => setTimeout(go))
  }
}

// SignedIn gives the tokens of the signed-in person.
export interface SignedIn {
  readonly startedAt: number // the time of the sign-in; 0: this page did not see it
  readonly again: boolean // this sign-in was required by the API
  token(): Promise<string>
  renew(): Promise<boolean> // after the API refused the token
  signIn(maxAge?: number, login?: boolean): Promise<void>
}

export class Api {
  #hasEnded = false

  constructor(private session: SignedIn) {}

  get hasEnded() { return this.#hasEnded }

  // end makes every further call fail: the page acts for another person now.
  end() { this.#hasEnded = true }

  get<T>(path: string, query?: Query): Promise<T> { return this.#call('GET', path, { query }) }
  csv(path: string, query?: Query): Promise<string> { return this.#call('GET', path, { query, accept: 'text/csv' }) }
  patch<T>(path: string, body: unknown): Promise<T> { return this.#call('PATCH', path, { body }) }
  delete(path: string, query?: Query): Promise<void> { return this.#call('DELETE', path, { query }) }
  post<T>(path: string, body?: unknown): Promise<T> { return this.#call('POST', path, { body }) }
  // create makes a resource. When a form sends the same body again, the API makes no second resource. data has the form's random text.
  async create<T>(path: string, body: unknown, data: FormData): Promise<T> {
    return this.#call('POST', path, { body, once: await digest(`${data.get('once')}${JSON.stringify(body)}`) })
  }

  // list reads one page of a list. The answer has its items under the name.
  async list<T>(path: string, name: string, query: Query): Promise<PageOf<T>> {
    const answer = await this.get<Record<string, unknown>>(path, query)
    return { items: answer[name] as T[], nextCursor: answer.nextCursor as string | undefined }
  }

  // all reads a list to its end. Without a limit the API returns the whole list, or a cursor if the list is too long.
  async all<T>(path: string, name: string, query: Query = {}): Promise<T[]> {
    let page = await this.list<T>(path, name, query)
    const items = page.items
    while (page.nextCursor) {
      page = await this.list<T>(path, name, { ...query, limit: 100, cursor: page.nextCursor })
      items.push(...page.items)
    }
    return items
  }

  async #call<T>(method: string, path: string, o: { query?: Query; body?: unknown; once?: string; accept?: string }, isRetry = false): Promise<T> {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(o.query ?? {})) if (value !== undefined) query.set(name, String(value))
    const headers: Record<string, string> = { Authorization: `Bearer ${await this.session.token()}` }
    if (this.#hasEnded) throw new Error(text.problem.ended)
    if (o.body !== undefined) headers['Content-Type'] = 'application/json'
    if (o.once) headers['Idempotency-Key'] = o.once
    if (o.accept) headers.Accept = o.accept
    const url = new URL(`v1/${path}${query.size ? `?${query}` : ''}`, console_.base)
    const body = o.body === undefined ? undefined : JSON.stringify(o.body)
    const sent = send(url, { method, headers, body, cache: 'no-store', credentials: 'omit', redirect: 'error' })
    if (method !== 'GET') {
      writes.add(sent)
      void sent.then(() => writes.delete(sent)) // send does not fail
    }
    const problem = await sent
    if (!(problem instanceof Problem)) return problem as T
    if (problem.body.status === 401) {
      const fresh = Date.now() - this.session.startedAt < 60_000 // another sign-in would have the same result
      const isEnded = problem.body.code === 'token_ended' // by a sign-out everywhere
      if ((isEnded || problem.body.code === 'insufficient_user_authentication') && !isRetry && !(fresh && this.session.again)) {
        await this.session.signIn(problem.body.maxAge ?? 0, isEnded)
        return this.#call(method, path, o, true)
      }
      if (['token_expired', 'token_invalid'].includes(problem.body.code) && !isRetry) {
        if (await this.session.renew()) return this.#call(method, path, o, true)
        if (!fresh) await this.session.signIn()
      }
    }
    throw problem
  }
}

const isText = (request: RequestInit) => (request.headers as Record<string, string> | undefined)?.Accept === 'text/csv'

// send returns the body of the answer, or a Problem. It never throws.
export async function send(url: URL, request: RequestInit): Promise<unknown> {
  try {
    const answer = await fetch(url, request)
    if (answer.ok) return answer.status === 204 ? undefined : await (isText(request) ? answer.text() : answer.json())
    const body = await answer.json().catch(() => null) as Partial<Body> | null
    return new Problem({
      title: text.problem.title, detail: text.problem.status(answer.status), code: 'unknown', requestId: '', ...body,
      status: answer.status,
    })
  } catch {
    return unreachable()
  }
}

// curl returns the command that sends an API key to one of its routes.
export function curl(path: string, key = '$KEY', body = ''): string {
  const command = `curl -X POST ${new URL(path, console_.base)} -H "Authorization: Bearer ${key}"`
  return body ? `${command} -H "Content-Type: application/json" -d '${body}'` : command
}
