package langhost

import (
	"context"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// endingTime is what a program gets to end by itself; the engine waits 5 s for the host altogether.
const endingTime = 2 * time.Second

// programs are the running programs of a host; once cancelled, none starts any more.
type programs struct {
	mu      sync.Mutex
	stopped bool
	running map[*exec.Cmd]chan struct{} // closed when the program has ended
}

// start starts a program; its caller waits for it and then calls finished.
func (p *programs) start(cmd *exec.Cmd) (finished func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return nil, context.Canceled
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if p.running == nil {
		p.running = map[*exec.Cmd]chan struct{}{}
	}
	done := make(chan struct{})
	p.running[cmd] = done
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.running, cmd)
		close(done)
	}, nil
}

func (p *programs) cancelled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stopped
}

// end returns when every program has ended: asked to first (SIGTERM ends Python and Node.js without a word), then
// made to.
func (p *programs) end() {
	p.mu.Lock()
	p.stopped = true
	var waiting []chan struct{}
	for cmd, done := range p.running {
		_ = cmd.Process.Signal(syscall.SIGTERM) // fails where it has just ended
		killer := time.AfterFunc(endingTime, func() { _ = cmd.Process.Kill() })
		defer killer.Stop()
		waiting = append(waiting, done)
	}
	p.mu.Unlock()
	for _, done := range waiting {
		<-done
	}
}
