package e2e_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"latchkey/infra/harness/local/sam"
	"latchkey/infra/harness/local/stack"
)

// patient are parameters for a busy machine: a call of the database may take 4 s. A test must not use them if it measures how soon a
// function gives up a hanging database.
var patient = map[string]string{"TryTimeout": "4000", "ConsoleOrigins": "http://127.0.0.1:5173, " + consoleOrigin}

// startLocal starts the stack of `make run` on free ports.
func startLocal(t *testing.T, o stack.Options) (*stack.Stack, *target) {
	t.Helper()
	o.Progress = func(line string) { t.Log(line) }
	s, err := stack.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, denied := range s.Access.Denied() {
			t.Errorf("the template's roles do not allow: %s", denied)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		select {
		case err := <-s.Failed:
			t.Errorf("the stack failed: %v", err)
		default:
		}
	})
	return s, newTarget("local", s.URL, localTokens(s))
}

// TestLocal runs on the stack of `make run`: the suite, the examples of the documents, and the tests that need
// a local stack.
func TestLocal(t *testing.T) {
	t.Parallel()
	bus, parameters := &onBus{}, maps.Clone(patient)
	parameters["EventBusName"] = ownersBus
	s, tg := startLocal(t, stack.Options{
		Dir: memoryDir(t), Parameters: parameters, Buses: map[string]func(string){ownersBus: bus.add}, Network: bus.network,
	})
	t.Run("TheDocumentedCostsAreTheMeasuredOnes", func(t *testing.T) { costs(t, s, tg) })
	t.Run("ImportedKeysNeedTheirParameter", func(t *testing.T) { importedKeyNeedsParameter(t, s, tg) })
	suite(t, tg)
	base, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("TheWalkThroughOfTheREADMEWorks", func(t *testing.T) { readme(t, tg, base.Port()) })
	t.Run("Smoke", func(t *testing.T) { smokeChecks(t, tg, localPlatform{port: base.Port()}) })
	t.Run("ConsolePagesCanReadAnswersOfV1", func(t *testing.T) { consolePages(t, tg) })
	t.Run("TheExamplesForServicesWork", func(t *testing.T) { servicesPage(t, s, tg, base.Port()) })
	t.Run("TheDocumentedPublishersPublishOneEvent", func(t *testing.T) { publishers(t, s, tg) })
	t.Run("AServiceActsForTheOwner", func(t *testing.T) { aService(t, s, tg) })
	t.Run("KeysOfAFormerMemberCanBeRevoked", func(t *testing.T) { aFormerMember(t, tg) })
	t.Run("AServiceStopsAPerson", func(t *testing.T) { aStop(t, s, tg) })
	t.Run("AServiceSuspendsAnOrg", func(t *testing.T) { aSuspension(t, s, tg) })
	t.Run("AServiceCanDoOnlyWhatItsRightsAllow", func(t *testing.T) { aServiceWithRights(t, s, tg) })
	t.Run("AServiceSetsTheCatalogue", func(t *testing.T) { aCatalogue(t, s, tg) })
	t.Run("UnusualTokensGetTheRightAnswers", func(t *testing.T) { tokenKinds(t, tg) })
	t.Run("OrdinaryOAuthClientsGetLocalTokens", func(t *testing.T) { ownPrograms(t, s, tg) })
	t.Run("FourCopiesRefuseAKeyAtOnce", func(t *testing.T) { copiesRefuse(t, s, tg) })
	t.Run("FourCopiesRefuseTheKeysOfADeletedOrg", func(t *testing.T) { copiesRefuseAnOrg(t, s, tg) })
	t.Run("APlantedCacheIsFound", func(t *testing.T) { plantedCache(t, s, tg) })
	t.Run("AnEmailMovesToTheUserWhoVerifiedItLast", func(t *testing.T) { emails(t, s, tg) })
	t.Run("ExpiredKeysMakeRoomForNewOnes", func(t *testing.T) { expiredMakeRoom(t, s, tg) })
	t.Run("TheSweepFindsLostWork", func(t *testing.T) { lostWork(t, s, tg) })
	t.Run("Webhooks", func(t *testing.T) { webhooks(t, s, tg) })
	t.Run("ImportedKeysWorkAndEndLikeOthers", func(t *testing.T) { importedKeys(t, s, tg) })
	t.Run("AKeyFoundByGitHubIsRevokedAtOnce", func(t *testing.T) { leakedKeys(t, s, tg) })
	t.Run("TheExamplesForMovingWork", func(t *testing.T) { movingPage(t, tg, base.Port()) })
	t.Run("ABusOutageDelaysNoWebhookAndLosesNoEvent", func(t *testing.T) { bus.outage(t, s, tg) })
	t.Run("TheBusHasEveryEventAndAuditEntry", func(t *testing.T) { bus.hasAll(t, s) })
	t.Run("SecretsAreNowhere", func(t *testing.T) { secretsAreNowhere(t, s, tg, bus) })
	t.Run("TheRolesAllowNothingSpare", func(t *testing.T) {
		for _, spare := range s.Access.Spare() {
			if role := strings.Fields(spare)[0]; slices.Contains(doorRoles, role) {
				continue // TestFrontDoor checks these
			}
			t.Errorf("not needed in the template's roles: %s", spare)
		}
	})
	// This test is last, because it deploys: a deployment forgets the rights that calls have needed.
	t.Run("OnlyServicesMakeOrgsIfTheParameterIsSet", func(t *testing.T) { onlyServicesMakeOrgs(t, s, tg) })
}

