package e2e_test

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/lab/proxy"
	"latchkey/pkg/apikey"
	"latchkey/pkg/id"

	"latchkey/infra/docs/cost"
	"latchkey/infra/harness/local/stack"
	"latchkey/infra/template/translated"
)

// The assumed run time of a function, in seconds. It depends on AWS's services, so the local stack
// cannot measure it.
const (
	callSeconds    = 0.005 // a function that answers a request, or checks its credential
	attemptSeconds = 0.2   // deliver, which waits for the receiver
	sweepSeconds   = 0.5   // a scheduled function, with nothing to do
)

// meter counts what functions use of AWS's services.
type meter struct {
	s *stack.Stack

	mu       sync.Mutex
	last     time.Time // the time of the last call of AWS
	use      cost.Use
	writesTo map[string]float64 // write units by the kind of partition, without the index: see addWrites
}

// measure calls do, and returns the use of the functions in seconds until none of them has called AWS for a second.
// seconds has the assumed run time of each function by its name.
func (m *meter) measure(t *testing.T, seconds map[string]float64, do func()) cost.Use {
	t.Helper()
	m.use, m.last, m.writesTo = cost.Use{}, time.Now(), map[string]float64{}
	before := m.logged(t, seconds)
	m.s.Proxy.Watch(func(c proxy.Call) {
		if _, ours := seconds[c.Function]; !ours {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.last = time.Now()
		m.use.Reads += c.Read
		m.use.Writes += c.Write
		if c.Write > 0 {
			m.addWrites(t, c)
		}
		switch c.Service {
		case "kms":
			m.use.Signatures++
		case "sqs":
			m.use.QueueRequests++
		case "events":
			m.use.BusEvents++
		}
	})
	defer m.s.Proxy.Watch(nil)
	do()
	within(t, "a second without a call of AWS", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return time.Since(m.last) > time.Second
	})
	functions, err := m.s.Template.Functions()
	if err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, runTime := range seconds {
		m.use.Invocations++ // do causes one call of each function
		m.use.GBSeconds += runTime * float64(functions[name].Memory) / 1024
	}
	m.use.LogKB = float64(m.logged(t, seconds)-before) / 1000
	return m.use
}

// logged returns the bytes that the functions have logged.
func (m *meter) logged(t *testing.T, functions map[string]float64) (n int64) {
	t.Helper()
	for name := range functions {
		info, err := os.Stat(filepath.Join(m.s.LogDir, name+".log"))
		switch {
		case err == nil:
			n += info.Size()
		case !os.IsNotExist(err):
			t.Fatal(err)
		}
	}
	return n
}

// priced is a line of the documented tables.
type priced struct {
	what    string
	dollars []float64 // by column; the last is the sum
}

