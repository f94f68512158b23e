package e2e_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/local/stack"
)

// restored has what the checks after a restore need.
type restored struct {
	since   string            // the restore point, as the runbook writes it
	answers map[string]string // the texts of keys that the restored table has, and the code for each before the restore; "": it is good
	next    string            // the successor of a key that was rotated after the restore point
	ended   []string          // the texts of keys that were imported and ended after the restore point; one of them is good in its grace
	active  string            // the text of a key that was imported after the restore point
	late    string            // the text of a key that is revoked after the first block of step 3
	graced  rowKey            // of a key that was rotated after the restore point, and is still good
	ends    types.AttributeValue
	kid     string    // the signing key that was revoked after the restore point
	keptOrg string    // the id of a deleted org that the restore brings back
	kept    string    // the text of its key
	byHand  [2]apiKey // the keys that the bullets of step 3 revoke
	began   string    // when the first block of step 3 began, as the shell has it
}

// apiKey is an API key with its org.
type apiKey struct {
	org, id, text string
}

// deploy changes the local stack, as make deploy changes a stack. A deployment of the local stack forgets which calls
// were denied, so deploy reports these first.
func (r *rehearsal) deploy(parameters map[string]string) {
	r.t.Helper()
	for _, denied := range r.s.Access.Denied() {
		r.t.Errorf("the template's roles do not allow: %s", denied)
	}
	if err := r.s.Deploy(r.t.Context(), parameters); err != nil {
		r.t.Fatal(err)
	}
}

// damage copies the table at the restore point, and then ends keys. The restored table is the copy, in which these keys are good.
func damage(r *rehearsal) {
	r.deploy(map[string]string{"ImportedKeys": "true"})
	ada, org, billing := r.owner.owner, r.owner.org, serviceOf(r.t, r.s, r.tg)
	keys := "/v1/orgs/" + org + "/keys/"
	rotate := func(key string, grace int) reply {
		return ada.want(r.t, "POST", keys+key+"/rotate", fmt.Sprintf(`{"graceSeconds":%d}`, grace), http.StatusCreated, "")
	}
	revokedID, revoked := ada.key(r.t, org, `{}`)
	rotatedID, rotated := ada.key(r.t, org, `{}`)
	gracedID, graced := ada.key(r.t, org, `{}`)
	firstID, first := ada.key(r.t, org, `{}`)
	second := rotate(firstID, 86_400) // the first key is good for a day more, unless the second key is rotated
	deletedOrg := ada.org(r.t)
	_, ofDeletedOrg := ada.key(r.t, deletedOrg, `{}`)
	beganEarlierID, beganEarlier := ada.key(r.t, org, `{}`)
	_, r.past.late = ada.key(r.t, org, `{}`)
	r.past.keptOrg = ada.org(r.t)
	_, r.past.kept = ada.key(r.t, r.past.keptOrg, `{}`)
	lostID, lost := ada.key(r.t, deletedOrg, `{}`)
	for i := range r.past.byHand {
		keyID, key := ada.key(r.t, org, `{}`)
		r.past.byHand[i] = apiKey{org, keyID, key}
	}
	r.past.kid = r.arrives().kid()
	r.restorePoint()

	ada.want(r.t, "DELETE", keys+revokedID, "", http.StatusNoContent, "")
	r.past.next = rotate(rotatedID, 0).str("key")
	rotate(gracedID, 3_600)
	rotate(second.str("id"), 3_600)
	laterID, _ := ada.key(r.t, org, `{}`) // another key that the restored table does not have
	ada.want(r.t, "DELETE", keys+laterID, "", http.StatusNoContent, "")
	imported := func(org string) string {
		text := foreignKey()
		r.past.ended = append(r.past.ended, text)
		return billing.imports(r.t, org, "", text)[0]
	}
	r.past.active = foreignKey()
	billing.imports(r.t, org, "", r.past.active)
	ada.want(r.t, "DELETE", keys+imported(org), "", http.StatusNoContent, "")
	rotate(imported(org), 0)
	rotate(imported(org), 3_600)
	imported(deletedOrg)
	for _, o := range []string{deletedOrg, r.past.keptOrg} {
		ada.want(r.t, "DELETE", "/v1/orgs/"+o, "", http.StatusNoContent, "")
	}
	revoke(r.t, r.s, r.past.kid)
	ada.want(r.t, "DELETE", keys+beganEarlierID, "", http.StatusNoContent, "")
	point, err := time.Parse(time.RFC3339, r.past.since)
	if err != nil {
		r.t.Fatal(err)
	}
	r.backdate("key.revoked", beganEarlierID, point.Add(-30*time.Second)) // its transaction took 30 seconds
	r.backdate("org.created", org, point.Add(-2*time.Minute))

	r.past.answers = map[string]string{
		beganEarlier: "key_revoked",
		revoked:      "key_revoked", rotated: "key_expired", graced: "", first: "key_expired", second.str("key"): "",
		ofDeletedOrg: "key_revoked", lost: "key_revoked",
	}
	r.answersStay()
	r.past.graced = rowKey{"KEYS#" + org, "KEY#" + gracedID}
	r.past.ends = getRow(r.t, r.s, r.past.graced)["expiresAt"]
	damaged := rowKey{"KEYS#" + deletedOrg, "KEY#" + lostID} // only the restored table has it
	if _, err := r.db.DeleteItem(r.t.Context(), &dynamodb.DeleteItemInput{TableName: &r.s.TableName, Key: damaged.attributes()}); err != nil {
		r.t.Fatal(err)
	}
}

