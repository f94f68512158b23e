package boot

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

func TestMain(m *testing.M) {
	if os.Getenv("STARTED_BY_A_TEST") != "" { // TestAFunctionWithoutARequiredVariableServesNothing
		Run(func(r *Reader) func() {
			r.Required("NEEDED")
			return func() { fmt.Println("serving") }
		})
		return
	}
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// reader returns a Reader of an environment that has only these variables.
func reader(vars map[string]string) *Reader {
	return From(func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
}

func TestEveryMissingOrMalformedVariableIsNamedAtOnce(t *testing.T) {
	r := reader(map[string]string{"EMPTY": "", "FLAG": "perhaps", "NUMBER": "x", "LOW": "-1", "CHOICE": "someone", "FINE": "a", "OTHER": "services"})
	r.Required("MISSING")
	r.Required("EMPTY")
	r.Bool("FLAG", true)
	r.Int("NUMBER", 1, 0)
	r.Int("LOW", 1, 0)
	r.Choice("CHOICE", "anyone", "services")
	if unset, set := r.Choice("UNSET", "anyone", "services"), r.Choice("OTHER", "anyone", "services"); unset != "anyone" || set != "services" {
		t.Errorf("%s, %s", unset, set)
	}
	r.Required("FINE")
	r.Reject("KEY_PREFIX", "is not a prefix")
	err := r.Err()
	for _, name := range []string{"MISSING", "EMPTY", "FLAG", "NUMBER", "LOW", "CHOICE", "KEY_PREFIX"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s is not named in %v", name, err)
		}
	}
	if strings.Contains(err.Error(), "FINE") {
		t.Errorf("FINE is named in %v", err)
	}
}

func TestDefaultsReplaceMissingVariables(t *testing.T) {
	r := reader(map[string]string{"LIST": " a, b ,,c", "AGE": "900"})
	got := fmt.Sprintln(
		r.List("LIST"), r.List("UNSET"), r.Optional("UNSET", "d"), r.Bool("UNSET", true), r.Int("UNSET", 7, 0),
		r.Seconds("AGE"), r.Seconds("UNSET"),
	)
	if got != "[a b c] [] d true 7 15m0s 0s\n" {
		t.Errorf("got %s", got)
	}
	if err := r.Err(); err != nil {
		t.Error(err)
	}
}

func TestPairsNeedAValueForEachName(t *testing.T) {
	vars := map[string]string{"NAMES": "team,env", "VALUES": "payments,prod", "FEW": "payments"}
	r := reader(vars)
	if got := fmt.Sprint(r.Pairs("NAMES", "VALUES"), r.Pairs("UNSET", "UNSET_TOO"), r.Err()); got != "[[team payments] [env prod]] [] <nil>" {
		t.Errorf("got %s", got)
	}
	r.Pairs("NAMES", "FEW")
	if err := r.Err(); err == nil || !strings.Contains(err.Error(), "FEW has 1 values, want one for each of the 2 in NAMES") {
		t.Errorf("got %v", err)
	}
}

func TestTheEndpointOfTheEnvironmentIsUsed(t *testing.T) {
	vars := map[string]string{"AWS_REGION": "eu-north-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
	for _, endpoint := range []string{"", "http://127.0.0.1:1"} {
		vars["AWS_ENDPOINT_URL"] = endpoint
		r := reader(vars)
		o := r.DynamoDB(r.AWS()).Options()
		if (o.BaseEndpoint != nil) != (endpoint != "") || o.Region != "eu-north-1" || r.Err() != nil {
			t.Errorf("%q: %v, %s, %v", endpoint, o.BaseEndpoint, o.Region, r.Err())
		}
	}
}

func TestTheConnectionIsOpenBeforeTheFirstCall(t *testing.T) {
	opened := make(chan struct{}, 10)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened <- struct{}{}
		}
	}
	s.Start()
	defer s.Close()
	r := reader(map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": s.URL,
	})
	db := r.DynamoDB(r.AWS())
	if len(opened) != 1 {
		t.Fatalf("%d connections after the start", len(opened))
	}
	if _, err := db.ListTables(context.Background(), &dynamodb.ListTablesInput{}); err != nil || len(opened) != 1 {
		t.Errorf("%d connections after the first call, %v", len(opened), err)
	}
}

// recorder is an HTTP client that records the addresses of its calls, and whether the answers are read and closed.
type recorder struct{ addresses, answers []string }

func (s *recorder) Do(r *http.Request) (*http.Response, error) {
	s.addresses = append(s.addresses, r.URL.String())
	return &http.Response{StatusCode: http.StatusOK, Body: s}, nil
}

func (s *recorder) Read([]byte) (int, error) { s.answers = append(s.answers, "read"); return 0, io.EOF }
func (s *recorder) Close() error             { s.answers = append(s.answers, "closed"); return nil }

// TestTheFirstConnectionIsToTheTable in the function's region. A function that cannot start opens no connection.
func TestTheFirstConnectionIsToTheTable(t *testing.T) {
	for _, c := range []struct{ region, key, endpoint, address string }{
		{"eu-north-1", "a", "", "https://dynamodb.eu-north-1.amazonaws.com"},
		{"us-east-1", "a", "", "https://dynamodb.us-east-1.amazonaws.com"},
		{"eu-north-1", "a", "http://127.0.0.1:1", "http://127.0.0.1:1"},
		{"", "a", "http://127.0.0.1:1", ""},
		{"eu-north-1", "", "", ""},
	} {
		r := reader(map[string]string{
			"AWS_REGION": c.region, "AWS_ACCESS_KEY_ID": c.key, "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL": c.endpoint,
		})
		config, client := r.AWS(), &recorder{}
		config.HTTPClient = client
		r.DynamoDB(config)
		answers := map[bool]string{true: "read closed"}[c.address != ""]
		if got := strings.Join(client.addresses, " "); got != c.address || strings.Join(client.answers, " ") != answers {
			t.Errorf("%+v: %q, its answer is %v", c, got, client.answers)
		}
	}
}

