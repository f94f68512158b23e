package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/harness/local/stack"
)

// hasWords checks that the output has these words in this order.
func (r *rehearsal) hasWords(printed string, words ...string) {
	r.t.Helper()
	rest := printed
	for _, w := range words {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			r.t.Errorf("no %q in order %q in\n%s", w, words, printed)
			return
		}
		rest = after
	}
}

// keyIs checks how /app/get answers an API key.
func (r *rehearsal) keyIs(key string, status int, code string) {
	r.t.Helper()
	r.tg.want(r.t, call{method: "POST", path: "/app/get", bearer: key}, status, code)
}

// arrives causes a webhook, waits until the owner's receiver has verified it, and returns it.
func (r *rehearsal) arrives() arrival {
	r.t.Helper()
	id, token := r.owner.link(r.t, "u")
	r.tg.want(r.t, newDevice().claims(token), http.StatusOK, "")
	return r.hook.one(r.t, "link.claimed", id)
}

// The functions below prepare and check the trials of rehearsals, in the same order. printed is the output of a block of commands. A
// function that returns texts gives the values for each … of its block.

func variablesAreSet(r *rehearsal, printed string) {
	if want := r.s.URL + "\nlatchkey\nRotateFunction\n/latchkey/latchkey/\n"; printed != want {
		r.t.Errorf("printed %q, want %q", printed, want)
	}
}

// leakedText makes a key that registers an endpoint, and returns its text. The key's later actions fill a page of the audit log.
func leakedText(r *rehearsal) []string {
	thief := &server{tg: r.tg, owner: r.owner.owner, org: r.owner.org}
	r.keyID, r.key = r.owner.owner.key(r.t, r.owner.org, `{}`)
	thief.keyID, thief.key = r.keyID, r.key
	r.endpoint = thief.endpoint(r.t, r.tg.deadURL()+"/thief")
	for n := range 50 {
		thief.ok(r.t, "/webhook_endpoint/update", members{"endpointId": r.endpoint, "description": fmt.Sprint(n)})
	}
	return []string{r.key}
}

// keyIsGone checks that the leaked key is refused, also by the map of active keys, and that the other key of the org is good.
func keyIsGone(r *rehearsal, printed string) {
	r.hasWords(printed, "202")
	r.keyIs(r.key, http.StatusUnauthorized, "key_revoked")
	r.keyIs(r.owner.key, http.StatusOK, "")
	live, _ := getRow(r.t, r.s, rowKey{"KEYS#" + r.owner.org, "META"})["live"].(*types.AttributeValueMemberM)
	if live == nil || live.Value[r.keyID] != nil || live.Value[r.owner.keyID] == nil {
		r.t.Errorf("the active keys: %v", live)
	}
}

// leakedLocator returns the locator of the leaked key, and a service's token.
func leakedLocator(r *rehearsal) []string {
	token, err := r.s.Token(r.t.Context(), stack.Service, "", "", "")
	if err != nil {
		r.t.Fatal(err)
	}
	return []string{r.key[:strings.LastIndex(r.key, "_")], token}
}

func keyIsShown(r *rehearsal, printed string) { r.hasWords(printed, r.owner.org, r.keyID, `"revoked"`) }

func shownIDs(r *rehearsal) []string { return []string{r.owner.org, r.keyID} }

func tracesAreShown(r *rehearsal, printed string) {
	r.hasWords(printed, "endpoint.created", "key.revoked", "key.created", r.endpoint)
}

func endpointIsDisabled(r *rehearsal, printed string) {
	r.hasWords(printed, "204")
	if r.owner.ok(r.t, "/webhook_endpoint/get", members{"endpointId": r.endpoint}).body["enabled"] != false {
		r.t.Errorf("endpoint %s is enabled", r.endpoint)
	}
}