// keptOrgs returns ids of deleted orgs that the operator brings back.
func keptOrgs(r *rehearsal) []string { return []string{"org_unknown " + r.past.keptOrg} }

// againIsExplained checks that the text after the block names each error that the block printed, and that the block stops when it
// cannot read the imported keys.
func againIsExplained(r *rehearsal, printed string) {
	_, after, _ := strings.Cut(r.sections["Restoring the table"].text, "again\n   ```\n")
	after, _, _ = strings.Cut(after, "```")
	r.hasWords(after, "`ConditionalCheckFailedException`", "`document path`", "`ValidationException`", "`again`")
	for line := range strings.Lines(printed) {
		expected := strings.Contains(line, "(ConditionalCheckFailedException)") ||
			strings.Contains(line, "(ValidationException)") && strings.Contains(line, "document path")
		if strings.Contains(line, "error") && !expected {
			r.t.Errorf("an error that the runbook does not expect: %s", line)
		}
	}
	end, _, _ := strings.Cut(r.sections[""].text, "revoke() {")
	r.hasWords(end, "end() {", "ConditionalCheckFailedException", "document path")
	if stopped, _ := r.shell.run(r.t, "(aws() { return 1; }; since() { echo 'went on' >&2; }; again)"); strings.Contains(stopped, "went on") {
		r.t.Error("the block goes on without the imported keys")
	}
}

// revokesByHand runs the commands of the bullets of step 3.
func (r *rehearsal) revokesByHand() {
	r.t.Helper()
	for i, action := range []string{"key.updated", "org.suspended"} {
		key := r.past.byHand[i]
		found := regexp.MustCompile("- `" + action + "`: .*`([^`]*revoke) ORG KEY`").FindStringSubmatch(r.sections["Restoring the table"].text)
		if found == nil {
			r.t.Errorf("%s: no command revokes a key", action)
			continue
		}
		if printed, failed := r.shell.run(r.t, found[1]+" "+key.org+" "+key.id); len(failed) > 0 {
			r.t.Errorf("%s: %s", action, printed)
		}
		if r.onRestored(rowKey{"KEYS#" + key.org, "KEY#" + key.id})["revokedAt"] == nil {
			r.t.Errorf("%s: %s revokes nothing in the restored table", action, found[1])
		}
	}
}

