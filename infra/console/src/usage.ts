// The use of an API key in the last 30 days.
import { html, nothing } from 'lit'
import { chart } from './chart'
import type { Dialog } from './dialog'
import { skeleton } from './list'
import { text } from './texts'
import type { Key, Org, Usage } from './types'
import { limitsText, number, type Page, problem } from './ui'

const days = 30
const isoDay = (t: number) => new Date(t).toISOString().slice(0, 10)

// dayLimit is the smallest limit or ceiling of the key for a day.
export function dayLimit(k: Key): number | null {
  const all = [...k.limits, ...k.ceilings].filter(l => l.per === 'day').map(l => l.requests)
  return all.length ? Math.min(...all) : null
}

// ofOrg says what the org's allowance has counted for all keys together, which only admins may read.
async function ofOrg(page: Page): Promise<string> {
  if (!page.isAdmin) return text.usage.together
  const { allowance } = await page.api.get<Org>(page.path)
  if (!allowance?.length) return ''
  const days = (await page.api.all<Usage>(`${page.path}/usage`, 'usage')).filter(u => !u.keyId)
  return text.usage.ofOrg(limitsText(allowance), span(days.filter(u => u.date === isoDay(Date.now()))), span(days))
}

// span is how many requests there were: a number, or what they are between.
function span(of: Usage[]): string {
  const least = of.reduce((sum, u) => sum + u.requests, 0)
  const most = of.reduce((sum, u) => sum + (u.atMost ?? Infinity), 0)
  if (most === Infinity) return text.usage.atLeast(number(least))
  return least === most ? number(least) : text.usage.from(number(least), number(most))
}

// usageChart reads the use once, and returns what draws it.
export function usageChart(page: Page, k: Key, limit: number | null): (d: Dialog) => unknown {
  let read: Usage[] | null = null
  let together = ''
  let error: unknown = null
  let asked = false
  return d => {
    if (!asked) {
      asked = true
      Promise.all([page.api.get<{ days: Usage[] }>(`${page.path}/keys/${encodeURIComponent(k.id)}/usage`), ofOrg(page)])
        .then(([a, t]) => { [read, together] = [a.days, t] }, e => { error = e }).finally(() => d.requestUpdate())
    }
    if (error) return problem(error)
    if (!read) return skeleton()
    const note = together ? html`<p class="note">${together}</p>` : nothing
    if (read.length === 0) return html`<p class="note">${text.usage.none}</p>${note}`
    const byDay = new Map(read.map(u => [u.date, u]))
    const bars = Array.from({ length: days }, (_, i) => {
      const date = isoDay(Date.now() - (days - 1 - i) * 86_400_000)
      const u = byDay.get(date)
      return {
        label: date, shade: u ? u.atMost : 0, parts: [{ name: text.usage.requests, tone: 'accent', value: u?.requests ?? 0 }],
      }
    })
    return html`${chart({
      title: text.usage.title, bars, unit: text.usage.day, shadeName: text.usage.atMost,
      line: limit === null ? undefined : { value: limit, name: text.usage.limit(number(limit)) },
    })}${note}`
  }
}
