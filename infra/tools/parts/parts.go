// Package parts installs the parts of the lab's services: packages of Python and programs of Java. It imports little, so it compiles
// fast: a new machine can install the parts while it compiles the other programs.
package parts

import (
	"context"
	"embed"

	"latchkey/infra/tools"
)

//go:embed requirements.txt
var requirements string

//go:embed pom java
var files embed.FS

// Python returns the path of the interpreter of the lab's virtual environment (moto, the SAM translator, PyYAML).
// It installs the environment if needed. Without Python the error is a *tools.MissingError.
func Python(ctx context.Context, say tools.Progress) (string, error) {
	return tools.VirtualEnv(ctx, "python", requirements, say)
}

// DynamoDB returns the folder of the program that starts DynamoDB Local. It installs the program if needed. Without
// Java or Maven the error is a *tools.MissingError.
func DynamoDB(ctx context.Context, say tools.Progress) (string, error) {
	return java(ctx, "dynamodb", "Loopback.java", say)
}

// Issuer returns the folder of the program that starts the token issuer. It installs the program if needed. Without Java or Maven
// the error is a *tools.MissingError.
func Issuer(ctx context.Context, say tools.Progress) (string, error) {
	return java(ctx, "issuer", "Issuer.java", say)
}

// Install installs all parts at once.
func Install(ctx context.Context) error {
	var steps []func(context.Context) error
	for _, part := range []func(context.Context, tools.Progress) (string, error){Python, DynamoDB, Issuer} {
		steps = append(steps, func(ctx context.Context) error {
			_, err := part(ctx, nil)
			return err
		})
	}
	return tools.AtOnce(ctx, steps)
}

// java returns the folder of a program. The folder has the jars that pom/<name>.xml names, and our class that starts them.
func java(ctx context.Context, name, source string, say tools.Progress) (string, error) {
	return tools.JavaProgram(ctx, name, tools.Text(files, "pom/"+name+".xml"), source, tools.Text(files, "java/"+source), say)
}
