// Command hello is the smallest function. Its start shows what aws-lambda-go costs by itself.
package main

import "github.com/aws/aws-lambda-go/lambda"

func main() {
	lambda.Start(func() (string, error) { return "hello", nil })
}
