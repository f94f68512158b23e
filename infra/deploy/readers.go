package main

import (
	"fmt"
	"strings"

	"latchkey/infra/deploy/settings"
	"latchkey/pkg/apikey"
	"latchkey/pkg/boot"
	"latchkey/pkg/console"
	"latchkey/pkg/pipeline/outbound"
	"latchkey/pkg/secret"
	"latchkey/pkg/service"
)

// checkReaders has the functions' own readers read the values of the coming deployment, those of the deployed stack among them. A
// function ends at its start when it cannot read a value, whatever the template's patterns allow.
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
	var wrong settings.Faults
	refused := func(parameter string, err error) {
		if err != nil {
			wrong.Note(fmt.Errorf("%s=%s: %w", parameter, all[parameter], err))
		}
	}
	if !apikey.ValidPrefix(all["KeyPrefix"]) {
		refused("KeyPrefix", secret.ErrPrefix)
	}
	_, err := service.Parse(all["Services"])
	refused("Services", err)
	_, err = console.ParseParameters(all["ConsoleParameters"])
	refused("ConsoleParameters", err)
	for _, name := range []string{"WebhookAllowCidrs", "WebhookAllowPrivateCidrs"} {
		_, err = outbound.ParseCIDRs(strings.Split(all[name], ","))
		refused(name, err)
	}
	tags := boot.From(func(name string) (string, bool) { v, ok := all[name]; return v, ok })
	tags.Pairs("KeyTagNames", "KeyTagValues")
	wrong.Note(tags.Err())
	return wrong.Err()
}
