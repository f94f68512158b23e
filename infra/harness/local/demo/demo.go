// Package demo fills a local stack with customers and thirty days of their use. The product's own code writes all of this data,
// with a clock that shows past times.
package demo

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/local/stack"
	"latchkey/infra/tools"
	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/org"
	"latchkey/pkg/pipeline"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
	"latchkey/pkg/store"
	"latchkey/pkg/webhook"
)

//go:embed customers.json
var customers []byte

// customer is an org of the demo. The org's admins make its keys, and its first key makes its endpoints.
type customer struct {
	Name, ExternalID, Plan, Allowance, Shows string
	Suspended                                string // the reason of the suspension; "": not suspended
	People                                   []struct {
		Email, Name string
		Role        org.Role
	}
	Keys []struct {
		Name, Scopes, Limits, Source       string
		Today                              int64 // requests today
		HoursAgo, Rotated, Revoked, Leaked int   // hours ago; 0: never
		Metadata                           map[string]string
	}
	Endpoints []endpoint
}

// endpoint is a webhook endpoint. Between From and To hours ago it answered with Status, and at other times with 200.
type endpoint struct {
	URL, Description string
	Status, From, To int
}

// demo writes the data. The first error ends the context of all later steps.
type demo struct {
	store      *store.Store
	issuer     string
	begun, now time.Time  // now is the time of the store's clock; see ago
	endpoints  []endpoint // the endpoints of all customers until now
	stop       context.CancelCauseFunc
}

const day, firstPlan = 24 * time.Hour, "starter" // a customer has this plan until the last write

// billing is the service of the local stack.
var billing = store.Actor{Service: "billing", WhileSuspended: true}

// Fill fills a stack that runs its own issuer, unless the stack has the data already. It also writes the example catalogue. It returns
// a line for each customer: the email address to sign in with, and the things to see. After a Fill that was cut short, it fails.
func Fill(ctx context.Context, s *stack.Stack) (people []string, err error) {
	root, err := tools.Root()
	if err != nil {
		return nil, err
	}
	catalogue, err := os.ReadFile(filepath.Join(root, "infra", "examples", "catalogue.json"))
	var all []customer
	if err := errors.Join(err, json.Unmarshal(customers, &all)); err != nil {
		return nil, err
	}
	for _, c := range all {
		people = append(people, fmt.Sprintf("%s (%s of %s): %s", c.People[0].Email, c.People[0].Role, c.Name, c.Shows))
	}
	d := &demo{store: store.New(backing.NewDynamoDBClient(s.DataPlane.DynamoDB), s.TableName), issuer: s.Issuer, begun: time.Now()}
	d.store.Now = func() time.Time { return d.now }
	last, isThere, err := d.store.OrgByExternalID(ctx, billing, all[len(all)-1].ExternalID)
	if err != nil || isThere && last.State.Plan != firstPlan {
		return people, err
	}
	ctx, d.stop = context.WithCancelCause(ctx)
	defer d.stop(nil)
	s.SkipStreams(true) // otherwise the stack would send webhooks for the past events
	defer s.SkipStreams(false)
	defer slog.SetLogLoggerLevel(slog.SetLogLoggerLevel(slog.LevelWarn)) // this hides the log lines of metrics
	d.check(d.store.PutCatalogue(ctx, string(catalogue)))
	for _, c := range all {
		d.add(ctx, c)
	}
	return people, context.Cause(ctx)
}

func (d *demo) check(err error) {
	if err != nil {
		d.stop(err)
	}
}

// ago sets the clock to some hours ago, and returns a context for the calls at that time.
func (d *demo) ago(ctx context.Context, hours int) context.Context {
	d.now = d.begun.Add(-time.Duration(hours) * time.Hour)
	return problem.WithRequestID(ctx, rand.Text()[:16])
}

func (d *demo) add(ctx context.Context, c customer) {
	var admins []store.Actor
	for _, p := range c.People {
		seen := store.Seen{Issuer: d.issuer, Subject: p.Email, Email: p.Email, Folded: p.Email, Verified: true, Name: p.Name}
		user, err := d.store.SignIn(d.ago(ctx, 840), store.Identity{}, false, seen)
		d.check(err)
		if p.Role == org.Admin {
			admins = append(admins, store.Actor{User: user, May: []org.Role{org.Admin}})
		}
	}
	wanted := store.NewOrg{Name: c.Name, ExternalID: c.ExternalID, Plan: firstPlan, Allowance: c.Allowance}
	wanted.Admin = &store.Enrolled{Issuer: d.issuer, Subject: c.People[0].Email}
	made, err := d.store.CreateOrgAs(d.ago(ctx, 840), billing, wanted, store.Once[store.Org]{})
	d.check(err)
	o, today := made.Made.ID, int64(0)
	for i, p := range c.People[1:] {
		_, err := d.store.AddMember(d.ago(ctx, 839-10*i), admins[0], o, p.Email, p.Role, store.Once[id.User]{})
		d.check(err)
	}
	for i, k := range c.Keys {
		today += k.Today
		d.addKey(ctx, c, o, i, admins[i%len(admins)])
	}
	d.use(ctx, limit.Owner{Org: o}, today)
	isSuspended, claim := c.Suspended != "", principal.Claim{Operator: "lena.fischer@owner.example", Reason: c.Suspended}
	_, err = d.store.ChangeOrg(principal.WithClaim(d.ago(ctx, 1), claim), billing, o, store.OrgChange{Suspended: &isSuspended})
	d.check(err)
	_, err = d.store.ChangeOrg(d.ago(ctx, 150), billing, o, store.OrgChange{Plan: &c.Plan})
	d.check(err)
}

