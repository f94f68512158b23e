// Package console has the content of the console's function: the files of its pages, the headers that limit the pages, and
// the settings of their sign-in. The pages call the API as any other client does, so this package does not read the table.
package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"latchkey/pkg/authn/jwks"
	"latchkey/pkg/text"
)

// Settings configure how the pages sign people in, and have settings of the deployment that the pages show.
type Settings struct {
	Issuer     string // the template's parameter Issuer
	ClientID   string // id of a public client, without a secret; "": there is no console
	Scope      string // scopes, separated by spaces
	Parameters string // more parameters of the authorization request, as a query: audience=https://api.example.com
	MaxKeyDays int    // the most days until a new API key expires; 0: it need not expire
	OrgsBy     string // who may create orgs: anyone or services
	KeyPrefix  string // the beginning of API keys

	ProductName string // the owner's name for the product, in titles and next to the logo
	SupportURL  string // help for a person of a suspended org: https: or mailto:; "": none
	Accent      string // the colour of buttons and links, as #rrggbb; "": the colour in page.css
}

// A Fault is a setting with a value that the pages cannot use.
type Fault struct {
	Parameter string // the parameter of the template
	Err       error
}

// maxName is the longest ProductName, in characters. It must fit next to the logo.
const maxName = 40

// Faults returns the settings of the appearance that the pages cannot use.
func (s Settings) Faults() (faults []Fault) {
	if s.ProductName == "" || utf8.RuneCountInString(s.ProductName) > maxName || !text.Plain(s.ProductName) {
		faults = append(faults, Fault{"ProductName", fmt.Errorf("want 1 to %d characters that can be seen, on one line", maxName)})
	}
	at, err := url.Parse(s.SupportURL)
	isWeb := err == nil && at.Scheme == "https" && at.Host != "" && at.User == nil
	if s.SupportURL != "" && !isWeb && (err != nil || at.Scheme != "mailto" || !strings.Contains(at.Opaque, "@")) {
		faults = append(faults, Fault{"SupportUrl", errors.New("want https://HOST or mailto:ADDRESS")})
	}
	hex, isColour := strings.CutPrefix(s.Accent, "#")
	if s.Accent != "" && (!isColour || len(hex) != 6 || strings.Trim(hex, "0123456789abcdefABCDEF") != "") {
		faults = append(faults, Fault{"Accent", errors.New("want a colour as #3d52d5")})
	}
	return faults
}

// Console serves the console of a deployment.
type Console struct {
	settings   Settings
	parameters map[string]string
	files      map[string]File          // by name
	pages      map[string]func() []byte // the texts of the pages with the owner's name
	discover   func(context.Context) (jwks.Document, error)
}

// File is a page, or a file that a page loads.
type File struct {
	MediaType string
	Text      []byte
	Header    map[string]string
}

// mediaTypes has the media types of files, by the end of the name. All types are text: for another type, API Gateway would need all
// answers to be binary.
var mediaTypes = [][2]string{
	{".html", "text/html"}, {".js", "text/javascript"}, {".css", "text/css"}, {".svg", "image/svg+xml"}, {".txt", "text/plain"},
}

// Files without a hash in their names, so their content may change.
const (
	index     = "index.html"
	verify    = "verify.html"
	reference = "reference.html"
	llms      = "llms.txt"
	elements  = "elements.js"
	accent    = "accent.css"
)

var unhashed = []string{index, verify, reference, llms, elements, accent}

// New reads the files and the settings. discover reads the issuer's discovery document. The error names a setting or a file that
// cannot be used.
func New(files fs.FS, s Settings, discover func(context.Context) (jwks.Document, error)) (*Console, error) {
	c := &Console{settings: s, files: map[string]File{}, pages: map[string]func() []byte{}, discover: discover}
	var err error
	if c.parameters, err = ParseParameters(s.Parameters); err != nil {
		return nil, err
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		b, err := fs.ReadFile(files, entry.Name())
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(mediaTypes, func(of [2]string) bool { return of[0] == path.Ext(entry.Name()) })
		if at < 0 {
			return nil, fmt.Errorf("console: no media type for %s", entry.Name())
		}
		c.files[entry.Name()] = File{mediaTypes[at][1], b, map[string]string{
			"Cache-Control": caching(entry.Name()), "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "cross-origin", "Vary": "Accept-Encoding",
		}}
	}
	for _, name := range unhashed {
		if _, ok := c.files[name]; !ok {
			return nil, errors.New("console: there is no " + name)
		}
	}
	if s.Accent != "" {
		f := c.files[accent]
		f.Text = []byte(":root { --accent-of-product: " + s.Accent + " }\n")
		c.files[accent] = f
	}
	for _, name := range []string{index, verify, reference, llms} {
		c.pages[name] = sync.OnceValue(func() []byte { return c.withProductName(name) }) // made when first needed, because the reference is large
	}
	return c, nil
}

