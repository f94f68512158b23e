// Package cost computes what AWS charges for calls that the local stack recorded.
package cost

// PricesOf is the month of the prices. They are AWS's public prices in us-east-1 in dollars, without any free tier, for functions on
// arm64.
const PricesOf = "June 2026"

// The prices of a million units or, if the name ends in Month, of one unit for a month.
const (
	gatewayRequests = 3.50  // of a REST API, the first 333 million a month
	invocations     = 0.20  // of Lambda functions
	gbSecond        = 13.33 // of Lambda on arm64
	reads           = 0.125 // DynamoDB's request units, on demand
	writes          = 0.625 // DynamoDB's request units, on demand
	signatures      = 15.00 // of an ECC key, by KMS
	queueRequests   = 0.40  // of a standard queue
	busEvents       = 1.00  // on a custom event bus, up to 64 KB each
	logs            = 500.0 // of MB taken in by CloudWatch Logs: $0.50 a GB
	Firewall        = 0.60  // of requests that the firewall checks, also of blocked ones
	Internet        = 0.09  // of KB that leave AWS for the internet, the first 10 TB a month

	KeyMonth       = 1.00 // of a key in KMS
	AlarmMonth     = 0.10 // for each metric that an alarm reads
	DashboardMonth = 3.00 // of a dashboard of CloudWatch
	SeriesMonth    = 0.30 // of a metric, or of one value of its dimension
	WebACLMonth    = 8.00 // of a firewall with three rules

	StoredMonth   = 0.25 // of a GB of the table
	RecoveryMonth = 0.20 // of a GB of the table, for its point-in-time recovery
)

// Use counts what one call uses of AWS's services.
type Use struct {
	Requests      float64 // to API Gateway
	Invocations   float64 // of functions
	GBSeconds     float64 // of functions
	Reads, Writes float64 // request units of DynamoDB
	Signatures    float64
	QueueRequests float64
	BusEvents     float64
	LogKB         float64
}

// Of returns the dollars for a million calls of this use. rows is the price of DynamoDB, and signing the price of KMS, the queue and
// the event bus.
func (u Use) Of() (gateway, functions, rows, signing, logged float64) {
	return u.Requests * gatewayRequests,
		u.Invocations*invocations + u.GBSeconds*gbSecond,
		u.Reads*reads + u.Writes*writes,
		u.Signatures*signatures + u.QueueRequests*queueRequests + u.BusEvents*busEvents,
		u.LogKB / 1000 * logs // in MB
}

// Million returns the dollars for a million calls of this use, in total.
func (u Use) Million() float64 {
	gateway, functions, rows, signing, logged := u.Of()
	return gateway + functions + rows + signing + logged
}
