// The elements that a page of yours embeds. This name stays; the file behind it is another one after a change.
import "./elements-35939ad88d9c.js"
