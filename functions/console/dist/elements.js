// The elements that a page of yours embeds. This name stays; the file behind it is another one after a change.
import "./elements-7b07159f3e7f.js"
