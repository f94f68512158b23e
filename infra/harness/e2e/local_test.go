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

// patient are parameters for the tests of both ways to run the stack. A call of the database may take 4 s, for a busy machine:
// a test that measures how soon a function gives up a hanging database must not use them.
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
		for _, denied := range s.Access().Denied() {
			t.Errorf("missing in the template's roles: %s", denied)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		select {
		case err := <-s.Failed():
			t.Errorf("the stack failed: %v", err)
		default:
		}
	})
	return s, newTarget("local", s.URL, localTokens(s))
}

// TestLocal runs the suite, the documents' walks through and the tests that only a local stack
// permits, on the stack of `make run`.
func TestLocal(t *testing.T) {
	t.Parallel()
	bus, parameters := &onBus{}, maps.Clone(patient)
	parameters["EventBusName"] = ownersBus
	s, tg := startLocal(t, stack.Options{
		Dir: memoryDir(t), Parameters: parameters, Buses: map[string]func(string){ownersBus: bus.take}, Network: bus.network,
	})
	t.Run("ItCostsWhatTheDocumentationSays", func(t *testing.T) { costs(t, s, tg) })
	t.Run("ImportedKeysAreTakenWithTheirParameterOnly", func(t *testing.T) { takenWithParameter(t, s, tg) })
	suite(t, tg)
	base, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("TheREADMEsWalkThroughDoesWhatItShows", func(t *testing.T) { readme(t, tg, base.Port()) })
	t.Run("Smoke", func(t *testing.T) { besideTheSuite(t, tg, localPlatform{port: base.Port()}) })
	t.Run("APageOfTheConsoleReadsEachAnswerUnderV1", func(t *testing.T) { consolePages(t, tg) })
	t.Run("FromYourServerDoesWhatItShows", func(t *testing.T) { fromYourServer(t, s, tg, base.Port()) })
	t.Run("TheDocumentedPublishersPublishOneEvent", func(t *testing.T) { publishers(t, s, tg) })
	t.Run("AServiceActsForTheOwner", func(t *testing.T) { aService(t, s, tg) })
	t.Run("WhatAPersonMadeEndsAfterThem", func(t *testing.T) { aFormerMember(t, tg) })
	t.Run("AServiceStopsAPerson", func(t *testing.T) { aStop(t, s, tg) })
	t.Run("AServiceSuspendsAnOrg", func(t *testing.T) { aSuspension(t, s, tg) })
	t.Run("AServiceWithRightsMayNothingElse", func(t *testing.T) { aServiceWithRights(t, s, tg) })
	t.Run("AServicePutsTheCatalogue", func(t *testing.T) { aCatalogue(t, s, tg) })
	t.Run("TokensOfOtherKinds", func(t *testing.T) { tokenKinds(t, tg) })
	t.Run("OwnProgramsGetTokensOfTheLocalIssuer", func(t *testing.T) { ownPrograms(t, s, tg) })
	t.Run("FourCopiesRefuseAKeyAtOnce", func(t *testing.T) { copiesRefuse(t, s, tg) })
	t.Run("FourCopiesRefuseTheKeysOfADeletedOrg", func(t *testing.T) { copiesRefuseAnOrg(t, s, tg) })
	t.Run("APlantedCacheIsFound", func(t *testing.T) { plantedCache(t, s, tg) })
	t.Run("AnAddressMovesToWhoProvedItLast", func(t *testing.T) { addresses(t, s, tg) })
	t.Run("ExpiredKeysMakeRoomForNewOnes", func(t *testing.T) { expiredMakeRoom(t, s, tg) })
	t.Run("TheSweepTakesUpWhatIsDue", func(t *testing.T) { whatIsDue(t, s, tg) })
	t.Run("Webhooks", func(t *testing.T) { webhooks(t, s, tg) })
	t.Run("ImportedKeysLiveAndDieAsOthersDo", func(t *testing.T) { importedKeys(t, s, tg) })
	t.Run("AKeyThatGitHubFindsEndsAtOnce", func(t *testing.T) { leakedKeys(t, s, tg) })
	t.Run("MovingInDoesWhatItShows", func(t *testing.T) { movingIn(t, tg, base.Port()) })
	t.Run("ABusThatIsAwayHoldsUpNoWebhookAndMissesNothing", func(t *testing.T) { bus.busAway(t, s, tg) })
	t.Run("TheBusHasEveryEventAndAuditEntry", func(t *testing.T) { bus.hasAll(t, s) })
	t.Run("SecretsAreNowhere", func(t *testing.T) { secretsAreNowhere(t, s, tg, bus) })
	t.Run("TheRolesAllowNothingSpare", func(t *testing.T) {
		for _, spare := range s.Access().Spare() {
			if role := strings.Fields(spare)[0]; slices.Contains(doorRoles, role) {
				continue // TestFrontDoor checks these
			}
			t.Errorf("spare in the template's roles: %s", spare)
		}
	})
	// A deployment forgets which rights calls have needed.
	t.Run("OnlyServicesMakeOrgsWithTheirParameter", func(t *testing.T) { onlyServicesMakeOrgs(t, s, tg) })
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

// TestDeployed runs the suite on BASE_URL with tokens from TOKEN_CMD, which finds EMAIL and NAME in
// its environment. Without BASE_URL it is skipped; TestLocal runs the same cases.
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
		t.Fatal("no case has this name; the file suite_test.go lists them")
	}
}

// commandTokens gets tokens from a command. Its environment has EMAIL and NAME, and KIND for other
// kinds of tokens.
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
