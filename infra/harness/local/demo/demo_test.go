package demo_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"latchkey/infra/harness/lab"
	"latchkey/infra/harness/local/demo"
	"latchkey/infra/harness/local/stack"
	"latchkey/pkg/fetch"
	"latchkey/pkg/store/storetest"
)

// shown has the members of answers that the test reads.
type shown struct {
	ID, Name, State, Description, DisabledReason, Status, RotatedTo, Action string
	Requests, LeakedAt, ExpiresAt, FailingSince, Attempts                   int64
	KeyID                                                                   *string
	Actor                                                                   struct{ Type string }

	Orgs, Keys, Usage, Days, Endpoints, Deliveries, Entries []shown
}

// TestTheDemoHasItsPromisedData fills a stack twice: the second Fill must change nothing.
func TestTheDemoHasItsPromisedData(t *testing.T) {
	t.Parallel()
	s, err := stack.Start(t.Context(), stack.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	if left := time.Until(time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)); left < time.Minute {
		time.Sleep(left) // the demo and the test must run on the same day
	}
	for range 2 {
		people, err := demo.Fill(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if len(people) != 3 || !strings.HasPrefix(people[0], "ada.lindqvist@northwind.example (admin of Northwind Logistics): ") {
			t.Errorf("the people: %q", people)
		}
	}
	token, errToken := s.Token(t.Context(), stack.Service, "", "", "")
	get := func(path string) (found shown) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
		if err := errors.Join(err, errToken); err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		a, err := fetch.Do(http.DefaultClient, req, 1<<20)
		if err := errors.Join(err, json.Unmarshal(a.Body, &found)); err != nil || a.Status != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", path, a.Status, a.Body, err)
		}
		return found
	}
	named := func(all []shown, name string) shown {
		t.Helper()
		i := slices.IndexFunc(all, func(one shown) bool { return one.Name == name || one.Description == name })
		if i < 0 {
			t.Fatalf("no element has the name %s: %+v", name, all)
		}
		return all[i]
	}
	states := map[string]string{"Northwind Logistics": "active", "Harbor Analytics": "active", "Bluebird Clinics": "suspended"}
	orgs := get("/v1/orgs").Orgs
	for _, of := range get("/v1/usage").Usage {
		if of.State != states[of.Name] || of.Requests == 0 {
			t.Errorf("%s is %s, with %d requests", of.Name, of.State, of.Requests)
		}
		delete(states, of.Name)
	}
	if len(states) > 0 || len(orgs) != 3 {
		t.Errorf("orgs without use: %v; %d orgs", states, len(orgs))
	}

	northwind := "/v1/orgs/" + named(orgs, "Northwind Logistics").ID
	keys := get(northwind + "/keys").Keys
	if days := get(northwind + "/keys/" + named(keys, "Production").ID + "/usage").Days; len(days) != 30 {
		t.Errorf("%d days of use", len(days))
	}
	today := get(northwind + "/usage").Usage
	today = slices.DeleteFunc(today, func(u shown) bool { return u.KeyID != nil })
	if used := today[len(today)-1].Requests; used < 16_000 || used >= 20_000 {
		t.Errorf("%d of 20,000 requests are used today", used)
	}
	if !slices.ContainsFunc(keys, func(k shown) bool { return k.RotatedTo != "" && k.ExpiresAt > time.Now().UnixMilli() }) {
		t.Errorf("no key is in its grace: %+v", keys)
	}
	harbor := "/v1/orgs/" + named(orgs, "Harbor Analytics").ID
	if k := named(get(harbor+"/keys").Keys, "Nightly job"); k.LeakedAt == 0 {
		t.Errorf("the leaked key: %+v", k)
	}

	app := strings.Replace(northwind, "org_", "", 1)
	app = northwind + "/apps/app_" + app[strings.LastIndex(app, "/")+1:]
	endpoints := get(app + "/webhook_endpoints").Endpoints
	deliveries := func(of shown, status string) []shown {
		return get(app + "/webhook_deliveries?order=desc&limit=100&endpointId=" + of.ID + "&status=" + status).Deliveries
	}
	erp, warehouse, crm := named(endpoints, "ERP"), named(endpoints, "Data warehouse"), named(endpoints, "The old CRM")
	if delivered := deliveries(erp, "delivered"); erp.FailingSince != 0 || !slices.ContainsFunc(delivered, func(d shown) bool { return d.Attempts > 1 }) || len(deliveries(erp, "pending")) != 0 {
		t.Errorf("the ERP still fails, or has no delivery that succeeded after a retry: %+v", deliveries(erp, "pending"))
	}
	if warehouse.FailingSince == 0 || len(deliveries(warehouse, "pending")) == 0 {
		t.Errorf("the endpoint %+v does not fail", warehouse)
	}
	if crm.DisabledReason != "gone" {
		t.Errorf("the endpoint %+v is not disabled as gone", crm)
	}
	var actors []string
	for _, e := range get(northwind + "/audit").Entries {
		actors = append(actors, e.Actor.Type)
	}
	slices.Sort(actors)
	if actors = slices.Compact(actors); !slices.Equal(actors, []string{"api_key", "service", "user"}) {
		t.Errorf("the actors: %q", actors)
	}
}

// TestADemoThatWasCutShortIsNeverReady makes one call to the database fail after the org of a customer is made.
func TestADemoThatWasCutShortIsNeverReady(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Harbor Analytics", "Bluebird Clinics"} { // the second and the last customer
		table := storetest.New(t)
		database, err := url.Parse(*table.DB.Options().BaseEndpoint)
		if err != nil {
			t.Fatal(err)
		}
		var isMade, hasFailed atomic.Bool
		pass := httputil.NewSingleHostReverseProxy(database)
		calls := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if isMade.Load() && hasFailed.CompareAndSwap(false, true) {
				http.Error(w, `{"__type":"ValidationException"}`, http.StatusBadRequest)
				return
			}
			isMade.CompareAndSwap(false, bytes.Contains(body, []byte(name)))
			r.Body = io.NopCloser(bytes.NewReader(body))
			pass.ServeHTTP(w, r)
		}))
		defer calls.Close()
		parts := &lab.Stack{DataPlane: lab.Endpoints{DynamoDB: calls.URL}}
		s := &stack.Stack{Stack: parts, TableName: table.Name, Issuer: "https://issuer.example"}
		for run := range 2 {
			if _, err := demo.Fill(t.Context(), s); err == nil {
				t.Errorf("%s: run %d is ready", name, run)
			}
		}
	}
}
