// Package api stands in for step-runner's addresses.
package api

// DefaultSocketPath has no meaning without step-runner.
func DefaultSocketPath() string { panic("step-runner is not part of this build") }
