// The elements for your own pages. This file keeps its name; the imported file gets another name after a change.
import "./elements-3eabf2c3bf46.js"
