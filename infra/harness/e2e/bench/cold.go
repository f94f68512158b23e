package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
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

// cold measures the instructions until the first answer. The function calls a service over TLS that sends three
// certificates, as AWS does. It trusts the authorities that it embeds on AWS, which it reads from a file here, and the
// root of the service's certificates.
func cold(ctx context.Context, b *bench) (value, base int64, err error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	chain, root, err := newChain()
	if err != nil {
		return 0, 0, err
	}
	server := httptest.NewUnstartedServer(b.services.Config.Handler)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{chain}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()
	embedded, err := os.ReadFile("pkg/boot/amazon-roots.pem")
	one, all := filepath.Join(dir, "one.pem"), filepath.Join(dir, "all.pem")
	if err := errors.Join(err, os.WriteFile(one, root, 0o600), os.WriteFile(all, append(embedded, root...), 0o600)); err != nil {
		return 0, 0, err
	}
	first := b.calls("authorizer", authorizerEvent("POST", "/app/get", b.key), allowed)(1)
	noFolder := dir + "/none" // so that the function reads only the file
	first.env = append(first.env, "AWS_ENDPOINT_URL="+server.URL, "SSL_CERT_FILE="+all, "SSL_CERT_DIR="+noFolder)
	handshake := program{
		path: b.baseline + "/handshake", event: []byte(`{}`), calls: 1, good: func(answer []byte) bool { return bytes.Contains(answer, []byte("hello")) },
		env: []string{"CA=" + one, "ADDRESS=" + strings.TrimPrefix(server.URL, "https://")},
	}
	if base, err = least(ctx, handshake, never); err != nil {
		return 0, 0, err
	}
	value, err = least(ctx, first, b.passesOver(base))
	return value, base, err
}

// newChain returns a server's certificate, followed by its two intermediate authorities. It also returns
// the root above them, as PEM.
func newChain() (chain tls.Certificate, root []byte, err error) {
	ca := x509.Certificate{
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	leaf := ca
	leaf.IsCA, leaf.IPAddresses, leaf.ExtKeyUsage = false, []net.IP{net.IPv4(127, 0, 0, 1)}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	var parent *x509.Certificate
	var signer crypto.Signer
	for i, c := range []x509.Certificate{ca, ca, ca, leaf} {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			return chain, nil, err
		}
		c.SerialNumber, c.Subject.CommonName = big.NewInt(int64(i+1)), []string{"root", "first", "second", "127.0.0.1"}[i]
		if parent == nil { // the root signs itself
			parent, signer = &c, key
		}
		der, err := x509.CreateCertificate(rand.Reader, &c, parent, key.Public(), signer)
		if err != nil {
			return chain, nil, err
		}
		chain.Certificate = append([][]byte{der}, chain.Certificate...) // the leaf ends up first, the root last
		parent, signer, chain.PrivateKey = &c, key, key
	}
	root = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain.Certificate[3]})
	chain.Certificate = chain.Certificate[:3]
	return chain, root, nil
}
