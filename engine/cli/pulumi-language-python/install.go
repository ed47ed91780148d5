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

// nothingToInstall spares an environment that exists already and that no requirements.txt of the program governs.
// The pip toolchain would remake it, which damages one that another tool made and keeps.
func nothingToInstall(ctx context.Context, tc toolchain.Toolchain, info *pulumirpc.ProgramInfo) bool {
	options, err := optionsOf(info)
	if err != nil || options.Toolchain != toolchain.Pip || options.Virtualenv == "" || tc.ValidateVenv(ctx) != nil {
		return false
	}
	folder := info.GetProgramDirectory()
	if _, err := os.Stat(filepath.Join(folder, "requirements.txt")); err == nil {
		return false
	}
	return !isPackage(folder) || isInstalled(ctx, tc, folder)
}

// isInstalled tells whether the environment holds the package in folder, as an editable install does.
func isInstalled(ctx context.Context, tc toolchain.Toolchain, folder string) bool {
	project, err := toolchain.LoadPyproject(folder)
	if err != nil || project.Project == nil {
		return false
	}
	cmd, err := tc.Command(ctx, "-c", "import importlib.metadata, sys; importlib.metadata.version(sys.argv[1])", project.Project.Name)
	return err == nil && cmd.Run() == nil
}

// isPackage tells a plugin that is an installable package from one that is run by its __main__.py.
func isPackage(folder string) bool {
	if _, err := os.Stat(filepath.Join(folder, "__main__.py")); err == nil {
		return false
	}
	project, err := toolchain.LoadPyproject(folder)
	return err == nil && project.Project != nil
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
