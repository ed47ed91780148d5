package langhost

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// exitAlreadyReported is the SDKs' exit code for "the user has been told what is wrong".
const exitAlreadyReported = 32

// farewellTime is how long a plugin whose call was dropped stays, so that the engine can tell it to end.
const farewellTime = 500 * time.Millisecond

// Configured returns the environment with the stack's configuration in the variables that the SDKs read.
func Configured(environment []string, req *pulumirpc.RunRequest) ([]string, error) {
	config := req.GetConfig()
	if config == nil {
		config = map[string]string{}
	}
	secretKeys := req.GetConfigSecretKeys()
	if secretKeys == nil {
		secretKeys = []string{}
	}
	values, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encoding the stack's configuration: %w", err)
	}
	keys, err := json.Marshal(secretKeys)
	if err != nil {
		return nil, fmt.Errorf("encoding the secret configuration keys: %w", err)
	}
	return append(environment, "PULUMI_CONFIG="+string(values), "PULUMI_CONFIG_SECRET_KEYS="+string(keys)), nil
}

// RunProgram runs a prepared program until it ends or the engine cancels, and words its end for the engine.
func (b *Base) RunProgram(cmd *exec.Cmd) *pulumirpc.RunResponse {
	finished, err := b.programs.start(cmd)
	if err == nil {
		err = cmd.Wait()
		finished()
	}
	if err != nil && b.programs.cancelled() {
		return &pulumirpc.RunResponse{Bail: true} // the engine knows why
	}
	return ended(err)
}

func ended(err error) *pulumirpc.RunResponse {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return &pulumirpc.RunResponse{}
	case errors.As(err, &exit) && exit.ExitCode() == exitAlreadyReported:
		return &pulumirpc.RunResponse{Bail: true}
	case errors.As(err, &exit) && exit.Exited():
		return &pulumirpc.RunResponse{Error: fmt.Sprintf("program exited with non-zero exit code: %d", exit.ExitCode())}
	case errors.As(err, &exit):
		return &pulumirpc.RunResponse{Error: fmt.Sprintf("program exited unexpectedly: %v", exit)}
	default:
		return &pulumirpc.RunResponse{Error: fmt.Sprintf("could not run the language executor: %v", err)}
	}
}

// RunPlugin runs a prepared plugin until it ends or the engine drops the call, and passes its exit code on after
// everything that it printed.
func RunPlugin(cmd *exec.Cmd, output io.Closer, server pulumirpc.LanguageRuntime_RunPluginServer) error {
	// The engine drops the call first and tells the plugin afterwards; one that is gone by then counts as crashed.
	cmd.Cancel = func() error {
		time.Sleep(farewellTime)
		return cmd.Process.Signal(syscall.SIGTERM)
	}
	cmd.WaitDelay = farewellTime + endingTime
	return pluginEnded(cmd.Run(), output, server)
}

func pluginEnded(err error, output io.Closer, server pulumirpc.LanguageRuntime_RunPluginServer) error {
	closeErr := output.Close()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return server.Send(&pulumirpc.RunPluginResponse{
			Output: &pulumirpc.RunPluginResponse_Exitcode{Exitcode: int32(exit.ExitCode())},
		})
	}
	if err != nil {
		return fmt.Errorf("starting the plugin: %w", err)
	}
	return closeErr
}
