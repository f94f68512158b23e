package storetest

import "testing"

func TestARunningDatabaseIsUsed(t *testing.T) {
	const endpoint = "http://127.0.0.1:3002"
	t.Setenv("LATCHKEY_DYNAMODB", endpoint)
	if got, err := find(); err != nil || got != endpoint {
		t.Errorf("%s, %v", got, err)
	}
}
