// The elements that a page of yours embeds. This name stays; the file behind it is another one after a change.
import "./elements-a09f912e3f8f.js"
