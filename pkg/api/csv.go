package api

import (
	"bytes"
	"encoding/csv"
	"mime"
	"strings"
)

// csvOf returns a table as text/csv (RFC 4180). It is the only place of the product that writes CSV. A spreadsheet evaluates a cell that
// begins with one of these characters as a formula, and customers type names: a ' before it makes it a text.
func csvOf(header []string, rows [][]string) document {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	_ = w.Write(header) // a bytes.Buffer refuses nothing
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

// acceptsCSV reports whether a client wants CSV before anything else.
func acceptsCSV(accept []string) bool {
	first, _, _ := strings.Cut(strings.Join(accept, ","), ",")
	media, _, err := mime.ParseMediaType(first)
	return err == nil && media == "text/csv"
}
