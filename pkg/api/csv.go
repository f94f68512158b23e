package api

import (
	"bytes"
	"encoding/csv"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// csvOf returns a table as text/csv (RFC 4180). No other function of the product writes CSV.
func csvOf(header []string, rows [][]string) document {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.UseCRLF = true
	_ = w.Write(header) // a bytes.Buffer returns no error
	for _, row := range rows {
		for i, cell := range row {
			row[i] = asText(cell)
		}
		_ = w.Write(row)
	}
	w.Flush()
	return document{"text/csv", out.Bytes()}
}

// asText returns a cell in which no part is a formula. A spreadsheet evaluates a cell that begins with one of the signs below, and customers
// choose the names in our cells. A ' before the sign makes the cell a text. Where a comma separates decimals, a spreadsheet begins a new
// cell after each semicolon and line break, also between the quotes of RFC 4180, and some do so after a tab.
func asText(cell string) string {
	var out []byte
	begins := true
	for i, r := range cell {
		if begins && strings.ContainsRune("=+-@＝＋－＠", r) || i == 0 && strings.ContainsRune("\t\r\n", r) {
			out = append(out, '\'')
		}
		out = utf8.AppendRune(out, r)
		begins = strings.ContainsRune(";\t\r\n", r) || begins && (r == '"' || unicode.IsSpace(r))
	}
	return string(out)
}

// acceptsCSV reports whether CSV is the first media type that a client accepts.
func acceptsCSV(accept []string) bool {
	first, _, _ := strings.Cut(strings.Join(accept, ","), ",")
	media, _, err := mime.ParseMediaType(first)
	return err == nil && media == "text/csv"
}