// backdate moves the audit entry of an action to an earlier time.
func (r *rehearsal) backdate(action, target string, at time.Time) {
	r.t.Helper()
	for _, row := range rowsOf(r.t, r.s, "AUD#"+r.owner.org) {
		if reflect.DeepEqual(row["action"], text(action)) && reflect.DeepEqual(row["target"], text(target)) {
			row["at"] = millis(at)
			if _, err := r.db.PutItem(r.t.Context(), &dynamodb.PutItemInput{TableName: &r.s.TableName, Item: row}); err != nil {
				r.t.Fatal(err)
			}
			return
		}
	}
	r.t.Fatalf("no %s of %s", action, target)
}

// restorePoint copies the table. Restore points are whole seconds.
func (r *rehearsal) restorePoint() {
	second := time.Now().Truncate(time.Second).Add(time.Second) // the next whole second
	time.Sleep(time.Until(second))
	r.past.since = second.UTC().Format(time.RFC3339)
	r.restore(restoredTable)
}

// answersStay checks that keys are answered as before the restore.
func (r *rehearsal) answersStay() {
	r.t.Helper()
	for key, code := range r.past.answers {
		status := http.StatusUnauthorized
		if code == "" {
			status = http.StatusOK
		}
		r.keyIs(key, status, code)
	}
}

// restoredTable is the table that the runbook restores into.
const restoredTable = "latchkey-restored"

