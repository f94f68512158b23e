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
	{"ACreateThatIsSentAgainAnswersTheSame", retries},
	{"EveryBadInputGetsItsOwn4xx", badInputs},
	{"UnknownMembersAndParametersAreNamed", unknownNames},
	{"ABodyIsPlainUTF8", plainText},
	{"CredentialsOfTheWrongKindAreToldSo", wrongCredentials},
	{"AChallengeTellsAnInvalidTokenFromNone", challenges},
	{"AnUnknownRouteIsTheSame404", unknownRoutes},
	{"TheVerificationKeyIsFoundByItsKid", verificationKey},
	{"PublicReadsAnswerHEADAndServeTheContract", publicReads},
	{"APageOfAStrangerMayCallNothingUnderV1", strangersPages},
	{"ALinkClaimChecksItsBody", linkClaim},
	{"AKeyIsRevokedByItsText", foundKeys},
	{"ListsPage", pages},
	{"ALinkFromItsCreationToItsClaim", aLink},
	{"ASpentKeyMayOnlyEnd", aSpentKey},
	{"AWebhookEndpointFromItsCreationToItsDeletion", anEndpoint},
	{"EventsAndDeliveriesAreListed", feed},
	{"AnotherAppSeesNothingOfAnApp", anotherApp},
	{"PeopleSeeWhatAnAppSendsAndAdminsMendIt", people},
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
