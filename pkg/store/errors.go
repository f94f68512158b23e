package store

import "latchkey/pkg/problem"

// The errors that refuse a use case by the state of a row. They are shared: no one may change their fields.
var (
	errOrgNotFound      = &problem.Error{Code: problem.OrgNotFound, Detail: "There is no such org, or you are not a member of it."}
	errOrgLimit         = &problem.Error{Code: problem.LimitReached, Detail: "You cannot create more orgs, because you have reached the limit for one user."}
	errExternalIDTaken  = &problem.Error{Code: problem.Conflict, Detail: "Another org already has this externalId."}
	errOrgSuspended     = &problem.Error{Code: problem.OrgSuspended, Detail: "The org is suspended. You can read and end what it has, but you cannot create or extend anything."}
	errAppNotFound      = &problem.Error{Code: problem.AppNotFound, Detail: "The org has no such app."}
	errAppLimit         = &problem.Error{Code: problem.LimitReached, Detail: "The org cannot have more apps."}
	errUserNotFound     = &problem.Error{Code: problem.UserNotFound, Detail: "No account has this verified email. The person must sign in once first."}
	errUnknownUser      = &problem.Error{Code: problem.UnknownUser, Detail: "There is no such user."}
	errUserStopped      = &problem.Error{Code: problem.UserStopped, Detail: "This person is stopped."}
	errBeingErased      = &problem.Error{Code: problem.Conflict, Detail: "This person is being erased. Send the erasure again until the answer is 204."}
	errTokenEnded       = &problem.Error{Code: problem.TokenEnded, Detail: "This person was signed out everywhere. Sign in again."}
	errMemberNotFound   = &problem.Error{Code: problem.MemberNotFound, Detail: "The org has no such member."}
	errMemberExists     = &problem.Error{Code: problem.MemberExists, Detail: "This user is already a member of the org."}
	errMemberLimit      = &problem.Error{Code: problem.LimitReached, Detail: "The org cannot have more members."}
	errLastAdmin        = &problem.Error{Code: problem.LastAdmin, Detail: "The org must keep an admin. Make another member an admin first."}
	errKeyNotFound      = &problem.Error{Code: problem.KeyNotFound, Detail: "The org has no such API key."}
	errKeyNotActive     = &problem.Error{Code: problem.KeyNotActive, Detail: "The API key was already revoked or rotated, or it has expired."}
	errKeyRotated       = &problem.Error{Code: problem.KeyNotActive, Detail: "The API key was rotated at the same time. Check whether you want to change its successor instead."}
	errKeyDead          = &problem.Error{Code: problem.KeyNotActive, Detail: "The API key was revoked or has expired."}
	errKeyBarred        = &problem.Error{Code: problem.KeyNotActive, Detail: "The API key was revoked, and its webhook endpoints were disabled."}
	errKeyImported      = &problem.Error{Code: problem.Conflict, Detail: "A key with this hash was imported before."}
	errKeyLimit         = &problem.Error{Code: problem.LimitReached, Detail: "The org cannot have more active API keys. Revoke one first."}
	errLinkNotFound     = &problem.Error{Code: problem.LinkNotFound, Detail: "There is no such link."}
	errLinkRevoked      = &problem.Error{Code: problem.LinkRevoked, Detail: "The link was revoked."}
	errEndpointNotFound = &problem.Error{Code: problem.EndpointNotFound, Detail: "The app has no such webhook endpoint."}
	errEndpointLimit    = &problem.Error{Code: problem.LimitReached, Detail: "The app cannot have more webhook endpoints."}
	errEventNotFound    = &problem.Error{Code: problem.EventNotFound, Detail: "The app has no such event."}
	errDeliveryNotFound = &problem.Error{Code: problem.DeliveryNotFound, Detail: "The app has no such delivery."}
	errUnknownKid       = &problem.Error{Code: problem.UnknownKid, Detail: "There is no verification key with this kid."}
)
