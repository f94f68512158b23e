package lab

import (
	"strings"

	"latchkey/infra/lab/iam"
)

// startAccess serves the endpoint through which the functions call AWS. It decides each call by the
// function's role.
func (s *Stack) startAccess() error {
	var err error
	if s.access, err = iam.New(s.template); err != nil {
		return err
	}
	if err := s.access.Platform(s.template); err != nil {
		return err
	}
	s.proxy, err = iam.NewProxy(s.template, s.access, map[string]string{
		"dynamodb": s.DataPlane.DynamoDB, "kms": s.DataPlane.KMS, "sqs": s.DataPlane.SQS,
	}, func(d *iam.DeniedError) {
		if strings.HasPrefix(d.Function, ConsumerPrefix) {
			s.options.Progress("refused: " + d.Error() + " (the roles of a consumer are not read here)")
			return
		}
		s.options.Progress("refused, as AWS would: " + d.Error() + " (see its role in the template)")
	})
	if err != nil {
		return err
	}
	s.serve(s.proxy, s.Ports.AWS)
	return nil
}

// Access returns what decides the functions' calls by their roles.
func (s *Stack) Access() *iam.Authority { return s.access }

// Watch calls f for each call of a function to AWS from now on. Nil ends the watch.
func (s *Stack) Watch(f func(iam.Call)) { s.proxy.Watch(f) }
