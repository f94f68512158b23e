package e2e_test

import (
	"testing"
)

// cases are the cases of the suite, in the order in which they run on every target.
var cases = []struct {
	name string
	run  func(t *testing.T, tg *target)
}{
	{"AnOrgFromItsCreationToItsAuditLog", anOrg},
	{"AnInviteFindsAPersonOnlyAfterTheySignedIn", anInvite},
	{"RolesGovernTheRoutes", roles},
	{"AKeyWorksUntilTheMomentItIsRevoked", aKey},
	{"AnAppOwnsItsKeys", apps},
	{"ADeletedOrgIsGoneForItsKeysAndMembers", aDeletedOrg},
	{"AKeyExpiresAndRotates", expiryAndRotation},
	{"ARevokedKeyIsRefusedAtOnceByEveryCopy", revokedAtOnce},
	{"ARepeatedCreateGetsTheSameAnswer", retries},
	{"EveryBadInputGetsItsOwn4xx", badInputs},
	{"UnknownMembersAndParametersAreNamed", unknownNames},
	{"BodiesMustBePlainUTF8", plainText},
	{"RefusalsNameTheWrongKindOfCredential", wrongCredentials},
	{"ChallengesOfInvalidAndMissingTokensDiffer", challenges},
	{"UnknownRoutesGetTheSame404", unknownRoutes},
	{"TheVerificationKeyIsFoundByItsKid", verificationKey},
	{"PublicReadsAnswerHEADAndServeTheContract", publicReads},
	{"PagesOfOtherOriginsCannotCallV1", foreignPages},
	{"ALinkClaimChecksItsBody", linkClaim},
	{"AKeyIsRevokedByItsText", revokedByText},
	{"ListsHavePages", pages},
	{"ALinkFromItsCreationToItsClaim", aLink},
	{"AKeyOverItsLimitsMayOnlyRevokeAndDelete", keyOverItsLimits},
	{"AWebhookEndpointFromItsCreationToItsDeletion", anEndpoint},
	{"EventsAndDeliveriesAreListed", feed},
	{"AnotherAppSeesNothingOfAnApp", anotherApp},
	{"MembersSeeDeliveriesAndAdminsRedeliverThem", people},
}

// suite runs every case on a target.
func suite(t *testing.T, tg *target) (ran int) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { ran++; c.run(t, tg) })
	}
	tg.everyDifferenceOccurred(t)
	return ran
}