// addKey adds a key with its use. Then the key may be reported as leaked, revoked or rotated.
func (d *demo) addKey(ctx context.Context, c customer, o id.Org, i int, by store.Actor) {
	k := c.Keys[i]
	wanted := store.NewKey{Name: k.Name, Prefix: "lk", Carried: store.Carried{Scopes: k.Scopes, Limits: k.Limits, Metadata: k.Metadata}}
	created, err := d.store.CreateKey(d.ago(ctx, k.HoursAgo), by, o, wanted, store.Once[store.MintedKey]{})
	d.check(err)
	made := created.Made.ID
	row, _, err := d.store.APIKey(ctx, o, made)
	d.check(err)
	if k.Today != 0 {
		d.use(ctx, limit.Owner{Org: o, Key: made}, k.Today)
		d.store.NoteUse(ctx, row, d.begun.Add(-80*time.Minute).UnixMilli())
	}
	switch {
	case k.Leaked != 0:
		err = d.store.ReportLeak(d.ago(ctx, k.Leaked), row, k.Source, false)
	case k.Revoked != 0:
		err = d.store.RevokeKey(d.ago(ctx, k.Revoked), by, o, made)
	case k.Rotated != 0:
		_, err = d.store.RotateKey(d.ago(ctx, k.Rotated), by, o, store.Rotation{Old: made, Grace: 3 * day, Prefix: "lk"}, store.Once[store.MintedKey]{})
	case i == 0:
		d.send(ctx, c, o, made)
	}
	d.check(err)
}

// use writes the numbers of requests on each of thirty days: fewer on earlier days and at weekends.
func (d *demo) use(ctx context.Context, of limit.Owner, today int64) {
	for i := range 30 {
		start := d.begun.UTC().Truncate(day).Add(-time.Duration(i) * day)
		n := today * int64(100-i-i*7%11) / 100
		if i > 0 && (start.Weekday() == time.Saturday || start.Weekday() == time.Sunday) {
			n /= 3
		}
		lease := limit.Lease{Owner: of, Row: limit.Day, Start: start.Unix(), Requests: n}
		lease.Wants[limit.Day] = limit.Want{Start: start.Unix(), Requests: n + n/40}
		_, _, err := d.store.Lease(ctx, lease)
		d.check(err)
	}
}

// send registers the endpoints of a customer with a key. It then sends invoices to them, for each hour of the last day.
func (d *demo) send(ctx context.Context, c customer, o id.Org, by id.Key) {
	app := id.DefaultApp(o)
	d.endpoints = append(d.endpoints, c.Endpoints...)
	for i, e := range c.Endpoints {
		wanted := store.NewEndpoint{OrgID: o, AppID: app, URL: e.URL, Description: e.Description, Events: []string{"invoice.*"}, By: store.ByKey(by)}
		_, err := d.store.CreateEndpoint(d.ago(ctx, 200-i), wanted, store.Once[store.Endpoint]{})
		d.check(err)
	}
	deliver := &pipeline.Deliver{Store: d.store, Queue: d, Signer: d, Post: d}
	var all []store.Delivery
	for hour := 23; hour > 0 && c.Endpoints != nil && ctx.Err() == nil; hour-- {
		at := d.ago(ctx, hour)
		var invoices []store.Publication
		for i := range 1 + hour*hour%7%3 {
			data := fmt.Appendf(nil, `{"invoice":"in_%d","amount":%d}`, 4990-10*hour+i, 1900+100*(hour*hour%83))
			invoices = append(invoices, store.Publication{Type: "invoice.paid", Data: data})
		}
		events, err := d.store.Publish(at, billing, o, app, invoices, store.Once[[]id.Event]{})
		d.check(err)
		for _, e := range events.Made {
			sent, err := d.store.Deliveries().FanOut(at, app, e)
			d.check(err)
			all = append(all, sent...)
		}
		for _, due := range all[max(0, len(all)-30):] { // also deliveries that failed in earlier hours
			d.check(deliver.Message(at, webhook.Message{Org: o, DeliveryID: due.DeliveryID}))
		}
	}
}

// Post is the answer of an endpoint at the time of the clock.
func (d *demo) Post(_ context.Context, url string, _ http.Header, _ []byte) outbound.Result {
	hour := int(d.begun.Sub(d.now).Hours())
	for _, e := range d.endpoints {
		if e.URL == url && e.To <= hour && hour <= e.From {
			return outbound.Result{Status: e.Status, Answer: http.StatusText(e.Status), Took: 1204 * time.Millisecond}
		}
	}
	return outbound.Result{Status: http.StatusOK, Took: 84 * time.Millisecond}
}

// Sign makes no signature, because Post sends nothing.
func (*demo) Sign(context.Context, string, [sha256.Size]byte) (none webhook.Signature, _ error) {
	return none, nil
}

// Send does nothing, because the method send repeats failed deliveries.
func (*demo) Send(context.Context, time.Duration, ...webhook.Message) error { return nil }
