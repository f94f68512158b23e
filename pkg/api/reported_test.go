package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"latchkey/pkg/problem"
)

// reported has JSON texts (without quotes) that a machine reports, and the text that we keep; null: no text.
var reported = map[string]string{
	`Ada's phone`:                        `"Ada's phone"`,
	`\u200eMohamed's iPhone`:             `"Mohamed's iPhone"`,
	`\u2068Zoe\u2069 \ufeff`:             `"Zoe"`,
	`a\u0000b\n`:                         `"a b"`,
	`\uf8ff Watch`:                       `"Watch"`, // private use: Apple's logo
	`Pixel\u2028\u00ad7`:                 `"Pixel  7"`,
	strings.Repeat("x", 101):             `"` + strings.Repeat("x", 100) + `"`,
	strings.Repeat("é", 4000):            `"` + strings.Repeat("é", 100) + `"`,
	strings.Repeat("x", 98) + "👩\u200d🚀": `"` + strings.Repeat("x", 98) + `👩"`, // the cut is not inside an emoji
	`\u200fگوشی علی\u200cرضا`:            "\"گوشی علی\u200cرضا\"",
	`👩🏽\u200d🚀 phone`:                    "\"👩🏽\u200d🚀 phone\"",
	``:                                   `null`, `  `: `null`, `\u200b\u200f`: `null`, `\u3164`: `null`, `\t`: `null`, `\ufffd`: `null`,
}

// broken has more such texts, with invalid characters: a text that was cut inside a character, and bytes that are not UTF-8,
// which the gateway replaces by U+FFFD. Only the body of a device may have them.
var broken = map[string]string{
	`Ada \ud83d`: `"Ada"`, `\udc69Ada`: `"Ada"`, `\ud83d\ud83d\udc69`: `"👩"`, "Ada\ufffd": `"Ada"`, "Ada\xff's": `"Ada 's"`, "\xc3": `null`,
}

func TestAnyDeviceNameCanClaimALink(t *testing.T) {
	d := newAppServer(t)
	for _, texts := range []map[string]string{reported, broken} {
		for sent, kept := range texts {
			made, token := d.newLink(t)
			body := fmt.Sprintf(`{"token":%q,"claimKey":%q,"device":{"name":"%s","platform":"%s"}}`, token, firstDevice, sent, sent)
			d.want(t, request{method: "POST", path: "/link/claim", body: body}, 200, "")
			d.want(t, request{method: "POST", path: "/link/claim", body: body}, 200, "") // the device repeats its claim
			got := d.post(t, "/link/get", bodyWith("linkId", made), 200, "").text
			if want := `"device":{"name":` + kept + `,"platform":` + kept + `}`; !strings.Contains(got, want) {
				t.Errorf("%.80q: %s, want %s", sent, got, want)
			}
		}
	}
	for _, sent := range []string{`5`, `true`, `{"a":1}`, `["x"]`, `-1.5e300`, `null`, `{"name":5}`} { // not texts
		made, token := d.newLink(t)
		for _, device := range []string{`{"name":` + sent + `,"platform":"ios"}`, `{"platform":"ios","name":` + sent + `}`} {
			body := fmt.Sprintf(`{"token":%q,"claimKey":%q,"device":%s}`, token, firstDevice, device)
			d.want(t, request{method: "POST", path: "/link/claim", body: body}, 200, "")
		}
		if got := d.post(t, "/link/get", bodyWith("linkId", made), 200, "").text; !strings.Contains(got, `"device":{"name":null,"platform":"ios"}`) {
			t.Errorf("%s: %s", sent, got)
		}
	}
	for device, refusal := range map[string]problem.Code{ // the form of device, which the SDK builds, is still checked
		`"Ada's phone"`: problem.ValidationFailed, `5`: problem.ValidationFailed, `[]`: problem.ValidationFailed, `{"model":5}`: problem.InvalidJSON,
	} {
		_, token := d.newLink(t)
		body := fmt.Sprintf(`{"token":%q,"claimKey":%q,"device":%s}`, token, firstDevice, device)
		d.want(t, request{method: "POST", path: "/link/claim", body: body}, refusal.Status(), refusal)
	}
	for _, body := range []string{ // token and claimKey are still checked
		`{"token":"lkt_` + "\ufffd" + `","claimKey":"` + firstDevice + `"}`, `{"token":"lkt_x\ud800","claimKey":"` + firstDevice + `"}`,
	} {
		d.want(t, request{method: "POST", path: "/link/claim", body: body}, 404, "link_not_found")
	}
	d.want(t, request{method: "POST", path: "/link/claim", body: `{"token":"lkt_x","claimKey":"` + firstDevice + "\ufffd" + `"}`}, 422, "validation_failed")
}