// costs measures each kind of call, on a stack that does nothing else, and compares the documented
// costs with it.
func costs(t *testing.T, s *stack.Stack, tg *target) {
	const authorizer = "AuthorizerFunction"
	m := &meter{s: s}
	c := tg.server(t)
	hook := c.receiver(t, nil, "link.revoked")
	link, _ := c.link(t, "u-1")
	device := newDevice()
	var rows []priced
	// million adds the row of a million calls, each with this use.
	million := func(what string, use cost.Use) {
		gateway, functions, table, signing, logged := use.Of()
		rows = append(rows, priced{what, []float64{gateway, functions, table, signing, logged, use.Million()}})
	}
	// route measures do, which sends one request that the function answers, and adds its row.
	route := func(what, function string, do func()) cost.Use {
		seconds := map[string]float64{authorizer: callSeconds, function: callSeconds}
		if strings.HasPrefix(what, "public: ") { // the gateway does not call the authorizer
			delete(seconds, authorizer)
		}
		do() // the first call also starts a process, which logs more
		use := m.measure(t, seconds, do)
		use.Requests = 1
		million(what, use)
		return use
	}
	core := m.measure(t, map[string]float64{authorizer: callSeconds}, func() { c.ok(t, "/app/get", members{}) })
	core.Requests, core.LogKB = 1, 0                                          // the log is of the process's start: an accepted check logs nothing
	core.Invocations, core.GBSeconds = 2*core.Invocations, core.GBSeconds*1.5 // adds a function with half the authorizer's memory
	million("core: a key is checked, and a function does nothing", core)
	route("`POST /app/get`", "AppsFunction", func() { c.ok(t, "/app/get", members{}) })
	route("`POST /link/get`", "LinksFunction", func() { c.ok(t, "/link/get", members{"linkId": link}) })
	route("`POST /link/create`", "LinksFunction", func() { c.link(t, "u-1") })
	_, claimed := c.link(t, "u-1")
	tg.want(t, device.claims(claimed), 200, "")
	route("public: `POST /link/claim`, again", "LinksFunction", func() { tg.want(t, device.claims(claimed), 200, "") })
	unknown, err := apikey.Mint("lk", id.Org(c.org), id.Source{}.NewKey(time.Now()), nil)
	if err != nil {
		t.Fatal(err)
	}
	route("public: `POST /key/revoke`, an unknown text", "KeysFunction", func() {
		tg.want(t, call{method: "POST", path: "/key/revoke", body: `{"key":"` + unknown.Key.Reveal() + `"}`}, 202, "")
	})
	leakCosts(t, s, c, unknown.Key.Reveal(), route)
	route("`GET /v1/orgs/{orgId}`", "OrgsFunction", func() { c.owner.want(t, "GET", "/v1/orgs/"+c.org, "", 200, "") })
	route("`GET …/keys`", "KeysFunction", func() { c.owner.want(t, "GET", "/v1/orgs/"+c.org+"/keys", "", 200, "") })
	route("`POST …/keys`", "KeysFunction", func() { c.owner.key(t, c.org, `{}`) })
	event := c.revokedLink(t, s)
	c.delivered(t, hook.endpoint, event)
	webhook := m.measure(t, map[string]float64{"FanoutFunction": callSeconds, "DeliverFunction": attemptSeconds}, func() {
		event := c.revokedLink(t, s)
		c.delivered(t, hook.endpoint, event)
	})
	webhook.QueueRequests += 2 // Lambda receives the message, and deletes it
	million("a webhook: fanned out, signed, delivered at once", webhook)
	million("on your event bus (`EventBusName`): an event or an audit entry", m.measure(t, map[string]float64{"TapFunction": callSeconds}, func() {
		event := c.revokedLink(t, s)
		c.delivered(t, hook.endpoint, event)
	}))
	checkTable(t, "A million published events", c.publications(t, s, m))
	c.capacity(t, s, m, core.Reads)
	m.invoices(t, serviceOf(t, s, tg))

	months := []priced{{"idle", []float64{idle(t, m)}}}
	months = append(months, optionalCosts(t, s)...)
	// A key that lacks its last character is refused without a read of the table.
	refused := m.measure(t, map[string]float64{authorizer: callSeconds}, func() {
		tg.want(t, call{method: "POST", path: "/app/get", bearer: c.key[:len(c.key)-1]}, 401, "invalid_credentials")
	})
	refused.Requests = 1
	checkTable(t, "A day of", costsOfAFlood(t, s, refused.Million()))
	checkTable(t, "A million of", rows)
	checkTable(t, "A month of", months)
	checkFigure(t, "README.md", `about \$(\d+\.\d\d) in us-east-1`, core.Million())
	checkFigure(t, "README.md", `about \$(\d+\.\d\d) by calculation`, webhook.Million())
	checkFigure(t, "README.md", `about \$(\d+\.\d\d) a month`, months[0].dollars[0])
	checkFigure(t, "template.yaml", `no dashboard, which cost about \$(\d+\.\d\d) a month`, months[1].dollars[0])
	checkFigure(t, "infra/docs/costs.md", `stored \(\$(\d+\.\d\d) a GB and month`, cost.StoredMonth+cost.RecoveryMonth)
	checkFigure(t, "infra/docs/costs.md", `\$(\d+\.\d\d) is for point-in-time recovery`, cost.RecoveryMonth)
}