func TestACallToAHangingDatabaseEndsWithin3s(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	const pausesAndOverhead = 900 * time.Millisecond // added to three tries of 700 ms, this is 3 s
	for timeout, try := range map[string]time.Duration{"": 700 * time.Millisecond, "150": 150 * time.Millisecond} {
		r := reader(map[string]string{
			"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
			"AWS_ENDPOINT_URL": "http://" + silent.Addr().String(), "AWS_TRY_TIMEOUT_MS": timeout,
		})
		db := r.DynamoDB(r.AWS())
		begun := time.Now()
		_, err = db.ListTables(context.Background(), &dynamodb.ListTablesInput{})
		if took := time.Since(begun); err == nil || took > 3*try+pausesAndOverhead || took < 3*try {
			t.Errorf("AWS_TRY_TIMEOUT_MS %q: %v after %s", timeout, err, took)
		}
	}
}

func TestALogLineHasLambdasFieldNamesAndUTC(t *testing.T) {
	was := time.Local
	defer func() { time.Local = was }()
	time.Local = time.FixedZone("east", 7200)
	t.Setenv("STACK", "s")
	var out bytes.Buffer
	loggerTo(&out).Warn("slow", "code", "x")
	var line struct{ Timestamp, Level, Message, Service, Code string }
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339Nano, line.Timestamp)
	if err != nil || time.Since(at).Abs() > time.Minute || !strings.HasSuffix(line.Timestamp, "Z") {
		t.Errorf("timestamp %s, %v", line.Timestamp, err)
	}
	line.Timestamp = "" // checked above
	if line != (struct{ Timestamp, Level, Message, Service, Code string }{"", "WARN", "slow", "s", "x"}) {
		t.Errorf("%s", &out)
	}
}

func TestTheFiveRootsOfAmazonAreEmbedded(t *testing.T) {
	var names []string
	for rest := []byte(amazonRoots); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, c.Subject.CommonName)
	}
	want := "Amazon Root CA 1|Amazon Root CA 2|Amazon Root CA 3|Amazon Root CA 4|Starfield Services Root Certificate Authority - G2"
	if got := strings.Join(names, "|"); got != want {
		t.Errorf("roots %s", got)
	}
}

func TestAnUnknownAuthorityIsTriedWithTheSystemsRoots(t *testing.T) {
	var pools []string
	r := &roots{handshake: func(_ context.Context, _, _ string, pool *x509.CertPool) (net.Conn, error) {
		if pool == nil {
			pools = append(pools, "system")
			return nil, nil //nolint:nilnil // no connection is needed here
		}
		pools = append(pools, "amazon")
		return nil, fmt.Errorf("tls: %w", x509.UnknownAuthorityError{})
	}}
	for range 2 { // the second dial uses only the system's roots
		if _, err := r.dial(context.Background(), "tcp", "dynamodb.us-east-1.amazonaws.com:443"); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(pools, " "); got != "amazon system system" {
		t.Errorf("pools %s", got)
	}
}

func TestOtherHostsAndFaultsUseOnePool(t *testing.T) {
	fault := errors.New("refused")
	var pools []string
	r := &roots{handshake: func(_ context.Context, _, _ string, pool *x509.CertPool) (net.Conn, error) {
		pools = append(pools, map[bool]string{true: "system", false: "amazon"}[pool == nil])
		return nil, fault
	}}
	for _, addr := range []string{
		"dynamodb.us-east-1.amazonaws.com:443", // the fault is not an unknown authority
		"example.com:443", "amazonaws.com.evil.test:443",
	} {
		if _, err := r.dial(context.Background(), "tcp", addr); !errors.Is(err, fault) {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if got := strings.Join(pools, " "); got != "amazon system system" {
		t.Errorf("pools %s", got)
	}
}

// TestAFunctionWithoutARequiredVariableServesNothing starts this test program as a function.
func TestAFunctionWithoutARequiredVariableServesNothing(t *testing.T) {
	for needed, want := range map[string]struct{ serves, ends string }{"": {"", "exit status 1"}, "here": {"serving\n", "<nil>"}} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{"STARTED_BY_A_TEST=yes", "NEEDED=" + needed}
		out, err := cmd.Output()
		serves := strings.HasSuffix(string(out), "serving\n")
		if fmt.Sprint(err) != want.ends || serves != (want.serves != "") || !serves && !strings.Contains(string(out), "NEEDED") {
			t.Errorf("NEEDED=%q: %q, %v", needed, out, err)
		}
	}
}

// TestARequestToAHangingIssuerEnds: the server accepts connections and never answers.
func TestARequestToAHangingIssuerEnds(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	began := time.Now()
	var late net.Error
	res, err := NewIssuerClient().Get("http://" + silent.Addr().String())
	if took := time.Since(began); !errors.As(err, &late) || !late.Timeout() || took < 2*time.Second {
		t.Errorf("%v, %v after %s", res, err, took)
	}
	if res != nil {
		_ = res.Body.Close()
	}
}

// TestPausesBetweenTriesAreShort: with the SDK's defaults, the longest pause after many failures is 20 s.
func TestPausesBetweenTriesAreShort(t *testing.T) {
	longest := time.Duration(0)
	for attempt := range 30 {
		pause, err := Retryer().RetryDelay(attempt, errors.New("failed"))
		if err != nil {
			t.Fatal(err)
		}
		longest = max(longest, pause)
	}
	if longest <= 0 || longest > 100*time.Millisecond {
		t.Errorf("the longest pause is %s", longest)
	}
}
