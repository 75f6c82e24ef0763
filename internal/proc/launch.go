package proc

import (
	"os/exec"
	"runtime"
	"sync"
)

// forks is served by the one thread that forks all children. PR_SET_PDEATHSIG
// fires when the forking thread ends (prctl(2)), and the Go runtime ends
// threads as it likes; a goroutine that is locked to its thread and never
// returns keeps this one. Forking is serial for it, which costs nothing: a
// fork takes about a millisecond and the runtime holds a lock for it anyway.
var forks = sync.OnceValue(func() chan<- func() {
	ch := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range ch {
			f()
		}
	}()
	return ch
})

func launch(cmd *exec.Cmd) error {
	done := make(chan error)
	forks() <- func() { done <- cmd.Start() }
	return <-done
}