// TestSAM runs the suite on `sam local start-api`. It needs a Docker engine.
func TestSAM(t *testing.T) {
	t.Parallel()
	s, err := sam.Start(t.Context(), 0, func(line string) { t.Log(line) })
	if errors.Is(err, sam.ErrNoEngine) && os.Getenv("CI") == "" {
		fmt.Fprintln(os.Stderr, "SKIPPED: the suite on sam local: no Docker engine answers. CI never skips it.")
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	suite(t, newTarget("sam", s.URL, localTokens(s.Stack)))
}

// localTokens gets tokens from a local stack's issuer.
func localTokens(s *stack.Stack) func(ctx context.Context, kind, email, name string) (string, error) {
	return func(ctx context.Context, kind, email, name string) (string, error) {
		return s.Token(ctx, stack.Kind(cmp.Or(kind, string(stack.User))), "", email, name)
	}
}

// TestDeployed runs the suite on BASE_URL. TOKEN_CMD is a command that prints a token for the variables EMAIL and
// NAME. Without BASE_URL the test is skipped; TestLocal runs the same cases.
func TestDeployed(t *testing.T) {
	base, command := os.Getenv("BASE_URL"), os.Getenv("TOKEN_CMD")
	if base == "" {
		t.Skip("BASE_URL is not set: the suite runs on a deployed API by `make e2e BASE_URL=… TOKEN_CMD=…`")
	}
	if command == "" {
		t.Fatal("TOKEN_CMD is not set: a command that prints an access token for $EMAIL and $NAME")
	}
	tg := newTarget("deployed", base, commandTokens(command))
	if _, err := tg.try(t.Context(), call{method: "GET", path: "/.well-known/jwks.json"}); err != nil {
		t.Fatalf("nothing answers at BASE_URL: %v", err)
	}
	if suite(t, tg) == 0 {
		t.Fatal("no case has this name: suite_test.go lists the cases")
	}
}

// commandTokens gets tokens from a command. The command's environment has EMAIL and NAME, and KIND for
// a token that is not a user's.
func commandTokens(command string) func(ctx context.Context, kind, email, name string) (string, error) {
	return func(ctx context.Context, kind, email, name string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, "sh", "-c", command)
		c.Dir, c.Env = "../../..", append(os.Environ(), "EMAIL="+email, "NAME="+name)
		if kind != "" {
			c.Env = append(c.Env, "KIND="+kind)
		}
		out, err := c.Output()
		return trimmed(out), err
	}
}
