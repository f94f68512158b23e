// The elements that a page of yours embeds. This name stays; the file behind it is another one after a change.
import "./elements-af8bc7d1401f.js"
