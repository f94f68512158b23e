// Command handshake is a small function that makes one TLS handshake with ADDRESS while it starts. It
// trusts only the authority in the file CA.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"log"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	text, err := os.ReadFile(os.Getenv("CA"))
	if err != nil {
		log.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	conn, err := tls.Dial("tcp", os.Getenv("ADDRESS"), &tls.Config{RootCAs: roots})
	if err != nil {
		log.Fatal(err)
	}
	_ = conn.Close()
	lambda.Start(func() (string, error) { return "hello", nil })
}
