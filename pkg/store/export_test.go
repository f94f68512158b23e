package store

import "time"

// SetClosingPage sets how many rows of a deleted org are read at once. With a small number, a test of several pages
// needs few rows.
func (s *Store) SetClosingPage(rows int) { s.closingPage = rows }

// SetSpreadWithin sets how long a call copies the state of an org to its keys. With 0 it copies one part.
func (s *Store) SetSpreadWithin(d time.Duration) { s.spreadWithin = d }

// SetClosingWithin sets how long a call revokes the keys of a deleted org. With 0 it reads one part of them.
func (s *Store) SetClosingWithin(d time.Duration) { s.closingWithin = d }

// SetUsageWithin sets how long a call reads the usage of orgs. With 0 it reads one.
func (s *Store) SetUsageWithin(d time.Duration) { s.usageWithin = d }
