// Replaces the parts of a browser that the modules use. Tests read the calls in the arrays below.
const dialogs = () => node.children.filter(c => c.isConnected)
const node = {
  nodeType: 1, children: [],
  appendChild(child) { this.children.push(child); child.connectedCallback() },
  querySelectorAll: dialogs, append() {}, replaceChildren() {}, attachShadow: () => node,
}
globalThis.here = 'https://console.example/stage/console'
globalThis.gone = [] // the URLs to which the page went (location.assign)
globalThis.replaced = [] // the URLs of history.replaceState
globalThis.posted = [] // the messages to other tabs
globalThis.location = { href: here, origin: 'https://console.example', pathname: '/stage/console', search: '', hash: '', assign: url => gone.push(String(url)) }
Object.defineProperty(location, 'href', { get: () => here + location.search + location.hash })
globalThis.history = { replaceState: (_, __, url) => replaced.push(url) }
globalThis.BroadcastChannel = class { constructor() { globalThis.channel = this } postMessage(data) { posted.push(data) } }
globalThis.document = {
  body: node,
  documentElement: node,
  createComment: () => node,
  createElement: () => ({ ...node }),
  createTreeWalker: () => node,
  addEventListener() {},
  querySelector: what => what.startsWith('meta') ? { content: 'A product' } : null,
  title: '',
}
globalThis.window = globalThis
globalThis.HTMLElement = class {}
globalThis.CSSStyleSheet = class { replaceSync() {} }
globalThis.made = new Map() // the elements' classes, by their names
globalThis.customElements = { define: (name, of) => made.set(name, of), get: name => made.get(name) }
const all = new EventTarget()
for (const name of ['addEventListener', 'removeEventListener', 'dispatchEvent']) globalThis[name] = all[name].bind(all)
globalThis.said = [] // the announcements
addEventListener('lk-announce', e => said.push(e.detail))
globalThis.scrollTo = () => {}
const store = () => {
  const all = new Map()
  return { getItem: key => all.get(key) ?? null, setItem: (key, value) => all.set(key, String(value)), removeItem: key => all.delete(key) }
}
globalThis.sessionStorage = store()
globalThis.localStorage = store()
