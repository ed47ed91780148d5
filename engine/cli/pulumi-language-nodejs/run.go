package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"shadow/engine/cli/internal/langhost"
)

// Run executes a program and reports how it ended.
func (h *host) Run(ctx context.Context, req *pulumirpc.RunRequest) (*pulumirpc.RunResponse, error) {
	cmd, err := script(ctx, req.GetInfo(), "run", h.arguments(req)...)
	if err != nil {
		return nil, err
	}
	if cmd.Env, err = langhost.Configured(append(os.Environ(), cmd.Env...), req); err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return h.RunProgram(cmd), nil
}

// script prepares Node.js for one of the scripts in the program's own @pulumi/pulumi package; its Env holds only what
// the options add.
func script(ctx context.Context, info *pulumirpc.ProgramInfo, name string, args ...string) (*exec.Cmd, error) {
	options, err := optionsOf(info)
	if err != nil {
		return nil, err
	}
	path, err := locate(ctx, info, "@pulumi/pulumi/cmd/"+name)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "node", append(append(options.nodeArguments, path), args...)...)
	cmd.Env = options.environment()
	return cmd, nil
}

// locate resolves a module as the program itself would.
func locate(ctx context.Context, info *pulumirpc.ProgramInfo, module string) (string, error) {
	cmd := exec.CommandContext(ctx, "node", "-p", fmt.Sprintf("require.resolve(%q)", module))
	cmd.Dir = info.GetProgramDirectory()
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s is not installed for %s: run `pulumi install` there (and check that node is on PATH): %w",
			module, info.GetProgramDirectory(), err)
	}
	return strings.TrimSpace(string(output)), nil
}

func (h *host) arguments(req *pulumirpc.RunRequest) []string {
	var args []string
	add := func(name, value string) {
		if value != "" {
			args = append(args, "--"+name, value)
		}
	}
	add("monitor", req.GetMonitorAddress())
	add("engine", h.EngineAddress())
	add("organization", req.GetOrganization())
	add("project", req.GetProject())
	add("root-directory", req.GetInfo().GetRootDirectory())
	add("stack", req.GetStack())
	add("pwd", req.GetPwd())
	if req.GetDryRun() {
		args = append(args, "--dry-run")
	}
	add("parallel", strconv.Itoa(int(req.GetParallel())))
	add("tracing", h.Tracing)
	return append(append(args, entry(req.GetInfo())), req.GetArgs()...)
}

func entry(info *pulumirpc.ProgramInfo) string {
	if point := info.GetEntryPoint(); point != "" {
		return point
	}
	return "."
}

// RunPlugin runs a component plugin or a policy pack until the engine ends it.
func (h *host) RunPlugin(
	req *pulumirpc.RunPluginRequest, server pulumirpc.LanguageRuntime_RunPluginServer,
) error {
	program := filepath.Join(req.GetInfo().GetProgramDirectory(), entry(req.GetInfo()))
	name, args := "run-plugin", append([]string{program}, req.GetArgs()...)
	if req.GetKind() == "analyzer" {
		name, args = "run-policy-pack", append(append([]string{}, req.GetArgs()...), program)
	}
	cmd, err := script(server.Context(), req.GetInfo(), name, args...)
	if err != nil {
		return err
	}
	output, stdout, stderr, err := rpcutil.MakeRunPluginStreams(server, false)
	if err != nil {
		return err
	}
	defer func() { _ = output.Close() }()
	cmd.Env = append(append([]string{}, req.GetEnv()...), cmd.Env...)
	cmd.Dir = req.GetPwd()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return langhost.RunPlugin(cmd, output, server)
}
