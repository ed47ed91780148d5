package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	"github.com/pulumi/pulumi/sdk/v3/nodejs/npm"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"shadow/engine/cli/internal/langhost"
)

// manifest is what a package.json says of interest.
type manifest struct {
	Name    string                   `json:"name"`
	Version string                   `json:"version"`
	Pulumi  *plugin.PulumiPluginJSON `json:"pulumi"`
}

// GetRequiredPackages lists the plugins that the packages in the program's node_modules folders ask for.
func (h *host) GetRequiredPackages(
	_ context.Context, req *pulumirpc.GetRequiredPackagesRequest,
) (*pulumirpc.GetRequiredPackagesResponse, error) {
	response, seen := &pulumirpc.GetRequiredPackagesResponse{}, map[string]bool{}
	for folder := req.GetInfo().GetProgramDirectory(); ; folder = filepath.Dir(folder) {
		for _, found := range manifests(filepath.Join(folder, "node_modules")) {
			if seen[found.Name] {
				continue // the nearest one is what the program loads
			}
			seen[found.Name] = true
			fallback := strings.TrimPrefix(found.Name, "@pulumi/")
			if dependency := langhost.Dependency(found.Pulumi, fallback, found.Version); dependency != nil {
				response.Packages = append(response.Packages, dependency)
			}
		}
		if folder == filepath.Dir(folder) {
			return response, nil
		}
	}
}

// manifests reads the package.json files of a node_modules folder; what cannot be read is no Pulumi package.
func manifests(folder string) []manifest {
	var result []manifest
	for _, pattern := range []string{"*/package.json", "@*/*/package.json"} {
		paths, _ := filepath.Glob(filepath.Join(folder, pattern)) // the pattern is valid
		for _, path := range paths {
			text, err := os.ReadFile(path)
			var found manifest
			if err == nil && json.Unmarshal(text, &found) == nil {
				result = append(result, found)
			}
		}
	}
	return result
}

// InstallDependencies runs the program's package manager.
func (h *host) InstallDependencies(
	req *pulumirpc.InstallDependenciesRequest, server pulumirpc.LanguageRuntime_InstallDependenciesServer,
) error {
	output, stdout, stderr, err := rpcutil.MakeInstallDependenciesStreams(server, req.GetIsTerminal())
	if err != nil {
		return err
	}
	defer func() { _ = output.Close() }()
	options, err := optionsOf(req.GetInfo())
	if err != nil {
		return err
	}
	folder := req.GetInfo().GetProgramDirectory()
	tool, err := npm.Install(server.Context(), options.packageManager, folder, false, stdout, stderr)
	if err != nil {
		return fmt.Errorf("installing the dependencies of %s with %s: %w", folder, tool, err)
	}
	return output.Close()
}

// GetProgramDependencies lists the packages that the lock file pins, for `pulumi about`.
func (h *host) GetProgramDependencies(
	ctx context.Context, req *pulumirpc.GetProgramDependenciesRequest,
) (*pulumirpc.GetProgramDependenciesResponse, error) {
	options, err := optionsOf(req.GetInfo())
	if err != nil {
		return nil, err
	}
	folder := req.GetInfo().GetProgramDirectory()
	manager, err := npm.ResolvePackageManager(options.packageManager, folder)
	if err != nil {
		return nil, err
	}
	packages, err := manager.ListPackages(ctx, folder, req.GetTransitiveDependencies())
	if err != nil {
		return nil, err
	}
	response := &pulumirpc.GetProgramDependenciesResponse{}
	for _, p := range packages {
		response.Dependencies = append(response.Dependencies, &pulumirpc.DependencyInfo{Name: p.Name, Version: p.Version})
	}
	return response, nil
}

// About reports which Node.js a program would run with.
func (h *host) About(ctx context.Context, _ *pulumirpc.AboutRequest) (*pulumirpc.AboutResponse, error) {
	path, err := exec.LookPath("node")
	if err != nil {
		return nil, errors.New("node is not on PATH; install Node.js 20 or newer")
	}
	version, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("asking %s for its version: %w", path, err)
	}
	return &pulumirpc.AboutResponse{Executable: path, Version: strings.TrimSpace(string(version))}, nil
}
