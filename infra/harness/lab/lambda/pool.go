package lambda

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// pool holds the copies of one function.
type pool struct {
	service  *Service
	function Function
	log      *os.File
	room     chan struct{} // one token for each running call
	refuses  bool          // without room, a call fails; false: it waits

	stopped atomic.Bool

	mu     sync.Mutex
	copies map[int]*process
	idle   []*process // the next call gets the last copy, which was used last; Lambda mostly does so
	lastID int        // the id of the newest copy
	oldID  int        // copies up to this id run an old program and get no more calls
	closed bool
}

func newPool(s *Service, f Function, log *os.File) *pool {
	p := &pool{service: s, function: f, log: log, copies: make(map[int]*process)}
	room := s.options.MaxCopies
	p.refuses = f.Reserved != nil && *f.Reserved <= room
	if p.refuses {
		room = *f.Reserved
		p.stopped.Store(room == 0)
	}
	p.room = make(chan struct{}, room)
	return p
}

// takeCopy returns an idle copy or a new one. At the limit of copies it waits until a copy is idle. Error: ErrThrottled
// when the function is stopped, or when its reserved concurrency or the account's limit is reached.
func (p *pool) takeCopy(ctx context.Context) (*process, error) {
	if p.stopped.Load() {
		return nil, errReserved
	}
	if err := p.enter(ctx); err != nil {
		return nil, err
	}
	for {
		c, err := p.pick()
		if err != nil {
			p.leave()
			return nil, err
		}
		if c != nil {
			return c, nil
		}
	}
}

// enter reserves room for a call in the function, and in the account unless the function has a reservation.
func (p *pool) enter(ctx context.Context) error {
	if p.refuses {
		select {
		case p.room <- struct{}{}:
			return nil
		default:
			return errReserved
		}
	}
	select {
	case p.room <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.function.Reserved != nil {
		return nil
	}
	select {
	case p.service.account <- struct{}{}:
		return nil
	default:
		<-p.room
		return errAccount
	}
}

// leave frees the room that enter reserved.
func (p *pool) leave() {
	<-p.room
	if p.function.Reserved == nil {
		<-p.service.account
	}
}

// pick returns the idle copy that was used last, or a new copy if none is idle. It returns nil
// if the idle copy is dead.
func (p *pool) pick() (*process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("%w: the stack is stopping", ErrCrash)
	}
	if n := len(p.idle); n > 0 {
		c := p.idle[n-1]
		p.idle = p.idle[:n-1]
		if c.dead() {
			return nil, nil
		}
		return c, nil
	}
	p.lastID++
	c, err := startProcess(p, p.lastID)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCrash, err)
	}
	p.copies[c.id] = c
	return c, nil
}

// giveBack makes the copy idle, unless it is dead or runs an old program.
func (p *pool) giveBack(c *process) {
	p.mu.Lock()
	switch {
	case c.dead(): // the goroutine of startProcess removes it
	case c.id <= p.oldID:
		_ = c.cmd.Process.Kill()
	default:
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	p.leave()
}

func (p *pool) forget(c *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.copies, c.id)
	p.idle = slices.DeleteFunc(p.idle, func(i *process) bool { return i == c })
}

func (p *pool) find(id int) *process {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.copies[id]
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// renew ends the idle copies now, and the others after their calls.
func (p *pool) renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		_ = c.cmd.Process.Kill()
	}
	p.idle, p.oldID = nil, p.lastID
}

// killAll ends every copy and waits until they are gone.
func (p *pool) killAll() {
	p.mu.Lock()
	copies := slices.Collect(maps.Values(p.copies))
	p.mu.Unlock()
	for _, c := range copies {
		_ = c.cmd.Process.Kill()
	}
	for _, c := range copies {
		<-c.gone
	}
}

func (p *pool) list() []Copy {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := []Copy{}
	for _, c := range p.copies {
		out = append(out, Copy{ID: c.id, PID: c.cmd.Process.Pid, Answered: int(c.answered.Load())})
	}
	slices.SortFunc(out, func(a, b Copy) int { return a.ID - b.ID })
	return out
}
