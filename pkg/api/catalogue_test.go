package api_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/problem"
	"latchkey/pkg/store/storetest"
)

const (
	putPath   = "/v1/catalogue"
	readPath  = "/catalogue.json"
	catalogue = `{"scopes":[{"name":"invoices:read","description":"Read <b>invoices</b>"}],"events":[{"type":"invoice.paid","description":"Paid",` +
		`"schema":{"type":"object","$ref":"https://elsewhere.example"},"example":{"amount":49.0}},{"type":"invoice.sent","description":"Sent"}]}`
)

func (s *server) putCatalogue(t *testing.T, body string, status int, code problem.Code) reply {
	t.Helper()
	return s.want(t, request{method: "PUT", path: putPath, as: service(), body: body}, status, code)
}

func (s *server) getCatalogue(t *testing.T, status int, code problem.Code) reply {
	t.Helper()
	return s.want(t, request{method: "GET", path: readPath}, status, code)
}

// clocked returns a server and its clock.
func clocked(t *testing.T) (*server, *time.Time) {
	t.Helper()
	s, now := newServer(t), time.UnixMilli(1_800_000_000_000)
	s.Now = func() time.Time { return now }
	return s, &now
}

func TestACatalogueIsServedAsItWasStored(t *testing.T) {
	s, now := clocked(t)
	var log bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(was) })
	s.putCatalogue(t, " "+strings.Replace(catalogue, `"description":"Sent"`, `"description":"Sent","schema":null,"example":null`, 1), 204, "")
	if !strings.Contains(log.String(), `"msg":"the catalogue was stored","service":"billing"`) {
		t.Errorf("the log: %s", log.String())
	}
	got := s.getCatalogue(t, 200, "")
	if got.text != catalogue+"\n" || got.header.Get("Content-Type") != "application/json" || got.header.Get("Cache-Control") != "public, max-age=60" ||
		got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%v %s", got.header, got.text)
	}
	tag := got.header.Get("ETag")
	known := request{method: "GET", path: readPath, header: map[string]string{"If-None-Match": tag}}
	if again := s.want(t, known, 304, ""); again.text != "" || again.header.Get("ETag") != tag {
		t.Errorf("%v %q", again.header, again.text)
	}
	s.putCatalogue(t, `{"scopes":[],"events":[]}`, 204, "")
	s.want(t, known, 304, "") // from memory
	*now = now.Add(time.Minute)
	if got := s.want(t, known, 200, ""); got.text != `{"scopes":[],"events":[]}`+"\n" || got.header.Get("ETag") == tag {
		t.Errorf("%v %s", got.header, got.text)
	}
}

// TestTheCatalogueIsReadOnceAMinute: also when there is none, and when the table fails. The verification keys, which the same
// function serves, are not affected.
func TestTheCatalogueIsReadOnceAMinute(t *testing.T) {
	s, now := clocked(t)
	s.getCatalogue(t, 404, problem.RouteNotFound)
	s.putCatalogue(t, catalogue, 204, "")
	*now = now.Add(time.Minute - 1)
	s.getCatalogue(t, 404, problem.RouteNotFound)
	s.Faults.Plan("GetItem", storetest.ServerError, -1)
	*now = now.Add(1)
	s.getCatalogue(t, 503, problem.Unavailable)
	s.Faults.Heal()
	s.getCatalogue(t, 503, problem.Unavailable)
	s.want(t, request{method: "GET", path: "/.well-known/jwks.json"}, 200, "")
	*now = now.Add(time.Minute)
	s.getCatalogue(t, 200, "")
}

func TestAnUnreadableCatalogueIs503(t *testing.T) {
	s, now := clocked(t)
	for _, value := range []types.AttributeValue{&types.AttributeValueMemberS{Value: `{"scopes":`}, &types.AttributeValueMemberN{Value: "1"}, nil} {
		item := map[string]types.AttributeValue{"PK": &types.AttributeValueMemberS{Value: "CATALOGUE"}, "SK": &types.AttributeValueMemberS{Value: "META"}}
		if value != nil {
			item["catalogue"] = value
		}
		if _, err := s.DB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &s.Name, Item: item}); err != nil {
			t.Fatal(err)
		}
		s.getCatalogue(t, 503, problem.Unavailable)
		*now = now.Add(time.Minute)
	}
	s.want(t, request{method: "GET", path: "/.well-known/jwks.json"}, 200, "")
	s.putCatalogue(t, catalogue, 204, "")
	s.getCatalogue(t, 200, "")
}