// restore copies the stack's table to a new table, like a restore on AWS: the new table has the rows, the key and the indexes of
// the source, but not its other settings.
func (r *rehearsal) restore(name string) {
	r.t.Helper()
	schema, err := backing.ReadTable(filepath.Join(rootOf(r.t), "template.yaml"))
	if err != nil {
		r.t.Fatal(err)
	}
	schema.Create.TableName, schema.Create.StreamSpecification = &name, nil
	if _, err := r.db.CreateTable(r.t.Context(), schema.Create); err != nil {
		r.t.Fatal(err)
	}
	pages := dynamodb.NewScanPaginator(r.db, &dynamodb.ScanInput{TableName: &r.s.TableName, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		for _, row := range page.Items {
			if _, err := r.db.PutItem(r.t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: row}); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

func apiIsClosed(r *rehearsal, _ string) {
	r.keyIs(r.owner.key, http.StatusServiceUnavailable, "unavailable")
	if _, err := r.s.Lambda.Invoke(r.t.Context(), "RotateFunction", []byte("{}")); err == nil {
		r.t.Error("the rotation runs")
	}
}

// tableIsRestored checks that the restored table has the settings of the stack's own table.
func tableIsRestored(r *rehearsal, _ string) {
	got, want := r.settings(restoredTable), r.settings(r.s.TableName)
	want.protected = true // as in the template: the local stack does not set it
	if got != want {
		r.t.Errorf("the restored table has %+v, want %+v", got, want)
	}
}

// settings are the settings of a table that a restore does not copy, except backups: DynamoDB Local has none.
type settings struct {
	protected   bool
	stream      types.StreamViewType // "": there is none
	expires     types.TimeToLiveStatus
	expiryField string
}

func (r *rehearsal) settings(table string) (out settings) {
	r.t.Helper()
	about, errTable := r.db.DescribeTable(r.t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	expiry, errExpiry := r.db.DescribeTimeToLive(r.t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err := errors.Join(errTable, errExpiry); err != nil {
		r.t.Fatal(err)
	}
	if stream := about.Table.StreamSpecification; stream != nil && aws.ToBool(stream.StreamEnabled) {
		out.stream = stream.StreamViewType
	}
	out.protected = aws.ToBool(about.Table.DeletionProtectionEnabled)
	out.expires, out.expiryField = expiry.TimeToLiveDescription.TimeToLiveStatus, aws.ToString(expiry.TimeToLiveDescription.AttributeName)
	return out
}

func auditIsShown(r *rehearsal, printed string) {
	r.hasWords(printed, "AUD#"+r.owner.org+"\tkey.revoked\tkey_", "key.rotated\tkey_", "key.created\tkey_", "key.revoked\tkey_")
	if strings.Contains(printed, "AUD#"+r.owner.org+"\torg.created") { // two minutes before the restore point
		r.t.Error("the output has audit entries from long before the restore point")
	}
}

// onRestored reads a row of the restored table.
func (r *rehearsal) onRestored(k rowKey) map[string]types.AttributeValue {
	out, err := r.db.GetItem(r.t.Context(), &dynamodb.GetItemInput{TableName: aws.String(restoredTable), Key: k.attributes(), ConsistentRead: aws.Bool(true)})
	if err != nil {
		r.t.Fatal(err)
	}
	return out.Item
}

func signingKeysAreBack(r *rehearsal, _ string) {
	for _, k := range []rowKey{verificationRow(r.past.kid), {"VKEYS", "STATE"}, verificationRow(signingKeys(r.t, r.s).ActiveKid)} {
		if got, want := r.onRestored(k), getRow(r.t, r.s, k); len(want) == 0 || !reflect.DeepEqual(got, want) {
			r.t.Errorf("%v is %v, want %v", k, got, want)
		}
	}
}

// use makes the stack use another table. DynamoDB Local names the region of its stream ddblocal.
func (r *rehearsal) use(table string) {
	r.t.Helper()
	out, err := r.db.DescribeTable(r.t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		r.t.Fatal(err)
	}
	r.deploy(map[string]string{"TableStreamArn": strings.Replace(aws.ToString(out.Table.LatestStreamArn), ":ddblocal:", ":"+backing.Region+":", 1)})
	if r.s.TableName != table {
		r.t.Fatalf("the stack uses %s", r.s.TableName)
	}
}

// useRestored revokes a key by its text, which needs no credential. Then it deploys the restored table. The shell does not sleep.
func useRestored(r *rehearsal) {
	r.tg.want(r.t, call{method: "POST", path: "/key/revoke", body: `{"key":"` + r.past.late + `"}`}, http.StatusAccepted, "")
	r.past.answers[r.past.late] = "key_revoked"
	r.use(restoredTable)
	r.keyIs(r.owner.key, http.StatusServiceUnavailable, "unavailable")
	r.past.began, _ = r.shell.run(r.t, `printf %s "$BEGAN"
sleep() { echo "slept for $1 s"; }
eval "$(declare -f since | sed '1s/since/entries/')"
since() { echo "entries since $SINCE" >&2; entries; }`)
}

func lateKeyIsGone(r *rehearsal, printed string) {
	r.hasWords(printed, "slept for 60 s", "entries since "+r.past.began+"\n")
	if began, err := time.Parse(time.RFC3339, r.past.began); err != nil || time.Since(began) < 10*time.Minute {
		r.t.Errorf("the second run begins at %q, which leaves no ten minutes for clocks that differ: %v", r.past.began, err)
	}
	_, _ = r.shell.run(r.t, "unset -f sleep")
}

// apiIsOpen checks that keys are answered as before the restore, and that webhooks and the sweep work.
func apiIsOpen(r *rehearsal, printed string) {
	r.hasWords(printed, `"StatusCode": 200`)
	r.noFunctionError(printed)
	r.keyIs(r.owner.key, http.StatusOK, "")
	r.answersStay()
	if ends := r.onRestored(r.past.graced)["expiresAt"]; !reflect.DeepEqual(ends, r.past.ends) {
		r.t.Errorf("the grace of the rotated key ends at %v, want %v", ends, r.past.ends)
	}
	r.keyIs(r.past.kept, http.StatusOK, "")
	r.keyIs(r.past.next, http.StatusUnauthorized, "invalid_credentials")
	r.importsAgain()
	forgetKeys(r)
	r.tg.lookUp(r.t, r.past.kid, http.StatusGone, "kid_revoked")
	if kid := r.arrives().kid(); kid == r.past.kid {
		r.t.Errorf("the revoked key %s signs", kid)
	}
	overdueLink(r)
	runScheduled(r.t, r.s, "SweepFunction")
	r.hook.one(r.t, "link.expired", r.link)
	r.hook.noneRefused(r.t)
	if row := r.onRestored(rowKey{"LINKS#" + r.owner.appID, "LINK#" + r.link}); len(row) == 0 {
		r.t.Error("the link is in another table")
	}
}

// importsAgain imports keys as a fallback or a repeated import does: those that ended after the restore point are refused.
func (r *rehearsal) importsAgain() {
	r.t.Helper()
	billing := serviceOf(r.t, r.s, r.tg)
	for _, text := range r.past.ended {
		r.keyIs(text, http.StatusUnauthorized, "invalid_credentials")
		hash := sha256.Sum256([]byte(text))
		body := `{"keys":[{"sha256":"` + hex.EncodeToString(hash[:]) + `","prefix":"` + text[:8] + `"}]}`
		if again := billing.want(r.t, "POST", "/v1/orgs/"+r.owner.org+"/keys/import", body, http.StatusOK, ""); !strings.Contains(again.text, `"code":"conflict"`) {
			r.t.Errorf("an ended key was imported again: %s", again.text)
		}
		r.keyIs(text, http.StatusUnauthorized, "invalid_credentials")
	}
	billing.imports(r.t, r.owner.org, "", r.past.active)
	r.keyIs(r.past.active, http.StatusOK, "")
}

// copiedTable is the table that is restored from a copy in another region.
const copiedTable = "latchkey-copied"

// loseTheRegion copies the table, and revokes an API key and the signing key. Then the region is lost with its signing keys: the stack now uses the copy and an empty
// KMS, like a new stack in another region.
func loseTheRegion(r *rehearsal) {
	ada := r.owner.owner
	r.keyID, r.key = ada.key(r.t, r.owner.org, `{}`)
	ofOrg := func(org string) apiKey {
		keyID, key := ada.key(r.t, org, `{}`)
		return apiKey{org, keyID, key}
	}
	r.rotated, r.ofDeleted = ofOrg(r.owner.org), ofOrg(ada.org(r.t))
	r.kid = r.arrives().kid()
	r.restore(copiedTable)
	ada.want(r.t, "DELETE", "/v1/orgs/"+r.owner.org+"/keys/"+r.keyID, "", http.StatusNoContent, "")
	ada.want(r.t, "POST", "/v1/orgs/"+r.owner.org+"/keys/"+r.rotated.id+"/rotate", `{"graceSeconds":0}`, http.StatusCreated, "")
	ada.want(r.t, "DELETE", "/v1/orgs/"+r.ofDeleted.org, "", http.StatusNoContent, "")
	r.keyIs(r.key, http.StatusUnauthorized, "key_revoked")
	revoke(r.t, r.s, r.kid)
	if _, err := r.db.UpdateTable(r.t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String(copiedTable), StreamSpecification: &types.StreamSpecification{
		StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeKeysOnly,
	}}); err != nil {
		r.t.Fatal(err)
	}
	if err := errors.Join(r.s.KMS.Stop(), r.s.KMS.Start(r.t.Context())); err != nil {
		r.t.Fatal(err)
	}
	r.use(copiedTable)
	r.keyIs(r.key, http.StatusOK, "")           // the copy is older than the revocation
	_, _ = r.shell.run(r.t, "NEW="+copiedTable) // the variable with the name of the new table
}

func revokedSinceTheCopy(r *rehearsal) []string { return []string{r.owner.org, r.keyID} }

func endedSinceTheCopy(r *rehearsal) []string {
	return []string{r.rotated.org, r.rotated.id, fmt.Sprint(time.Now().Add(-time.Minute).UnixMilli()), r.ofDeleted.org}
}

// regionIsLeft checks that the API keys work except the revoked one, and that a new signing key, which receivers find, signs webhooks.
// It runs the commands to which the section refers for a signing key, after a rotation, as on AWS: the new stack's schedule runs it.
func regionIsLeft(r *rehearsal, printed string) {
	r.noFunctionError(printed)
	r.keyIs(r.owner.key, http.StatusOK, "")
	r.keyIs(r.key, http.StatusUnauthorized, "key_revoked")
	r.keyIs(r.rotated.text, http.StatusUnauthorized, "key_expired")
	r.keyIs(r.ofDeleted.text, http.StatusUnauthorized, "key_revoked")
	forgetKeys(r)
	if kid := r.arrives().kid(); kid == r.kid {
		r.t.Errorf("%s signs, although the region has lost it", kid)
	}
	const revoking = "Revoking a webhook signing key"
	if !strings.Contains(r.sections["A region is lost"].text, `"`+revoking+`"`) {
		r.t.Errorf("the section does not refer to %q", revoking)
	}
	r.tg.lookUp(r.t, r.kid, http.StatusOK, "") // the copy is older than the revocation
	r.try(r.sections[revoking].commands[0], trial{fill: func(r *rehearsal) []string { return []string{r.kid} }})
	forgetKeys(r)
	r.tg.lookUp(r.t, r.kid, http.StatusGone, "kid_revoked")
	r.arrives()
	r.hook.noneRefused(r.t)
}

// otherIssuer returns another URL of the local issuer.
func (r *rehearsal) otherIssuer() string {
	return strings.Replace(r.s.Issuer, "127.0.0.1", "localhost", 1)
}

// at returns a user with a token of an issuer. A user has the same subject at both issuers. Tokens of the new issuer have no name.
func (r *rehearsal) at(issuer, name string) *person {
	r.t.Helper()
	shown := "Ada"
	if issuer == r.otherIssuer() {
		shown = ""
	}
	return r.issued(issuer, stack.User, "the same "+name, name+"@example.com", shown)
}

// issued returns a person with a token that an issuer gives for this kind, subject, email and name.
func (r *rehearsal) issued(issuer string, kind stack.Kind, subject, email, name string) *person {
	r.t.Helper()
	token, err := stack.IssueToken(r.t.Context(), issuer, kind, subject, email, name)
	if err != nil {
		r.t.Fatal(err)
	}
	return &person{r.tg, email, token}
}

// user returns the id and the display name of the user with this name's email address. A service looks them up.
func (r *rehearsal) user(service *person, name string) (id, shown string) {
	r.t.Helper()
	users := service.want(r.t, "GET", "/v1/users?email="+name+"@example.com", "", http.StatusOK, "").list("users")
	if len(users) != 1 {
		r.t.Fatalf("%s: %v", name, users)
	}
	return fmt.Sprint(users[0]["id"]), fmt.Sprint(users[0]["name"])
}

// usersFile makes users at the old issuer, and the file of users that the commands read. The last user in the file is unknown, and the
// last line has no line end.
func usersFile(r *rehearsal) {
	service := serviceOf(r.t, r.s, r.tg)
	r.users, r.orgs = map[string]string{}, map[string]string{}
	lines := ""
	for _, name := range []string{"moves", "follows", "stopped", "full"} {
		r.orgs[name] = r.at(r.s.Issuer, name).org(r.t)
		r.users[name], _ = r.user(service, name)
		lines += name + "@example.com the same " + name + "\n"
	}
	r.shell.write(r.t, "users.txt", lines+"stranger@example.com unknown")
	service.want(r.t, "POST", "/v1/users/"+r.users["stopped"]+"/stop", "", http.StatusOK, "")
	identities := map[string]types.AttributeValue{}
	for n := range 20 {
		identities[fmt.Sprint("IDN#", n)] = &types.AttributeValueMemberN{Value: "1"}
	}
	if _, err := r.db.UpdateItem(r.t.Context(), &dynamodb.UpdateItemInput{
		TableName: &r.s.TableName, Key: rowKey{"USER#" + r.users["full"], "META"}.attributes(), UpdateExpression: aws.String("SET identities = :i"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":i": &types.AttributeValueMemberM{Value: identities}},
	}); err != nil {
		r.t.Fatal(err)
	}
}

func newIssuer(r *rehearsal) []string { return []string{r.otherIssuer()} }

// usersKeepTheirOrgs runs the block again, stops a user, and changes the stack's issuer.
func usersKeepTheirOrgs(r *rehearsal, printed string) {
	const alreadyAdopted, refused = "[ConditionalCheckFailed, None]", "[None, ConditionalCheckFailed]" // the failed condition of the write
	neverAdopted := []string{refused, "stopped@example.com was not adopted", refused, "full@example.com was not adopted", "stranger@example.com is not known"}
	r.hasWords(printed, neverAdopted...)
	if strings.Contains(printed, alreadyAdopted) {
		r.t.Errorf("a user was adopted before the first run:\n%s", printed)
	}
	people := r.people()
	again, _ := r.shell.run(r.t, "(set -eu\n"+r.commands+"\necho all)")
	r.hasWords(again, slices.Concat([]string{alreadyAdopted, "moves@example.com was not adopted", alreadyAdopted, "follows@example.com was not adopted"}, neverAdopted, []string{"all"})...)
	if !reflect.DeepEqual(people, r.people()) {
		r.t.Error("the second run has changed a user")
	}

	old, to, stop := r.s.Issuer, r.otherIssuer(), "/v1/users/"+r.users["moves"]+"/stop"
	was := serviceOf(r.t, r.s, r.tg)
	was.want(r.t, "POST", stop, "", http.StatusOK, "")
	r.at(old, "moves").want(r.t, "GET", "/v1/orgs", "", http.StatusUnauthorized, "user_stopped")
	if commands := r.sections["Changing the issuer"].notRun[0]; !strings.Contains(commands, "Services=") {
		r.t.Errorf("services of the old issuer stay good after\n%s", commands)
	}
	r.deploy(map[string]string{"Issuer": to, "Audience": stack.Audience, "Services": "billing=" + to + "#service"})
	service := r.issued(to, stack.Service, "", "", "")
	was.want(r.t, "GET", "/v1/orgs", "", http.StatusUnauthorized, "token_invalid")
	r.at(to, "moves").want(r.t, "GET", "/v1/orgs", "", http.StatusUnauthorized, "user_stopped")
	service.want(r.t, "DELETE", stop, "", http.StatusNoContent, "")
	for name, orgs := range map[string]int{"moves": 1, "follows": 1, "stopped": 0, "full": 0} {
		moved := r.at(to, name)
		for range 2 { // the first request updates the user's rows
			if l := moved.want(r.t, "GET", "/v1/orgs", "", http.StatusOK, "").list("orgs"); len(l) != orgs || orgs == 1 && l[0]["id"] != r.orgs[name] {
				r.t.Errorf("%s's orgs: %v", name, l)
			}
		}
		user, shown := r.user(service, name)
		if isSame := user == r.users[name]; isSame != (orgs == 1) || isSame != (shown == "Ada") {
			r.t.Errorf("%s is the same user: %t, with the name %s", name, isSame, shown)
		}
		r.at(old, name).want(r.t, "GET", "/v1/orgs", "", http.StatusUnauthorized, "token_invalid")
	}
	r.keyIs(r.owner.key, http.StatusOK, "")
}

// people returns the rows of all users and their identities.
func (r *rehearsal) people() (rows []map[string]types.AttributeValue) {
	r.t.Helper()
	out, err := r.db.Scan(r.t.Context(), &dynamodb.ScanInput{
		TableName: &r.s.TableName, ConsistentRead: aws.Bool(true), FilterExpression: aws.String("begins_with(PK, :user) OR begins_with(PK, :identity)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":user": &types.AttributeValueMemberS{Value: "USER#"}, ":identity": &types.AttributeValueMemberS{Value: "IDN#"}},
	})
	if err != nil || out.LastEvaluatedKey != nil {
		r.t.Fatalf("%v, after %v", err, out.LastEvaluatedKey)
	}
	return out.Items
}
