package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/tools"
)

// Endpoints are the base URLs of the services.
type Endpoints struct {
	DynamoDB string `json:"dynamodb"`
	KMS      string `json:"kms"`
	SQS      string `json:"sqs"`
}

// Service is a service that can be stopped, made to hang, and started again.
type Service struct {
	name  string
	start func(context.Context) error // sets process

	mu      sync.Mutex
	process *backing.Process // nil: not started yet
}

// serviceSteps returns the functions that start the services. They may run at the same time.
func (s *Stack) serviceSteps() []func(context.Context) error {
	s.DB.name, s.DB.start = "the database", s.startDB
	s.KMS.name, s.KMS.start = "the KMS", s.startKMS
	s.Queue.name, s.Queue.start = "the queues", s.restartQueue
	starts := []func(context.Context) error{s.startDB, s.startKMS, s.startQueue}
	if s.options.Issuer != nil {
		starts = append(starts, s.startIssuer)
	}
	return starts
}

func (s *Stack) startDB(ctx context.Context) error {
	o := backing.Options{Port: s.Ports.DynamoDB, LogPath: s.log("dynamodb"), Progress: s.options.Progress}
	if !s.options.InMemory {
		o.DataDir = filepath.Join(s.dir, "data")
	}
	p, err := backing.StartDynamoDB(ctx, o)
	return s.keep(&s.DB, &s.DataPlane.DynamoDB, p, err)
}

func (s *Stack) startKMS(ctx context.Context) error {
	p, err := backing.StartKMS(ctx, backing.Options{Port: s.Ports.KMS, LogPath: s.log("kms"), Progress: s.options.Progress})
	return s.keep(&s.KMS, &s.DataPlane.KMS, p, err)
}

func (s *Stack) startQueue(ctx context.Context) error {
	p, err := backing.StartQueue(ctx, backing.Options{Port: s.Ports.Queue, LogPath: s.log("sqs"), Progress: s.options.Progress})
	return s.keep(&s.Queue, &s.DataPlane.SQS, p, err)
}

func (s *Stack) startIssuer(ctx context.Context) error {
	o := *s.options.Issuer
	o.KeyPath = filepath.Join(s.dir, "issuer-key.json")
	o.Options = backing.Options{Port: s.Ports.Issuer, LogPath: s.log("issuer"), Progress: s.options.Progress}
	p, err := backing.StartIssuer(ctx, o)
	return s.keep(&s.issuer, new(string), p, err)
}

func (s *Stack) log(service string) string { return filepath.Join(s.LogDir, service+".log") }

// keep stores the process and the address of a started service. If the process ends by itself later, keep calls fail.
func (s *Stack) keep(service *Service, endpoint *string, p *backing.Process, err error) error {
	if err != nil {
		return err
	}
	service.process, *endpoint = p, p.Endpoint
	go func() {
		<-p.Done()
		if err := p.Err(); err != nil {
			s.fail(err)
		}
	}()
	return nil
}

// makeTables creates the template's tables that do not exist yet. Error: backing.ErrOtherTable.
func (s *Stack) makeTables(ctx context.Context) error {
	db := backing.NewDynamoDBClient(s.DataPlane.DynamoDB)
	for name, properties := range s.Template.Tables() {
		table, err := backing.TableOf(properties)
		if err == nil {
			err = table.CreateIn(ctx, db, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// makeQueues creates the template's queues, as CloudFormation would.
func (s *Stack) makeQueues(ctx context.Context) error {
	queues, err := s.Template.Queues()
	if err != nil {
		return err
	}
	return backing.CreateQueues(ctx, backing.NewSQSClient(s.DataPlane.SQS), queues)
}

// makeBuses creates the event buses that do not exist yet.
func (s *Stack) makeBuses(ctx context.Context) error {
	for name := range s.options.Buses {
		var err error
		if s.buses[name], err = backing.CreateBus(ctx, s.DataPlane.SQS, name); err != nil {
			return err
		}
	}
	return nil
}

// restartQueue starts the queue server again, and makes its queues and buses, which are empty then.
func (s *Stack) restartQueue(ctx context.Context) error {
	if err := s.startQueue(ctx); err != nil {
		return err
	}
	return errors.Join(s.makeQueues(ctx), s.makeBuses(ctx))
}

// stopServices ends the services. Then all acknowledged writes are on disk.
func (s *Stack) stopServices() error {
	var steps []func(context.Context) error
	for _, one := range []*Service{&s.DB, &s.KMS, &s.Queue, &s.issuer} {
		steps = append(steps, func(context.Context) error { return one.Stop() })
	}
	return tools.AtOnce(context.Background(), steps)
}

// Stop stops the service, so that it refuses connections.
func (s *Service) Stop() error { return s.change((*backing.Process).Stop) }

// Pause makes the service hang: it accepts connections but does not answer.
func (s *Service) Pause() error { return s.change((*backing.Process).Pause) }

// Resume ends a Pause.
func (s *Service) Resume() error { return s.change((*backing.Process).Resume) }

func (s *Service) change(do func(*backing.Process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	return do(s.process)
}

// Start starts a stopped service again. It does nothing if the service runs.
func (s *Service) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.process.Done():
	default:
		return nil
	}
	if err := s.start(ctx); err != nil {
		return fmt.Errorf("starting %s again: %w", s.name, err)
	}
	return nil
}
