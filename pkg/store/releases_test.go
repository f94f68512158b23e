package store_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"latchkey/pkg/id"
	"latchkey/pkg/store"
	"latchkey/pkg/store/storetest"
)

// releasesFile has the rows of the table that each release wrote, the contexts of its authorizer, and a message of its
// queue. It also has the results of the release's reads of them. A release only adds lines to the file. A line never
// changes, because deployments have such rows.
const releasesFile = "testdata/releases.jsonl"

// releaseLine is a line of the file. The release "0" is the code before the first release.
type releaseLine struct {
	Release string `json:"release"`

	Asked *asked               `json:"asked,omitempty"` // the first line of a release
	Row   map[string]attribute `json:"row,omitempty"`

	Read  string          `json:"read,omitempty"` // the name of a read
	Sent  json.RawMessage `json:"sent,omitempty"` // the text that it reads; absent: it reads rows
	Value json.RawMessage `json:"value,omitempty"`
}

// asked has the ids that the reads of a release use.
type asked struct {
	At  int64             `json:"at"`  // the time of the reads, in milliseconds
	IDs map[string]string `json:"ids"` // by the names that writeAll gives them
}

// attribute is a value in DynamoDB's JSON, of one of the types that rows have.
type attribute struct {
	S    *string              `json:"S,omitempty"`
	N    *string              `json:"N,omitempty"`
	B    []byte               `json:"B,omitempty"`
	BOOL *bool                `json:"BOOL,omitempty"`
	M    map[string]attribute `json:"M,omitzero"` // may be empty
}

// attributesOf returns the attributes of a row or of a map.
func attributesOf(t *testing.T, row dbRow) map[string]attribute {
	t.Helper()
	out := map[string]attribute{}
	for name, v := range row {
		var a attribute
		switch v := v.(type) {
		case *types.AttributeValueMemberS:
			a.S = &v.Value
		case *types.AttributeValueMemberN:
			a.N = &v.Value
		case *types.AttributeValueMemberB:
			a.B = v.Value
		case *types.AttributeValueMemberBOOL:
			a.BOOL = &v.Value
		case *types.AttributeValueMemberM:
			a.M = attributesOf(t, v.Value)
		default:
			t.Fatalf("%s is a %T", name, v)
		}
		out[name] = a
	}
	return out
}

// rowOf is the reverse of attributesOf.
func rowOf(attributes map[string]attribute) dbRow {
	out := dbRow{}
	for name, a := range attributes {
		switch {
		case a.S != nil:
			out[name] = &types.AttributeValueMemberS{Value: *a.S}
		case a.N != nil:
			out[name] = &types.AttributeValueMemberN{Value: *a.N}
		case a.BOOL != nil:
			out[name] = &types.AttributeValueMemberBOOL{Value: *a.BOOL}
		case a.M != nil:
			out[name] = &types.AttributeValueMemberM{Value: rowOf(a.M)}
		default:
			out[name] = &types.AttributeValueMemberB{Value: a.B}
		}
	}
	return out
}

// TestEachReleaseIsReadByThisOne puts the rows of each release into a table, and checks that this code reads from them
// the same values as the release. It does the same with the texts that functions of the release send to each other:
// while a deployment replaces the functions, one after another, functions of two releases run at the same time.
//
// With RELEASE=1.0 the test first adds the lines of this code as lines of the release 1.0.
func TestEachReleaseIsReadByThisOne(t *testing.T) {
	if release := os.Getenv("RELEASE"); release != "" {
		addRelease(t, release)
	}
	lines := releases(t)
	if len(lines) == 0 {
		t.Fatal("the file has no release")
	}
	for release, lines := range lines {
		t.Run(release, func(t *testing.T) { readRelease(t, lines) })
	}
}

// releases returns the lines of the file, by release.
func releases(t *testing.T) map[string][]releaseLine {
	t.Helper()
	file, err := os.Open(releasesFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out, d := map[string][]releaseLine{}, json.NewDecoder(file)
	d.DisallowUnknownFields()
	for {
		var l releaseLine
		switch err := d.Decode(&l); {
		case errors.Is(err, io.EOF):
			return out
		case err != nil:
			t.Fatal(err)
		}
		out[l.Release] = append(out[l.Release], l)
	}
}

func readRelease(t *testing.T, lines []releaseLine) {
	c := &connected{Table: storetest.New(t)}
	for _, l := range lines {
		if l.Row == nil {
			continue
		}
		if _, err := c.DB.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.Name, Item: rowOf(l.Row)}); err != nil {
			t.Fatal(err)
		}
	}
	read := c.readAll(t, *lines[0].Asked)
	for _, l := range lines {
		if l.Read == "" {
			continue
		}
		value, known := read[l.Read]
		if l.Sent != nil {
			value, known = readSent(t, l.Read, l.Sent), true
		}
		switch {
		case !known:
			t.Errorf("readAll has no read %q", l.Read)
		case strings.Contains(string(value), causeMember): // the error names the attribute
			t.Errorf("%s: %s", l.Read, value)
		default:
			for _, difference := range missing(decoded(t, l.Value), decoded(t, value), l.Read) {
				t.Error(difference)
			}
		}
	}
}

