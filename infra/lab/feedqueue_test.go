package lab_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"latchkey/infra/lab"
	"latchkey/infra/lab/backing"
)

func message(t *testing.T, s *lab.Stack) {
	if status, body := ask(t, "GET", s.URL+"/open"); status != 200 || body != s.DataPlane.SQS+"/000000000000/Jobs Jobs" {
		t.Errorf("the queue in the environment: %d %s", status, body)
	}
	for i := range 20 {
		send(t, s, fmt.Sprintf("message-%02d", i), "")
	}
	until(t, "all messages", func() bool { _, done := got(t, s, "QueueFunction", "message-"); return len(done) >= 20 })
	until(t, "an empty queue", func() bool { return depth(t, s, "Jobs") == lab.Depth{} })
	for _, c := range calls(t, s, "QueueFunction") {
		for _, i := range c.Items {
			if i.Group != "group-"+i.Name || i.Receives != "1" {
				t.Errorf("%+v", i)
			}
		}
	}
}

func deadLetters(t *testing.T, s *lab.Stack) {
	dead := depth(t, s, "DeadJobs").Visible
	send(t, s, "dead-once", "once")
	send(t, s, "dead-poison", "poison")
	until(t, "a dead letter", func() bool { return depth(t, s, "DeadJobs").Visible == dead+1 })
	if came, done := got(t, s, "QueueFunction", "dead-once"); len(came) != 2 || len(done) != 1 {
		t.Errorf("the message that failed once came %v, done %v", came, done)
	}
	if came, done := got(t, s, "QueueFunction", "dead-poison"); len(came) != 2 || len(done) != 0 {
		t.Errorf("the message that always fails came %v, done %v", came, done)
	}
	if d := depth(t, s, "Jobs"); d != (lab.Depth{}) {
		t.Errorf("left in the queue: %+v", d)
	}
}

func killed(t *testing.T, s *lab.Stack) {
	send(t, s, "killed", "slow-once")
	until(t, "the call", func() bool { came, _ := got(t, s, "QueueFunction", "killed"); return len(came) == 1 })
	if err := s.KillFunction("QueueFunction"); err != nil {
		t.Fatal(err)
	}
	if c := s.Copies("QueueFunction"); len(c) != 0 {
		t.Errorf("copies are left: %+v", c)
	}
	until(t, "its end", func() bool { _, done := got(t, s, "QueueFunction", "killed"); return len(done) == 1 })
	if came, _ := got(t, s, "QueueFunction", "killed"); len(came) != 2 {
		t.Errorf("it came %d times", len(came))
	}
	if err := s.KillFunction("NoFunction"); err == nil {
		t.Error("a function that is not there was killed")
	}
}

func queueRestarted(t *testing.T, s *lab.Stack) {
	if depth(t, s, "GivenUp") == (lab.Depth{}) {
		t.Error("nothing to lose: the test proves nothing")
	}
	if err := s.StopQueue(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.QueueDepth(context.Background(), "Jobs"); err == nil {
		t.Error("a stopped queue answers")
	}
	if err := s.StartQueue(context.Background()); err != nil {
		t.Fatal(err)
	}
	if d := depth(t, s, "GivenUp"); d != (lab.Depth{}) {
		t.Errorf("a new queue has messages: %+v", d)
	}
	send(t, s, "restarted", "")
	until(t, "a message", func() bool { _, done := got(t, s, "QueueFunction", "restarted"); return len(done) == 1 })
}

func kmsBack(t *testing.T, s *lab.Stack) {
	address := strings.TrimPrefix(s.DataPlane.KMS, "http://")
	reach := func() error {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	if err := s.StopKMS(); err != nil || reach() == nil {
		t.Errorf("a stopped KMS is there: %v", err)
	}
	if err := s.StartKMS(context.Background()); err != nil {
		t.Fatal(err)
	}
	keys := backing.NewKMSClient(s.DataPlane.KMS)
	list := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_, err := keys.ListKeys(ctx, nil)
		return err
	}
	if err := list(); err != nil {
		t.Error(err)
	}
	if err := s.PauseKMS(); err != nil || list() == nil {
		t.Errorf("a paused KMS answers: %v", err)
	}
	if err := s.ResumeKMS(); err != nil {
		t.Fatal(err)
	}
	if err := list(); err != nil {
		t.Error(err)
	}
}

func scheduleNow(t *testing.T, s *lab.Stack) {
	before := len(calls(t, s, "TickFunction"))
	if err := s.RunSchedule(context.Background(), "TickFunction"); err != nil {
		t.Fatal(err)
	}
	if now := len(calls(t, s, "TickFunction")); now != before+2 { // its begin and its end
		t.Errorf("%d lines, before %d", now, before)
	}
	if err := s.RunSchedule(context.Background(), "QueueFunction"); err == nil {
		t.Error("a function without a schedule was called")
	}
}
