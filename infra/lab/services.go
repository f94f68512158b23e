package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"latchkey/infra/lab/backing"
	"latchkey/infra/lab/translated"
	"latchkey/infra/tools"
)

// Services are what the functions use: a database, a KMS, queues, and a token issuer if one is wanted.
type Services struct {
	DataPlane Endpoints
	LogDir    string // has a file for each function and service

	dir           string // of their data
	inMemory      bool   // the tables
	ports         Ports
	issuerOptions *backing.IssuerOptions // nil: there is no issuer
	progress      tools.Progress
	fail          func(error) // gets the reason when a service ends by itself

	mu                     sync.Mutex // guards the processes
	db, kms, queue, issuer *backing.Process
	queues                 []backing.Queue   // the queues to create in a queue server that starts again
	buses                  map[string]string // event buses, which are in that server too: the URLs of their queues by name
}

// Endpoints are the base URLs of the services.
type Endpoints struct {
	DynamoDB string `json:"dynamodb"`
	KMS      string `json:"kms"`
	SQS      string `json:"sqs"`
}

// steps returns the functions that start the services. They may run at once.
func (s *Services) steps() []func(context.Context) error {
	steps := []func(context.Context) error{s.startDB, s.startKMS, s.startQueue}
	if s.issuerOptions != nil {
		steps = append(steps, s.startIssuer)
	}
	return steps
}

func (s *Services) startDB(ctx context.Context) error {
	o := backing.Options{Port: s.ports.DynamoDB, LogPath: s.log("dynamodb"), Progress: s.progress}
	if !s.inMemory {
		o.DataDir = filepath.Join(s.dir, "data")
	}
	p, err := backing.StartDynamoDB(ctx, o)
	return s.keep(&s.db, &s.DataPlane.DynamoDB, p, err)
}

func (s *Services) startKMS(ctx context.Context) error {
	p, err := backing.StartKMS(ctx, backing.Options{Port: s.ports.KMS, LogPath: s.log("kms"), Progress: s.progress})
	return s.keep(&s.kms, &s.DataPlane.KMS, p, err)
}

func (s *Services) startQueue(ctx context.Context) error {
	p, err := backing.StartQueue(ctx, backing.Options{Port: s.ports.Queue, LogPath: s.log("sqs"), Progress: s.progress})
	return s.keep(&s.queue, &s.DataPlane.SQS, p, err)
}

func (s *Services) startIssuer(ctx context.Context) error {
	o := *s.issuerOptions
	o.KeyPath = filepath.Join(s.dir, "issuer-key.json")
	o.Options = backing.Options{Port: s.ports.Issuer, LogPath: s.log("issuer"), Progress: s.progress}
	p, err := backing.StartIssuer(ctx, o)
	return s.keep(&s.issuer, new(string), p, err)
}

func (s *Services) log(service string) string { return filepath.Join(s.LogDir, service+".log") }

// keep sets the service's process and address once it has started, and calls fail when the process ends by itself.
func (s *Services) keep(service **backing.Process, endpoint *string, p *backing.Process, err error) error {
	if err != nil {
		return err
	}
	*service, *endpoint = p, p.Endpoint
	go func() {
		<-p.Done()
		if err := p.Err(); err != nil {
			s.fail(err)
		}
	}()
	return nil
}

// makeTables creates the template's tables, but for those that an earlier run has made. Error:
// backing.ErrOtherTable.
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
	s.queues = nil
	for _, q := range queues {
		s.queues = append(s.queues, q.Queue)
	}
	return backing.CreateQueues(ctx, backing.NewSQSClient(s.DataPlane.SQS), s.queues)
}

// StartBuses creates the event buses, also after StopBuses.
func (s *Services) StartBuses(ctx context.Context) error {
	for name := range s.buses {
		var err error
		if s.buses[name], err = backing.CreateBus(ctx, s.DataPlane.SQS, name); err != nil {
			return err
		}
	}
	return nil
}

// StopBuses deletes the event buses: no one can put an event on them.
func (s *Services) StopBuses(ctx context.Context) error {
	var wrong []error
	for name := range s.buses {
		wrong = append(wrong, backing.DeleteBus(ctx, s.DataPlane.SQS, name))
	}
	return errors.Join(wrong...)
}

// StopDB stops the database: connections to it are refused.
func (s *Services) StopDB() error { return s.change(&s.db, (*backing.Process).Stop) }

// StartDB starts a stopped database again, with all its data unless that was in memory. A running one stays as it is.
func (s *Services) StartDB(ctx context.Context) error {
	return s.again(ctx, "the database", &s.db, s.startDB)
}

// PauseDB makes the database hang: it accepts connections and answers nothing.
func (s *Services) PauseDB() error { return s.change(&s.db, (*backing.Process).Pause) }

// ResumeDB ends PauseDB.
func (s *Services) ResumeDB() error { return s.change(&s.db, (*backing.Process).Resume) }

// StopKMS stops the KMS. Its keys are gone.
func (s *Services) StopKMS() error { return s.change(&s.kms, (*backing.Process).Stop) }

// StartKMS starts a stopped KMS again, without keys. A running one stays as it is.
func (s *Services) StartKMS(ctx context.Context) error {
	return s.again(ctx, "the KMS", &s.kms, s.startKMS)
}

// PauseKMS makes the KMS hang: it accepts connections and answers nothing.
func (s *Services) PauseKMS() error { return s.change(&s.kms, (*backing.Process).Pause) }

// ResumeKMS ends PauseKMS.
func (s *Services) ResumeKMS() error { return s.change(&s.kms, (*backing.Process).Resume) }

// StopQueue stops the queues and the event buses. Their messages are gone.
func (s *Services) StopQueue() error { return s.change(&s.queue, (*backing.Process).Stop) }

// StartQueue starts stopped queues again, empty. Running ones stay as they are.
func (s *Services) StartQueue(ctx context.Context) error {
	return s.again(ctx, "the queues", &s.queue, func(ctx context.Context) error {
		if err := s.startQueue(ctx); err != nil {
			return err
		}
		return errors.Join(backing.CreateQueues(ctx, backing.NewSQSClient(s.DataPlane.SQS), s.queues), s.StartBuses(ctx))
	})
}

func (s *Services) change(p **backing.Process, f func(*backing.Process) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return f(*p)
}

// again starts a service that has ended.
func (s *Services) again(ctx context.Context, what string, p **backing.Process, start func(context.Context) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-(*p).Done():
	default:
		return nil
	}
	if err := start(ctx); err != nil {
		return fmt.Errorf("starting %s again: %w", what, err)
	}
	return nil
}

// stop ends the services. Afterwards all that was acknowledged is on disk.
func (s *Services) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var steps []func(context.Context) error
	for _, p := range []*backing.Process{s.db, s.kms, s.queue, s.issuer} {
		if p != nil {
			steps = append(steps, func(context.Context) error { return p.Stop() })
		}
	}
	return atOnce(context.Background(), steps)
}

// atOnce takes all steps at once, waits for them and returns their errors.
func atOnce(ctx context.Context, steps []func(context.Context) error) error {
	errs := make([]error, len(steps))
	var wg sync.WaitGroup
	for i, step := range steps {
		wg.Go(func() { errs[i] = step(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
