package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// apiTimeout is longer than the answer of a function takes that starts cold.
const apiTimeout = 15 * time.Second

// api calls Latchkey's API with an API key.
type api struct{ base, key string }

// createEndpoint registers a URL for all types of events and returns the endpoint's id.
func (a api) createEndpoint(ctx context.Context, url string) (id string, err error) {
	var made struct {
		ID string `json:"id"`
	}
	in := map[string]string{"url": url, "description": "make receiver"}
	if err := a.call(ctx, "/webhook_endpoint/create", in, http.StatusCreated, &made); err != nil {
		return "", fmt.Errorf("registering the endpoint: %w", err)
	}
	if made.ID == "" {
		return "", errors.New("registering the endpoint: the answer has no id")
	}
	return made.ID, nil
}

func (a api) deleteEndpoint(ctx context.Context, id string) error {
	if err := a.call(ctx, "/webhook_endpoint/delete", map[string]string{"endpointId": id}, http.StatusOK, nil); err != nil {
		return fmt.Errorf("deleting endpoint %s: %w", id, err)
	}
	return nil
}

// call posts in and decodes the answer into out. An answer of another status than wanted is an
// error with the API's problem.
func (a api) call(ctx context.Context, path string, in any, want int, out any) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(a.base, "/")+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.key)
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() // an error does not matter after the read
	said, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	if err != nil {
		return err
	}
	if res.StatusCode != want {
		return problemOf(res.StatusCode, said)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(said, out)
}

// problemOf returns the API's problem document as an error of one line.
func problemOf(status int, said []byte) error {
	var p struct {
		Title, Detail, Code string
		Errors              []struct{ Pointer, Code, Message string }
	}
	if err := json.Unmarshal(said, &p); err != nil || p.Code == "" {
		return fmt.Errorf("the API answered %d", status)
	}
	text := fmt.Sprintf("%d %s: %s", status, p.Code, strings.TrimSpace(p.Title+". "+p.Detail))
	for _, e := range p.Errors {
		text += fmt.Sprintf(" (%s: %s)", e.Pointer, e.Message)
	}
	if p.Code == "limit_reached" {
		text += " Delete endpoints that are no longer needed: /webhook_endpoint/list and /webhook_endpoint/delete."
	}
	return errors.New(text)
}
