package template_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	goTypes "go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"latchkey/infra/tools"
)

// wiring lists the settings that each function reads, and where each value goes: an argument of a call (by its index), a field, or
// the calls that are made if the value is true.
var wiring = map[string][]string{
	"apps": {
		aTable,
		`Optional("KEY_PREFIX", "lk") → apikey.ValidPrefix[0], api.Apps[1]`,
		`List("CONSOLE_ORIGINS") → api.Apps[2]`,
		`service.RightsFrom(e) → api.Apps[3]`,
	},
	"authorizer": {
		aTable,
		`accesstoken.ConfigFrom(e) → accesstoken.New[0]`,
		`Optional("USERINFO_URL", "") → tokens.UserinfoURL`,
		`Optional("NAME_CLAIM", "") → tokens.NameClaim`,
		`Bool("IMPORTED_KEYS", false) → if true a.TakeImported(nil, 0)`,
		`Bool("COUNT_REQUESTS", false) → if true a.CountRequests()`,
	},
	"checkconsumers": {
		`Required("API_GATEWAY") → consumers.Client.URL`,
		`Required("KEY_AUTHORIZER") → consumers.Daily.Shared`,
		`Required("MEMBER_AUTHORIZER") → consumers.Daily.Shared`,
	},
	"console": {
		`Required("ISSUER") → console.Settings.Issuer`,
		`Optional("CONSOLE_CLIENT_ID", "") → console.Settings.ClientID`,
		`Optional("CONSOLE_SCOPE", "") → console.Settings.Scope`,
		`Optional("CONSOLE_PARAMETERS", "") → console.Settings.Parameters`,
		`Int("MAX_KEY_DAYS", 0, 0) → console.Settings.MaxKeyDays`,
		`Choice("ORGS_BY", "anyone", "services") → console.Settings.OrgsBy`,
		`Optional("KEY_PREFIX", "lk") → console.Settings.KeyPrefix`,
		`Optional("PRODUCT_NAME", "Latchkey") → console.Settings.ProductName`,
		`Optional("SUPPORT_URL", "") → console.Settings.SupportURL`,
		`Optional("ACCENT", "") → console.Settings.Accent`,
	},
	"users": {
		aTable,
		`List("CONSOLE_ORIGINS") → api.Users[1]`,
		`service.RightsFrom(e) → api.Users[2]`,
		`Required("ISSUER") → api.Users[3]`,
	},
	"deleteorg": {
		aTable,
		`List("CONSOLE_ORIGINS") → api.DeleteOrg[1]`,
		`service.RightsFrom(e) → api.DeleteOrg[2]`,
		`Seconds("MAX_AUTH_AGE") → api.DeleteOrg[3]`,
	},
	"deliver": {
		`List("WEBHOOK_ALLOW_CIDRS") → outbound.NewSender[0]`,
		aTable,
		aQueue,
		`Required("STACK") → signing.New[1]`,
		`Required("WEBHOOK_ISSUER") → pipeline.Deliver.Issuer`,
	},
	"fanout": {aTable, aBudget, aQueue},
	"forwardauth": {
		aTable,
		`accesstoken.ConfigFrom(e) → accesstoken.New[0] by ForUsers`,
		`Optional("OWNER_ORG_ID", "") → forwardauth.New[1]`,
		`List("SECRET") → forwardauth.New[2]`,
		`Bool("IMPORTED_KEYS", false) → if true a.TakeImported(nil, 0)`,
		`Bool("COUNT_REQUESTS", false) → if true a.CountRequests()`,
	},
	"keyauthorizer": {
		aTable,
		`Seconds("ALLOW_FOR_SECONDS") → lambda.StartSharedAuthorizer[1]`,
		`Bool("IMPORTED_KEYS", false) → if true keysOnly.TakeImported(nil, 0)`,
		`Bool("COUNT_REQUESTS", false) → if true keysOnly.CountRequests()`,
	},
	"keys": {
		aTable,
		`Optional("KEY_PREFIX", "lk") → apikey.ValidPrefix[0], api.Keys[1]`,
		`List("CONSOLE_ORIGINS") → api.Keys[4]`,
		`service.RightsFrom(e) → api.Keys[5]`,
		`Seconds("MAX_AUTH_AGE") → api.Keys[6]`,
		`Bool("IMPORTED_KEYS", false) → api.Keys[2]`,
		`Int("MAX_KEY_DAYS", 0, 0) → api.Keys[3] * time.Hour * 24`,
	},
	"leaks": {
		aTable,
		`Choice("LEAK_REPORTS", "off", "tell", "revoke") → api.Leaks[1]`,
		`Bool("IMPORTED_KEYS", false) → api.Leaks[3]`,
	},
	"links": {aTable, aBudget, `List("CONSOLE_ORIGINS") → api.Links[1]`, `service.RightsFrom(e) → api.Links[2]`},
	"memberauthorizer": {
		aTable,
		`accesstoken.ConfigFrom(e) → accesstoken.New[0] by ForUsers`,
		`Required("ORG_PARAMETER") → shared.Member[1]`,
		`Seconds("ALLOW_FOR_SECONDS") → lambda.StartSharedAuthorizer[1]`,
	},
	"members": {
		aTable,
		`List("CONSOLE_ORIGINS") → api.Members[1]`,
		`service.RightsFrom(e) → api.Members[2]`,
		`Seconds("MAX_AUTH_AGE") → api.Members[3]`,
		`Required("ISSUER") → service.Subjects[1], api.Members[4]`,
		`service.From(e) → service.Subjects[0]`,
	},
	"orgs": {
		aTable,
		`List("CONSOLE_ORIGINS") → api.Orgs[1]`,
		`service.RightsFrom(e) → api.Orgs[2]`,
		`Required("ISSUER") → service.Subjects[1], api.Orgs[3]`,
		`service.From(e) → service.Subjects[0]`,
		`Choice("ORGS_BY", "anyone", "services") → api.Orgs[5] == "services"`,
	},
	"rotate": {
		`Required("STACK") → signing.New[1]`,
		`Pairs("KEY_TAG_NAMES", "KEY_TAG_VALUES") → signing.New[2]`,
		aTable,
		`Required("SIGNING_KEY_ARN") → pipeline.Rotation.FirstARN`,
		`Int("ROTATION_DAYS", 90, 0) → pipeline.Rotation.Every * time.Hour * 24`,
	},
	"sweep":       {aTable, aBudget, aQueue},
	"tap":         {`service.From(e) → service.Named[0]`, aTable, `Required("EVENT_BUS") → bus.New[1]`},
	"webhookkeys": {aTable, `List("CONSOLE_ORIGINS") → api.WebhookKeys[2]`},
	"webhooks": {
		aTable,
		aQueue,
		`List("WEBHOOK_ALLOW_CIDRS") → api.Webhooks[1] by Refusal`,
		aBudget,
		`List("CONSOLE_ORIGINS") → api.Webhooks[3]`,
		`Seconds("MAX_AUTH_AGE") → api.Webhooks[5]`,
		`service.RightsFrom(e) → api.Webhooks[4]`,
	},
}

