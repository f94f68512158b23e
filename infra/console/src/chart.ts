// Bars over time, drawn in the colours of the style sheet, with the same numbers in a table below.
import { html, nothing, svg } from 'lit'
import { text } from './texts'
import { number, table } from './ui'

export interface Part { name: string; tone: string; value: number }
export interface Bar { label: string; parts: Part[]; shade?: number | null } // shade: the largest possible value

interface Chart {
  title: string
  bars: Bar[]
  unit: string // the name of the first column of the table
  line?: { value: number; name: string } // drawn only if it is at most 5 times the largest bar
  shadeName?: string
}

const height = 100
const sum = (b: Bar) => b.parts.reduce((n, p) => n + p.value, 0)

export function chart(c: Chart): unknown {
  const largest = Math.max(1, ...c.bars.map(b => Math.max(sum(b), b.shade ?? 0)))
  const line = c.line && c.line.value <= largest * 5 ? c.line : null
  const scale = height / (Math.max(largest, line?.value ?? 0) * 1.05)
  const names = c.bars[0]?.parts ?? []
  const columns = [
    { label: c.unit, cell: (b: Bar) => b.label },
    ...names.map((p, i) => ({ label: p.name, kind: 'number' as const, cell: (b: Bar) => number(b.parts[i]!.value) })),
    ...(c.shadeName ? [{
      label: c.shadeName, kind: 'number' as const, cell: (b: Bar) => b.shade == null ? text.none : number(b.shade),
    }] : []),
  ]
  return html`
    <figure class="chart">
      <figcaption>${c.title}<span class="legend">
        ${names.map(p => html`<span><i class=${p.tone}></i>${p.name}</span>`)}
        ${c.shadeName ? html`<span><i class="shade"></i>${c.shadeName}</span>` : nothing}
        ${c.line ? html`<span><i class="line"></i>${c.line.name}${line ? '' : ` (${text.chart.above})`}</span>` : nothing}
      </span></figcaption>
      <div class="plot">
        <span class="scale">${number(Math.max(largest, line?.value ?? 0))}</span>
        <svg viewBox="0 0 ${c.bars.length} ${height}" preserveAspectRatio="none" role="img" aria-label=${c.title}>
          ${c.bars.map((b, i) => drawn(b, i, scale))}
          ${line ? svg`<line x1="0" x2=${c.bars.length} y1=${height - line.value * scale} y2=${height - line.value * scale}/>` : nothing}
        </svg>
      </div>
      <div class="ends"><span>${c.bars[0]?.label}</span><span>${c.bars.at(-1)?.label}</span></div>
      <details><summary>${text.chart.table}</summary>${table(c.title, columns, [...c.bars].reverse())}</details>
    </figure>`
}

export interface Moment { label: string; at: number }

// timeline draws the moments in the life of a key, and the present. The page shows the same moments as text after it.
export function timeline(title: string, moments: Moment[], now: Moment): unknown {
  const all = [...moments, now].sort((a, b) => a.at - b.at)
  const [first, last] = [all[0]!.at, all.at(-1)!.at]
  const x = (at: number) => last === first ? 0 : (at - first) / (last - first) * 100
  const label = all.map(m => `${m.label} ${new Date(m.at).toISOString().slice(0, 10)}`).join(', ')
  return html`
    <figure class="chart">
      <figcaption>${title}</figcaption>
      <svg class="life" role="img" aria-label="${title}: ${label}">
        <line x1="0%" x2="100%" y1="8" y2="8"/><line class="past" x1="0%" x2="${x(now.at)}%" y1="8" y2="8"/>
        ${all.map((m, i) => svg`
          <circle class=${m === now ? 'now' : ''} cx="${x(m.at)}%" cy="8" r="5"/>
          <text x="${x(m.at)}%" y=${i > 0 && i < all.length - 1 ? 42 : 28} text-anchor=${x(m.at) < 50 ? 'start' : 'end'}>${
            m.label}</text>`)}
      </svg>
    </figure>`
}

// hatched draws lines over a part, so that the part differs from others not only by its colour.
function hatched(at: number, top: number, size: number): unknown {
  return Array.from({ length: Math.ceil(size / 4) }, (_, i) => svg`
    <line class="hatch" x1=${at + 0.12} x2=${at + 0.88} y1=${Math.min(top + size, top + i * 4 + 4)} y2=${top + i * 4}/>`)
}

function drawn(b: Bar, at: number, scale: number): unknown {
  let top = height
  const values = [...b.parts.map(p => `${p.name} ${number(p.value)}`), ...(b.shade == null ? [] : [`≤ ${number(b.shade)}`])].join(', ')
  return svg`<g><title>${b.label}: ${values}</title>
    <rect class="hit" x=${at} y="0" width="1" height=${height}/>
    ${b.shade ? svg`<rect class="shade" x=${at + 0.12} y=${height - b.shade * scale} width="0.76" height=${b.shade * scale}/>` : nothing}
    ${b.parts.filter(p => p.value > 0).map(p => {
      const size = p.value * scale
      top -= size
      return svg`<rect class=${p.tone} x=${at + 0.12} y=${top} width="0.76" height=${size}/>${p.tone === 'retried' ? hatched(at, top, size) : nothing}`
    })}</g>`
}
