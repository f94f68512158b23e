// The search of the reference page, and the owner's catalogue on that page. The catalogue's texts are inserted as text, never as HTML.
interface Catalogue {
  scopes: { name: string; description: string }[]
  events: { type: string; description: string; schema?: object; example?: object }[]
}

function node(tag: string, ...inside: (Node | string)[]): HTMLElement {
  const made = document.createElement(tag)
  made.append(...inside)
  return made
}

function details(summary: string, value: object): HTMLElement {
  const pre = node('pre', node('code', JSON.stringify(value, null, 2)))
  pre.tabIndex = 0
  return node('details', node('summary', summary), pre)
}

async function show(): Promise<void> {
  const answer = await fetch('catalogue.json')
  if (!answer.ok) return
  const { scopes, events } = await answer.json() as Catalogue
  const section = document.getElementById('catalogue')
  if (!section) return
  if (scopes.length) section.append(node('h3', 'Scopes'), node('dl', ...scopes.flatMap((s) => [node('dt', node('code', s.name)), node('dd', s.description)])))
  if (events.length) section.append(node('h3', 'Event types'))
  for (const e of events) {
    section.append(node('h4', node('code', e.type)), node('p', e.description))
    if (e.example) section.append(details('Example of its data', e.example))
    if (e.schema) section.append(details('Schema of its data', e.schema))
  }
  for (const hidden of document.querySelectorAll<HTMLElement>('#catalogue, [href="#catalogue"]')) hidden.hidden = !scopes.length && !events.length
}

// search adds a search field. The page and its menu then show only the operations and schemas that have all words.
function search(): void {
  const nav = document.querySelector('nav')!
  const parts = [...document.querySelectorAll<HTMLElement>('article[id]')].map(part => ({
    part, link: nav.querySelector<HTMLElement>(`[href="#${part.id}"]`), has: part.textContent!.toLowerCase(),
  }))
  const words = document.createElement('input')
  words.type = 'search'
  words.placeholder = 'Search'
  words.setAttribute('aria-label', 'Search')
  words.addEventListener('input', () => {
    const wanted = words.value.toLowerCase().split(/\s+/)
    for (const { part, link, has } of parts) {
      part.hidden = !wanted.every(w => has.includes(w))
      if (link) link.hidden = part.hidden
    }
  })
  nav.prepend(words)
}

search()
show().catch(() => {}) // without the catalogue the reference is still complete
