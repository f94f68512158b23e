// The elements that a page of yours embeds. This name stays; the file behind it is another one after a change.
import "./elements-e69bc21e6167.js"