const (
	aTable  = `Required("TABLE") → store.New[1]`
	aQueue  = `Required("QUEUE_URL") → queue.New[1]`
	aBudget = `s.Limits.ReadBudgets(e)`
)

// TestEachSettingReachesItsPlace reads the source of the functions' mains: no other test runs them with every setting.
func TestEachSettingReachesItsPlace(t *testing.T) {
	root, err := tools.Root()
	if err != nil {
		t.Fatal(err)
	}
	mains, err := filepath.Glob(filepath.Join(root, "functions/*/main.go"))
	if err != nil || len(mains) != len(wiring) {
		t.Errorf("%d mains, and %d in the table: %v", len(mains), len(wiring), err)
	}
	for _, path := range mains {
		name := filepath.Base(filepath.Dir(path))
		if got := settingsIn(t, path); !slices.Equal(got, wiring[name]) {
			t.Errorf("%s:\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(wiring[name], "\n"))
		}
	}
}

// program is the main of a function.
type program struct {
	parents map[ast.Node]ast.Node
	body    *ast.FuncLit // the argument of boot.Run
}

// settingsIn returns the settings that a main reads, with their defaults, and where each value goes.
func settingsIn(t *testing.T, path string) (out []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := program{parents: map[ast.Node]ast.Node{}}
	var above []ast.Node
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			above = above[:len(above)-1]
			return true
		}
		if len(above) > 0 {
			p.parents[n] = above[len(above)-1]
		}
		above = append(above, n)
		if f, ok := n.(*ast.FuncLit); ok && p.body == nil {
			p.body = f
		}
		return true
	})
	reader := p.body.Type.Params.List[0].Names[0].Name
	ast.Inspect(p.body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			on, name, _ := strings.Cut(goTypes.ExprString(call.Fun), ".")
			isRead := on == reader && !slices.Contains([]string{"AWS", "DynamoDB", "Reject"}, name)
			isPassed := slices.ContainsFunc(call.Args, func(a ast.Expr) bool { return goTypes.ExprString(a) == reader })
			if isRead || isPassed {
				line := strings.TrimPrefix(goTypes.ExprString(call), reader+".") + " → " + strings.Join(p.destinations(call), ", ")
				out = append(out, p.conditions(call)+strings.TrimSuffix(line, " → "))
			}
		}
		return true
	})
	return out
}

