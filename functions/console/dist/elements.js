// The elements for your own pages. This file keeps its name; the imported file gets another name after a change.
import "./elements-164a9c05f4c5.js"
