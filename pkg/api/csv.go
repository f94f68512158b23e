package api

import (
	"bytes"
	"encoding/csv"
	"mime"
	"strings"
)

// csvOf returns a table as text/csv (RFC 4180). No other function of the product writes CSV. A spreadsheet evaluates a cell as
// a formula if it begins with one of the characters below, and customers choose the names in our cells. A ' before the
// character makes the cell a text.
func csvOf(header []string, rows [][]string) document {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	_ = w.Write(header) // a bytes.Buffer returns no error
	for _, row := range rows {
		for i, cell := range row {
			if cell != "" && strings.Contains("=+-@\t\r", cell[:1]) {
				row[i] = "'" + cell
			}
		}
		_ = w.Write(row)
	}
	w.Flush()
	return document{"text/csv", out.Bytes()}
}

// acceptsCSV reports whether CSV is the first media type that a client accepts.
func acceptsCSV(accept []string) bool {
	first, _, _ := strings.Cut(strings.Join(accept, ","), ",")
	media, _, err := mime.ParseMediaType(first)
	return err == nil && media == "text/csv"
}
