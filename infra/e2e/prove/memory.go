package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// memory has the kilobytes of each process of a function, by its name and process id, at each look.
type memory map[string][]int

// watchMemory looks at the memory fifty times in a run. A process that is not there at every look is left out: it began
// later.
func (p *proof) watchMemory(ctx context.Context) memory {
	seen := memory{}
	for n := 1; ctx.Err() == nil; n++ {
		select {
		case <-ctx.Done():
		case <-time.After(p.during / 50):
		}
		for _, function := range p.Template().Named("AWS::Lambda::Function") {
			for _, c := range p.Copies(function) {
				name := fmt.Sprint(function, " ", c.PID)
				if kb := resident(c.PID); kb > 0 && len(seen[name]) == n-1 {
					seen[name] = append(seen[name], kb)
				}
			}
		}
	}
	return seen
}

// resident returns the kilobytes of a process that are in memory, or 0: it has ended, or the system has no /proc.
func resident(pid int) (kb int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, found := strings.Cut(string(text), "VmRSS:")
	if err == nil && found {
		_, err = fmt.Sscan(rest, &kb)
	}
	if err != nil {
		return 0
	}
	return kb
}

// grown compares the last tenth of the looks with the second tenth, and returns how many processes there were and which of
// them have grown by more than a tenth.
func (m memory) grown() (processes int, grown []string) {
	most := 0
	for _, kb := range m {
		most = max(most, len(kb))
	}
	tenth := most / 10
	for name, kb := range m {
		if len(kb) < most || tenth == 0 {
			continue
		}
		processes++
		early, late := 0, 0
		for i := range tenth {
			early, late = early+kb[tenth+i], late+kb[most-1-i]
		}
		if float64(late) > float64(early)*1.1 {
			grown = append(grown, fmt.Sprintf("%s: from %d to %d KB", name, early/tenth, late/tenth))
		}
	}
	return processes, grown
}
