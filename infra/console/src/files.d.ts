// The types of all events that Latchkey writes itself. The build inserts them.
declare const EVENT_TYPES: string[]

// A file whose text the build puts into a bundle.
declare module '*?text' {
  const text: string
  export default text
}
