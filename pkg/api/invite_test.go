package api_test

import (
	"testing"

	"latchkey/pkg/store"
)

// TestAnInviteFindsAnAddressInEachForm: the admin may type an address in another form than the access token had.
func TestAnInviteFindsAnAddressInEachForm(t *testing.T) {
	for proved, typed := range map[string]string{
		"ada@bücher.example": "ada@xn--bcher-kva.example", "bob@xn--bcher-kva.example": "BOB@Bücher.example", "eve@bücher.example": "eve@bu\u0308cher.example",
		"zoe@example.com": " zoe@example.com ", "kim@example.com": `\tKim@ExAmple.com\n`, "ivo@сайт.рф": "\u00a0ivo@САЙТ.РФ\u3000",
	} {
		w := newWorld(t, newServer(t), "")
		u := w.NewUser(t, proved)
		w.want(t, w.request("POST", "/v1/orgs/{orgId}/members", user(w.byRole["admin"]), `{"email":"`+typed+`"}`), 201, "")
		if role, ok, err := w.Role(t.Context(), w.org, u); err != nil || !ok {
			t.Errorf("%q, proved as %q: %s, %v", typed, proved, role, err)
		}
	}
}

// TestAPersonWithoutAnAddressCanCreateAnOrg, and a service can add the person by subject. Only invites need a verified address.
func TestAPersonWithoutAnAddressCanCreateAnOrg(t *testing.T) {
	w := newWorld(t, newServer(t), "")
	seen := store.Seen{Issuer: issuer, Subject: "nameless", IssuedAt: 1}
	u, err := w.SignIn(t.Context(), store.Identity{}, false, seen)
	if err != nil {
		t.Fatal(err)
	}
	w.want(t, w.request("POST", "/v1/orgs", user(u), `{"name":"Acme"}`), 201, "")
	made := w.want(t, w.request("POST", "/v1/orgs", service(), `{"name":"x"}`), 201, "")
	w.want(t, w.request("POST", "/v1/orgs/"+made.str("id")+"/members", service(), `{"subject":"nameless"}`), 201, "")
	w.want(t, w.request("GET", "/v1/orgs/"+made.str("id")+"/members", user(u), ""), 200, "")
}