// agedKey makes a key whose row shows that it is two hours old. It also defines go in the shell, so that go runs in the repository.
func agedKey(r *rehearsal) {
	r.keyID, r.key = r.owner.owner.key(r.t, r.owner.org, `{}`)
	setRow(r.t, r.s, rowKey{"KEYS#" + r.owner.org, "KEY#" + r.keyID}, "SET createdAt = :at", map[string]types.AttributeValue{":at": millis(time.Now().Add(-2 * time.Hour))})
	root, err := filepath.Abs("../../..")
	if err != nil {
		r.t.Fatal(err)
	}
	if _, failed := r.shell.run(r.t, fmt.Sprintf(`go() { (cd %q && HOME=%q command go "$@"); }`, root, os.Getenv("HOME"))); len(failed) > 0 {
		r.t.Fatal(failed)
	}
}

func serviceAndMoment(r *rehearsal) []string {
	token, err := r.s.Token(r.t.Context(), stack.Service, "", "", "")
	if err != nil {
		r.t.Fatal(err)
	}
	return []string{"echo " + token, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)}
}

func agedKeyIsCounted(r *rehearsal, printed string) {
	r.hasWords(printed, r.owner.org, "1 keys", "1 keys of 1 orgs are good", "Nothing was changed")
	r.keyIs(r.key, http.StatusOK, "")
}

func agedKeyIsGone(r *rehearsal, printed string) {
	r.hasWords(printed, "1 keys of 1 orgs are revoked")
	r.keyIs(r.key, http.StatusUnauthorized, "key_revoked")
	r.keyIs(r.owner.key, http.StatusOK, "")
}

// formerMember adds an admin, who makes a key, and removes this admin again. It sets the person's id in the shell.
func formerMember(r *rehearsal) {
	former := r.tg.person(r.t, "former")
	r.owner.owner.invite(r.t, r.owner.org, former, "admin")
	r.keyID, r.key = former.key(r.t, r.owner.org, `{}`)
	user := r.owner.owner.userID(r.t, r.owner.org, former.email)
	r.owner.owner.want(r.t, "DELETE", "/v1/orgs/"+r.owner.org+"/members/"+user, "", http.StatusNoContent, "")
	if _, failed := r.shell.run(r.t, "USERID="+user); len(failed) > 0 {
		r.t.Fatal(failed)
	}
}

func keysAreListed(r *rehearsal, printed string) { r.hasWords(printed, `"id":"`+r.keyID+`"`) }

func theirKeyIsGone(r *rehearsal, printed string) {
	r.hasWords(printed, "204")
	r.keyIs(r.key, http.StatusUnauthorized, "key_revoked")
	r.keyIs(r.owner.key, http.StatusOK, "")
}

func deletedOrg(r *rehearsal) []string {
	org := r.owner.owner.want(r.t, "POST", "/v1/orgs", `{"name":"Gone Ltd"}`, http.StatusCreated, "").str("id")
	r.owner.owner.want(r.t, "DELETE", "/v1/orgs/"+org, "", http.StatusNoContent, "")
	r.org = org
	return []string{org}
}

func deletionIsShown(r *rehearsal, printed string) {
	r.hasWords(printed, "org.created", "usr_", "org.deleted", "usr_", r.org, "Gone Ltd")
}

func deletionIsFound(r *rehearsal, printed string) {
	r.hasWords(printed, "AUD#"+r.org, "Gone Ltd")
}

