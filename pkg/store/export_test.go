package store

// SetClosingPage sets how many rows of a deleted org are read at once.
func (s *Store) SetClosingPage(rows int) { s.closingPage = rows }
