// The elements that a page of yours embeds. This name stays; the file behind it is another one after a change.
import "./elements-c7d3c89bf24b.js"
