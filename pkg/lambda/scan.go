package lambda

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"
)

// errEvent means that an event is not the JSON that Lambda sends.
var errEvent = errors.New("lambda: the event cannot be read")

// scanner reads a JSON text once, from its beginning to its end. The authorizer reads a few members of a large event on
// every request, and encoding/json would look at each byte three times. The scanner assumes that the text is valid JSON,
// as Lambda's events are: in a skipped value it finds no fault. After a fault it stops, and err is
// errEvent.
type scanner struct {
	text []byte
	err  error
}

func (s *scanner) fail() { s.text, s.err = nil, errEvent }

// peek returns the next byte that is not a blank, 0 at the end.
func (s *scanner) peek() byte {
	s.text = bytes.TrimLeft(s.text, " \t\r\n")
	if len(s.text) == 0 {
		return 0
	}
	return s.text[0]
}

// expect reads one byte and fails unless it is c.
func (s *scanner) expect(c byte) {
	if s.peek() != c {
		s.fail()
		return
	}
	s.text = s.text[1:]
}

// object reads an object, or null. For each member it calls read, which must read the value. The name is
// not copied: it is valid until read returns.
func (s *scanner) object(read func(name []byte)) {
	if s.peek() != '{' {
		s.null()
		return
	}
	s.list('{', '}', func() {
		name := s.quotedText()
		s.expect(':')
		read(name)
	})
}

// array reads an array, or null. For each element it calls read, which must read the value.
func (s *scanner) array(read func()) {
	if s.peek() != '[' {
		s.null()
		return
	}
	s.list('[', ']', read)
}

// list reads two brackets and the parts between them, which commas separate. For each part it calls part, which must
// read it.
func (s *scanner) list(opening, closing byte, part func()) {
	s.expect(opening)
	if s.peek() == closing { // no parts
		s.expect(closing)
		return
	}
	for s.err == nil {
		part()
		if s.peek() != ',' {
			break
		}
		s.expect(',')
	}
	s.expect(closing)
}

// string reads a text. It returns "" for null.
func (s *scanner) string() string { return string(s.quotedText()) }

// quotedText reads a text or null. It copies only a text that has escapes.
func (s *scanner) quotedText() []byte {
	if s.peek() != '"' {
		s.null()
		return nil
	}
	raw, plain := s.quoted()
	if plain {
		return raw[1 : len(raw)-1]
	}
	var out string
	if s.err == nil && json.Unmarshal(raw, &out) != nil {
		s.fail()
	}
	return []byte(out)
}

// quoted reads a text with its quotes. The next byte must be the opening quote. plain reports whether the bytes between
// the quotes are the text itself: they have no escapes, and are valid UTF-8.
func (s *scanner) quoted() (raw []byte, plain bool) {
	plain = true
	for i := 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\\':
			plain = false
			i++
		case '"':
			raw, s.text = s.text[:i+1], s.text[i+1:]
			return raw, plain && utf8.Valid(raw)
		}
	}
	s.fail()
	return nil, false
}

// end returns the error of the scanner, or errEvent when a part of the text was not read.
func (s *scanner) end() error {
	if s.err == nil && s.peek() != 0 {
		s.fail()
	}
	return s.err
}

// null reads null, and fails for any other value.
func (s *scanner) null() {
	rest, ok := bytes.CutPrefix(s.text, []byte("null"))
	if !ok {
		s.fail()
		return
	}
	s.text = rest
}

// value reads any value and returns its text.
func (s *scanner) value() []byte {
	s.peek() // skips the blanks before the value
	before := s.text
	s.skip()
	return before[:len(before)-len(s.text)]
}

// skip reads any value.
func (s *scanner) skip() {
	switch s.peek() {
	case '{':
		s.object(func([]byte) { s.skip() })
	case '[':
		s.array(s.skip)
	case '"':
		s.quoted()
	case 0:
		s.fail()
	default: // a number, true, false or null
		end := bytes.IndexAny(s.text, ",]} \t\r\n")
		if end < 0 {
			end = len(s.text)
		}
		if end == 0 {
			s.fail()
			return
		}
		s.text = s.text[end:]
	}
}
