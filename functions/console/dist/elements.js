// The elements that a page of yours embeds. This name stays; the file behind it is another one after a change.
import "./elements-f60343d01210.js"
