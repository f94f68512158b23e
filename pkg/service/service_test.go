package service_test

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"latchkey/pkg/route"
	"latchkey/pkg/service"
)

func TestServicesAreParsedOrRefused(t *testing.T) {
	got, err := service.Parse("billing=https://id.example/#svc, deploy=https://ci.example#repo:a%2Fb:ref%23%25%2C")
	want := []service.Service{
		{Name: "billing", Issuer: "https://id.example/", Subject: "svc"}, {Name: "deploy", Issuer: "https://ci.example", Subject: "repo:a/b:ref#%,"},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = service.Parse("a=https://id.example/a+b?c=d+e%2B#f+g h%2B%20i=j")
	if want := []service.Service{{Name: "a", Issuer: "https://id.example/a+b?c=d+e+", Subject: "f+g h+ i=j"}}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("a + stays a +: %+v, %v", got, err)
	}
	if none, err := service.Parse(""); none != nil || err != nil {
		t.Errorf("of an empty text: %v, %v", none, err)
	}
	var ten []string
	for n := range 10 {
		ten = append(ten, fmt.Sprintf("s%d=http://localhost:1#%d", n, n))
	}
	most := strings.Join(ten, ",")
	most += strings.Repeat(" ", 2<<10-len(most))
	if got, err := service.Parse(most); len(got) != 10 || err != nil {
		t.Errorf("ten services in 2 KB: %d, %v", len(got), err)
	}
	for name, bad := range map[string]string{
		"no issuer": "billing", "no subject": "billing=https://id.example", "an empty subject": "billing=https://id.example#",
		"a name in capitals": "Billing=https://id.example#s", "an empty name": "=https://id.example#s", "a name of 33": strings.Repeat("a", 33) + "=https://id.example#s",
		"a name with a colon": "a:b=https://id.example#s", "no URL": "billing=id.example#s", "another scheme": "billing=ftp://id.example#s",
		"a % alone": "billing=https://id.example#100%", "two #": "billing=https://id.example#a#b", "a control character": "billing=https://id.example#a%0A",
		"a name twice": "a=https://id.example#s,a=https://id.example#t", "a pair twice": "a=https://id.example#s,b=https://id.example#s",
		"an empty part": "a=https://id.example#s,", "a long subject": "a=https://id.example#" + strings.Repeat("s", 256),
		"2 KB and a byte": most + " ", "eleven": strings.Join(ten, ",") + ",s=https://id.example#s", "no host": "billing=https:///id#s",
		"plain text": "a=http://id.example#s", "plain text, escaped": "a=http%3A//id.example#s", "a name like this machine's": "a=http://localhost.example#s",
		"a user like this machine": "a=http://localhost@id.example#s", "an address of a network": "a=http://10.0.0.1#s",
		"no #": "billing=https://id.example,a=b", "no =": "billing#s",
	} {
		if got, err := service.Parse(bad); err == nil {
			t.Errorf("%s: accepted: %+v", name, got)
		}
	}
}

// TestTheErrorForAWrongFormNamesTheForm: the texts lack an = or a #, or have a second #.
func TestTheErrorForAWrongFormNamesTheForm(t *testing.T) {
	for _, bad := range []string{"a", "a=https://id.example", "a#s", "a=https://id.example#s#t"} {
		if _, err := service.Parse(bad); err == nil || !strings.Contains(err.Error(), "NAME=ISSUER#SUBJECT") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestAServiceIsFoundByItsWholeNameAndIssuer: other names and issuers have the same beginning.
func TestAServiceIsFoundByItsWholeNameAndIssuer(t *testing.T) {
	all, err := service.Parse("bill=https://id.example#one,billing=https://id.example/#two,bills=https://id.example#three")
	if err != nil {
		t.Fatal(err)
	}
	for issuer, want := range map[string]string{"https://id.example": "[one three]", "https://id.example/": "[two]", "https://id": "[]", "": "[]"} {
		if got := fmt.Sprint(service.Subjects(all, issuer)); got != want {
			t.Errorf("%q: %s, want %s", issuer, got, want)
		}
	}
	named := service.Named(all)
	for name, want := range map[string]string{
		"bill": "https://id.example one true", "billing": "https://id.example/ two true", "bil": "  false", "": "  false", "Bill": "  false",
	} {
		issuer, subject, ok := named(name)
		if got := fmt.Sprint(issuer, " ", subject, " ", ok); got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
	}
}

// variables is the environment of a function.
type variables map[string]string

func (v variables) Optional(name, fallback string) string { return cmp.Or(v[name], fallback) }
func (v variables) Reject(name, why string)               { v["rejected"] = name + " " + why }

func TestInvalidServicesStopTheStartOfAFunction(t *testing.T) {
	for text, want := range map[string]struct {
		found    int
		rejected bool
	}{"": {0, false}, "a=https://id.example#s,b=https://id.example#t": {2, false}, "a=https://id.example": {0, true}} {
		v := variables{"SERVICES": text}
		if got := service.From(v); len(got) != want.found || strings.HasPrefix(v["rejected"], "SERVICES ") != want.rejected {
			t.Errorf("%q: %v, %q", text, got, v["rejected"])
		}
	}
}

func TestInvalidRightsStopTheStartOfAFunction(t *testing.T) {
	const services = "billing=https://issuer.example#s"
	for rights, rejected := range map[string]bool{"": false, "billing=orgs.read": false, "biling=orgs.read": true, "billing=orgs.reed": true} {
		v := variables{"SERVICES": services, "SERVICE_RIGHTS": rights}
		got := service.RightsFrom(v)
		if strings.HasPrefix(v["rejected"], "SERVICE_RIGHTS ") != rejected || got.Allow("billing", route.OrgsEnd) != (rights == "" || rejected) {
			t.Errorf("%q: %v, rejected %q", rights, got, v["rejected"])
		}
	}
}
