// The few things of a browser that the modules touch while they are loaded.
const node = { nodeType: 1 }
globalThis.location = new URL('https://console.example/stage/console')
globalThis.document = { body: node, documentElement: node, createComment: () => node, createTreeWalker: () => node, addEventListener() {} }
globalThis.window = globalThis
globalThis.HTMLElement = class {}
globalThis.CSSStyleSheet = class { replaceSync() {} }
globalThis.customElements = { define() {}, get() {} }
const store = () => {
  const all = new Map()
  return { getItem: key => all.get(key) ?? null, setItem: (key, value) => all.set(key, String(value)), removeItem: key => all.delete(key) }
}
globalThis.sessionStorage = store()
globalThis.localStorage = store()
