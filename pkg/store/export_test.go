package store

// SetClosingPage sets how many rows of a deleted org are read at once. With a small number, a test of several pages
// needs few rows.
func (s *Store) SetClosingPage(rows int) { s.closingPage = rows }
