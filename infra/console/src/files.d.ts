// Every type of event that Latchkey writes itself: the build puts them here.
declare const EVENT_TYPES: string[]

// Files whose text is part of a bundle.
declare module '*?text' {
  const text: string
  export default text
}
