package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/common/version"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/pulumi/pulumi/sdk/v3/python/toolchain"
	"google.golang.org/protobuf/types/known/emptypb"
)

// host serves pulumirpc.LanguageRuntime for Python; what it does not define answers Unimplemented.
type host struct {
	pulumirpc.UnimplementedLanguageRuntimeServer

	executor string
	tracing  string

	mu     sync.Mutex // guards engine, which Handshake may replace
	engine string
}

func (h *host) engineAddress() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.engine
}

// Handshake takes over the engine's address when the host was attached to rather than started.
func (h *host) Handshake(
	_ context.Context, req *pulumirpc.LanguageHandshakeRequest,
) (*pulumirpc.LanguageHandshakeResponse, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.engine = req.GetEngineAddress()
	return &pulumirpc.LanguageHandshakeResponse{}, nil
}

// GetPluginInfo reports the SDK version that the host is built from.
func (h *host) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: version.Version}, nil
}

// Cancel has nothing to do: the engine kills the process group, and Python's children are in it.
func (h *host) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
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
