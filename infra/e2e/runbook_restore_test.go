package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/local/stack"
	"latchkey/infra/tools"
	"latchkey/pkg/verify"
)

// restored has what the restore must undo or keep.
type restored struct {
	since                  string // the restore point, as the runbook writes it
	revoked, rotated, lost string // keys that were revoked, rotated and made since then
	kid                    string // the signing key that was revoked since then
}

// ServeHTTP is a stand-in for make, whose arguments are the lines of the body. It changes the local
// stack for make deploy, and then checks it as infra/deploy does.
func (r *rehearsal) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err == nil {
		err = r.deploy(req.Context(), strings.Split(strings.TrimSpace(string(body)), "\n"))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = fmt.Fprintln(w, "Deployed.") // an error: the client is gone
}

func (r *rehearsal) deploy(ctx context.Context, words []string) error {
	if words[0] != "deploy" {
		return fmt.Errorf("make %v: only deploy is played", words)
	}
	r.given = map[string]string{}
	for _, w := range words[1:] {
		name, value, _ := strings.Cut(w, "=")
		if parameter, ok := map[string]string{"ISSUER": "Issuer", "AUDIENCE": "Audience"}[name]; ok {
			r.given[parameter] = value
			continue
		}
		parameters, err := tools.ParseParameters(value)
		if err != nil || name != "PARAMETERS" {
			return fmt.Errorf("%s: %w", w, err)
		}
		maps.Copy(r.given, parameters)
	}
	if len(r.given) > 0 {
		for _, denied := range r.s.Access().Denied() {
			r.t.Errorf("missing in the template's roles: %s", denied)
		}
		if err := r.s.Deploy(context.WithoutCancel(ctx), r.given); err != nil {
			return err
		}
	}
	if _, err := r.s.Invoke(ctx, "RotateFunction", []byte("{}")); err != nil {
		return fmt.Errorf("the rotation cannot be called: %w", err)
	}
	for path, status := range map[string]int{"/.well-known/jwks.json": 200, "/v1/orgs": 401, "/no/such/route": 404} {
		a, err := r.tg.try(ctx, call{method: "GET", path: path})
		if err != nil || a.status != status {
			return errors.Join(err, fmt.Errorf("the deployed API is wrong: GET %s answers %d instead of %d", path, a.status, status))
		}
	}
	return nil
}

// damage sets the restore point, and then revokes keys, which the restore undoes.
func damage(r *rehearsal) {
	revokedID, revokedKey := r.owner.owner.key(r.t, r.owner.org, `{}`)
	rotatedID, rotatedKey := r.owner.owner.key(r.t, r.owner.org, `{}`)
	r.past.revoked, r.past.rotated = revokedKey, rotatedKey
	r.past.kid = r.arrives().kid()
	// A restore point is a whole second, and so are the times in the audit.
	second := time.Now().Truncate(time.Second).Add(time.Second)
	time.Sleep(time.Until(second))
	r.past.since = second.UTC().Format(time.RFC3339)
	r.tables.keep(r.s.TableName, second.Unix())
	keys := "/v1/orgs/" + r.owner.org + "/keys/"
	r.owner.owner.want(r.t, "DELETE", keys+revokedID, "", http.StatusNoContent, "")
	r.past.lost = r.owner.owner.want(r.t, "POST", keys+rotatedID+"/rotate", `{"graceSeconds":0}`, http.StatusCreated, "").str("key")
	lostID, _ := r.owner.owner.key(r.t, r.owner.org, `{}`) // the restored table does not have this key
	r.owner.owner.want(r.t, "DELETE", keys+lostID, "", http.StatusNoContent, "")
	revoke(r.t, r.s, r.past.kid)
}

func apiIsClosed(r *rehearsal, _ string) {
	r.keyIs(r.owner.key, http.StatusServiceUnavailable, "unavailable")
	if _, err := r.s.Invoke(r.t.Context(), "RotateFunction", []byte("{}")); err == nil {
		r.t.Error("the rotation runs")
	}
}