// decoded returns a JSON text as a value, with numbers as they are written.
func decoded(t *testing.T, text json.RawMessage) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// missing returns a line for each part of want that got lacks. An object may have members that the release did not know.
func missing(want, got any, path string) (differences []string) {
	switch want := want.(type) {
	case map[string]any:
		if object, ok := got.(map[string]any); ok {
			for _, name := range slices.Sorted(maps.Keys(want)) {
				differences = append(differences, missing(want[name], object[name], path+", "+name)...)
			}
			return differences
		}
	case []any:
		if list, ok := got.([]any); ok && len(list) == len(want) {
			for i := range want {
				differences = append(differences, missing(want[i], list[i], fmt.Sprintf("%s, %d", path, i))...)
			}
			return differences
		}
	}
	if !reflect.DeepEqual(want, got) {
		differences = []string{fmt.Sprintf("%s: %v, and the release read %v", path, got, want)}
	}
	return differences
}

// addRelease adds the rows that this code writes, and the results of its reads, to the file. The file must not have the
// release yet.
func addRelease(t *testing.T, release string) {
	t.Helper()
	if releases(t)[release] != nil {
		t.Fatalf("%s has the release %s, and its lines never change", releasesFile, release)
	}
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	add := func(l releaseLine) {
		t.Helper()
		l.Release = release
		if err := e.Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	c, of := writtenTable(t)
	add(releaseLine{Asked: &of})
	rows := c.Rows(t)
	slices.SortFunc(rows, func(a, b dbRow) int {
		return strings.Compare(text(a, "PK")+" "+text(a, "SK"), text(b, "PK")+" "+text(b, "SK"))
	})
	for _, r := range rows {
		add(releaseLine{Row: attributesOf(t, r)})
	}
	read := c.readAll(t, of)
	for _, name := range slices.Sorted(maps.Keys(read)) {
		if strings.Contains(string(read[name]), causeMember) {
			t.Fatalf("%s: %s", name, read[name])
		}
		add(releaseLine{Read: name, Value: read[name]})
	}
	sent := sentBy(t, of)
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		add(releaseLine{Read: name, Sent: sent[name], Value: readSent(t, name, sent[name])})
	}
	file, err := os.OpenFile(releasesFile, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(out.String()); errors.Join(err, file.Close()) != nil {
		t.Fatal(err)
	}
}

// TestAReleaseWritesEachKindOfRow checks that a release adds a row of each access pattern to the file.
func TestAReleaseWritesEachKindOfRow(t *testing.T) {
	c, _ := writtenTable(t)
	rows := c.Rows(t)
	for _, p := range store.AccessPatterns() {
		isOf := func(r dbRow) bool { return matches(p.PK, text(r, "PK")) && matches(p.SK, text(r, "SK")) }
		if index, _, _ := strings.Cut(p.PK, "<"); strings.HasPrefix(p.PK, "DUE#") {
			isOf = func(r dbRow) bool { return strings.HasPrefix(text(r, "due"), index) }
		}
		if !slices.ContainsFunc(rows, isOf) {
			t.Errorf("no row is %s", p.Item)
		}
	}
}

// writtenTable returns a table with the rows of writeAll. Their times are in the far future, so that no database deletes
// them while they are read.
func writtenTable(t *testing.T) (*connected, asked) {
	t.Helper()
	c := &connected{Table: storetest.New(t), now: time.UnixMilli(4_000_000_000_000)} // in 2096
	c.Now = func() time.Time { return c.now }
	c.ada = c.NewUser(t, "ada@example.com")
	c.org = c.NewOrg(t, c.ada)
	c.app = id.DefaultApp(c.org)
	ids := c.writeAll(t)
	c.everyLeaver(t)
	return c, asked{At: c.Now().UnixMilli(), IDs: ids}
}
