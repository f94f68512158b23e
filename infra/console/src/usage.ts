// The use of an API key in the last 30 days.
import { html } from 'lit'
import { chart } from './chart'
import { console_ } from './context'
import type { Dialog } from './dialog'
import { skeleton } from './list'
import { text } from './texts'
import type { Key, Usage } from './types'
import { number, problem } from './ui'

const days = 30
const isoDay = (t: number) => new Date(t).toISOString().slice(0, 10)

// dayLimit is the smallest limit or ceiling of the key for a day.
export function dayLimit(k: Key): number | null {
  const all = [...k.limits, ...k.ceilings].filter(l => l.per === 'day').map(l => l.requests)
  return all.length ? Math.min(...all) : null
}

// usageChart reads the use once, and returns what draws it.
export function usageChart(path: string, k: Key, limit: number | null): (d: Dialog) => unknown {
  let read: Usage[] | null = null
  let error: unknown = null
  let asked = false
  return d => {
    if (!asked) {
      asked = true
      console_.api.get<{ days: Usage[] }>(`${path}/keys/${encodeURIComponent(k.id)}/usage`)
        .then(a => { read = a.days }, e => { error = e }).finally(() => d.requestUpdate())
    }
    if (error) return problem(error)
    if (!read) return skeleton()
    if (read.length === 0) return html`<p class="note">${text.usage.none}</p>`
    const byDay = new Map(read.map(u => [u.date, u]))
    const bars = Array.from({ length: days }, (_, i) => {
      const date = isoDay(Date.now() - (days - 1 - i) * 86_400_000)
      const u = byDay.get(date)
      return {
        label: date, shade: u ? u.atMost : 0, parts: [{ name: text.usage.requests, tone: 'accent', value: u?.requests ?? 0 }],
      }
    })
    return chart({
      title: text.usage.title, bars, unit: text.usage.day, shadeName: text.usage.atMost,
      line: limit === null ? undefined : { value: limit, name: text.usage.limit(number(limit)) },
    })
  }
}
