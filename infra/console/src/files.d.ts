// Files whose text is part of a bundle.
declare module '*?text' {
  const text: string
  export default text
}
