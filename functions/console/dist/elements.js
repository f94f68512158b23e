// The elements that a page of yours embeds. This name stays; the file behind it is another one after a change.
import "./elements-fc9fc21a4c3f.js"
