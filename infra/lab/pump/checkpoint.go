package pump

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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

// openCheckpoints reads the file.
func openCheckpoints(path, stream string) (*checkpoints, error) {
	c := &checkpoints{path: path}
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &c.state)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if c.state.Stream != stream || c.state.Shards == nil {
		c.state.Stream, c.state.Shards = stream, make(map[string]position)
	}
	return c, nil
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
