package e2e_test

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/local/stack"
)

// foreignKey returns the text of a key that the owner's earlier system made.
func foreignKey() string { return "sk_live_" + rand.Text() }

// imports imports keys with the scope invoices:read into an org, and returns their ids. more is JSON to add to each key.
func (p *person) imports(t *testing.T, org, more string, texts ...string) []string {
	t.Helper()
	var sent []string
	for _, text := range texts {
		hash := sha256.Sum256([]byte(text))
		sent = append(sent, `{"sha256":"`+hex.EncodeToString(hash[:])+`","prefix":"`+text[:8]+`","scopes":["invoices:read"]`+more+`}`)
	}
	var ids []string
	for _, k := range p.want(t, "POST", "/v1/orgs/"+org+"/keys/import", `{"keys":[`+strings.Join(sent, ",")+`]}`, 200, "").list("keys") {
		id, ok := k["id"].(string)
		if !ok {
			t.Fatalf("not imported: %v", k)
		}
		ids = append(ids, id)
	}
	return ids
}

// moreThanFull returns a key of the earlier system whose org has as many active keys as it may have.
func (f *frontDoor) moreThanFull(t *testing.T) string {
	t.Helper()
	org, text := f.billing.want(t, "POST", "/v1/orgs", `{"name":"Full"}`, 201, "").str("id"), foreignKey()
	for range 8 {
		texts := make([]string, 25)
		for i := range texts {
			texts[i] = foreignKey()
		}
		f.billing.imports(t, org, "", texts...)
	}
	f.earlier.mu.Lock()
	defer f.earlier.mu.Unlock()
	f.earlier.keys[text] = org
	return text
}

// allowImportedKeys deploys the stack with ImportedKeys and CountRequests, unless it already has ImportedKeys.
func allowImportedKeys(t *testing.T, s *stack.Stack) {
	t.Helper()
	if s.Template.Parameters["ImportedKeys"] == "true" {
		return
	}
	if err := s.Deploy(t.Context(), map[string]string{"ImportedKeys": "true", "CountRequests": "true"}); err != nil {
		t.Fatal(err)
	}
}

// importedKeyNeedsParameter imports a key, which is refused until ImportedKeys is set. Then its requests are counted.
func importedKeyNeedsParameter(t *testing.T, s *stack.Stack, tg *target) {
	billing, text := serviceOf(t, s, tg), foreignKey()
	org := billing.want(t, "POST", "/v1/orgs", `{"name":"Customer"}`, 201, "").str("id")
	key := billing.imports(t, org, "", text)[0]
	tg.want(t, call{method: "POST", path: "/app/get", bearer: text}, 401, "invalid_credentials")
	allowImportedKeys(t, s)
	tg.want(t, call{method: "POST", path: "/app/get", bearer: text}, 200, "")
	if days := billing.want(t, "GET", "/v1/orgs/"+org+"/keys/"+key+"/usage", "", 200, ""); !strings.Contains(days.text, `"requests":1,"atMost":null`) {
		t.Errorf("the use of the imported key: %s", days.text)
	}
}

// importedKeys imports a thousand keys into ten orgs, checks that each is accepted, and ends them in five ways.
func importedKeys(t *testing.T, s *stack.Stack, tg *target) {
	const orgs, batches, inBatch = 10, 4, 25
	billing := serviceOf(t, s, tg)
	var ids, texts [orgs][]string
	var made [orgs]string
	for n := range orgs {
		made[n] = billing.want(t, "POST", "/v1/orgs", `{"name":"Customer"}`, 201, "").str("id")
		for range batches {
			batch := make([]string, inBatch)
			for i := range batch {
				batch[i] = foreignKey()
			}
			more := ""
			if n%5 == 4 {
				more = fmt.Sprintf(`,"expiresAt":%d`, time.Now().Add(time.Hour).UnixMilli())
			}
			texts[n], ids[n] = append(texts[n], batch...), append(ids[n], billing.imports(t, made[n], more, batch...)...)
		}
	}
	const all = orgs * batches * inBatch
	answers := func() map[string]int64 {
		return flood(all, func(n int) string {
			return answerOf(t, tg, texts[(n-1)%orgs][(n-1)/orgs])
		})
	}
	allowImportedKeys(t, s)
	if got := answers(); got["200"] != all {
		t.Fatalf("imported: %v", got)
	}
	for n, org := range made {
		path := "/v1/orgs/" + org
		switch n % 5 {
		case 0:
			billing.want(t, "DELETE", path, "", 204, "")
		case 1:
			for _, id := range ids[n] {
				billing.want(t, "DELETE", path+"/keys/"+id, "", 204, "")
			}
		case 2:
			for _, id := range ids[n] {
				billing.want(t, "POST", path+"/keys/"+id+"/rotate", `{"graceSeconds":0}`, 201, "")
			}
		case 3: // the row of the key is gone, as after its purge
			for _, id := range ids[n] {
				deleteRow(t, s, rowKey{"KEYS#" + org, "KEY#" + id})
			}
		case 4:
			for _, id := range ids[n] {
				setRow(t, s, rowKey{"KEYS#" + org, "KEY#" + id}, "SET expiresAt = :at", map[string]types.AttributeValue{":at": millis(time.Now())})
			}
		}
	}
	want := map[string]int64{"401 key_revoked": 2 * all / 5, "401 key_expired": 2 * all / 5, "401 invalid_credentials": all / 5}
	if got := answers(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("ended: %v, want %v", got, want)
	}
}

