// Command go publishes an event of your own to an app of a customer. API, TOKEN, ORG and APP come from the environment.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
)

// Event is one event. Its ID makes it safe to send the event again.
type Event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data any    `json:"data"`
}

func main() {
	answer, err := publish(Event{"in_4711-paid", "invoice.paid", map[string]any{"invoice": "in_4711", "amount": 4900}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Events[0].ID)
}

// Answer has the ids of the events, in the order of the request.
type Answer struct{ Events []struct{ ID string } }

// publish sends events. After a failure that another try may solve, it sends them again: after 1, 2 and 4 seconds.
func publish(events ...Event) (out Answer, err error) {
	body, err := json.Marshal(map[string]any{"events": events})
	if err != nil {
		return out, err
	}
	for try := range 4 {
		var status int
		var text []byte
		if status, text, err = post(os.ExpandEnv("${API}/v1/orgs/${ORG}/apps/${APP}/events"), body); err == nil {
			if status == http.StatusAccepted {
				return out, json.Unmarshal(text, &out)
			}
			err = fmt.Errorf("status %d", status) // without the body: a server's text does not belong in a log
			if status < http.StatusInternalServerError && status != http.StatusTooManyRequests {
				return out, err
			}
		}
		if try < 3 {
			time.Sleep(time.Second << try)
		}
	}
	return out, err
}

func post(address string, body []byte) (status int, text []byte, err error) {
	request, err := http.NewRequest(http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	request.Header = http.Header{"Authorization": {"Bearer " + strings.TrimSpace(os.Getenv("TOKEN"))}, "Content-Type": {"application/json"}}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	answer, err := (&http.Client{Timeout: 10 * time.Second, CheckRedirect: noRedirect}).Do(request)
	if err != nil {
		return 0, nil, errors.Unwrap(err) // the wrapping error has the URL
	}
	defer func() { _ = answer.Body.Close() }()
	text, err = io.ReadAll(answer.Body)
	return answer.StatusCode, text, err
}
