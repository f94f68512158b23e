package main

import (
	"context"
	"errors"
	"path"
	"path/filepath"

	"latchkey/infra/harness/local/stack"
	"latchkey/infra/template/iam"
	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
)

// dynamoCall is a call to DynamoDB by a function.
type dynamoCall struct {
	Function  string // the function's folder under functions/
	Operation string // such as GetItem
	Body      []byte // the body of the request; its table name is stack.TableName
}

// checkCalls reads calls as JSON from standard input; the tests of pkg/api send them. For each call it prints a JSON
// string. If the function's role in template.yaml does not allow the call, the string is the kind of the refused call
// (iam.DeniedError.Kind): the function, the action, the resource and the kinds of partitions. Otherwise it is "".
func checkCalls(ctx context.Context) error {
	root, err := tools.Root()
	if err != nil {
		return err
	}
	o := translated.Options{
		StackName: stack.StackName, Physical: map[string]string{"Table": stack.TableName},
		Parameters: map[string]string{"Issuer": "https://issuer.example"}, // this parameter has no default; any value will do
	}
	tpl, err := translated.Translate(ctx, filepath.Join(root, "template.yaml"), o)
	if err != nil {
		return err
	}
	authority, err := iam.New(tpl)
	if err != nil {
		return err
	}
	functions, err := tpl.Functions()
	if err != nil {
		return err
	}
	ids := map[string]string{} // the functions' names in the template, by folder
	for id, f := range functions {
		ids[path.Base(f.CodeURI)] = id
	}
	return answerEach(func(c dynamoCall) (string, error) {
		var denied *iam.DeniedError
		err := authority.DecideDynamoDB(tpl, ids[c.Function], c.Operation, c.Body)
		if errors.As(err, &denied) {
			return denied.Kind(), nil
		}
		return "", err
	})
}
