// Package runner names what step-runner offers to functions that run inside it.
package runner

import (
	"io"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
)

// BuiltinContext is the surroundings of a built-in function.
type BuiltinContext interface {
	GetJobVars() map[string]*structpb.Value
	GetEnvs() map[string]string
	Pipe() (io.Writer, io.Writer)
	WorkDir() string
	GracefulExitDelay() time.Duration
}
