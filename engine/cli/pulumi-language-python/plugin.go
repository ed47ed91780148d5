package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/pulumi/pulumi/sdk/v3/python/toolchain"

	"shadow/engine/cli/internal/langhost"
)

// RunPlugin runs a component plugin (PulumiPlugin.yaml) or a policy pack (PulumiPolicy.yaml) until the engine ends it.
func (h *host) RunPlugin(
	req *pulumirpc.RunPluginRequest, server pulumirpc.LanguageRuntime_RunPluginServer,
) error {
	args, err := pluginArguments(req)
	if err != nil {
		return err
	}
	cmd, err := python(server.Context(), req.GetInfo(), args...)
	if err != nil {
		return err
	}
	closer, stdout, stderr, err := rpcutil.MakeRunPluginStreams(server, false)
	if err != nil {
		return err
	}
	defer func() { _ = closer.Close() }()
	if cmd.Env, err = pluginEnvironment(server.Context(), req); err != nil {
		return err
	}
	cmd.Dir = req.GetPwd()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return langhost.RunPlugin(cmd, closer, server)
}

// pluginArguments choose how Python starts the plugin: a policy pack through the SDK's runner, a folder with
// __main__.py directly, and any other folder as an installed package whose components are served.
func pluginArguments(req *pulumirpc.RunPluginRequest) ([]string, error) {
	folder := req.GetInfo().GetProgramDirectory()
	program := filepath.Join(folder, req.GetInfo().GetEntryPoint())
	if req.GetKind() == "analyzer" {
		return append(append([]string{"-u", "-m", "pulumi.policy"}, req.GetArgs()...), program), nil
	}
	if _, err := os.Stat(filepath.Join(program, "__main__.py")); err == nil {
		return append([]string{"-u", program}, req.GetArgs()...), nil
	}
	project, err := toolchain.LoadPyproject(folder)
	if err != nil {
		return nil, fmt.Errorf("%s has neither __main__.py nor a readable pyproject.toml to serve as a plugin: %w", folder, err)
	}
	if project.Project == nil || project.Project.Name == "" {
		return nil, fmt.Errorf("%s: project.name is missing; it names the package whose components are served",
			filepath.Join(folder, "pyproject.toml"))
	}
	return append([]string{"-u", "-m", "pulumi.run.plugin", project.Project.Name}, req.GetArgs()...), nil
}

// pluginEnvironment is the engine's environment with the plugin's own virtual environment activated.
func pluginEnvironment(ctx context.Context, req *pulumirpc.RunPluginRequest) ([]string, error) {
	tc, err := toolchainOf(req.GetInfo())
	if err != nil {
		return nil, err
	}
	folder, err := tc.VirtualEnvPath(ctx)
	if err != nil || folder == "" {
		return req.GetEnv(), err
	}
	return toolchain.ActivateVirtualEnv(req.GetEnv(), folder), nil
}