// TestANameFromAnotherSystemIsNeverRefused: services send the issuer's names of users, and the names of imported keys.
func TestANameFromAnotherSystemIsNeverRefused(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	n := 0
	for sent, kept := range reported {
		n++
		name := strings.Replace(kept, "null", `""`, 1)
		made := w.want(t, w.request("POST", "/v1/orgs", service(), fmt.Sprintf(`{"name":"x","admin":{"subject":"a%d","name":"%s"}}`, n, sent)), 201, "")
		path := "/v1/orgs/" + made.str("id")
		w.want(t, w.request("POST", path+"/members", service(), fmt.Sprintf(`{"subject":"b%d","name":"%s"}`, n, sent)), 201, "")
		sum := sha256.Sum256([]byte(sent))
		w.want(t, w.request("POST", path+"/keys/import", service(),
			fmt.Sprintf(`{"keys":[{"sha256":%q,"prefix":"sk","name":"%s"}]}`, hex.EncodeToString(sum[:]), sent)), 200, "")
		members := w.want(t, w.request("GET", path+"/members", service(), ""), 200, "").text
		keys := w.want(t, w.request("GET", path+"/keys", service(), ""), 200, "").text
		if strings.Count(members, `"name":`+name+`,`) != 2 || strings.Count(keys, `"name":`+name+`,`) != 1 {
			t.Errorf("%.80q: want the name %s in %s and %s", sent, name, members, keys)
		}
	}
}

func TestANameCanBeInAnyScript(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	for _, name := range []string{"نرم\u200cافزار", "ශ්\u200dරී ලංකා", "র\u200d্যাব", "അവന്\u200d", "葛\U000e0100城", "Rugby 🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f"} {
		if got := w.want(t, w.request("PATCH", "/v1/orgs/{orgId}", user(w.byRole["admin"]), `{"name":"`+name+`"}`), 200, "").str("name"); got != name {
			t.Errorf("%+q, want %+q", got, name)
		}
	}
}

// TestAHiddenCharacterInATypedNameIsRefused, because two names could look the same. The error points at the text.
func TestAHiddenCharacterInATypedNameIsRefused(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	w.connect(t)
	for _, c := range []struct{ method, path, body, pointer string }{
		{"POST", "/v1/orgs", `{"name":"%s"}`, "/name"}, {"PATCH", "/v1/orgs/{orgId}", `{"name":"%s"}`, "/name"},
		{"POST", "/v1/orgs/{orgId}/apps", `{"name":"%s"}`, "/name"}, {"POST", keysPath, `{"name":"%s"}`, "/name"},
		{"POST", "/v1/orgs/{orgId}/apps/{appId}/webhook_endpoints", `{"url":"https://example.com","description":"%s"}`, "/description"},
	} {
		for _, sent := range []string{`\u200eAcme`, `Ac\u200dme`, `\u200b`, `\uf8ff`} {
			out := w.want(t, w.request(c.method, c.path, user(w.byRole["admin"]), fmt.Sprintf(c.body, sent)), 422, "validation_failed")
			if got := out.each("errors", "pointer"); len(got) != 1 || got[0] != c.pointer {
				t.Errorf("%s %s %s: %v, want %s", c.method, c.path, sent, got, c.pointer)
			}
		}
	}
}
