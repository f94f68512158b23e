// Command testkit helps the tests of pkg, because these must not import infra. serve-db and serve-kms run a database and a KMS.
// check-answers checks answers against infra/openapi.yaml. check-calls checks calls against the roles in template.yaml.
package main

import (
	"context"
	"errors"
	"flag"

	"latchkey/infra/tools"
)

func main() {
	database := flag.String("database", "", "serve-db: the base URL of a running database, to start no new one")
	flag.Parse()
	tools.Main("testkit: ", func(ctx context.Context) error { return do(ctx, flag.Arg(0), *database) })
}

func do(ctx context.Context, verb, database string) error {
	switch verb {
	case "serve-db":
		return serveDB(ctx, database)
	case "serve-kms":
		return serveKMS(ctx)
	case "check-answers":
		return checkAnswers()
	case "check-calls":
		return checkCalls(ctx)
	}
	return errors.New("usage: testkit [-database URL] serve-db | serve-kms | check-answers | check-calls")
}
