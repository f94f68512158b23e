// Package backing runs the services that functions need, on one machine: DynamoDB Local, a KMS, a
// server of queues and a token issuer, each a child process on a loopback port. Tests
// get a real database in two lines:
//
//	db, err := backing.StartDynamoDB(ctx, backing.DynamoDBOptions{})
//	defer db.Stop()
//
// The package is generic: it serves any template. Nothing here is for production.
package backing

import (
	"context"
	"embed"

	"latchkey/infra/tools"
)

//go:embed pom java python
var files embed.FS

// Region is the region of everything local.
const Region = "us-east-1"

// Python returns the path of the interpreter of the local stack's virtual environment (moto, the SAM
// translator, PyYAML). It installs the environment if needed. Without Python the error is a
// *tools.MissingError.
func Python(ctx context.Context, say tools.Progress) (string, error) {
	return tools.VirtualEnv(ctx, "python", embedded("python/requirements.txt"), say)
}

// javaProgram returns the folder of a program: the jars that a pom names, and our own class that starts them.
func javaProgram(ctx context.Context, name, source string, say tools.Progress) (string, error) {
	return tools.JavaProgram(ctx, name, embedded("pom/"+name+".xml"), source, embedded("java/"+source), say)
}

func embedded(path string) string {
	b, err := files.ReadFile(path)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(b)
}
