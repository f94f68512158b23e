// The elements for your own pages. This file keeps its name; the imported file gets another name after a change.
import "./elements-57639a41a8f7.js"
