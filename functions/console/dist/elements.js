// The elements for your own pages. This file keeps its name; the imported file gets another name after a change.
import "./elements-26e8e5d6f16a.js"
