package main

import (
	"context"
	"fmt"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/pulumi/pulumi/sdk/v3/python/toolchain"

	"shadow/engine/cli/internal/langhost"
)

// host serves pulumirpc.LanguageRuntime for Python.
type host struct {
	*langhost.Base

	executor string
}

// About reports which interpreter a program would run with.
func (h *host) About(ctx context.Context, req *pulumirpc.AboutRequest) (*pulumirpc.AboutResponse, error) {
	options, err := optionsOf(req.GetInfo())
	if err != nil {
		return nil, err
	}
	tc, err := toolchain.ResolveToolchain(options.PythonOptions)
	if err != nil {
		return nil, err
	}
	info, err := tc.About(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking Python for its version: %w", err)
	}
	metadata := map[string]string{
		"toolchain":   toolchain.Name(options.Toolchain),
		"typechecker": toolchain.TypeCheckerName(options.Typechecker),
	}
	if version := info.ToolchainVersion.String(); version != "0.0.0" { // uv's environments have no pip
		metadata["toolchainVersion"] = version
	}
	return &pulumirpc.AboutResponse{
		Executable: info.PythonExecutable,
		Version:    info.PythonVersion.String(),
		Metadata:   metadata,
	}, nil
}
