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

// checkReaders has the functions' own readers read all values of the coming deployment, also the values that stay as deployed. A
// function ends at its start when it cannot read a value, even if the template's pattern allows it.
func (p *program) checkReaders() error {
	all := map[string]string{}
	for name, d := range p.template.Parameters {
		if !d.NoEcho { // CloudFormation shows no deployed value of it; given ones were checked before
			all[name] = p.value(name)
		}
	}
	if err := p.template.CheckValues(all); err != nil {
		return err
	}
	var faults settings.Faults
	refused := func(parameter string, err error) {
		if err != nil {
			faults.Note(fmt.Errorf("%s: %w", settings.Shown(parameter, all[parameter]), err))
		}
	}
	if !apikey.ValidPrefix(all["KeyPrefix"]) {
		refused("KeyPrefix", secret.ErrPrefix)
	}
	for _, name := range []string{"Issuer", "JwksUrl", "UserinfoUrl", "WebhookIssuer"} {
		if all[name] != "" && !fetch.IsSafe(all[name]) {
			refused(name, errors.New("it has no host that can be read"))
		}
	}
	if slices.ContainsFunc(strings.Split(all["ConsoleOrigins"], ","), func(origin string) bool {
		origin = strings.TrimSpace(origin)
		return strings.HasPrefix(origin, "https:") && strings.HasSuffix(origin, ":443") || strings.HasPrefix(origin, "http:") && strings.HasSuffix(origin, ":80")
	}) {
		refused("ConsoleOrigins", errors.New("browsers leave out the usual port"))
	}
	services, err := service.Parse(all["Services"])
	refused("Services", err)
	_, err = route.ParseRights(all["ServiceRights"], service.Names(services))
	refused("ServiceRights", err)
	_, err = console.ParseParameters(all["ConsoleParameters"])
	refused("ConsoleParameters", err)
	for _, f := range (console.Settings{ProductName: all["ProductName"], SupportURL: all["SupportUrl"], Accent: all["Accent"]}).Faults() {
		refused(f.Parameter, f.Err)
	}
	for _, name := range []string{"WebhookAllowCidrs", "WebhookAllowPrivateCidrs"} {
		_, err = outbound.ParseCIDRs(strings.Split(all[name], ","))
		refused(name, err)
	}
	tags := boot.From(func(name string) (string, bool) { v, ok := all[name]; return v, ok })
	tags.Pairs("KeyTagNames", "KeyTagValues")
	faults.Note(tags.Err())
	return faults.Err()
}