// unendedOrg makes an org whose deletion was interrupted: the org is closed, and the authorizer still accepts its keys.
func unendedOrg(r *rehearsal) []string {
	ada := r.tg.person(r.t, "ada")
	org := ada.org(r.t)
	token, err := r.s.Token(r.t.Context(), stack.Service, "", "", "")
	if err != nil {
		r.t.Fatal(err)
	}
	(&person{tg: r.tg, token: token}).want(r.t, "PATCH", "/v1/orgs/"+org, `{"externalId":"cut-short"}`, http.StatusOK, "")
	revoked, _ := ada.key(r.t, org, `{}`)
	ada.want(r.t, "DELETE", "/v1/orgs/"+org+"/keys/"+revoked, "", http.StatusNoContent, "")
	_, r.key = ada.key(r.t, org, `{}`)
	now := map[string]types.AttributeValue{":now": millis(time.Now())}
	setRow(r.t, r.s, rowKey{"ORG#" + org, "META"}, "SET deletedAt = :now", now)
	setRow(r.t, r.s, rowKey{"KEYS#" + org, "META"}, "SET closed = :now", now)
	r.keyIs(r.key, http.StatusNotFound, "key_not_found") // not 401, because the authorizer accepts the key
	r.person, r.org = ada, org
	return []string{org}
}

func orgIsEnded(r *rehearsal, _ string) {
	r.keyIs(r.key, http.StatusUnauthorized, "key_revoked")
	r.person.want(r.t, "GET", "/v1/orgs/"+r.org, "", http.StatusNotFound, "org_not_found")
	if l := r.person.want(r.t, "GET", "/v1/orgs", "", http.StatusOK, "").list("orgs"); len(l) != 0 {
		r.t.Errorf("the admin of the deleted org still has orgs: %v", l)
	}
	if row := getRow(r.t, r.s, rowKey{"EXT#cut-short", "META"}); row != nil {
		r.t.Errorf("the external id of the deleted org is still taken: %v", row)
	}
}

// forgetKeys kills the functions that cache signing keys for a minute, so that the next call reads the table.
func forgetKeys(r *rehearsal) {
	killFunction(r.t, r.s, "WebhookKeysFunction")
	killFunction(r.t, r.s, "DeliverFunction")
}

func activeKey(r *rehearsal) []string {
	r.kid = r.arrives().kid()
	forgetKeys(r)
	return []string{r.kid}
}

func signingKeyIsGone(r *rehearsal, printed string) {
	r.hasWords(printed, `"StatusCode": 200`, `"code":"kid_revoked"`)
	r.noFunctionError(printed)
	if getRow(r.t, r.s, verificationRow(r.kid))["disabledAt"] == nil {
		r.t.Error("the revoked key is not disabled in KMS")
	}
	if kid := r.arrives().kid(); kid == r.kid {
		r.t.Errorf("%s still signs", kid)
	}
}

func (r *rehearsal) noFunctionError(printed string) {
	r.t.Helper()
	if strings.Contains(printed, "FunctionError") {
		r.t.Errorf("a function failed:\n%s", printed)
	}
}

// onlyDeliverSigns checks that the policy of each signing key refuses every role but the deliver function's.
func onlyDeliverSigns(r *rehearsal, _ string) {
	client := backing.NewKMSClient(r.s.DataPlane.KMS)
	keys, err := client.ListKeys(r.t.Context(), &kms.ListKeysInput{})
	if err != nil {
		r.t.Fatal(err)
	}
	refused := 0
	for _, key := range keys.Keys {
		out, err := client.GetKeyPolicy(r.t.Context(), &kms.GetKeyPolicyInput{KeyId: key.KeyArn, PolicyName: aws.String("default")})
		if err != nil {
			r.t.Fatal(err)
		}
		var policy struct {
			Statement []struct {
				Effect, Action string
				Condition      struct{ ArnNotEquals map[string]string }
			}
		}
		if err := json.Unmarshal([]byte(aws.ToString(out.Policy)), &policy); err != nil {
			r.t.Fatal(err)
		}
		for _, s := range policy.Statement {
			if s.Effect == "Deny" && s.Action == "kms:Sign" && s.Condition.ArnNotEquals["aws:PrincipalArn"] == r.s.Outputs()["DeliverRoleArn"] {
				refused++
			}
		}
	}
	if refused == 0 || refused != len(keys.Keys)-1 { // all but the key that an earlier section revoked, which the commands leave out
		r.t.Errorf("%d of %d keys refuse other roles", refused, len(keys.Keys))
	}
	r.arrives()
}

