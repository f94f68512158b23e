package e2e_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// refusesOldTLS returns an error when an address accepts TLS 1.1 or a cipher without forward
// secrecy, or refuses TLS 1.2.
func refusesOldTLS(ctx context.Context, address string, roots *x509.CertPool) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	dial := func(c *tls.Config) error {
		c.RootCAs = roots
		connection, err := (&tls.Dialer{Config: c}).DialContext(ctx, "tcp", address)
		if err == nil {
			err = connection.Close()
		}
		return err
	}
	if err := dial(&tls.Config{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12}); err != nil {
		return fmt.Errorf("TLS 1.2 is refused: %w", err)
	}
	var wrong []error
	for what, c := range map[string]*tls.Config{
		"TLS 1.1":                          {MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11},
		"a cipher without forward secrecy": {MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384}},
	} {
		if dial(c) == nil {
			wrong = append(wrong, errors.New(what+" is taken"))
		}
	}
	return errors.Join(wrong...)
}

// TestSmokeSeesOldTLS tries the smoke test's check on local servers.
func TestSmokeSeesOldTLS(t *testing.T) {
	for name, c := range map[string]struct {
		config *tls.Config
		word   string // in the error; "": no error
	}{
		"modern":  {&tls.Config{MinVersion: tls.VersionTLS12}, ""},
		"old":     {&tls.Config{MinVersion: tls.VersionTLS10}, "TLS 1.1 is taken"},
		"newest":  {&tls.Config{MinVersion: tls.VersionTLS13}, "TLS 1.2 is refused"},
		"ciphers": {&tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}}, "forward secrecy is taken"},
	} {
		s := httptest.NewUnstartedServer(nil)
		s.TLS = c.config
		s.StartTLS()
		roots := x509.NewCertPool()
		roots.AddCert(s.Certificate())
		err := refusesOldTLS(t.Context(), s.Listener.Addr().String(), roots)
		s.Close()
		if (err == nil) != (c.word == "") || err != nil && !strings.Contains(err.Error(), c.word) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
