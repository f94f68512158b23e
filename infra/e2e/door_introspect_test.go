package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/local/backing"
)

// spring asks with Spring Security's own introspector.
func (f *frontDoor) spring(t *testing.T) {
	at := filepath.Join(rootOf(t), "infra/consumer/spring")
	pom, err := os.ReadFile(at + "/pom.xml")
	if err != nil {
		t.Fatal(err)
	}
	jars, err := backing.Jars(t.Context(), "spring", string(pom), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	id, key := f.key(t)
	revoked, old := f.key(t)
	f.ada.want(t, "DELETE", "/v1/orgs/"+f.org+"/keys/"+revoked, "", 204, "")
	cmd := exec.CommandContext(t.Context(), "java", "-cp", jars+"/*", at+"/Introspect.java", f.FunctionURLs["ForwardAuthFunction"]+"/introspect", key, key, old)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if want := id + " " + f.org + " [SCOPE_invoices:read]\nrefused\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s, want %s\n%.2000s", err, out, want, said.String())
	}
}