// secondSigningKey revokes the active key, so that there is an old key to delete. The key that an earlier section revoked cannot
// be deleted: it is the stack's first key.
func secondSigningKey(r *rehearsal) {
	r.kid = signingKeys(r.t, r.s).ActiveKid
	revoke(r.t, r.s, r.kid)
	forgetKeys(r)
}

func (r *rehearsal) arnOf(kid string) string {
	arn, _ := getRow(r.t, r.s, verificationRow(kid))["arn"].(*types.AttributeValueMemberS)
	return arn.Value
}

func oldKeysAreListed(r *rehearsal, printed string) {
	r.hasWords(printed, "KEY#"+r.kid+"\t"+r.arnOf(r.kid)+"\t")
	r.hasWords(printed, "\n"+r.s.Outputs()["SigningKeyArn"]+"\n")
}

func oldKey(r *rehearsal) []string { return []string{r.arnOf(r.kid)} }

func oldKeyGoes(r *rehearsal, _ string) {
	out, err := backing.NewKMSClient(r.s.DataPlane.KMS).DescribeKey(r.t.Context(), &kms.DescribeKeyInput{KeyId: aws.String(r.arnOf(r.kid))})
	if err != nil || out.KeyMetadata.KeyState != kmstypes.KeyStatePendingDeletion {
		r.t.Errorf("%v %v", out, err)
	}
	r.arrives()
}

func queueIsCounted(r *rehearsal, printed string) { r.hasWords(printed, "\t", "\t") }

// overdueLink makes a link that is overdue: only the sweep writes its end.
func overdueLink(r *rehearsal) {
	r.link, _ = r.owner.link(r.t, "late")
	past := map[string]types.AttributeValue{":past": millis(time.Now().Add(-time.Hour))}
	setRow(r.t, r.s, rowKey{"LINKS#" + r.owner.appID, "LINK#" + r.link}, "SET expiresAt = :past, dueAt = :past", past)
}

func sweepRuns(r *rehearsal, printed string) {
	r.hasWords(printed, `"StatusCode": 200`)
	r.noFunctionError(printed)
	r.hook.one(r.t, "link.expired", r.link)
}

// noActiveKey revokes the active key in the table. No rotation runs, so no other key becomes active.
func noActiveKey(r *rehearsal) {
	r.kid = signingKeys(r.t, r.s).ActiveKid
	setRow(r.t, r.s, verificationRow(r.kid), "SET #state = :revoked, revokedAt = :now",
		map[string]types.AttributeValue{":revoked": text("revoked"), ":now": millis(time.Now())})
}

func keyIsActive(r *rehearsal, printed string) {
	r.noFunctionError(printed)
	forgetKeys(r)
	if kid := r.arrives().kid(); kid == r.kid {
		r.t.Errorf("%s still signs", kid)
	}
}

// deadLetter sends a message to each queue of dead letters.
func deadLetter(r *rehearsal) {
	for _, queue := range []string{"DeliveryDeadLetters", "FanoutDeadLetters"} {
		at, err := r.s.QueueURL(queue)
		if err != nil {
			r.t.Fatal(err)
		}
		if _, err := backing.NewSQSClient(r.s.DataPlane.SQS).SendMessage(r.t.Context(), &sqs.SendMessageInput{QueueUrl: &at, MessageBody: aws.String("letter of " + queue)}); err != nil {
			r.t.Fatal(err)
		}
	}
}

func lettersAreShown(r *rehearsal, printed string) {
	r.hasWords(printed, "letter of DeliveryDeadLetters", "letter of FanoutDeadLetters")
}

func lettersAreGone(r *rehearsal, _ string) {
	for _, queue := range []string{"DeliveryDeadLetters", "FanoutDeadLetters"} {
		if d, err := r.s.QueueDepth(r.t.Context(), queue); err != nil || d != 0 {
			r.t.Errorf("%s: %d messages, %v", queue, d, err)
		}
	}
}