// answerOf calls a route of ours with an API key, and returns the status and the code of the answer.
func answerOf(t *testing.T, tg *target, key string) string {
	r, err := tg.try(t.Context(), call{method: "POST", path: "/app/get", bearer: key})
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(fmt.Sprint(r.status, " ", r.code()))
}

// imported checks that four copies of each door accept an imported key, and refuse it after its end: by a revocation while
// sixteen clients use the key, by a rotation, and by the deletion of its org.
func (f *frontDoor) imported(t *testing.T) {
	const requests = 1000
	for _, d := range f.doors {
		text := foreignKey()
		id := f.billing.imports(t, f.org, "", text)[0]
		answering(t, d.copies, 4, func() {
			if got := flood(requests, func(n int) string { return d.answered(t, n, text) }); got["200"] != requests {
				t.Fatalf("%s, before: %v", d.name, got)
			}
		})
		f.refusedFrom(t, d, text, requests, func() { f.billing.want(t, "DELETE", "/v1/orgs/"+f.org+"/keys/"+id, "", 204, "") })
	}
	org := f.billing.want(t, "POST", "/v1/orgs", `{"name":"Customer"}`, 201, "").str("id")
	rotated, deleted := foreignKey(), foreignKey()
	ids := f.billing.imports(t, org, "", rotated, deleted)
	// atAllDoors uses a key at each door, and checks the answers.
	atAllDoors := func(text string, status int, code string) {
		t.Helper()
		for _, d := range f.doors {
			for range 4 { // so that each copy of the servers answers
				d.want(t, d.keyPath, text, status, code)
			}
		}
	}
	atAllDoors(rotated, 200, "")
	atAllDoors(deleted, 200, "")
	native := f.billing.want(t, "POST", "/v1/orgs/"+org+"/keys/"+ids[0]+"/rotate", `{"graceSeconds":0}`, 201, "").str("key")
	atAllDoors(rotated, 401, "key_expired")
	atAllDoors(native, 200, "")
	f.billing.want(t, "DELETE", "/v1/orgs/"+org, "", 204, "")
	atAllDoors(deleted, 401, "key_revoked")
	atAllDoors(native, 401, "key_revoked")
}

// earlierSystem is the system that an owner used before Latchkey. It knows which keys are good.
type earlierSystem struct {
	url string

	mu       sync.Mutex
	keys     map[string]string // text → org
	requests map[string]int    // the number of requests, by the key's text
	down     bool
}

func (e *earlierSystem) listen(t *testing.T) {
	t.Helper()
	e.keys, e.requests = map[string]string{}, map[string]int{}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	e.url = server.URL
}

func (e *earlierSystem) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var body struct{ Key string }
	_ = json.NewDecoder(r.Body).Decode(&body) // a body that is not JSON has the key ""
	text := body.Key
	e.requests[text]++
	switch org, ok := e.keys[text]; {
	case e.down:
		w.WriteHeader(http.StatusInternalServerError)
	case !ok:
		w.WriteHeader(http.StatusNotFound)
	default:
		_ = json.NewEncoder(w).Encode(map[string]any{"orgId": org, "name": "moved", "scopes": []string{"invoices:read"}})
	}
}

// fallsBack sends unknown keys to the servers with package guard. They look such keys up in the earlier system, and import the good ones.
func (f *frontDoor) fallsBack(t *testing.T) {
	var servers *door
	for _, d := range f.doors {
		if d.name == "Go" {
			servers = d
		}
	}
	text, unknown := foreignKey(), foreignKey()
	f.earlier.keys[text] = f.org
	for _, d := range f.doors {
		if d != servers { // only the servers have a fallback
			d.want(t, d.keyPath, text, 401, "invalid_credentials")
		}
	}
	// A client at each of four servers: the key is imported once, and no client is refused.
	if got := floodBy(4, 64, func(n int) string { return servers.answered(t, n, text) }); got["200"] != 64 {
		t.Errorf("moved: %v", got)
	}
	servers.want(t, servers.keyPath, unknown, 401, "invalid_credentials")
	servers.want(t, servers.keyPath, f.moreThanFull(t), 503, "unavailable")
	for _, d := range f.doors {
		d.want(t, d.keyPath, text, 200, "")
	}
	f.earlier.mu.Lock()
	f.earlier.down = true
	f.earlier.mu.Unlock()
	servers.want(t, servers.keyPath, unknown, 503, "unavailable")
	servers.want(t, servers.keyPath, text, 200, "")
	f.earlier.mu.Lock()
	f.earlier.down = false
	before := f.earlier.requests[text]
	f.earlier.mu.Unlock()
	var id string
	for _, k := range f.billing.want(t, "GET", "/v1/orgs/"+f.org+"/keys", "", 200, "").list("keys") {
		if k["name"] == "moved" {
			id, _ = k["id"].(string)
		}
	}
	f.billing.want(t, "DELETE", "/v1/orgs/"+f.org+"/keys/"+id, "", 204, "")
	for _, d := range f.doors { // the earlier system still accepts the key, but gets no request
		d.want(t, d.keyPath, text, 401, "key_revoked")
	}
	if after := f.earlier.requests[text]; before == 0 || after != before {
		t.Errorf("the earlier system got %d requests before the revocation, and %d in all", before, after)
	}
}
