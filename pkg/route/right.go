package route

import (
	"fmt"
	"slices"
	"strings"
)

// Right is a permission that a service needs on a route. The parameter ServiceRights uses these names.
type Right string

// The rights of services. A route needs one of them. Some members of bodies need OrgsLimit in addition.
const (
	OrgsRead      Right = "orgs.read"
	OrgsWrite     Right = "orgs.write"
	OrgsEnd       Right = "orgs.end"
	OrgsLimit     Right = "orgs.limit" // an org's allowance and plan, and the ceilings of a key
	OrgsSuspend   Right = "orgs.suspend"
	OrgsResume    Right = "orgs.resume"
	AuditRead     Right = "audit.read"
	MembersRead   Right = "members.read"
	MembersWrite  Right = "members.write"
	MembersEnd    Right = "members.end"
	KeysRead      Right = "keys.read"
	KeysWrite     Right = "keys.write"
	KeysImport    Right = "keys.import"
	KeysRevoke    Right = "keys.revoke"
	UsageRead     Right = "usage.read"
	AppsRead      Right = "apps.read"
	AppsWrite     Right = "apps.write"
	WebhooksRead  Right = "webhooks.read"
	WebhooksWrite Right = "webhooks.write"
	WebhooksEnd   Right = "webhooks.end"
	EventsRead    Right = "events.read"
	EventsWrite   Right = "events.write"
	UsersRead     Right = "users.read"
	UsersStop     Right = "users.stop"
	UsersEnd      Right = "users.end"
	LinksRead     Right = "links.read"
	LinksEnd      Right = "links.end"

	CatalogueWrite Right = "catalogue.write"

	People Right = "people" // no service may call the route, and no service can have this right
)

// Rights has the rights of services by their names. A service without an entry has all rights.
type Rights map[string][]Right

// Allow reports whether a service has a right.
func (all Rights) Allow(service string, r Right) bool {
	rights, isNamed := all[service]
	return r != People && (!isNamed || slices.Contains(rights, r))
}

// maxRights bounds the parameter ServiceRights, in bytes.
const maxRights = 1 << 10

// ParseRights reads the parameter ServiceRights: items of the form NAME=RIGHT+RIGHT, separated by commas. names lists the services of
// the parameter Services. Another name is an error, because it may be a misspelt service, which would then keep all rights. An empty
// list, an unknown right, and a duplicate name or right are errors too.
func ParseRights(text string, names []string) (Rights, error) {
	if text == "" {
		return nil, nil
	}
	if len(text) > maxRights {
		return nil, fmt.Errorf("more than %d bytes", maxRights)
	}
	all, rights := Rights{}, given()
	for _, part := range strings.Split(text, ",") {
		name, list, isList := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !isList:
			return nil, fmt.Errorf("%q: want NAME=RIGHT+RIGHT", part)
		case !slices.Contains(names, name):
			return nil, fmt.Errorf("%q: there is no service %s in Services", part, name)
		case all[name] != nil:
			return nil, fmt.Errorf("%q: %s is there twice", part, name)
		}
		for _, text := range strings.Split(list, "+") {
			r := Right(text)
			if !slices.Contains(rights, text) {
				return nil, fmt.Errorf("%q: there is no right %q; the rights are %s", part, text, strings.Join(rights, ", "))
			}
			if slices.Contains(all[name], r) {
				return nil, fmt.Errorf("%q: %s is there twice", part, r)
			}
			all[name] = append(all[name], r)
		}
	}
	return all, nil
}

// given returns the rights that a service can have, sorted: the rights of the routes, and OrgsLimit.
func given() []string {
	all := []string{string(OrgsLimit)}
	for _, r := range routes {
		if r.Right != "" && r.Right != People {
			all = append(all, string(r.Right))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
