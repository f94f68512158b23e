package main

// floor is what gremlins must find in a package, by the package's own tests. It only rises.
type floor struct {
	pkg             string
	killed, covered float64 // percent: of the covered mutants, and of all
	kind            string
}

// The kinds of floors.
const (
	shortToo = "short" // in the short form too
	long     = "long"
	sampled  = "sampled" // with a database: a quarter of the mutants
)

var floors = []floor{
	{"pkg/guard", 95, 90, long},
	{"pkg/forwardauth", 95, 90, long},
	{"pkg/verify", 95, 90, long},
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
	{"pkg/store", 85, 0, sampled},
	{"pkg/pipeline", 85, 0, sampled},
	{"pkg/api", 85, 0, sampled},
}

// equivalent has the mutants that change nothing that can be observed, each with its reason, by the file, the type and
// the line without blanks around it.
var equivalent = map[string]string{
	"pkg/webhook/signature.go INVERT_LOGICAL if errX != nil || errY != nil || err != nil {": "p256.PublicKey refuses the short coordinate that a failed decoding returns",
}

const mostEquivalent = 40