// inUse is the table that the runbook restores into.
const inUse = "latchkey-restored"

// tableIsRestored wants the restored table to have the settings of the stack's own table.
func tableIsRestored(r *rehearsal, _ string) {
	table, err := r.tables.db.DescribeTable(r.t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(inUse)})
	if err != nil {
		r.t.Fatal(err)
	}
	own, err := r.tables.db.DescribeTable(r.t.Context(), &dynamodb.DescribeTableInput{TableName: &r.s.TableName})
	if err != nil {
		r.t.Fatal(err)
	}
	if got, want := table.Table.StreamSpecification, own.Table.StreamSpecification; got == nil || got.StreamViewType != want.StreamViewType || !aws.ToBool(got.StreamEnabled) {
		r.t.Errorf("stream: %+v", got)
	}
	ttl := func(name string) types.TimeToLiveDescription {
		out, err := r.tables.db.DescribeTimeToLive(r.t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &name})
		if err != nil {
			r.t.Fatal(err)
		}
		return *out.TimeToLiveDescription
	}
	if got, want := ttl(inUse), ttl(r.s.TableName); aws.ToString(got.AttributeName) != aws.ToString(want.AttributeName) || got.TimeToLiveStatus != want.TimeToLiveStatus {
		r.t.Errorf("time to live: %+v, want %+v", got, want)
	}
	if !r.tables.protected[inUse] || r.tables.backups[inUse] < 2 {
		r.t.Errorf("protected: %v; backups asked for %d times", r.tables.protected[inUse], r.tables.backups[inUse])
	}
}

func auditIsShown(r *rehearsal, printed string) {
	r.prints(printed, "AUD#"+r.owner.org+"\tkey.revoked\tkey_", "key.rotated\tkey_", "key.created\tkey_", "key.revoked\tkey_")
	if strings.Contains(printed, "org.created") {
		r.t.Error("it shows entries from before the restore point")
	}
}

