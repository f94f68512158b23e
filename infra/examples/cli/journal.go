package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// entry is a line of a journal: the run itself (revoke, suspend, listen), a position in its list, the end, or what is so of an org.
type entry struct {
	Do     string   `json:"do"`
	API    string   `json:"api,omitempty"`
	Org    string   `json:"org,omitempty"`
	At     int64    `json:"at,omitempty"` // milliseconds by the API's clock: of the run, of a try, since when an org is suspended
	Keys   []string `json:"keys,omitempty"`
	Cursor string   `json:"cursor,omitempty"`
	Last   string   `json:"last,omitempty"` // behind Cursor, the last that is done
}

const (
	page  = "page"
	ended = "end"

	// Of an org:
	tried   = "try"     // it is changed next: the answer may be lost
	done    = "done"    // the keys of its entries are revoked, or it is suspended since At
	gone    = "gone"    // it is deleted
	left    = "left"    // it had no such keys, or was suspended before
	resumed = "resumed" // it is no longer suspended by this run
	kept    = "kept"    // someone else has suspended it since
)

// journal is what a run has done, in a file to which each step is added and synced. What may have been done is there before the request,
// so that a run that is killed loses nothing. The last line may be cut then: nothing has followed from it, and it is dropped.
type journal struct {
	run, at entry // at is the position
	isOver  bool

	mu   sync.Mutex
	orgs map[string]entry // the last of each org, with the keys of all
	file *os.File         // nil: nothing is written
	err  error            // the first: nothing may follow a line that is cut
}

// open reads the file of a run. It makes the file if the run has a moment, and refuses one of another run, or in use.
func (j *journal) open(path string, run entry) (err error) {
	how := map[bool]int{true: os.O_RDWR | os.O_CREATE, false: os.O_RDWR}[run.At != 0]
	if j.file, err = os.OpenFile(path, how, 0o600); err != nil {
		return err
	}
	if err := syscall.Flock(int(j.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("another process uses %s", path)
	}
	text, err := io.ReadAll(j.file)
	if err != nil {
		return err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	for line := range bytes.Lines(whole) {
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%s is not the file of a run", path)
		}
		j.note(e)
	}
	if len(whole) > 0 && (j.run.Do != run.Do || j.run.API != run.API) {
		return fmt.Errorf("%s is of another run: %s at %s", path, j.run.Do, j.run.API)
	}
	if _, err := j.file.Seek(int64(len(whole)), io.SeekStart); err != nil || len(whole) > 0 {
		return err // what is behind has no line end, and is overwritten
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(j.add(run), folder.Sync(), folder.Close()) // the disk has the file's name too
}

// add writes an entry, and returns when the disk has it.
func (j *journal) add(e entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.note(e)
	if j.file == nil || j.err != nil {
		return j.err
	}
	line, err := json.Marshal(e)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	j.err = errors.Join(err, j.file.Sync())
	return j.err
}

func (j *journal) note(e entry) {
	switch {
	case e.Org != "":
		e.Keys = slices.Compact(slices.Sorted(slices.Values(append(e.Keys, j.orgs[e.Org].Keys...))))
		j.orgs[e.Org] = e
	case e.Do == page:
		j.at = e
	case e.Do == ended:
		j.isOver = true
	default:
		j.run = e
	}
}

// of returns what is so of an org.
func (j *journal) of(org string) entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.orgs[org]
}
