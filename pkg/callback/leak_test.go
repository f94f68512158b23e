package callback_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails the tests when one of them leaves a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
