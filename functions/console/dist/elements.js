// The elements for your own pages. This file keeps its name; the imported file gets another name after a change.
import "./elements-f0060d9dc856.js"
