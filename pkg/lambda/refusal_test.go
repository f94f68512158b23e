package lambda

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"latchkey/pkg/id"
	"latchkey/pkg/limit"
	"latchkey/pkg/principal"
	"latchkey/pkg/problem"
)

// TestARefusalsLineNamesItsSourceAndAProvedKey compares the whole line: a caller can choose only the
// trace id in it.
func TestARefusalsLineNamesItsSourceAndAProvedKey(t *testing.T) {
	var out bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&out, nil)))
	t.Cleanup(func() { slog.SetDefault(was) })
	key := principal.Principal{Kind: principal.Key, KeyID: "key_1", OrgID: id.Source{}.NewOrg()}
	event := strings.Replace(sample, `"requestContext":{`, `"requestContext":{"identity":{"sourceIp":"192.0.2.7"},`, 1)
	event = strings.Replace(event, `"headers":{`, `"headers":{"X-Amzn-Trace-Id":"Root=1-5759e988-bd862e3fe1be46a994272793",`, 1)
	event = strings.Replace(event, `"Other":["x"]`, `"X-Forwarded-For":["198.51.100.1"],"Authorization":["Bearer chosen"]`, 1)
	// By the caller in the log line: the principal that decide returns with the refusal.
	for caller, p := range map[string]principal.Principal{"": {}, "key_1": key} {
		out.Reset()
		if _, err := invoke(t, event, func(context.Context, string, string, []string) (principal.Principal, error) {
			return p, problem.New(problem.KeyRevoked, "This API key was revoked.")
		}); err != nil {
			t.Fatal(err)
		}
		line := map[string]any{}
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		want := map[string]any{
			"level": "INFO", "msg": "refused", "code": "key_revoked", "requestId": "ext-1", "trace": "1-5759e988-bd862e3fe1be46a994272793", "route": "GET /v1/orgs",
			"sourceIp": "192.0.2.7", "caller": caller, "CredentialsRefused": 1.0,
		}
		if metrics := fmt.Sprint(line["_aws"]); !strings.Contains(metrics, "[service code]") {
			t.Errorf("metrics %s", metrics)
		}
		delete(line, "_aws")
		delete(line, "time")
		if !maps.Equal(line, want) {
			t.Errorf("%v, want %v", line, want)
		}
	}
}

// TestErrorsThatAnyoneCanCauseAreCountedSeparately: the line of such an error has a separate metric, which the alarms subtract. A shared
// authorizer has a metric of its own, because its requests do not count as errors of our API.
func TestErrorsThatAnyoneCanCauseAreCountedSeparately(t *testing.T) {
	var out bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&out, nil)))
	t.Cleanup(func() { slog.SetDefault(was) })
	away := errors.New("the issuer is away")
	for cause, counted := range map[error][2]string{ // the metrics of our authorizer and of a shared one
		problem.ErrAtWill: {"UnknownKeys", "SharedUnknownKeys"}, problem.ErrServiceIssuer: {"ServiceIssuerFaults", "SharedUnknownKeys"},
		fmt.Errorf("%w: %w", problem.ErrServiceIssuer, away): {"ServiceIssuerFaults", "SharedUnknownKeys"}, away: {},
	} {
		unavailable := problem.Wrap(problem.Unavailable, "The issuer cannot be reached.", cause)
		out.Reset()
		_, err := invoke(t, sample, func(context.Context, string, string, []string) (principal.Principal, error) {
			return principal.Principal{}, unavailable
		})
		ours := out.String()
		out.Reset()
		_, errShared := invokeShared(restEvent, check(unavailable))
		for i, line := range []string{ours, out.String()} {
			isCounted := counted[i] == "" && !strings.Contains(line, "_aws") || strings.Contains(line, `"`+counted[i]+`":1`)
			if err == nil || errShared == nil || !isCounted || strings.Count(line, "_aws") > 1 || strings.Count(line, "\n") != 1 {
				t.Errorf("%v: %v, %v, %s", cause, err, errShared, line)
			}
		}
	}
}

// lateTable is a table whose rows are later than each lease.
type lateTable struct{ limit.Table }

func (lateTable) Lease(context.Context, limit.Lease) (found limit.Charges, done bool, err error) {
	found[limit.Minute].Start = math.MaxInt64
	return found, false, nil
}

// TestARowThatIsAheadIsLoggedWithItsCode: the line of any other lease that fails has another code, and the runbook other advice.
func TestARowThatIsAheadIsLoggedWithItsCode(t *testing.T) {
	var out bytes.Buffer
	was := slog.Default()
	slog.SetDefault(slog.New(slog.NewJSONHandler(&out, nil)))
	t.Cleanup(func() { slog.SetDefault(was) })
	_, err := invoke(t, sample, func(ctx context.Context, _, _ string, _ []string) (principal.Principal, error) {
		_, err := limit.New(lateTable{}).Take(ctx, limit.Request{Org: "org_1", Key: "key_1", LimitID: "key_1", Limits: "10/m"})
		return principal.Principal{}, err
	})
	if line := out.String(); err == nil || !strings.Contains(line, `"code":"limit_row_ahead"`) || !strings.Contains(line, `"LeasesFailed":1`) {
		t.Errorf("%v, %s", err, line)
	}
}

// TestAcceptedCredentialsAreOneLineAMinute: an accepted credential has no line of its own. After a minute, the next
// accepted one writes one line, which also counts the three before it.
func TestAcceptedCredentialsAreOneLineAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		was := slog.Default()
		slog.SetDefault(slog.New(slog.NewJSONHandler(&out, nil)))
		defer slog.SetDefault(was)
		var err error
		decide := func(context.Context, string, string, []string) (principal.Principal, error) {
			return principal.Principal{}, err
		}
		handler := &authorizerHandler{decide: decide}
		for range 3 {
			if _, err := handler.Invoke(t.Context(), []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
		}
		if out.Len() > 0 {
			t.Errorf("lines: %s", out.String())
		}
		time.Sleep(time.Minute)
		for _, err = range []error{problem.New(problem.KeyRevoked, ""), nil, nil} {
			if _, err := handler.Invoke(t.Context(), []byte(`{}`)); err != nil {
				t.Fatal(err)
			}
		}
		if n := strings.Count(out.String(), `"CredentialsAccepted":4`); n != 1 || strings.Count(out.String(), "counted") != 1 {
			t.Errorf("lines: %s", out.String())
		}
	})
}
