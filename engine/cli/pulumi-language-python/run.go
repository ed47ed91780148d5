package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/pulumi/pulumi/sdk/v3/python/toolchain"

	"shadow/engine/cli/internal/langhost"
)

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
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	if cmd.Env, err = langhost.Configured(cmd.Env, req); err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return h.RunProgram(cmd), nil
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
	add("engine", h.EngineAddress())
	add("project", req.GetProject())
	add("root_directory", req.GetInfo().GetRootDirectory())
	add("stack", req.GetStack())
	add("pwd", req.GetPwd())
	add("dry_run", strconv.FormatBool(req.GetDryRun()))
	add("parallel", strconv.Itoa(int(req.GetParallel())))
	add("tracing", h.Tracing)
	add("organization", req.GetOrganization())
	program := req.GetInfo().GetEntryPoint()
	if program == "" {
		program = "."
	}
	return append(append(args, program), req.GetArgs()...)
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
