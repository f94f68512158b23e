package console

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"testing"
	"testing/fstest"

	"latchkey/pkg/authn/jwks"
)

func TestAnUnusableFileOrSettingIsAnError(t *testing.T) {
	page := fstest.MapFS{}
	for _, name := range unhashed {
		page[name] = &fstest.MapFile{Data: []byte("x")}
	}
	with := func(name string) fstest.MapFS {
		files := maps.Clone(page)
		files[name] = page[index]
		return files
	}
	without := maps.Clone(page)
	delete(without, verify)
	for name, c := range map[string]struct {
		files      fstest.MapFS
		parameters string // Settings.Parameters
		ok         bool
	}{
		"only the pages": {page, "", true}, "two parameters": {page, "a=1&b=", true}, "one name twice": {page, "a=1&a=2", false}, "not a query": {page, "a=%", false},
		"a missing page": {without, "", false}, "a script": {with("main-1.js"), "", true}, "a file that is not text": {with("a.png"), "", false},
	} {
		_, err := New(c.files, Settings{Parameters: c.parameters}, func(context.Context) (jwks.Document, error) { return jwks.Document{}, nil })
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// site returns a console with only the necessary files and a script.
func site(t *testing.T, s Settings, doc jwks.Document, fault error) *Console {
	t.Helper()
	files := fstest.MapFS{"main-1.js": {Data: []byte("script")}}
	for _, name := range []string{"index.html", "verify.html", "reference.html", "llms.txt", "elements.js", "accent.css"} {
		files[name] = &fstest.MapFile{Data: []byte("text of " + name)}
	}
	c, err := New(files, s, func(context.Context) (jwks.Document, error) { return doc, fault })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAPageCallsOnlyItsOriginAndTheIssuers compares the whole policies.
func TestAPageCallsOnlyItsOriginAndTheIssuers(t *testing.T) {
	const (
		before = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src "
		after  = "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types lit-html"
	)
	for name, c := range map[string]struct {
		token, revocation string
		fault             error  // of the discovery document
		connect           string // the expected connect-src
	}{
		"one origin":               {"https://id.example/token", "https://id.example/revoke", nil, "'self' https://id.example"},
		"no revocation":            {"https://id.example:8443/a/token?x=1", "", nil, "'self' https://id.example:8443"},
		"revocation elsewhere":     {"https://id.example/token", "https://old.example:8443/revoke", nil, "'self' https://id.example https://old.example:8443"},
		"another scheme":           {"https://id.example/token", "http://id.example/revoke", nil, "'self' https://id.example http://id.example"},
		"both elsewhere":           {"https://a.example/token", "https://a.example/revoke", nil, "'self' https://a.example"},
		"revocation at the issuer": {"https://a.example/token", "https://id.example/revoke", nil, "'self' https://a.example https://id.example"},
		"another port":             {"https://id.example/token", "https://id.example:8443/token", nil, "'self' https://id.example https://id.example:8443"},
		"the issuer is away":       {"https://id.example/token", "", errors.New("away"), "'self'"},
		"no token endpoint":        {"", "https://id.example/revoke", nil, "'self'"},
	} {
		console := site(t, Settings{Issuer: "https://id.example"}, jwks.Document{Authorization: "https://id.example/authorize", EndSession: "https://end.example/", Token: c.token, Revocation: c.revocation}, c.fault)
		page := console.Page(t.Context())
		want := map[string]string{
			"Content-Security-Policy": before + c.connect + after, "Cross-Origin-Opener-Policy": "same-origin", "Referrer-Policy": "no-referrer",
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache", "Vary": "Accept-Encoding",
		}
		if !maps.Equal(page.Header, want) || string(page.Text) != "text of index.html" {
			t.Errorf("%s: %q, want %q", name, page.Header, want)
		}
	}
	console := site(t, Settings{}, jwks.Document{}, nil)
	for connect, page := range map[string]File{"'self'": console.Reference(), "'none'": console.Summary()} {
		if got := page.Header["Content-Security-Policy"]; got != before+connect+after {
			t.Errorf("%s: %q", page.Text, got)
		}
	}
}

// TestTheConfigurationHasTheSettingsOfIssuerAndOwner compares the whole answer that the page reads.
func TestTheConfigurationHasTheSettingsOfIssuerAndOwner(t *testing.T) {
	s := Settings{Issuer: "https://id.example", ClientID: "console", Scope: "openid email", Parameters: "audience=api&x=", MaxKeyDays: 30, OrgsBy: "services", KeyPrefix: "acme", SupportURL: "mailto:help@example.com"}
	doc := jwks.Document{Authorization: "https://id.example/authorize", Token: "https://id.example/token"}
	const most = `"issuer":"https://id.example","clientId":"console","scope":"openid email","parameters":{"audience":"api","x":""},` +
		`"authorizationEndpoint":"https://id.example/authorize","tokenEndpoint":"https://id.example/token",`
	const face = `"supportUrl":"mailto:help@example.com","accent":null`
	whole := doc
	whole.EndSession, whole.Revocation = "https://id.example/end", "https://id.example/revoke"
	for want, doc := range map[string]jwks.Document{
		`{` + most + `"endSessionEndpoint":null,"revocationEndpoint":null,"maxKeyDays":30,"orgsBy":"services","keyPrefix":"acme",` + face + `}`:                                            doc,
		`{` + most + `"endSessionEndpoint":"https://id.example/end","revocationEndpoint":"https://id.example/revoke","maxKeyDays":30,"orgsBy":"services","keyPrefix":"acme",` + face + `}`: whole,
	} {
		in, err := site(t, s, doc, nil).Config(t.Context())
		got, _ := json.Marshal(in)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
	for _, doc := range []jwks.Document{{Authorization: doc.Authorization}, {Token: doc.Token}, {}} {
		if in, err := site(t, s, doc, nil).Config(t.Context()); err == nil {
			t.Errorf("%+v of %+v", in, doc)
		}
	}
	if !site(t, s, doc, nil).IsOn() || site(t, Settings{Issuer: s.Issuer}, doc, nil).IsOn() {
		t.Error("the console must be on only with a client id")
	}
}

// TestOnlyTheFilesOfPagesAreServedByName checks which names are files, and how long each may be cached.
func TestOnlyTheFilesOfPagesAreServedByName(t *testing.T) {
	c := site(t, Settings{}, jwks.Document{}, nil)
	for name, caching := range map[string]string{
		"main-1.js": "public, max-age=31536000, immutable", "elements.js": "no-cache", "accent.css": "no-cache",
		"index.html": "", "verify.html": "", "reference.html": "", "llms.txt": "", "main-2.js": "", "": "", "../main-1.js": "",
	} {
		f, ok := c.File(name)
		if ok != (caching != "") || ok && f.Header["Cache-Control"] != caching {
			t.Errorf("%q: %v, %q", name, ok, f.Header)
		}
	}
}

// TestThePagesHaveTheNameAndTheColourOfTheOwner: in a page, the name is text and cannot open an element.
func TestThePagesHaveTheNameAndTheColourOfTheOwner(t *testing.T) {
	files := fstest.MapFS{"main-1.js": {Data: []byte("%product%")}}
	for _, name := range unhashed {
		files[name] = &fstest.MapFile{Data: []byte(`<meta content="%product%">%product%`)}
	}
	s := Settings{ProductName: `<b>"Röd" & 'Co'</b>`, Accent: "#0b7A5c"}
	c, err := New(files, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	const escaped = `&lt;b&gt;&#34;Röd&#34; &amp; &#39;Co&#39;&lt;/b&gt;`
	page := `<meta content="` + escaped + `">` + escaped
	for name, want := range map[string]string{index: page, verify: page, reference: page, llms: `<meta content="` + s.ProductName + `">` + s.ProductName,
		accent: ":root { --accent-of-product: #0b7A5c }\n", "main-1.js": "%product%"} {
		f := c.files[name]
		if c.pages[name] != nil {
			f = c.page(name, "")
		}
		if got := string(f.Text); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	in, err := site(t, s, jwks.Document{Authorization: "https://id.example/a", Token: "https://id.example/t"}, nil).Config(t.Context())
	if err != nil || in.Accent == nil || *in.Accent != s.Accent || in.SupportURL != nil {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestAnUnusableAppearanceIsRefused(t *testing.T) {
	const name, longest = "Acme", "Ä123456789012345678901234567890123456789"
	for _, c := range []struct {
		product, support, accent string
		want                     string // the parameter with a fault; "": none
	}{
		{name, "", "", ""}, {longest, "https://example.com:8443/help?a=1", "#000000", ""}, {`<img src=x onerror=alert(1)>`, "mailto:a@b.example?subject=x", "#FFFfff", ""},
		{"", "", "", "ProductName"}, {longest + "x", "", "", "ProductName"}, {"a\u202eb", "", "", "ProductName"}, {"a\nb", "", "", "ProductName"}, {"a\u200bb", "", "", "ProductName"},
		{name, "http://example.com", "", "SupportUrl"}, {name, "https://", "", "SupportUrl"}, {name, "javascript:alert(1)", "", "SupportUrl"},
		{name, "mailto:ada", "", "SupportUrl"}, {name, "mailto://a@b.example", "", "SupportUrl"}, {name, "https://a:b@example.com", "", "SupportUrl"}, {name, "//example.com", "", "SupportUrl"},
		{name, "https://exa mple.com", "", "SupportUrl"},
		{name, "", "#12345", "Accent"}, {name, "", "red", "Accent"}, {name, "", "#12345g", "Accent"}, {name, "", "#123456;", "Accent"}, {name, "", "#1234567", "Accent"},
	} {
		got := ""
		for _, f := range (Settings{ProductName: c.product, SupportURL: c.support, Accent: c.accent}).Faults() {
			got += f.Parameter
		}
		if got != c.want {
			t.Errorf("%q %q %q: refused %q, want %q", c.product, c.support, c.accent, got, c.want)
		}
	}
}
