package main

// floor is the smallest percentage of mutants that the package's own tests must find. A change may only raise a floor.
type floor struct {
	pkg             string
	killed, covered float64 // percent: killed mutants among the covered ones, and covered mutants among all
	kind            string
}

// The kinds of floors decide in which runs gremlins changes the package.
const (
	shortToo = "short"   // each run without a seed, also the short run
	long     = "long"    // each run without a seed, except the short run
	sampled  = "sampled" // only a run with a seed, with a quarter of the mutants: these tests need a database, so they are slow
)

var floors = []floor{
	{"pkg/email", 95, 90, long},
	{"pkg/guard", 95, 90, long},
	{"pkg/forwardauth", 95, 90, long},
	{"pkg/verify", 95, 90, long},
	{"pkg/cause", 95, 90, long},
	{"pkg/fetch", 95, 90, long},
	{"pkg/leaks", 95, 90, long},
	{"pkg/callback", 95, 90, shortToo},
	{"pkg/apikey", 95, 95, shortToo},
	{"pkg/secret", 95, 95, shortToo},
	{"pkg/principal", 95, 95, shortToo},
	{"pkg/strictjson", 95, 95, shortToo},
	{"pkg/text", 95, 95, shortToo},
	{"pkg/table", 95, 90, long},
	{"pkg/authn", 95, 90, long},
	{"pkg/authn/accesstoken", 95, 90, long},
	{"pkg/authn/jwks", 95, 90, long},
	{"pkg/webhook", 95, 90, long},
	{"pkg/link", 95, 95, shortToo},
	{"pkg/org", 95, 95, shortToo},
	{"pkg/lambda", 95, 90, long},
	{"pkg/route", 95, 95, shortToo},
	{"pkg/problem", 95, 95, shortToo},
	{"pkg/limit", 95, 90, long},
	{"pkg/service", 95, 95, shortToo},
	{"pkg/id", 95, 95, shortToo},
	{"pkg/metric", 95, 90, shortToo},
	{"pkg/p256", 95, 95, shortToo},
	{"pkg/parallel", 95, 95, shortToo},
	{"pkg/boot", 95, 90, long},
	{"pkg/console", 95, 90, long},
	{"pkg/consumers", 95, 90, long},
	{"pkg/pipeline/bus", 95, 90, long},
	{"pkg/pipeline/outbound", 95, 90, long},
	{"pkg/pipeline/queue", 95, 90, long},
	{"pkg/pipeline/signing", 85, 0, sampled},
	{"pkg/store", 85, 0, sampled},
	{"pkg/pipeline", 85, 0, sampled},
	{"pkg/api", 85, 0, sampled},
}

// equivalent has the mutants that no test can find, because their behaviour is the same. The key has the file, the type of the
// mutant, and the line of code without its indentation. The value is the reason.
var equivalent = map[string]string{
	"pkg/p256/p256.go INVERT_LOGICAL if len(x) != Size || len(y) != Size {":                                                          "if only one length is wrong, the length of the whole point is wrong too, and crypto/ecdsa refuses it",
	"pkg/email/email.go CONDITIONALS_BOUNDARY return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })":    "the difference is DEL (U+007F), which net/mail and idna refuse",
	"pkg/pipeline/outbound/address.go INVERT_LOGICAL if !a.IsValid() || a.Zone() != \"\" {":                                          "netip's prefixes contain no address that is not valid or has a zone",
	"pkg/pipeline/outbound/url.go CONDITIONALS_BOUNDARY if c := raw[i]; c <= ' ' || c >= 0x7f || c == '\\\\' {":                      "the difference is DEL (U+007F), which net/url refuses",
	"pkg/pipeline/outbound/answer.go CONDITIONALS_BOUNDARY if len(clean) > maxAnswer {":                                              "a whole text of exactly maxAnswer bytes stays as it is",
	"pkg/pipeline/outbound/answer.go INVERT_LOOPCTRL break":                                                                          "each earlier character is complete",
	"pkg/pipeline/outbound/answer.go CONDITIONALS_BOUNDARY for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {":            "b is longer than a character, and an incomplete one has at most three bytes",
	"pkg/pipeline/outbound/answer.go INVERT_LOGICAL for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {":                   "an earlier character is complete",
	"pkg/pipeline/outbound/sender.go INVERT_BITWISE bufferSize = 4 << 10  // bytes of each of the two buffers, to read and to write": "0 means 4 KB to net/http",
	"pkg/webhook/signature.go INVERT_LOGICAL if errX != nil || errY != nil || err != nil {":                                          "p256.PublicKey refuses the short coordinate that a failed decoding returns",
}

const maxEquivalent = 40 // a limit, so that this list cannot be used to avoid the floors
