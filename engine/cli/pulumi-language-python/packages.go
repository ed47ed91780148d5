package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/errutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"shadow/engine/cli/internal/langhost"
)

// packagesScript asks the interpreter itself, so that it works without pip (uv's environments have none).
//
//go:embed packages.py
var packagesScript string

// distribution is one installed Python package.
type distribution struct {
	Name    string                   `json:"name"`
	Version string                   `json:"version"`
	Plugin  *plugin.PulumiPluginJSON `json:"plugin"`
}

// distributions lists what is installed in the program's environment.
func distributions(ctx context.Context, info *pulumirpc.ProgramInfo) ([]distribution, error) {
	cmd, err := python(ctx, info, "-c", packagesScript)
	if err != nil {
		return nil, err
	}
	cmd.Dir = info.GetProgramDirectory()
	output, err := cmd.Output()
	if err != nil {
		return nil, errutil.ErrorWithStderr(err, "listing the installed Python packages")
	}
	var found []distribution
	if err := json.Unmarshal(output, &found); err != nil {
		return nil, fmt.Errorf("reading the list of installed Python packages: %w", err)
	}
	return found, nil
}

// GetRequiredPackages lists the plugins that the environment's pulumi_* packages ask for.
func (h *host) GetRequiredPackages(
	ctx context.Context, req *pulumirpc.GetRequiredPackagesRequest,
) (*pulumirpc.GetRequiredPackagesResponse, error) {
	if err := h.prepareEnvironment(ctx, req.GetInfo()); err != nil {
		return nil, err
	}
	found, err := distributions(ctx, req.GetInfo())
	if err != nil {
		return nil, err
	}
	response := &pulumirpc.GetRequiredPackagesResponse{}
	for _, dist := range found {
		fallback := strings.TrimPrefix(dist.Name, "pulumi-")
		if dependency := langhost.Dependency(dist.Plugin, fallback, semverOf(dist.Version)); dependency != nil {
			response.Packages = append(response.Packages, dependency)
		}
	}
	return response, nil
}

// GetRequiredPlugins is GetRequiredPackages for engines that do not know parameterized packages.
func (h *host) GetRequiredPlugins(
	ctx context.Context, req *pulumirpc.GetRequiredPluginsRequest,
) (*pulumirpc.GetRequiredPluginsResponse, error) {
	packages, err := h.GetRequiredPackages(ctx, &pulumirpc.GetRequiredPackagesRequest{Info: req.GetInfo()})
	if err != nil {
		return nil, err
	}
	response := &pulumirpc.GetRequiredPluginsResponse{}
	for _, p := range packages.Packages {
		response.Plugins = append(response.Plugins, &pulumirpc.PluginDependency{
			Name: p.Name, Kind: p.Kind, Version: p.Version, Server: p.Server,
		})
	}
	return response, nil
}

// prepareEnvironment makes the virtual environment named in Pulumi.yaml when it does not exist yet.
func (h *host) prepareEnvironment(ctx context.Context, info *pulumirpc.ProgramInfo) error {
	tc, err := toolchainOf(info)
	if err != nil {
		return err
	}
	return tc.EnsureVenv(ctx, info.GetProgramDirectory(), false, true, os.Stderr, os.Stderr)
}

// GetProgramDependencies lists the environment's packages for `pulumi about`.
func (h *host) GetProgramDependencies(
	ctx context.Context, req *pulumirpc.GetProgramDependenciesRequest,
) (*pulumirpc.GetProgramDependenciesResponse, error) {
	found, err := distributions(ctx, req.GetInfo())
	if err != nil {
		return nil, err
	}
	response := &pulumirpc.GetProgramDependenciesResponse{}
	for _, dist := range found {
		if !req.TransitiveDependencies && !strings.HasPrefix(dist.Name, "pulumi") {
			continue // "direct" is known to lock files only; Pulumi's own packages are what a reader looks for
		}
		response.Dependencies = append(response.Dependencies,
			&pulumirpc.DependencyInfo{Name: dist.Name, Version: dist.Version})
	}
	return response, nil
}
