package p256_test

import (
	"crypto/elliptic"
	"slices"
	"testing"

	"latchkey/pkg/p256"
)

// TestOnlyAPointOfTheCurveIsAKey tries the base point of the curve (FIPS 186-4, D.1.2.3) and coordinates near it.
func TestOnlyAPointOfTheCurveIsAKey(t *testing.T) {
	base := elliptic.P256().Params()
	x, y := base.Gx.FillBytes(make([]byte, 32)), base.Gy.FillBytes(make([]byte, 32))
	key, err := p256.PublicKey(x, y)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.Bytes()
	if err != nil || !slices.Equal(point, slices.Concat([]byte{4}, x, y)) {
		t.Errorf("%x, %v", point, err)
	}
	other := slices.Clone(y)
	other[31]++
	for name, c := range map[string][2][]byte{
		"a short x": {x[1:], y}, "a short y": {x, y[1:]}, "a long x": {append([]byte{0}, x...), y}, "one byte moved": {append(slices.Clone(x), y[0]), y[1:]},
		"nothing": {nil, nil}, "off the curve": {x, other}, "zeros": {make([]byte, 32), make([]byte, 32)},
	} {
		if key, err := p256.PublicKey(c[0], c[1]); err == nil {
			t.Errorf("%s: %v", name, key)
		}
	}
}
