// The elements for your own pages. This file keeps its name; the imported file gets another name after a change.
import "./elements-0c6739fb78a3.js"