// leakCosts measures GitHub's reports, each of one text.
func leakCosts(t *testing.T, s *stack.Stack, c *server, unknown string, route func(what, function string, do func()) cost.Use) {
	tell, revoke := newGitHub(t, s, "tell"), newGitHub(t, s, "revoke")
	report := func(what string, g *gitHub, text func() string) {
		route("public: `POST /key/leaks/github`, "+what, "LeaksFunction", func() { g.report(t, text()) })
	}
	newKey := func() string { _, key := c.owner.key(t, c.org, `{}`); return key }
	report("an unknown text", tell, func() string { return unknown })
	report("a key, `LeakReports=tell`", tell, newKey)
	report("a key, `LeakReports=revoke`", revoke, newKey)
	known := newKey()
	report("the same key again on that day", revoke, func() string { return known })
}

// invoices measures the reads of a service that lists all orgs, and all their use, to write invoices. It compares them with
// infra/docs/costs.md. Each org has an allowance and two keys, which are used on each day.
func (m *meter) invoices(t *testing.T, billing *person) {
	t.Helper()
	reads := func(path string) float64 {
		return m.measure(t, map[string]float64{"KeysFunction": 0, "OrgsFunction": 0}, func() {
			if r := billing.want(t, "GET", path, "", 200, ""); r.str("nextCursor") != "" {
				t.Errorf("%s has more than one page", path)
			}
		}).Reads
	}
	readsOfUse := func() float64 { return reads("/v1/usage?month=2026-10") - reads("/v1/orgs") } // without the list of the orgs
	const used, orgs = 64, 1000
	useBefore, listBefore := readsOfUse(), reads("/v1/orgs")
	m.customers(t, used, 31)
	usage := (readsOfUse() - useBefore) / used // units for each org with use
	m.customers(t, orgs-used, 0)
	list := (reads("/v1/orgs") - listBefore) / orgs // units for each org
	checkFigure(t, "infra/docs/costs.md", "`GET /v1/orgs` of a service reads (\\d+\\.\\d\\d) units", list)
	checkFigure(t, "infra/docs/costs.md", `(\d+\.\d\d) more for an org with an allowance`, usage)
	checkFigure(t, "infra/docs/costs.md", `walks through 3,000 such orgs are \$(\d+\.\d\d)`, cost.Use{Reads: 3000 * (list + usage)}.Million()/1000)
}

// customers writes orgs, each with two keys that were used on a number of days.
func (m *meter) customers(t *testing.T, orgs, days int) {
	t.Helper()
	var puts []types.WriteRequest
	put := func(k rowKey, more map[string]types.AttributeValue) {
		row := k.attributes()
		maps.Copy(row, more)
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: row}})
	}
	number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
	for range orgs {
		o, shard := string(id.Source{}.NewOrg()), fnv.New32a()
		_, _ = shard.Write([]byte(o))
		put(rowKey{fmt.Sprint("DIR#", shard.Sum32()%16), o}, nil)
		put(rowKey{"ORG#" + o, "META"}, map[string]types.AttributeValue{"name": text("Customer"), "createdAt": millis(time.Now()), "allowance": text("100000/M"), "plan": text("pro")})
		for _, k := range []string{"ORG", string(id.Source{}.NewKey(time.Now())), string(id.Source{}.NewKey(time.Now()))} {
			for day := range days {
				put(rowKey{"USAGE#" + o, fmt.Sprintf("2026-10-%02d#%s", day+1, k)}, map[string]types.AttributeValue{
					"leased": number("1234"), "served": number("1200"), "purgeAt": number("1830000000"),
				})
			}
		}
	}
	db := backing.NewDynamoDBClient(m.s.DataPlane.DynamoDB)
	for batch := range slices.Chunk(puts, 25) {
		if _, err := db.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{m.s.TableName: batch}}); err != nil {
			t.Fatal(err)
		}
	}
}

// checkFigure compares the figure in a sentence of a file, the pattern's first group, with the measured one.
func checkFigure(t *testing.T, file, pattern string, want float64) {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(repositoryFile(t, file))
	if found == nil || !near(found[1], want) {
		t.Errorf("%s has %q for %q, measured %.2f", file, found, pattern, want)
	}
}

