// Package parts installs the parts of the lab's services: packages of Python and programs of Java. It imports
// little and so compiles fast: a new machine installs the parts while it compiles the rest.
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

// Issuer returns the folder of the program that starts the token issuer, as DynamoDB does for DynamoDB Local.
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

// java returns the folder of a program: the jars that pom/<name>.xml names, and our own class that starts them.
func java(ctx context.Context, name, source string, say tools.Progress) (string, error) {
	return tools.JavaProgram(ctx, name, tools.Text(files, "pom/"+name+".xml"), source, tools.Text(files, "java/"+source), say)
}
