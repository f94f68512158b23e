package service

import "latchkey/pkg/route"

// RightsFrom reads the variables SERVICE_RIGHTS and SERVICES.
func RightsFrom(e Settings) route.Rights {
	rights, err := route.ParseRights(e.Optional("SERVICE_RIGHTS", ""), Names(From(e)))
	if err != nil {
		e.Reject("SERVICE_RIGHTS", err.Error())
	}
	return rights
}
