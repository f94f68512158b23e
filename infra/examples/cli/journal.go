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

// entry is a line of a journal: the run (revoke, suspend, listen), a position in the list, the end of the run, or the state of an org.
type entry struct {
	Do     string   `json:"do"`
	API    string   `json:"api,omitempty"`
	Org    string   `json:"org,omitempty"`
	At     int64    `json:"at,omitempty"` // milliseconds by the API's clock: the moment of the run, the time of a try or of a suspension
	Keys   []string `json:"keys,omitempty"`
	Cursor string   `json:"cursor,omitempty"`
	Last   string   `json:"last,omitempty"` // id of the last event that was forwarded from the page at Cursor
}

const (
	page  = "page"
	ended = "end"

	// The state of an org:
	tried   = "try"     // the run is about to change it; the answer may be lost
	done    = "done"    // its keys in the journal are revoked, or it is suspended since At
	gone    = "gone"    // it is deleted
	closing = "closing" // its deletion has begun, and its keys may work: a walk looks again
	left    = "left"    // the run left it unchanged: it had no such keys, or was suspended before
	resumed = "resumed" // the run's suspension has ended
	kept    = "kept"    // it stays suspended: someone else has suspended it again
)

// journal records the steps of a run in a file, so that a killed run can continue. The entry of a try is on the disk before its
// request is sent. A kill can leave an incomplete last line, which open drops: no step followed it.
type journal struct {
	run    entry
	at     entry // the position in the list
	isOver bool

	mu   sync.Mutex
	orgs map[string]entry // the last entry of each org, with the keys of all its entries
	file *os.File         // nil: nothing is written
	err  error            // the first error of the file: after an incomplete line nothing more is written
}

// open reads the file of a run. It creates the file only if run.At is set. It refuses the file of another run, and a file that
// another process uses.
func (j *journal) open(path string, run entry) (err error) {
	mode := os.O_RDWR
	if run.At != 0 {
		mode |= os.O_CREATE
	}
	if j.file, err = os.OpenFile(path, mode, 0o600); err != nil {
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
		j.apply(e)
	}
	if len(whole) > 0 && (j.run.Do != run.Do || j.run.API != run.API) {
		return fmt.Errorf("%s belongs to another run: %s at %s", path, j.run.Do, j.run.API)
	}
	if _, err := j.file.Seek(int64(len(whole)), io.SeekStart); err != nil || len(whole) > 0 {
		return err // the next entry overwrites an incomplete last line
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(j.add(run), folder.Sync(), folder.Close()) // the sync of the folder saves the file's name
}

// add writes an entry, and returns when the entry is on the disk.
func (j *journal) add(e entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.apply(e)
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

// apply changes the journal in memory as the entry states.
func (j *journal) apply(e entry) {
	switch {
	case e.Org != "":
		if j.orgs == nil {
			j.orgs = map[string]entry{}
		}
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

// entryOf returns the entry of an org, or an empty entry.
func (j *journal) entryOf(org string) entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.orgs[org]
}
