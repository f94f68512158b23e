package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"latchkey/infra/deploy/settings"
	"latchkey/pkg/apikey"
	"latchkey/pkg/boot"
	"latchkey/pkg/console"
	"latchkey/pkg/fetch"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/route"
	"latchkey/pkg/secret"
	"latchkey/pkg/service"
)

// checkReaders parses all values of the coming deployment with the functions' code, also the values that stay as deployed. A
// function cannot start with a value that it cannot parse, even if the template's pattern allows the value.
func (p *program) checkReaders() error {
	all := map[string]string{}
	for name, d := range p.template.Parameters {
		if !d.NoEcho { // CloudFormation does not show a deployed secret; given values were checked before
			all[name] = p.value(name)
		}
	}
	if err := p.template.CheckValues(all); err != nil {
		return err
	}
	var faults settings.Faults
	noteFault := func(parameter string, err error) {
		if err != nil {
			faults.Note(fmt.Errorf("%s: %w", settings.Shown(parameter, all[parameter]), err))
		}
	}
	if !apikey.ValidPrefix(all["KeyPrefix"]) {
		noteFault("KeyPrefix", secret.ErrPrefix)
	}
	for _, name := range []string{"Issuer", "JwksUrl", "UserinfoUrl", "WebhookIssuer"} {
		if all[name] != "" && !fetch.IsSafe(all[name]) {
			noteFault(name, errors.New("its host cannot be read"))
		}
	}
	if slices.ContainsFunc(strings.Split(all["ConsoleOrigins"], ","), func(origin string) bool {
		origin = strings.TrimSpace(origin)
		return strings.HasPrefix(origin, "https:") && strings.HasSuffix(origin, ":443") || strings.HasPrefix(origin, "http:") && strings.HasSuffix(origin, ":80")
	}) {
		noteFault("ConsoleOrigins", errors.New("remove the default port: browsers do not send it"))
	}
	services, err := service.Parse(all["Services"])
	noteFault("Services", err)
	_, err = route.ParseRights(all["ServiceRights"], service.Names(services))
	noteFault("ServiceRights", err)
	_, err = console.ParseParameters(all["ConsoleParameters"])
	noteFault("ConsoleParameters", err)
	for _, f := range (console.Settings{ProductName: all["ProductName"], SupportURL: all["SupportUrl"], Accent: all["Accent"]}).Faults() {
		noteFault(f.Parameter, f.Err)
	}
	for _, name := range []string{"WebhookAllowCidrs", "WebhookAllowPrivateCidrs"} {
		_, err = outbound.ParseCIDRs(strings.Split(all[name], ","))
		noteFault(name, err)
	}
	tags := boot.From(func(name string) (string, bool) { v, ok := all[name]; return v, ok })
	tags.Pairs("KeyTagNames", "KeyTagValues")
	faults.Note(tags.Err())
	return faults.Err()
}
