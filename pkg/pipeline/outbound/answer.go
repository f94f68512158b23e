package outbound

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxRetryAfter is the longest wait that a Retry-After can cause. A longer one is shortened to it.
const MaxRetryAfter = 7 * 24 * time.Hour

// printable makes a stranger's bytes safe to store and to show: valid UTF-8, at most maxAnswer
// bytes, white space as spaces, and U+FFFD for each character that controls a terminal or the
// direction of a line.
func printable(b []byte) string {
	// A text of maxAnswer bytes may be cut off. An incomplete character at its end is removed, not replaced.
	if len(b) == maxAnswer {
		b = withoutCutRune(b)
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(string(b), string(utf8.RuneError)))
	// U+FFFD has three bytes, and may have replaced a single byte.
	if len(clean) > maxAnswer {
		clean = string(withoutCutRune([]byte(clean[:maxAnswer])))
	}
	return clean
}

// withoutCutRune drops an incomplete character from the end of b.
func withoutCutRune(b []byte) []byte {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// longest returns the longest wait of the Retry-After headers; 0: there are none. An answer should have at most one.
func longest(values []string, now time.Time) (wait time.Duration) {
	for _, value := range values {
		wait = max(wait, retryAfter(value, now))
		for part := range strings.SplitSeq(value, ",") { // a proxy may join two lines
			wait = max(wait, retryAfter(part, now))
		}
	}
	return wait
}

// retryAfter reads a Retry-After: seconds, or an HTTP date (RFC 9110, 10.2.3). Some receivers also send fractions of a second, which
// are ignored, and dates with UTC or +0000 in place of GMT. It returns 0 for a date in the past and for a value that cannot be read.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if whole, fraction, _ := strings.Cut(value, "."); strings.Trim(fraction, "0123456789") == "" {
		value = whole
	}
	if value == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil {
		return time.Duration(min(seconds, uint64(MaxRetryAfter/time.Second))) * time.Second
	}
	if strings.Trim(value, "0123456789") == "" {
		return MaxRetryAfter // more digits than a number holds
	}
	for _, zone := range []string{"UTC", "+0000"} {
		if rest, ok := strings.CutSuffix(value, zone); ok {
			value = rest + "GMT"
		}
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	seconds := math.Ceil(date.Sub(now).Seconds())
	return time.Duration(max(0, min(seconds, MaxRetryAfter.Seconds()))) * time.Second
}
