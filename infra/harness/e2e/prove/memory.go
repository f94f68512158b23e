package main

import (
	"context"
	"fmt"

	"latchkey/infra/harness/lab/lambda"
	"latchkey/infra/tools"
)

// memory has the kilobytes of each process of a function at each measurement, by the function's name and the process id.
type memory map[string][]int

// warm is the number of calls that a process must have answered before its memory is measured. Until then its heap grows to the
// size at which Go first collects garbage.
const warm = 300

// watchMemory measures the memory of warm processes fifty times in a run.
func (p *proof) watchMemory(ctx context.Context) memory {
	seen := memory{}
	for ctx.Err() == nil {
		_ = tools.Sleep(ctx, p.during/50)
		for _, function := range p.Template.Named("AWS::Lambda::Function") {
			for _, c := range p.Lambda.Copies(function) {
				if kb := int(lambda.Resident(c.PID) >> 10); kb > 0 && c.Answered >= warm {
					name := fmt.Sprint(function, " ", c.PID)
					seen[name] = append(seen[name], kb)
				}
			}
		}
	}
	return seen
}

// grown compares the last tenth of a process's measurements with the second tenth. It returns the number of processes with at least
// twenty measurements, which is two fifths of the run, and a line for each of them that has grown by more than a tenth.
func (m memory) grown() (processes int, grown []string) {
	for name, kb := range m {
		tenth := len(kb) / 10
		if tenth < 2 {
			continue
		}
		processes++
		early, late := 0, 0
		for i := range tenth {
			early, late = early+kb[tenth+i], late+kb[len(kb)-1-i]
		}
		if float64(late) > float64(early)*1.1 {
			grown = append(grown, fmt.Sprintf("%s: from %d to %d KB", name, early/tenth, late/tenth))
		}
	}
	return processes, grown
}
