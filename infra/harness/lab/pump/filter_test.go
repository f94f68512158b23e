package pump

import (
	"encoding/json"
	"testing"
)

// pattern accepts inserts of rows with a partition key that begins with EVTS# or is EXACT.
const pattern = `{"eventName":["INSERT"],"dynamodb":{"Keys":{"PK":{"S":[{"prefix":"EVTS#"},"EXACT"]}}}}`

func TestAFilterAcceptsMatchingRecordsOnly(t *testing.T) {
	f, err := parseFilter(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		`{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"EVTS#1"},"SK":{"S":"x"}}},"more":1}`: true,
		`{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"EXACT"}}}}`:                          true,
		`{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"EXACTLY"}}}}`:                        false,
		`{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"S":"ORG#EVTS#"}}}}`:                      false,
		`{"eventName":"MODIFY","dynamodb":{"Keys":{"PK":{"S":"EVTS#1"}}}}`:                         false,
		`{"eventName":"INSERT","dynamodb":{"Keys":{"PK":{"N":"1"}}}}`:                              false,
		`{"eventName":"INSERT","dynamodb":{"Keys":"EVTS#"}}`:                                       false,
		`{"eventName":"INSERT"}`: false,
	} {
		var tree any
		if err := json.Unmarshal([]byte(text), &tree); err != nil {
			t.Fatal(err)
		}
		if fits(f, tree) != want {
			t.Errorf("%s: %t", text, !want)
		}
	}
}

func TestUnknownFormsOfFiltersAreRefused(t *testing.T) {
	for _, pattern := range []string{
		`{"a":[{"exists":true}]}`, `{"a":[{"anything-but":["x"]}]}`, `{"a":[{"numeric":[">",1]}]}`, `{"a":[1]}`, `{"a":[null]}`,
		`{"a":"x"}`, `{"$or":[{"a":["x"]}]}`, `{"a":[{"prefix":"x","suffix":"y"}]}`, `{"a":[{"prefix":1}]}`, `[]x`, ``,
	} {
		if _, err := parseFilter(pattern); err == nil {
			t.Errorf("%s was accepted", pattern)
		}
	}
}
