package stack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"latchkey/infra/lab/backing"
	"latchkey/pkg/parallel"
)

// startBacking starts the services behind the functions, and builds the functions meanwhile. It then
// creates the table, the queues and the keys.
func (s *Stack) startBacking(ctx context.Context) error {
	steps := []func(context.Context) error{s.startDB, s.startKMS, s.startQueue, s.build}
	if s.OwnIssuer() {
		steps = append(steps, s.startIssuer)
	}
	wrong := parallel.Each(len(steps), steps, func(_ int, step func(context.Context) error) error { return step(ctx) })
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	s.DataPlane = Endpoints{DynamoDB: s.db.Endpoint, KMS: s.kms.Endpoint, SQS: s.queue.Endpoint}
	if err := makeTable(ctx, s.db.Endpoint, s.options.Template); err != nil {
		return err
	}
	if err := s.makeQueues(ctx); err != nil {
		return err
	}
	return s.makeKeys(ctx)
}

// makeTable creates the table, unless an earlier run has.
func makeTable(ctx context.Context, endpoint, template string) error {
	err := backing.CreateTable(ctx, backing.NewDynamoDBClient(endpoint), template, TableName)
	if errors.Is(err, backing.ErrOtherTable) {
		return fmt.Errorf("%w (make stack DO=clean-data forgets it)", err)
	}
	return err
}

func (s *Stack) startDB(ctx context.Context) error {
	p, err := backing.StartDynamoDB(ctx, backing.DynamoDBOptions{
		Port: s.ports.DynamoDB, DataDir: filepath.Join(s.dir, "data"), LogPath: filepath.Join(s.LogDir, "dynamodb.log"), Progress: s.options.Progress,
	})
	return s.own(&s.db, p, err)
}

func (s *Stack) startKMS(ctx context.Context) error {
	p, err := backing.StartKMS(ctx, backing.KMSOptions{Port: s.ports.KMS, LogPath: filepath.Join(s.LogDir, "kms.log"), Progress: s.options.Progress})
	return s.own(&s.kms, p, err)
}

func (s *Stack) startQueue(ctx context.Context) error {
	p, err := backing.StartQueue(ctx, backing.QueueOptions{
		Port: s.ports.Queue, Settings: s.options.Emulator, LogPath: filepath.Join(s.LogDir, "sqs.log"), Progress: s.options.Progress,
	})
	return s.own(&s.queue, p, err)
}

func (s *Stack) startIssuer(ctx context.Context) error {
	p, err := backing.StartIssuer(ctx, backing.IssuerOptions{
		ID: StackName, Kinds: kinds(),
		Port: s.ports.Issuer, KeyPath: filepath.Join(s.dir, "issuer-key.json"), LogPath: filepath.Join(s.LogDir, "issuer.log"), Progress: s.options.Progress,
	})
	if err != nil {
		return err
	}
	return s.own(&s.issuer, p.Process, nil)
}

// own keeps a started child as one of the stack's, and fails the stack when the child ends by itself.
func (s *Stack) own(as **backing.Process, p *backing.Process, err error) error {
	if err == nil {
		*as = p
		s.watch(p)
	}
	return err
}

// watch fails the stack when a child ends by itself.
func (s *Stack) watch(p *backing.Process) {
	go func() {
		<-p.Done()
		if err := p.Err(); err != nil {
			s.fail(err)
		}
	}()
}

func (s *Stack) stopBacking() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := []*backing.Process{s.db, s.kms, s.queue, s.issuer}
	return parallel.Each(len(running), running, func(_ int, p *backing.Process) error {
		if p == nil {
			return nil
		}
		return p.Stop()
	})
}

// Token returns a token of the stack's own issuer; see IssueToken.
func (s *Stack) Token(ctx context.Context, kind Kind, sub, email, name string) (string, error) {
	if !s.OwnIssuer() {
		return "", fmt.Errorf("the stack takes tokens of %s: ask there", s.Issuer)
	}
	return IssueToken(ctx, s.Issuer, kind, sub, email, name)
}