// publications returns the dollars of a million events that a service publishes, by the size of their data.
func (c *server) publications(t *testing.T, s *stack.Stack, m *meter) (rows []priced) {
	t.Helper()
	sizes, billing := []int{512, 4 << 10, 8 << 10}, serviceOf(t, s, c.tg)
	hook := c.receiver(t, nil, "sent.*")
	publish := func(kind string, size int, withID bool) (event string) {
		t.Helper()
		id := ""
		if withID {
			id = `"id":"` + rand.Text() + `",`
		}
		body := fmt.Sprintf(`{"events":[{%s"type":%q,"data":{"text":%q}}]}`, id, kind, strings.Repeat("x", size-len(`{"text":""}`)))
		made := billing.want(t, "POST", "/v1/orgs/"+c.org+"/apps/"+c.appID+"/events", body, 202, "").list("events")
		event, _ = made[0]["id"].(string)
		return event
	}
	publish("unsent.event", 512, true) // the first call also starts a process, which logs more
	for _, way := range []struct {
		what   string
		n      float64 // the number of events in a request
		withID bool
	}{{"one in a request, with an `id`", 1, true}, {"25 in a request, with an `id`", 25, true}, {"25 in a request, without", 25, false}} {
		row := priced{what: way.what}
		for _, size := range sizes {
			use := m.measure(t, map[string]float64{"AuthorizerFunction": callSeconds, "AppsFunction": callSeconds}, func() {
				publish("unsent.event", size, way.withID)
			})
			use.Requests = 1
			// The events of a request share the costs of the gateway, the functions and the log, but not of the table. One event is measured,
			// and the price of several is computed, because DynamoDB Local counts all rows of a transaction in one partition as one row.
			gateway, functions, table, _, logged := use.Of()
			row.dollars = append(row.dollars, (gateway+functions+logged)/way.n+table)
		}
		rows = append(rows, row)
	}
	sent := priced{what: "sent to an endpoint, on top"}
	for _, size := range sizes {
		use := m.measure(t, map[string]float64{"FanoutFunction": callSeconds, "DeliverFunction": attemptSeconds}, func() {
			c.delivered(t, hook.endpoint, publish("sent.event", size, false))
		})
		use.QueueRequests += 2 // Lambda receives the message, and deletes it
		sent.dollars = append(sent.dollars, use.Million())
	}
	return append(rows, sent)
}

// near reports whether a documented figure differs from the measured one by 2 cents or 1 % at most. The size of
// logs differs a little from run to run.
func near(figure string, want float64) bool {
	got, err := strconv.ParseFloat(figure, 64)
	return err == nil && math.Abs(got-want) <= max(0.02, want/100)
}

// idle returns the dollars of a month without a request: a signing key, the scheduled functions, their two
// metrics, and Lambda's polling of the queue.
func idle(t *testing.T, m *meter) float64 {
	t.Helper()
	const days, series = 30, 2
	const polls = days * 24 * 60 * 15 // 15 a minute: five pollers, each waits 20 seconds
	sum := cost.KeyMonth + series*cost.SeriesMonth + cost.Use{QueueRequests: polls}.Million()/1e6
	schedules, err := m.s.Template.Schedules()
	if err != nil {
		t.Fatal(err)
	}
	for _, schedule := range schedules {
		use := m.measure(t, map[string]float64{schedule.Function: sweepSeconds}, func() {
			if err := m.s.RunSchedule(t.Context(), schedule.Function); err != nil {
				t.Error(err)
			}
		})
		sum += use.Million() / 1e6 * float64(days*24*time.Hour/schedule.Every)
	}
	return sum
}

// optionalCosts returns the dollars that parameters add to a month.
func optionalCosts(t *testing.T, s *stack.Stack) []priced {
	t.Helper()
	parameters := maps.Clone(s.Template.Parameters)
	parameters["EventBusName"] = "" // because the bus adds an alarm
	parameters["AlarmTopicArn"] = "arn:aws:sns:us-east-1:000000000000:alarms"
	tpl, err := s.Template.Resolve(translated.Options{Parameters: parameters})
	if err != nil {
		t.Fatal(err)
	}
	read := 0 // the stored metrics that alarms read: AWS charges an alarm for each
	for _, name := range tpl.Named("AWS::CloudWatch::Alarm") {
		metrics, _ := tpl.Resources[name].Properties["Metrics"].([]any)
		n := 0
		for _, metric := range metrics {
			if _, stored := metric.(map[string]any)["MetricStat"]; stored {
				n++
			}
		}
		read += max(n, 1) // an alarm without Metrics reads the one metric that it names
	}
	return []priced{
		{"`AlarmTopicArn`: the alarms and the dashboard", []float64{float64(read)*cost.AlarmMonth + cost.DashboardMonth}},
		{"`DomainName`", []float64{0}},
		{"`WebAcl=rate-limited`", []float64{cost.WebACLMonth}},
	}
}

