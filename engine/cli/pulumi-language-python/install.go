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
	options, err := optionsOf(req.GetInfo())
	if err != nil {
		return err
	}
	tc, err := toolchain.ResolveToolchain(options.PythonOptions)
	if err != nil {
		return err
	}
	folder, versionTools := req.GetInfo().GetProgramDirectory(), req.GetUseLanguageVersionTools()
	if err := tc.InstallDependencies(ctx, folder, versionTools, true, stdout, stderr); err != nil {
		return fmt.Errorf("installing the dependencies of %s: %w", folder, err)
	}
	if !req.GetIsPlugin() || !isPackage(folder) {
		return nil
	}
	return tc.InstallPackage(ctx, folder, versionTools, true, stdout, stderr)
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
	options, err := optionsOf(req.GetInfo())
	if err != nil {
		return nil, err
	}
	tc, err := toolchain.ResolveToolchain(options.PythonOptions)
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
