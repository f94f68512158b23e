package webhook

import "time"

// DeliveryStatus is the status of a delivery.
type DeliveryStatus string

// The statuses. Pending and held deliveries wait. The others have ended, and can be redelivered.
const (
	DeliveryPending   DeliveryStatus = "pending"
	DeliveryDelivered DeliveryStatus = "delivered"
	DeliveryFailed    DeliveryStatus = "failed"
	DeliveryHeld      DeliveryStatus = "held"      // its endpoint is disabled
	DeliveryCancelled DeliveryStatus = "cancelled" // its endpoint was deleted
)

// DeliveryStatuses returns all statuses.
func DeliveryStatuses() []DeliveryStatus {
	return []DeliveryStatus{DeliveryPending, DeliveryDelivered, DeliveryFailed, DeliveryHeld, DeliveryCancelled}
}

// Waits reports whether a delivery of the status is pending or held.
func (s DeliveryStatus) Waits() bool { return s == DeliveryPending || s == DeliveryHeld }

// Round is the state of a delivery in its current round of attempts. A redelivery begins a new round. Times are in
// milliseconds; 0: not set.
type Round struct {
	Status      DeliveryStatus
	Attempts    int   // made in this round
	NextAttempt int64 // when the next attempt is due
	StartedAt   int64 // when the round began
}

// EndpointState is the part of an endpoint's state that decides about its deliveries.
type EndpointState struct {
	Enabled bool
	Deleted bool
	Breaker
}

// Step is the next step of a delivery.
type Step int

// The steps.
const (
	StepNone    Step = iota // nothing is due
	StepCancel              // its endpoint was deleted
	StepHold                // its endpoint is disabled
	StepGiveUp              // its round of attempts began Lifetime ago, or its event is 30 days old
	StepPark                // the breaker is open, until Breaker.OpenUntil
	StepProbe               // the breaker's time is over: only one delivery of the endpoint may be tried
	StepAttempt             // an attempt is due
)

// early is how early an attempt may be made, because the clocks of two machines differ.
const early = time.Second

// Step returns the next step of the delivery.
func (r Round) Step(to EndpointState, now time.Time) Step {
	switch {
	case r.Status != DeliveryPending:
		return StepNone
	case to.Deleted:
		return StepCancel
	case !to.Enabled:
		return StepHold
	case r.NextAttempt > now.Add(early).UnixMilli():
		return StepNone
	case now.Sub(time.UnixMilli(r.StartedAt)) > Lifetime:
		return StepGiveUp
	case to.OpenUntil == 0:
		return StepAttempt
	case to.OpenUntil > now.UnixMilli():
		return StepPark
	default:
		return StepProbe
	}
}

// Tried returns the round after one more attempt, and the wait before the next attempt; 0: the round has ended.
// Next explains retryAfter and random. If the next attempt would come after the end of the Lifetime, it is made lastCall
// before the end instead, or not at all.
func (r Round) Tried(delivered bool, retryAfter time.Duration, random float64, now time.Time) (Round, time.Duration) {
	r.Attempts++
	wait, more := Next(r.Attempts, retryAfter, random)
	if left := time.UnixMilli(r.StartedAt).Add(Lifetime).Sub(now); wait > left {
		wait = left - lastCall
		more = more && wait > 0
	}
	switch {
	case delivered:
		r.Status = DeliveryDelivered
	case !more:
		r.Status = DeliveryFailed
	default:
		r.NextAttempt = now.Add(wait).UnixMilli()
		return r, wait
	}
	r.NextAttempt = 0
	return r, 0
}
