package iam

import (
	"errors"
	"path"

	"latchkey/infra/lab/translated"
)

// Platform returns an error for each right that Lambda itself needs of a role and does not have: to
// write a function's log, to read the stream or queue that feeds it, and to report records that
// were given up. Without these AWS refuses the event source mapping, or the log stays empty.
func (a *Authority) Platform(t *translated.Template) error {
	var wrong []error
	for _, function := range t.Named("AWS::Lambda::Function") {
		group := "/aws/lambda/" + function
		if named, ok := translated.Object(t.Resources[function].Properties["LoggingConfig"])["LogGroup"].(string); ok {
			group = named
		}
		stream := arn("logs", "log-group:"+group+":log-stream:local")
		wrong = append(wrong, a.Decide(function, on(stream, "logs:CreateLogStream", "logs:PutLogEvents")...))
	}
	sources, err := t.EventSources()
	wrong = append(wrong, err)
	for _, s := range sources {
		needs := on(s.ARN, "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
		if s.Table != "" {
			needs = on(s.ARN, "dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams")
		}
		if s.OnFailure != "" {
			needs = append(needs, on(arn("sqs", path.Base(s.OnFailure)), "sqs:SendMessage")...)
		}
		wrong = append(wrong, a.Decide(s.Function, needs...))
	}
	return errors.Join(wrong...)
}

// on returns the needs of several actions on one resource.
func on(resource string, actions ...string) []Need {
	needs := make([]Need, len(actions))
	for i, action := range actions {
		needs[i] = Need{Action: action, Resource: resource}
	}
	return needs
}
