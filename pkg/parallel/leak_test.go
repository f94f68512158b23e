package parallel_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if a test leaves a goroutine.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
