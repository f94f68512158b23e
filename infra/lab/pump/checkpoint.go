package pump

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
)

// position is a position in a shard, up to which it was read.
type position struct {
	After string `json:"after,omitempty"` // sequence number; "": nothing was read
	Ended bool   `json:"ended,omitempty"` // all was read, and no more records come
}

// checkpoints keeps the positions in a stream, in a file that survives restarts.
type checkpoints struct {
	path string

	mu    sync.Mutex
	state struct {
		Stream string              `json:"stream"` // ARN; the positions do not hold for another stream
		Shards map[string]position `json:"shards"`
	}
}

// openCheckpoints reads the file. fresh reports that it had no positions in this stream.
func openCheckpoints(path, stream string) (c *checkpoints, fresh bool, err error) {
	c = &checkpoints{path: path}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, err
	}
	if err == nil {
		if err := json.Unmarshal(text, &c.state); err != nil {
			return nil, false, fmt.Errorf("%s: %w", path, err)
		}
	}
	if c.state.Stream != stream || c.state.Shards == nil {
		c.state.Stream, c.state.Shards, fresh = stream, make(map[string]position), true
	}
	return c, fresh, nil
}

func (c *checkpoints) of(shard string) position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.Shards[shard]
}

// set writes a position to the file.
func (c *checkpoints) set(shard string, p position) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.state.Shards[shard] = p
	return c.save()
}

// keep removes shards that are no longer listed.
func (c *checkpoints) keep(listed map[string]bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.state.Shards)
	maps.DeleteFunc(c.state.Shards, func(id string, _ position) bool { return !listed[id] })
	if len(c.state.Shards) == before {
		return nil
	}
	return c.save()
}

func (c *checkpoints) save() error {
	text, err := json.MarshalIndent(c.state, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o755); err != nil {
		return err
	}
	next := c.path + ".new"
	if err := os.WriteFile(next, text, 0o644); err != nil {
		return err
	}
	return os.Rename(next, c.path)
}