// withProductName returns the text of a page that contains the owner's name for the product.
func (c *Console) withProductName(page string) []byte {
	if page == llms {
		return bytes.ReplaceAll(c.files[page].Text, []byte("%product%"), []byte(c.settings.ProductName))
	}
	escaped := c.settings.ProductName // not with package html, which would make every function larger
	for _, special := range [][2]string{{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {`"`, "&#34;"}, {"'", "&#39;"}} {
		escaped = strings.ReplaceAll(escaped, special[0], special[1])
	}
	return bytes.ReplaceAll(c.files[page].Text, []byte("%product%"), []byte(escaped))
}

// ParseParameters reads Settings.Parameters: a query without duplicate names.
func ParseParameters(query string) (map[string]string, error) {
	given, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("console: the parameters are no query: %w", err)
	}
	out := map[string]string{}
	for name, values := range given {
		if len(values) > 1 {
			return nil, fmt.Errorf("console: the parameter %s is given twice", name)
		}
		out[name] = values[0]
	}
	return out, nil
}

// IsOn reports whether the deployment has a console.
func (c *Console) IsOn() bool { return c.settings.ClientID != "" }

// File returns a file that a page loads, by its name. Pages of other origins may load it too, because elements.js is for them.
func (c *Console) File(name string) (f File, ok bool) {
	f, ok = c.files[name]
	return f, ok && (name == elements || name == accent || !slices.Contains(unhashed, name))
}

// Page returns the page of the console. If the issuer's discovery document cannot be read, the page may call no issuer. Then it shows
// the error of Config.
func (c *Console) Page(ctx context.Context) File {
	connect := "'self'"
	if in, err := c.Config(ctx); err == nil {
		token := origin(in.TokenEndpoint)
		connect += " " + token
		if in.RevocationEndpoint != nil && origin(*in.RevocationEndpoint) != token {
			connect += " " + origin(*in.RevocationEndpoint)
		}
	}
	return c.page(index, connect)
}

// Verify returns the page that verifies a webhook. It calls only this API.
func (c *Console) Verify() File { return c.page(verify, "'self'") }

// Reference returns the page with the reference of the API. It reads the catalogue from the API.
func (c *Console) Reference() File { return c.page(reference, "'self'") }

// Summary returns a summary of the API for language models (llmstxt.org), with a link to the reference.
func (c *Console) Summary() File { return c.page(llms, "'none'") }

// page returns a page that may call the origins in connect.
func (c *Console) page(name, connect string) File {
	f := c.files[name]
	f.Text = c.pages[name]()
	f.Header = map[string]string{
		"Content-Security-Policy":    policy(connect),
		"Cross-Origin-Opener-Policy": "same-origin",
		"Referrer-Policy":            "no-referrer", // after a sign-in, the URL contains a code
		"X-Content-Type-Options":     "nosniff",
		"Cache-Control":              caching(name),
		"Vary":                       "Accept-Encoding", // the gateway compresses the page for some clients
	}
	return f
}

// caching returns the Cache-Control of a file. A file with a hash in its name never changes.
func caching(name string) string {
	if slices.Contains(unhashed, name) {
		return "no-cache"
	}
	return "public, max-age=31536000, immutable"
}

// policy returns the Content-Security-Policy of a page (CSP Level 3, and Trusted Types). Scripts and styles come only from its own files,
// only one library makes markup, the page cannot be in a frame, and it may call only the origins in connect.
func policy(connect string) string {
	return strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src " + connect,
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types lit-html",
	}, "; ")
}

// Config has the settings of the page's sign-in, the authorization code flow with PKCE (RFC 9700), and of the deployment.
type Config struct {
	Issuer                string            `json:"issuer"`
	ClientID              string            `json:"clientId"`
	Scope                 string            `json:"scope"`
	Parameters            map[string]string `json:"parameters"`
	AuthorizationEndpoint string            `json:"authorizationEndpoint"`
	TokenEndpoint         string            `json:"tokenEndpoint"`
	EndSessionEndpoint    *string           `json:"endSessionEndpoint"` // null: the issuer has none
	RevocationEndpoint    *string           `json:"revocationEndpoint"` // null: the issuer has none
	MaxKeyDays            int               `json:"maxKeyDays"`         // Settings.MaxKeyDays
	OrgsBy                string            `json:"orgsBy"`             // Settings.OrgsBy
	KeyPrefix             string            `json:"keyPrefix"`          // Settings.KeyPrefix
	SupportURL            *string           `json:"supportUrl"`         // Settings.SupportURL; null: there is none
	Accent                *string           `json:"accent"`             // Settings.Accent; null: there is none
}

// Config returns the settings that the page reads. The error means that the issuer's discovery document cannot be read now, or has
// no endpoints for a page.
func (c *Console) Config(ctx context.Context) (Config, error) {
	doc, err := c.discover(ctx)
	if err != nil {
		return Config{}, err
	}
	if doc.Authorization == "" || doc.Token == "" {
		return Config{}, errors.New("console: the issuer names no authorization_endpoint or no token_endpoint")
	}
	in := Config{
		Issuer: c.settings.Issuer, ClientID: c.settings.ClientID, Scope: c.settings.Scope, Parameters: c.parameters,
		AuthorizationEndpoint: doc.Authorization, TokenEndpoint: doc.Token, MaxKeyDays: c.settings.MaxKeyDays, OrgsBy: c.settings.OrgsBy, KeyPrefix: c.settings.KeyPrefix,
	}
	in.EndSessionEndpoint, in.RevocationEndpoint = orNull(doc.EndSession), orNull(doc.Revocation)
	in.SupportURL, in.Accent = orNull(c.settings.SupportURL), orNull(c.settings.Accent)
	return in, nil
}

// orNull returns a text for JSON: null for an empty text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// origin returns the scheme, host and port of a valid URL.
func origin(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}
