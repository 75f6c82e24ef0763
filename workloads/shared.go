package workloads

import (
	"sync"

	"spindle/workloads/latency"
)

// shared is what a workload and those beside it write to at the same time.
type shared struct {
	mu     sync.Mutex
	events []Event
	stalls []Stalled
}

// Stalled is a stall and the workload that it happened to.
type Stalled struct {
	Workload string `json:"workload"`
	latency.Stall
}

// noteStalls keeps a program's list of stalls.
func (r *run) noteStalls(list []latency.Stall) {
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	for _, s := range list {
		r.shared.stalls = append(r.shared.stalls, Stalled{r.name, s})
	}
}
