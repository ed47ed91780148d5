// Package client names step-runner's requests and results.
package client

import "time"

// State is a job's state.
type State int

// The states that GitLab Runner tells apart.
const (
	StateUnspecified State = iota
	StateSuccess
	StateCancelled
)

func (s State) String() string { return [...]string{"unspecified", "success", "cancelled"}[s] }

// ErrorKind is the reason of a failure.
type ErrorKind int

// The reasons that GitLab Runner tells apart.
const (
	ErrorUnknown ErrorKind = iota
	ErrorInternal
	ErrorStepFailure
	ErrorCancelled
	ErrorTimeout
)

// Status is how a job ended.
type Status struct {
	State     State
	Message   string
	ErrorKind ErrorKind
}

// Variable is a job variable.
type Variable struct {
	Key, Value   string
	File, Masked bool
}

// RunRequest asks for a job to be run.
type RunRequest struct {
	Id, WorkDir, BuildDir, Steps string
	Env                          map[string]string
	Variables                    []Variable
	Timeout                      *time.Duration
}
