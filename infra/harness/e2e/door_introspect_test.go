package e2e_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"latchkey/infra/tools"
)

// oauthClients introspects an active and a revoked key with common OAuth clients. Each client sends its secret in two ways:
// in the header Authorization, and in the form.
func (f *frontDoor) oauthClients(t *testing.T) {
	id, key := f.key(t)
	revokedID, revoked := f.key(t)
	f.ada.want(t, "DELETE", "/v1/orgs/"+f.org+"/keys/"+revokedID, "", 204, "")
	for _, c := range []struct {
		name, scope string
		clients     []string // the program prints a line for each of them, which begins with the name
		command     func(ctx context.Context, t *testing.T) *exec.Cmd
	}{
		{"openid-client and oauth4webapi", "invoices:read", []string{"openid-client", "oauth4webapi"}, nodeClients},
		{"Authlib", "invoices:read", []string{"Authlib"}, func(ctx context.Context, t *testing.T) *exec.Cmd {
			return exec.CommandContext(ctx, consumerPython(t), filepath.Join(rootOf(t), "infra/examples/consumer/python/introspect.py"))
		}},
		{"Spring", "[SCOPE_invoices:read]", []string{"Spring"}, springClient},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := c.command(t.Context(), t)
			cmd.Args = append(cmd.Args, strings.TrimSuffix(f.FunctionURLs["ForwardAuthFunction"], "/")+"/introspect", key, key, revoked) // the secret, and two tokens
			var output strings.Builder
			cmd.Stderr = &output
			out, err := cmd.Output()
			want := ""
			for range 2 { // once for each way
				for _, answer := range []string{id + " " + f.org + " " + c.scope, "refused"} {
					for _, client := range c.clients {
						want += client + " " + answer + "\n"
					}
				}
			}
			if err != nil || string(out) != want {
				t.Errorf("%v: %s, want %s\n%.2000s", err, out, want, output.String())
			}
		})
	}
}

// consumerFile returns a file of infra/examples/consumer.
func consumerFile(t *testing.T, name string) string {
	t.Helper()
	return repositoryFile(t, filepath.Join("infra/examples/consumer", name))
}

func nodeClients(ctx context.Context, t *testing.T) *exec.Cmd {
	t.Helper()
	return exec.CommandContext(ctx, "node", filepath.Join(consumerNode(t), "introspect.mjs"))
}

// consumerNode copies the programs in Node to a folder with a link to their modules, because Node looks for modules next to a program.
func consumerNode(t *testing.T) string {
	t.Helper()
	dir, err := tools.NodeModules(t.Context(), "consumer-node", consumerFile(t, "node/package.json"), consumerFile(t, "node/package-lock.json"), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	at := t.TempDir()
	if err := errors.Join(os.CopyFS(at, os.DirFS(filepath.Join(rootOf(t), "infra/examples/consumer/node"))), os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(at, "node_modules"))); err != nil {
		t.Fatal(err)
	}
	return at
}

// consumerPython returns the interpreter that has the Python packages of the examples.
func consumerPython(t *testing.T) string {
	t.Helper()
	python, err := tools.VirtualEnv(t.Context(), "consumer-python", consumerFile(t, "python/requirements.txt"), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	return python
}

func springClient(ctx context.Context, t *testing.T) *exec.Cmd {
	t.Helper()
	jars, err := tools.Jars(ctx, "spring", consumerFile(t, "spring/pom.xml"), func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(ctx, "java", "-cp", jars+"/*", filepath.Join(rootOf(t), "infra/examples/consumer/spring/Introspect.java"))
}
