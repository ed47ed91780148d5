// Package gracefulexitcmd stands in for step-runner's commands.
package gracefulexitcmd

import (
	"context"
	"os/exec"
	"time"
)

// New prepares a command that is killed when the context ends.
func New(ctx context.Context, delay time.Duration, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = delay
	return cmd
}
