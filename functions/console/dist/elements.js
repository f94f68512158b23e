// The elements for your own pages. This file keeps its name; the imported file gets another name after a change.
import "./elements-4e33be004957.js"
