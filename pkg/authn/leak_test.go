package authn_test

import (
	"testing"

	"latchkey/pkg/servicetest"
)

// TestMain fails the tests when one of them leaves a goroutine.
func TestMain(m *testing.M) { servicetest.Main(m) }