// destinations returns the places that get the value of an expression, each with its conditions.
func (p program) destinations(from ast.Node) (to []string) {
	under := func(where string) []string { return []string{p.conditions(from) + where} }
	switch above := p.parents[from].(type) {
	case *ast.CallExpr:
		// These calls only convert the value, so the search follows their result.
		converts := slices.Contains([]string{"time.Duration", "id.Org", "outbound.ParseCIDRs", "outbound.NewGuard"}, goTypes.ExprString(above.Fun))
		if i := slices.Index(above.Args, from.(ast.Expr)); i >= 0 && !converts {
			return under(fmt.Sprintf("%s[%d]", goTypes.ExprString(above.Fun), i))
		}
		return p.destinations(above)
	case *ast.KeyValueExpr:
		return under(goTypes.ExprString(p.parents[above].(*ast.CompositeLit).Type) + "." + goTypes.ExprString(above.Key))
	case *ast.CompositeLit:
		return p.destinations(above)
	case *ast.BinaryExpr:
		return suffixed(p.destinations(above), " "+above.Op.String()+" "+goTypes.ExprString(above.Y))
	case *ast.SelectorExpr:
		return suffixed(p.destinations(above), " by "+above.Sel.Name)
	case *ast.AssignStmt:
		i := min(slices.Index(above.Rhs, from.(ast.Expr)), len(above.Lhs)-1)
		if name, ok := above.Lhs[i].(*ast.Ident); ok {
			return p.destinationsOf(name)
		}
		return under(goTypes.ExprString(above.Lhs[i]))
	case *ast.IfStmt:
		return under("if true " + p.callsIn(above.Body))
	case *ast.ExprStmt:
		return nil
	case ast.Expr:
		return p.destinations(above)
	}
	return under(fmt.Sprintf("%T", p.parents[from]))
}

func suffixed(all []string, by string) (out []string) {
	for _, s := range all {
		out = append(out, s+by)
	}
	return out
}

// destinationsOf returns the places that get the value of a variable.
func (p program) destinationsOf(of *ast.Ident) (to []string) {
	ast.Inspect(p.body, func(n ast.Node) bool {
		if use, ok := n.(*ast.Ident); ok && use != of && use.Name == of.Name {
			if set, ok := p.parents[p.parents[use]].(*ast.AssignStmt); !ok || !slices.Contains(set.Lhs, p.parents[use].(ast.Expr)) {
				to = append(to, p.destinations(use)...)
			}
		}
		return true
	})
	return to
}

// conditions returns the conditions of the if statements around a node of a main.
func (p program) conditions(of ast.Node) (all string) {
	for n := of; n != nil; n = p.parents[n] {
		if is, ok := p.parents[n].(*ast.IfStmt); ok && n != is.Cond {
			all = "if " + goTypes.ExprString(is.Cond) + ": " + all
		}
	}
	return all
}

// callsIn returns the calls in a block.
func (p program) callsIn(block *ast.BlockStmt) string {
	var calls []string
	for _, s := range block.List {
		call, ok := s.(*ast.ExprStmt)
		if !ok {
			return fmt.Sprintf("%T", s)
		}
		calls = append(calls, goTypes.ExprString(call.X))
	}
	return strings.Join(calls, " ")
}
