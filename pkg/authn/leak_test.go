package authn_test

import (
	"testing"

	"latchkey/pkg/servicetest"
)

// TestMain fails if a test leaves a goroutine.
func TestMain(m *testing.M) { servicetest.Main(m) }