func TestAnInvalidCatalogueIsRefused(t *testing.T) {
	s := newServer(t)
	scopes := func(n int) string {
		var all []string
		for i := range n {
			all = append(all, `{"name":"s`+strconv.Itoa(i)+`","description":"d"}`)
		}
		return `{"scopes":[` + strings.Join(all, ",") + `],"events":[]}`
	}
	scope := func(members string) string { return `{"scopes":[{` + members + `}],"events":[]}` }
	event := func(members string) string { return `{"scopes":[],"events":[{"description":"d",` + members + `}]}` }
	about := func(text string) string { return scope(`"name":"a","description":"` + text + `"`) }
	for body, want := range map[string]string{
		`{}`: "/scopes required", `{"scopes":[]}`: "/events required", `{"scopes":null,"events":[]}`: "/scopes required", scopes(201): "/scopes length", `{"scopes":{},"events":[]}`: "/scopes type",
		scope(`"description":"d"`): "/scopes/0/name required", scope(`"name":"A","description":"d"`): "/scopes/0/name format", scope(`"name":"a b","description":"d"`): "/scopes/0/name format",
		scope(`"name":"a"`): "/scopes/0/description required", about(""): "/scopes/0/description length", about(strings.Repeat("é", 501)): "/scopes/0/description length",
		about(`a\u0000b`): "/scopes/0/description format", about(`a\u202eb`): "/scopes/0/description format", about(`a\nb`): "/scopes/0/description format", about(" "): "/scopes/0/description length",
		`{"scopes":[{"name":"a","description":"d"},{"name":"a","description":"e"}],"events":[]}`: "/scopes/1/name conflict",
		event(`"type":"invoice"`): "/events/0/type format", event(`"type":"invoice.*"`): "/events/0/type format", event(`"type":"key.revoked"`): "/events/0/type format", event(`"type":"test"`): "/events/0/type format",
		event(`"schema":{}`): "/events/0/type required", event(`"type":"a.b","schema":true`): "/events/0/schema type", event(`"type":"a.b","example":[]`): "/events/0/example type",
		event(`"type":"a.b","example":{"a":"` + strings.Repeat("x", 8185) + `"}`): "/events/0/example length",
	} {
		fields := s.putCatalogue(t, body, 422, problem.ValidationFailed)
		if got := fmt.Sprint(strings.Join(fields.each("errors", "pointer"), "+"), " ", strings.Join(fields.each("errors", "code"), "+")); got != want {
			t.Errorf("%.80s: %s, want %s", body, got, want)
		}
	}
	for _, body := range []string{scope(`"name":"a","description":"d","x":1`), event(`"type":"a.b","Example":{}`), about(`\ud800`), `[]`, `{"scopes":[],"events":[],"events":[]}`} {
		s.putCatalogue(t, body, 400, problem.InvalidJSON)
	}
	for _, body := range []string{scopes(200), about(strings.Repeat("é", 500)), about("<script>alert(1)</script>"), event(`"type":"a.b","example":{"a":"` + strings.Repeat("x", 8184) + `"}`)} {
		s.putCatalogue(t, body, 204, "")
	}
	whole := func(size int) string {
		begin := `{"scopes":[],"events":[{"type":"a.b","description":"d","schema":{"x":"`
		return begin + strings.Repeat("x", size-len(begin)-len(`"}}]}`)) + `"}}]}`
	}
	s.putCatalogue(t, whole(64<<10), 204, "")
	s.putCatalogue(t, whole(64<<10+1), 413, problem.BodyTooLarge)
}

// TestATestEventCanHaveTheOwnersType: it is an example of the owner's own event. By the member test, the receiver distinguishes
// it from a real event.
func TestATestEventCanHaveTheOwnersType(t *testing.T) {
	d := newAppServer(t)
	h := d.newEndpoint(t)
	const path = "/webhook_endpoint/test"
	e := d.post(t, path, `{"endpointId":"`+h+`","type":"invoice.paid","data":{"amount" : 4900}}`, 200, "").str("eventId")
	want := fmt.Sprintf(`{"id":%q,"type":"invoice.paid","test":true,"createdAt":%d,"data":{"amount":4900}}`, e, d.at.UnixMilli())
	if got := d.post(t, "/webhook_event/get", `{"eventId":"`+e+`"}`, 200, ""); strings.TrimSpace(got.text) != want {
		t.Errorf("%s, want %s", got.text, want)
	}
	for members, want := range map[string]string{
		`"type":"key.revoked","data":{}`: "/type", `"type":"org.gone","data":{}`: "/type", `"type":"test","data":{}`: "/type", `"data":{}`: "/type",
		`"type":"invoice.paid"`: "/data", `"type":"invoice.paid","data":null`: "/data", `"type":"invoice.paid","data":[]`: "/data",
	} {
		if got := d.post(t, path, `{"endpointId":"`+h+`",`+members+`}`, 422, problem.ValidationFailed); strings.Join(got.each("errors", "pointer"), "+") != want {
			t.Errorf("%s: %s", members, got.text)
		}
	}
	d.post(t, path, `{"endpointId":"`+h+`","type":null,"data":null}`, 200, "")
}
