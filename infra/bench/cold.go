package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// cold measures the instructions until the first answer, with a service behind TLS whose chain has
// three certificates, as AWS's have. The function trusts as many authorities as it embeds.
func cold(ctx context.Context, b *bench) (value, base int64, err error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	chain, ca, err := newChain()
	if err != nil {
		return 0, 0, err
	}
	server := httptest.NewUnstartedServer(b.services.Config.Handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{chain}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	embedded, err := os.ReadFile("pkg/boot/amazon-roots.pem")
	one, all := filepath.Join(dir, "one.pem"), filepath.Join(dir, "all.pem")
	if err := errors.Join(err, os.WriteFile(one, ca, 0o600), os.WriteFile(all, append(embedded, ca...), 0o600)); err != nil {
		return 0, 0, err
	}
	address := strings.TrimPrefix(server.URL, "https://")
	value, err = b.least(ctx, startRuns, program{
		path: b.programs + "/authorizer", events: [][]byte{authorizerEvent("POST", "/app/get", b.key)}, good: allowed,
		env: append(b.env(), "AWS_ENDPOINT_URL_DYNAMODB=https://"+address, "GOGC="+b.gogc, "SSL_CERT_FILE="+all, "SSL_CERT_DIR="+dir+"/none"),
	})
	if err != nil {
		return 0, 0, err
	}
	base, err = b.least(ctx, startRuns, program{
		path: b.baseline + "/handshake", events: [][]byte{[]byte(`{}`)}, good: func(answer []byte) bool { return bytes.Contains(answer, []byte("hello")) },
		env: []string{"CA=" + one, "ADDRESS=" + address},
	})
	return value, base, err
}

// newChain returns a server's certificate with two authorities above it, and a third that signs these,
// as PEM.
func newChain() (chain tls.Certificate, root []byte, err error) {
	var parent *x509.Certificate
	var signer crypto.Signer
	for i, name := range []string{"root", "first", "second", "127.0.0.1"} {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return chain, nil, err
		}
		leaf := i == 3
		c := &x509.Certificate{
			SerialNumber: big.NewInt(int64(i + 1)), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IsCA: !leaf, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		}
		if leaf {
			c.IPAddresses, c.ExtKeyUsage = []net.IP{net.IPv4(127, 0, 0, 1)}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}
		if parent == nil {
			parent, signer = c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
		if err != nil {
			return chain, nil, err
		}
		if i == 0 {
			root = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
		} else {
			chain.Certificate = append([][]byte{der}, chain.Certificate...)
		}
		parent, signer, chain.PrivateKey = c, key, key
	}
	return chain, root, nil
}
