package e2e_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Two programs that read headers by their CGI names: -, _ and . all become _ there. Each answers with the names and the
// values of the headers of the principal.
const (
	phpProgram = `<?php
header('Content-Type: application/json');
$seen = [];
foreach ($_SERVER as $name => $value) if (preg_match('/LATCHKEY|AUTHORIZATION/i', $name)) $seen[$name] = $value;
echo json_encode($seen);
`
	wsgiProgram = `import json, re
def app(environ, start):
    seen = {}
    for name, value in environ.items():
        if re.search('LATCHKEY|AUTHORIZATION', name, re.I):
            name = re.sub('[^A-Z0-9]', '_', name.upper())
            seen[name] = seen.get(name, '') + str(value)
    start('200 OK', [('Content-Type', 'application/json')])
    return [json.dumps(seen).encode()]
`
)

// php starts PHP's FastCGI server. It returns the server's address. For each proxy it also returns pairs of old and new texts
// of the configuration: with the new texts the proxy calls the program by FastCGI.
func php(t *testing.T) (string, map[string][]string) {
	t.Helper()
	address, script := freeAddress(t), filepath.Join(t.TempDir(), "index.php")
	if err := os.WriteFile(script, []byte(phpProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	serve(t, exec.CommandContext(t.Context(), "php-cgi", "-b", address))
	waitForServer(t, address)
	nginx := []string{"1 UPSTREAM;", "1 " + address + ";", "proxy_pass $program;", "fastcgi_pass $program;", `proxy_set_header Authorization "";`, `fastcgi_param HTTP_AUTHORIZATION "";
    include /etc/nginx/fastcgi_params;
    fastcgi_param SCRIPT_FILENAME ` + script + ";"}
	for _, h := range setByProxies() {
		nginx = append(nginx, "proxy_set_header "+h+" ", "fastcgi_param HTTP_"+strings.ToUpper(strings.ReplaceAll(h, "-", "_"))+" ")
	}
	return address, map[string][]string{
		"Caddy": {"reverse_proxy {$UPSTREAM}", "reverse_proxy {$UPSTREAM} {\ntransport fastcgi {\nenv SCRIPT_FILENAME " + script + "\n}\n}"},
		"nginx": nginx,
	}
}

// gunicorn starts a WSGI server. This version gives the program all headers under their CGI names, like gunicorn in Debian 12.
func gunicorn(t *testing.T) string {
	t.Helper()
	address, dir := freeAddress(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "program.py"), []byte(wsgiProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	serve(t, exec.CommandContext(t.Context(), consumerPython(t), "-m", "gunicorn", "--bind", address, "--chdir", dir, "--worker-class", "gthread", "program:app"))
	waitForServer(t, address)
	return address
}

// waitForServer waits until a server listens at the address.
func waitForServer(t *testing.T, address string) {
	t.Helper()
	eventually(t, 20*time.Second, address+" listens", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
}

// cgi sends every spelling of every field's header, through real proxies, to programs that read headers by their
// CGI names.
func (f *frontDoor) cgi(t *testing.T) {
	id, key := f.ada.key(t, f.org, `{"name":"n","scopes":["invoices:read"]}`)
	fastCGI, pairs := php(t)
	wsgi := gunicorn(t)
	for _, proxy := range []string{"Caddy", "nginx"} {
		for program, tg := range map[string]*target{
			"FastCGI": f.proxy(t, proxy, fastCGI, pairs[proxy]...),
			"WSGI":    f.proxy(t, proxy, "http://"+wsgi),
		} {
			t.Run(proxy+" "+program, func(t *testing.T) {
				for _, spelled := range spellings() {
					r, err := tg.try(t.Context(), call{method: "GET", path: "/invoices", bearer: key, header: spelled})
					leaks := strings.Contains(r.text, "forged") || strings.Contains(r.text, key)
					hasPrincipal := r.str("HTTP_X_LATCHKEY_ORG_ID") == f.org && r.str("HTTP_X_LATCHKEY_KEY_ID") == id &&
						r.str("HTTP_X_LATCHKEY_SCOPES") == "invoices:read"
					if err != nil || r.status != 200 || leaks || !hasPrincipal {
						t.Fatalf("%v: %d %s %v", spelled, r.status, r.text, err)
					}
				}
			})
		}
	}
}

// spellings returns sets of forged headers. Each set has all headers of ours. The sets differ in the characters that replace
// the hyphens: -, _ or . in every combination. A set has each name in four mixes of upper and lower case.
func spellings() []map[string][]string {
	var all []map[string][]string
	const marks = "-_."
	separators := regexp.MustCompile("-")
	for combination := range 27 { // three marks at the places of at most three hyphens
		headers := map[string][]string{}
		for _, name := range setByProxies() {
			digits := combination // to the base 3: a digit for each hyphen
			name = separators.ReplaceAllStringFunc(name, func(string) string {
				mark := marks[digits%3]
				digits /= 3
				return string(mark)
			})
			mixed := strings.Map(func(r rune) rune {
				if r >= 'a' && r <= 'm' {
					return r - 'a' + 'A'
				}
				return r
			}, strings.ToLower(name))
			for _, cased := range []string{name, strings.ToLower(name), strings.ToUpper(name), mixed} {
				headers[cased] = []string{"forged"}
			}
		}
		all = append(all, headers)
	}
	return all
}
