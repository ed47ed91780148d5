package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/pulumi/pulumi/sdk/v3/python/toolchain"
)

// InstallDependencies installs a program's or plugin's requirements into its environment.
func (h *host) InstallDependencies(
	req *pulumirpc.InstallDependenciesRequest, server pulumirpc.LanguageRuntime_InstallDependenciesServer,
) error {
	closer, stdout, stderr, err := rpcutil.MakeInstallDependenciesStreams(server, req.GetIsTerminal())
	if err != nil {
		return err
	}
	defer func() { _ = closer.Close() }()
	if err := install(server.Context(), req, stdout, stderr); err != nil {
		return err
	}
	return closer.Close()
}

func install(ctx context.Context, req *pulumirpc.InstallDependenciesRequest, stdout, stderr io.Writer) error {
	tc, err := toolchainOf(req.GetInfo())
	if err != nil {
		return err
	}
	folder, versionTools := req.GetInfo().GetProgramDirectory(), req.GetUseLanguageVersionTools()
	if nothingToInstall(ctx, tc, req.GetInfo()) {
		_, err := fmt.Fprintf(stdout, "The environment of %s is in place; nothing to install\n", folder)
		return err
	}
	if err := tc.InstallDependencies(ctx, folder, versionTools, true, stdout, stderr); err != nil {
		return fmt.Errorf("installing the dependencies of %s: %w", folder, err)
	}
	if !req.GetIsPlugin() || !isPackage(folder) {
		return nil
	}
	return tc.InstallPackage(ctx, folder, versionTools, true, stdout, stderr)
}

// nothingToInstall spares an environment that holds all that the program declares. The pip toolchain would remake or
// update it first, which damages an environment that another tool made, and fails in uv's, which have no pip.
func nothingToInstall(ctx context.Context, tc toolchain.Toolchain, info *pulumirpc.ProgramInfo) bool {
	folder := info.GetProgramDirectory()
	if !usesPip(tc) || tc.ValidateVenv(ctx) != nil {
		return false
	}
	if _, err := os.Stat(filepath.Join(folder, "requirements.txt")); err == nil {
		return false
	}
	project, err := toolchain.LoadPyproject(folder)
	if err != nil || project.Project == nil {
		return true // neither file: nothing is declared
	}
	return isInstalled(ctx, tc, project.Project.Name)
}

// usesPip tells pip from the toolchains that keep a lock file; the package exports no other mark.
func usesPip(tc toolchain.Toolchain) bool { return fmt.Sprintf("%T", tc) == "*toolchain.pip" }

// isInstalled tells whether the environment holds a distribution, be it by an editable install.
func isInstalled(ctx context.Context, tc toolchain.Toolchain, name string) bool {
	cmd, err := tc.Command(ctx, "-c", "import importlib.metadata, sys; importlib.metadata.version(sys.argv[1])", name)
	return err == nil && cmd.Run() == nil
}

// isPackage tells a plugin that is an installable package, whose own dependencies pip then installs too.
func isPackage(folder string) bool {
	buildable, err := toolchain.IsBuildablePackage(folder)
	return err == nil && buildable
}

// Template lets the chosen toolchain turn a new project's requirements.txt into its own format.
func (h *host) Template(ctx context.Context, req *pulumirpc.TemplateRequest) (*pulumirpc.TemplateResponse, error) {
	tc, err := toolchainOf(req.GetInfo())
	if err != nil {
		return nil, err
	}
	err = tc.PrepareProject(ctx, req.GetProjectName(), req.GetInfo().GetProgramDirectory(), false, os.Stderr, os.Stderr)
	return &pulumirpc.TemplateResponse{}, err
}

// RuntimeOptionsPrompts asks `pulumi new` for the toolchain when the template leaves it open.
func (h *host) RuntimeOptionsPrompts(
	_ context.Context, req *pulumirpc.RuntimeOptionsRequest,
) (*pulumirpc.RuntimeOptionsResponse, error) {
	given := req.GetInfo().GetOptions().AsMap()
	if _, chosen := given["toolchain"]; chosen {
		return &pulumirpc.RuntimeOptionsResponse{}, nil
	}
	choices := []string{"pip", "poetry", "uv"}
	prompt := &pulumirpc.RuntimeOptionPrompt{
		Key:         "toolchain",
		Description: "The toolchain to use for installing dependencies and running the program",
		PromptType:  pulumirpc.RuntimeOptionPrompt_STRING,
		Default:     choice(choices[0]),
	}
	for name := range slices.Values(choices) {
		prompt.Choices = append(prompt.Choices, choice(name))
	}
	return &pulumirpc.RuntimeOptionsResponse{Prompts: []*pulumirpc.RuntimeOptionPrompt{prompt}}, nil
}

func choice(name string) *pulumirpc.RuntimeOptionPrompt_RuntimeOptionValue {
	return &pulumirpc.RuntimeOptionPrompt_RuntimeOptionValue{
		PromptType:  pulumirpc.RuntimeOptionPrompt_STRING,
		StringValue: name,
		DisplayName: name,
	}
}
