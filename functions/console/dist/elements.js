// The elements that a page of yours embeds. This name stays; the file behind it is another one after a change.
import "./elements-fa4efa8bb6cb.js"
