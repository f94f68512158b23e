package store

import "latchkey/pkg/problem"

// The errors that refuse a use case by the state of a row. They are shared: no one may change their fields.
var (
	errOrgNotFound      = &problem.Error{Code: problem.OrgNotFound, Detail: "There is no such org, or you are not a member of it."}
	errOrgLimit         = &problem.Error{Code: problem.LimitReached, Detail: "You have created as many orgs as one user may."}
	errExternalIDTaken  = &problem.Error{Code: problem.Conflict, Detail: "Another org has this externalId."}
	errOrgSuspended     = &problem.Error{Code: problem.OrgSuspended, Detail: "The org is suspended. What it has can be read and ended, and nothing can be made or widened."}
	errAppNotFound      = &problem.Error{Code: problem.AppNotFound, Detail: "The org has no such app."}
	errAppLimit         = &problem.Error{Code: problem.LimitReached, Detail: "The org has as many apps as one may have."}
	errUserNotFound     = &problem.Error{Code: problem.UserNotFound, Detail: "No account has this verified email. The person must sign in once first."}
	errUnknownUser      = &problem.Error{Code: problem.UnknownUser, Detail: "There is no such user."}
	errUserStopped      = &problem.Error{Code: problem.UserStopped, Detail: "This person is stopped."}
	errBeingErased      = &problem.Error{Code: problem.Conflict, Detail: "This person is being erased. Send the erasure again until it is answered 204."}
	errTokenEnded       = &problem.Error{Code: problem.TokenEnded, Detail: "This person was signed out everywhere. Sign in again."}
	errMemberNotFound   = &problem.Error{Code: problem.MemberNotFound, Detail: "The org has no such member."}
	errMemberExists     = &problem.Error{Code: problem.MemberExists, Detail: "This user is a member of the org already."}
	errMemberLimit      = &problem.Error{Code: problem.LimitReached, Detail: "The org has as many members as one may have."}
	errLastAdmin        = &problem.Error{Code: problem.LastAdmin, Detail: "The org would be left without an admin. Make another member admin first."}
	errKeyNotFound      = &problem.Error{Code: problem.KeyNotFound, Detail: "The org has no such API key."}
	errKeyNotActive     = &problem.Error{Code: problem.KeyNotActive, Detail: "The API key is revoked, expired or rotated already."}
	errKeyRotated       = &problem.Error{Code: problem.KeyNotActive, Detail: "The API key was rotated meanwhile. Its successor may be the one to change."}
	errKeyDead          = &problem.Error{Code: problem.KeyNotActive, Detail: "The API key is revoked or has expired."}
	errKeyBarred        = &problem.Error{Code: problem.KeyNotActive, Detail: "The API key was revoked, and its webhook endpoints were disabled."}
	errKeyImported      = &problem.Error{Code: problem.Conflict, Detail: "A key with this hash was imported before."}
	errKeyLimit         = &problem.Error{Code: problem.LimitReached, Detail: "The org has as many active API keys as one may have. Revoke one first."}
	errLinkNotFound     = &problem.Error{Code: problem.LinkNotFound, Detail: "There is no such link."}
	errLinkRevoked      = &problem.Error{Code: problem.LinkRevoked, Detail: "The link was revoked."}
	errEndpointNotFound = &problem.Error{Code: problem.EndpointNotFound, Detail: "The app has no such webhook endpoint."}
	errEndpointLimit    = &problem.Error{Code: problem.LimitReached, Detail: "The app has as many webhook endpoints as one may have."}
	errEventNotFound    = &problem.Error{Code: problem.EventNotFound, Detail: "The app has no such event."}
	errDeliveryNotFound = &problem.Error{Code: problem.DeliveryNotFound, Detail: "The app has no such delivery."}
	errUnknownKid       = &problem.Error{Code: problem.UnknownKid, Detail: "There is no verification key with this kid."}
)
