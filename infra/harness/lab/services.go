package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"latchkey/infra/harness/lab/backing"
	"latchkey/infra/template/translated"
	"latchkey/infra/tools"
)

// Services are the services that the functions use: a database, a KMS, queues and, if the options have one, a token issuer.
type Services struct {
	DataPlane Endpoints
	LogDir    string // the folder with a log file for each function and service

	DB    Service // a database in memory loses its data at Stop
	KMS   Service // loses its keys at Stop
	Queue Service // the queues and the event buses; loses all messages at Stop

	dir           string // the folder of the services' data
	inMemory      bool   // whether the tables are in memory
	ports         Ports
	issuerOptions *backing.IssuerOptions // nil: no issuer
	progress      tools.Progress
	fail          func(error) // gets an error when a service ends by itself

	issuer Service
	queues []translated.Queue // the queues to create after a restart of the queue server
	buses  map[string]string  // the event buses, also in the queue server: the URLs of their queues, by name of the bus
}

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

// steps returns the functions that start the services. They may run at the same time.
func (s *Services) steps() []func(context.Context) error {
	s.DB.name, s.DB.start = "the database", s.startDB
	s.KMS.name, s.KMS.start = "the KMS", s.startKMS
	s.Queue.name, s.Queue.start = "the queues", s.restartQueue
	starts := []func(context.Context) error{s.startDB, s.startKMS, s.startQueue}
	if s.issuerOptions != nil {
		starts = append(starts, s.startIssuer)
	}
	return starts
}

func (s *Services) startDB(ctx context.Context) error {
	o := backing.Options{Port: s.ports.DynamoDB, LogPath: s.log("dynamodb"), Progress: s.progress}
	if !s.inMemory {
		o.DataDir = filepath.Join(s.dir, "data")
	}
	p, err := backing.StartDynamoDB(ctx, o)
	return s.keep(&s.DB, &s.DataPlane.DynamoDB, p, err)
}

func (s *Services) startKMS(ctx context.Context) error {
	p, err := backing.StartKMS(ctx, backing.Options{Port: s.ports.KMS, LogPath: s.log("kms"), Progress: s.progress})
	return s.keep(&s.KMS, &s.DataPlane.KMS, p, err)
}

func (s *Services) startQueue(ctx context.Context) error {
	p, err := backing.StartQueue(ctx, backing.Options{Port: s.ports.Queue, LogPath: s.log("sqs"), Progress: s.progress})
	return s.keep(&s.Queue, &s.DataPlane.SQS, p, err)
}

func (s *Services) startIssuer(ctx context.Context) error {
	o := *s.issuerOptions
	o.KeyPath = filepath.Join(s.dir, "issuer-key.json")
	o.Options = backing.Options{Port: s.ports.Issuer, LogPath: s.log("issuer"), Progress: s.progress}
	p, err := backing.StartIssuer(ctx, o)
	return s.keep(&s.issuer, new(string), p, err)
}

func (s *Services) log(service string) string { return filepath.Join(s.LogDir, service+".log") }

// keep stores the process and the address of a started service. If the process ends by itself later, keep calls fail.
func (s *Services) keep(service *Service, endpoint *string, p *backing.Process, err error) error {
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
func (s *Services) makeTables(ctx context.Context, t *translated.Template) error {
	db := backing.NewDynamoDBClient(s.DataPlane.DynamoDB)
	for name, properties := range t.Tables() {
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
func (s *Services) makeQueues(ctx context.Context, t *translated.Template) error {
	queues, err := t.Queues()
	if err != nil {
		return err
	}
	s.queues = queues
	return backing.CreateQueues(ctx, backing.NewSQSClient(s.DataPlane.SQS), s.queues)
}

// makeBuses creates the event buses that do not exist yet.
func (s *Services) makeBuses(ctx context.Context) error {
	for name := range s.buses {
		var err error
		if s.buses[name], err = backing.CreateBus(ctx, s.DataPlane.SQS, name); err != nil {
			return err
		}
	}
	return nil
}

// restartQueue starts the queue server again, and makes its queues and buses, which are empty then.
func (s *Services) restartQueue(ctx context.Context) error {
	if err := s.startQueue(ctx); err != nil {
		return err
	}
	return errors.Join(backing.CreateQueues(ctx, backing.NewSQSClient(s.DataPlane.SQS), s.queues), s.makeBuses(ctx))
}

// stop ends the services. Then all acknowledged writes are on disk.
func (s *Services) stop() error {
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