// costsOfAFlood returns the dollars of a day with the most requests that an account allows, all refused. refused is the price of
// a million refusals. The last two rows are the price of data sent to the internet: the largest public answer as often as its
// throttle allows, and 4 MB a second.
func costsOfAFlood(t *testing.T, s *stack.Stack, refused float64) []priced {
	t.Helper()
	const quota = 10_000                                                       // requests a second of an account
	const firewallLimit = 20_000.0                                             // requests of an address in a minute (TestTheFirewallCountsEachAddressAndEachCredential)
	day := func(perSecond float64) float64 { return perSecond * 86_400 / 1e6 } // from requests a second to millions a day, or from KB to GB
	return []priced{
		{"10,000 refused requests a second", []float64{day(quota) * refused}},
		{"the same from one address, with `WebAcl=rate-limited`", []float64{day(quota)*cost.Firewall + day(firewallLimit/60)*refused}},
		{"`GET /reference` for the internet, as often as its throttle allows", []float64{day(rateOf(t, s, "/~1reference")*float64(len(repositoryFile(t, "functions/console/dist/reference.html")))/1e3) * cost.Internet}},
		{"4 MB a second for the internet, more than any public route sends", []float64{day(4000) * cost.Internet}}, // TestNoPublicRouteSendsMoreThanFourMegabytesASecond
	}
}

// rateOf returns how many GET requests a second the throttle of a path allows.
func rateOf(t *testing.T, s *stack.Stack, path string) float64 {
	t.Helper()
	for _, stage := range s.Template.Named("AWS::ApiGateway::Stage") {
		for _, v := range translated.List(s.Template.Resources[stage].Properties["MethodSettings"]) {
			if m := translated.Object(v); m["HttpMethod"] == "GET" && m["ResourcePath"] == path {
				rate, err := strconv.ParseFloat(fmt.Sprint(m["ThrottlingRateLimit"]), 64)
				if err != nil {
					t.Fatal(err)
				}
				return rate
			}
		}
	}
	t.Fatalf("%s has no throttle", path)
	return 0
}

func repositoryFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var dollars = regexp.MustCompile(`\d+\.\d\d`)

// checkTable compares rows with the table in infra/docs/costs.md whose first column's title begins with head.
func checkTable(t *testing.T, head string, rows []priced) {
	t.Helper()
	var computed bytes.Buffer
	for _, r := range rows {
		fmt.Fprintf(&computed, "| %s |", r.what)
		for _, d := range r.dollars {
			fmt.Fprintf(&computed, " %.2f |", d)
		}
		fmt.Fprintln(&computed)
	}
	_, table, _ := strings.Cut(repositoryFile(t, "infra/docs/costs.md"), "| "+head)
	table, _, _ = strings.Cut(table, "\n\n")
	lines := strings.Split(strings.TrimSpace(table), "\n")
	if lines = lines[min(2, len(lines)):]; len(lines) != len(rows) { // after the two lines of the table's head
		t.Errorf("%s: %d rows are documented, the measured rows are:\n%s", head, len(lines), computed.String())
		return
	}
	for i, r := range rows {
		figures := dollars.FindAllString(lines[i], -1)
		if !strings.HasPrefix(lines[i], "| "+r.what+" |") || len(figures) != len(r.dollars) {
			t.Fatalf("%s: %q is documented, the measured rows are:\n%s", head, lines[i], computed.String())
		}
		for j, want := range r.dollars {
			if !near(figures[j], want) {
				t.Errorf("%s: %s has %s, measured %.2f:\n%s", head, r.what, figures[j], want, computed.String())
			}
		}
	}
}
