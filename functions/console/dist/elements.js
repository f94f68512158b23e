// The elements that a page of yours embeds. This name stays; the file behind it is another one after a change.
import "./elements-e544c2cf1c04.js"