// onRestored reads a row of the restored table.
func (r *rehearsal) onRestored(k rowKey) map[string]types.AttributeValue {
	out, err := r.tables.db.GetItem(r.t.Context(), &dynamodb.GetItemInput{TableName: aws.String(inUse), Key: k.attributes(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		r.t.Fatal(err)
	}
	return out.Item
}

func signingKeysAreBack(r *rehearsal, _ string) {
	for _, k := range []rowKey{verificationRow(r.past.kid), {"VKEYS", "STATE"}, verificationRow(signingKeys(r.t, r.s).ActiveKid)} {
		if got, want := fmt.Sprint(plain(r.onRestored(k))), fmt.Sprint(plain(getRow(r.t, r.s, k))); got != want || want == "map[]" {
			r.t.Errorf("%v is %s, want %s", k, got, want)
		}
	}
}

// plain returns the texts and numbers of a row.
func plain(row map[string]types.AttributeValue) map[string]string {
	out := map[string]string{}
	for name, v := range row {
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			out[name] = v.Value
		case *types.AttributeValueMemberN:
			out[name] = v.Value
		default:
			out[name] = fmt.Sprintf("%T", v)
		}
	}
	return out
}

func stackIsOnIt(r *rehearsal, printed string) {
	r.prints(printed, "the rotation cannot be called", "\n"+inUse+"\n")
	if r.s.TableName != inUse {
		r.t.Fatalf("the stack uses %s", r.s.TableName)
	}
	r.keyIs(r.owner.key, http.StatusServiceUnavailable, "unavailable")
}

// apiIsOpen wants good keys to be good, keys that were revoked since the restore point to be
// refused, and webhooks and the sweep to work.
func apiIsOpen(r *rehearsal, printed string) {
	r.prints(printed, `"StatusCode": 200`, "Deployed.")
	r.noFunctionError(printed)
	r.keyIs(r.owner.key, http.StatusOK, "")
	r.keyIs(r.past.revoked, http.StatusUnauthorized, "key_revoked")
	r.keyIs(r.past.rotated, http.StatusUnauthorized, "key_revoked")
	r.keyIs(r.past.lost, http.StatusUnauthorized, "invalid_credentials")
	forgetKeys(r)
	r.tg.lookUp(r.t, r.past.kid, http.StatusGone, "kid_revoked")
	if kid := r.arrives().kid(); kid == r.past.kid {
		r.t.Errorf("%s signs, which was revoked", kid)
	}
	overdueLink(r)
	if err := r.s.RunSchedule(r.t.Context(), "SweepFunction"); err != nil {
		r.t.Fatal(err)
	}
	r.hook.one(r.t, "link.expired", r.about)
	r.hook.noneRefused(r.t)
	if row := r.onRestored(rowKey{"LINKS#" + r.owner.appID, "LINK#" + r.about}); len(row) == 0 {
		r.t.Error("the link is in another table")
	}
}

// subject is a subject that both issuers have.
const subject = "the-same-at-both"

// otherIssuer returns another URL of the local issuer.
func (r *rehearsal) otherIssuer() string {
	return strings.Replace(r.s.Issuer, "127.0.0.1", "localhost", 1)
}

// at returns a person with a token of an issuer.
func (r *rehearsal) at(issuer, email string) *person {
	r.t.Helper()
	token, err := stack.IssueToken(r.t.Context(), issuer, stack.User, subject, email, "Ada")
	if err != nil {
		r.t.Fatal(err)
	}
	return &person{r.tg, email, token}
}

func usersFile(r *rehearsal) {
	r.person = r.at(r.s.Issuer, "moves@example.com")
	r.org = r.person.org(r.t)
	r.shell.write(r.t, "users.txt", subject+" moves@example.com\nunknown stranger@example.com\n")
}

func newIssuer(r *rehearsal) []string { return []string{r.otherIssuer()} }

func usersAreAdopted(r *rehearsal, printed string) {
	r.prints(printed, "stranger@example.com is not known")
}

func audience(*rehearsal) []string { return []string{stack.Audience} }

func usersKeepTheirOrgs(r *rehearsal, printed string) {
	r.prints(printed, "Deployed.")
	moved := r.at(r.otherIssuer(), "moves@example.com")
	for range 2 { // the first request updates the user's rows
		if l := moved.want(r.t, "GET", "/v1/orgs", "", http.StatusOK, "").list("orgs"); len(l) != 1 || l[0]["id"] != r.org {
			r.t.Errorf("the user's orgs: %v", l)
		}
	}
	r.person.want(r.t, "GET", "/v1/orgs", "", http.StatusUnauthorized, "token_invalid")
	r.keyIs(r.owner.key, http.StatusOK, "")
}

const ownDomain = "api.example.com"

func domain(*rehearsal) []string { return []string{ownDomain} }

func certificateIsIssued(r *rehearsal, printed string) { r.prints(printed, "CNAME") }

func domainIsUsed(r *rehearsal, printed string) {
	r.prints(printed, "Deployed.", "d-", "ZLOCAL")
	if r.given["DomainName"] != ownDomain || !strings.HasPrefix(r.given["CertificateArn"], "arn:aws:acm:") || r.given["WebhookIssuer"] != r.s.URL {
		r.t.Errorf("deployed with %v", r.given)
	}
	r.arrives() // the receiver knows only the old base URL
}

func webhooksNameTheDomain(r *rehearsal, _ string) {
	v, err := verify.New(verify.Config{BaseURL: r.s.URL, EndpointID: r.hook.endpoint, Issuer: (&url.URL{Scheme: "https", Host: ownDomain}).String()})
	if err != nil {
		r.t.Fatal(err)
	}
	r.hook.mu.Lock()
	r.hook.verifier = v
	r.hook.mu.Unlock()
	r.arrives()
}
