package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/pulumi/pulumi/pkg/v3/codegen/hcl2/syntax"
	"github.com/pulumi/pulumi/pkg/v3/codegen/pcl"
	codegen "github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// GeneratePackage writes a Python SDK for a schema; `pulumi package add` and `gen-sdk` use it.
func (h *host) GeneratePackage(
	_ context.Context, req *pulumirpc.GeneratePackageRequest,
) (*pulumirpc.GeneratePackageResponse, error) {
	loader, err := schema.NewLoaderClient(req.GetLoaderTarget())
	if err != nil {
		return nil, err
	}
	var spec schema.PackageSpec
	if err := json.Unmarshal([]byte(req.GetSchema()), &spec); err != nil {
		return nil, fmt.Errorf("reading the package schema: %w", err)
	}
	pkg, diags, err := schema.BindSpec(spec, loader, schema.ValidationOptions{AllowDanglingReferences: true})
	if err != nil {
		return nil, err
	}
	response := &pulumirpc.GeneratePackageResponse{Diagnostics: plugin.HclDiagnosticsToRPCDiagnostics(diags)}
	if diags.HasErrors() {
		return response, nil
	}
	files, err := codegen.GeneratePackage("pulumi-language-python", pkg, req.GetExtraFiles(), loader)
	if err != nil {
		return nil, err
	}
	return response, writeFiles(req.GetDirectory(), files)
}

func writeFiles(folder string, files map[string][]byte) error {
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// GenerateProgram writes Python for a PCL program; `pulumi import` and `convert` use it.
func (h *host) GenerateProgram(
	_ context.Context, req *pulumirpc.GenerateProgramRequest,
) (*pulumirpc.GenerateProgramResponse, error) {
	program, diags, err := bind(req)
	if err != nil {
		return nil, err
	}
	if diags.HasErrors() {
		return &pulumirpc.GenerateProgramResponse{Diagnostics: plugin.HclDiagnosticsToRPCDiagnostics(diags)}, nil
	}
	files, more, err := codegen.GenerateProgram(program)
	if err != nil {
		return nil, err
	}
	return &pulumirpc.GenerateProgramResponse{
		Source:      files,
		Diagnostics: plugin.HclDiagnosticsToRPCDiagnostics(append(diags, more...)),
	}, nil
}

func bind(req *pulumirpc.GenerateProgramRequest) (*pcl.Program, hcl.Diagnostics, error) {
	loader, err := schema.NewLoaderClient(req.GetLoaderTarget())
	if err != nil {
		return nil, nil, err
	}
	parser := syntax.NewParser()
	for path, content := range req.GetSource() {
		if err := parser.ParseFile(strings.NewReader(content), path); err != nil {
			return nil, nil, err
		}
	}
	if parser.Diagnostics.HasErrors() {
		return nil, parser.Diagnostics, nil
	}
	var settings []pcl.BindOption
	if !req.GetStrict() {
		settings = pcl.NonStrictBindOptions()
	}
	return pcl.BindProgram(parser.Files, schema.NewCachedLoader(loader), settings...)
}

// Link adds generated or local SDKs to the program's requirements and says how to import them.
func (h *host) Link(ctx context.Context, req *pulumirpc.LinkRequest) (*pulumirpc.LinkResponse, error) {
	tc, err := toolchainOf(req.GetInfo())
	if err != nil {
		return nil, err
	}
	links, imports := map[string]string{}, "You can import the SDK in your Python code with:\n\n"
	for _, dependency := range req.GetPackages() {
		name := dependency.GetPackage().GetName()
		if p := dependency.GetPackage().GetParameterization(); p != nil {
			name = p.GetName()
		}
		module := "pulumi_" + strings.ReplaceAll(name, "-", "_")
		links[module] = dependency.GetPath()
		imports += fmt.Sprintf("  import %s as %s\n", module, strings.ReplaceAll(name, "-", "_"))
	}
	if err := tc.LinkPackages(ctx, links); err != nil {
		return nil, fmt.Errorf("adding the SDK to the program's requirements: %w", err)
	}
	return &pulumirpc.LinkResponse{ImportInstructions: imports}, nil
}
