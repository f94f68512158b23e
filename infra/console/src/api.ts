// Calls the API by URLs relative to the page or the script, so that a deployment's path prefix needs no setting.
import { console_ } from './context'
import { text } from './texts'

export type Query = Record<string, string | number | undefined>
export interface PageOf<T> { items: T[]; nextCursor?: string }
interface Body {
  title: string; status: number; detail: string; code: string; requestId: string; maxAge?: number
  errors?: { pointer: string; message: string }[]
}

// Problem is an error of the API, or of the way to it.
export class Problem extends Error {
  constructor(readonly body: Body) {
    super(body.detail)
  }
}

// Once gives the Idempotency-Key of a form: the same while the same is sent again.
export class Once {
  #body = ''
  #key = ''
  key(body: string): string {
    if (body !== this.#body || !this.#key) [this.#body, this.#key] = [body, crypto.randomUUID()]
    return this.#key
  }
}

// SignedIn is the person whom the pages call the API as.
export interface SignedIn {
  readonly startedAt: number // the time of the sign-in, if this page saw it
  readonly again: boolean // the API had asked for it
  token(): Promise<string>
  renew(): Promise<boolean> // after the API refused the token
  signIn(maxAge?: number): Promise<void>
}

export class Api {
  #hasEnded = false

  constructor(private session: SignedIn) {}

  get hasEnded() { return this.#hasEnded }

  // end refuses each further call: the page acts for another person now.
  end() { this.#hasEnded = true }

  get<T>(path: string, query?: Query): Promise<T> { return this.#call('GET', path, { query }) }
  patch<T>(path: string, body: unknown): Promise<T> { return this.#call('PATCH', path, { body }) }
  delete(path: string, query?: Query): Promise<void> { return this.#call('DELETE', path, { query }) }
  post<T>(path: string, body?: unknown): Promise<T> { return this.#call('POST', path, { body }) }
  create<T>(path: string, body: unknown, once: Once): Promise<T> {
    return this.#call('POST', path, { body, once: once.key(JSON.stringify(body)) })
  }

  // list reads one page of a list, whose items stand under the name.
  async list<T>(path: string, name: string, query: Query): Promise<PageOf<T>> {
    const answer = await this.get<Record<string, unknown>>(path, query)
    return { items: answer[name] as T[], nextCursor: answer.nextCursor as string | undefined }
  }

  // all reads a list to its end. A list that is asked for without a page is whole, or ends with a cursor where it would be too long.
  async all<T>(path: string, name: string, query: Query = {}): Promise<T[]> {
    let page = await this.list<T>(path, name, query)
    const items = page.items
    while (page.nextCursor) {
      page = await this.list<T>(path, name, { ...query, limit: 100, cursor: page.nextCursor })
      items.push(...page.items)
    }
    return items
  }

  async #call<T>(method: string, path: string, o: { query?: Query; body?: unknown; once?: string }, second = false): Promise<T> {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(o.query ?? {})) if (value !== undefined) query.set(name, String(value))
    const headers: Record<string, string> = { Authorization: `Bearer ${await this.session.token()}` }
    if (this.#hasEnded) throw new Error(text.problem.ended)
    if (o.body !== undefined) headers['Content-Type'] = 'application/json'
    if (o.once) headers['Idempotency-Key'] = o.once
    const url = new URL(`v1/${path}${query.size ? `?${query}` : ''}`, console_.base)
    const body = o.body === undefined ? undefined : JSON.stringify(o.body)
    let answer: Response
    try {
      answer = await fetch(url, { method, headers, body, cache: 'no-store', credentials: 'omit', redirect: 'error' })
    } catch {
      throw new Problem({ ...text.problem.unreachable, status: 0, code: 'unreachable', requestId: '' })
    }
    if (answer.ok) return (answer.status === 204 ? undefined : await answer.json()) as T
    const problem = await readProblem(answer)
    if (answer.status === 401) {
      const fresh = Date.now() - this.session.startedAt < 60_000 // another sign-in would end the same way
      if (problem.body.code === 'insufficient_user_authentication' && !second && !(fresh && this.session.again)) {
        await this.session.signIn(problem.body.maxAge ?? 0)
        return this.#call(method, path, o, true)
      }
      if (['token_expired', 'token_invalid'].includes(problem.body.code) && !second) {
        if (await this.session.renew()) return this.#call(method, path, o, true)
        if (!fresh) await this.session.signIn()
      }
    }
    throw problem
  }
}

async function readProblem(answer: Response): Promise<Problem> {
  const body = await answer.json().catch(() => null) as Partial<Body> | null
  return new Problem({
    title: text.problem.title, detail: text.problem.status(answer.status), code: 'unknown', requestId: '', ...body,
    status: answer.status,
  })
}

// curl returns the command that sends an API key to one of its routes.
export function curl(path: string, key = '$KEY', body = ''): string {
  const command = `curl -X POST ${new URL(path, console_.base)} -H "Authorization: Bearer ${key}"`
  return body ? `${command} -H "Content-Type: application/json" -d '${body}'` : command
}
