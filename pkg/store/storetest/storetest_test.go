package storetest

import "testing"

func TestARunningDatabaseIsUsed(t *testing.T) {
	const endpoint = "http://127.0.0.1:3002"
	t.Setenv("LATCHKEY_DYNAMODB", endpoint)
	if got, err := find(); err != nil || got.Endpoint != endpoint || len(got.Table.Create.KeySchema) == 0 {
		t.Errorf("%+v, %v", got, err)
	}
}
