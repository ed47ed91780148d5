package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/pulumi/pulumi/sdk/v3/python/toolchain"
)

// exitAlreadyReported is the executor's exit code for "the user has been told what is wrong".
const exitAlreadyReported = 32

// Run executes a program under the executor script and reports how it ended.
func (h *host) Run(ctx context.Context, req *pulumirpc.RunRequest) (*pulumirpc.RunResponse, error) {
	if response, err := typecheck(ctx, req.GetInfo()); response != nil || err != nil {
		return response, err
	}
	args := append([]string{"-u", h.executor}, h.arguments(req)...)
	cmd, err := python(ctx, req.GetInfo(), args...)
	if err != nil {
		return nil, err
	}
	if cmd.Env, err = programEnvironment(cmd, req); err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return runResponse(cmd.Run()), nil
}

// arguments are the flags and the program's own arguments for the executor script.
func (h *host) arguments(req *pulumirpc.RunRequest) []string {
	var args []string
	add := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name, value)
		}
	}
	add("monitor", req.GetMonitorAddress())
	add("engine", h.engineAddress())
	add("project", req.GetProject())
	add("root_directory", req.GetInfo().GetRootDirectory())
	add("stack", req.GetStack())
	add("pwd", req.GetPwd())
	add("dry_run", strconv.FormatBool(req.GetDryRun()))
	add("parallel", strconv.Itoa(int(req.GetParallel())))
	add("tracing", h.tracing)
	add("organization", req.GetOrganization())
	program := req.GetInfo().GetEntryPoint()
	if program == "" {
		program = "."
	}
	return append(append(args, program), req.GetArgs()...)
}

// programEnvironment hands the configuration over in the variables that the SDK reads.
func programEnvironment(cmd *exec.Cmd, req *pulumirpc.RunRequest) ([]string, error) {
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
	environment := cmd.Env
	if environment == nil {
		environment = os.Environ()
	}
	return append(environment, "PULUMI_CONFIG="+string(values), "PULUMI_CONFIG_SECRET_KEYS="+string(keys)), nil
}

// runResponse words the end of a program for the engine.
func runResponse(err error) *pulumirpc.RunResponse {
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

// typecheck runs the checker named in Pulumi.yaml; a response means that it found faults, already printed.
func typecheck(ctx context.Context, info *pulumirpc.ProgramInfo) (*pulumirpc.RunResponse, error) {
	options, err := optionsOf(info)
	if err != nil || options.checkerModule == "" {
		return nil, err
	}
	tc, err := toolchain.ResolveToolchain(options.PythonOptions)
	if err != nil {
		return nil, err
	}
	cmd, err := tc.ModuleCommand(ctx, options.checkerModule, info.GetProgramDirectory())
	if err != nil {
		return nil, err
	}
	cmd.Dir = info.GetProgramDirectory()
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return &pulumirpc.RunResponse{Error: fmt.Sprintf("%s found faults: %v", options.checkerModule, err)}, nil
	}
	return nil, nil
}
