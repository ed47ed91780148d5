package langhost

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/pulumi/pulumi/pkg/v3/codegen/hcl2/syntax"
	"github.com/pulumi/pulumi/pkg/v3/codegen/pcl"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// PackageWriter generates an SDK's files for a package.
type PackageWriter func(pkg *schema.Package, loader schema.ReferenceLoader) (map[string][]byte, error)

// ProgramWriter generates a program's files.
type ProgramWriter func(program *pcl.Program) (map[string][]byte, hcl.Diagnostics, error)

// GeneratePackage writes an SDK for a schema; `pulumi package add` and `gen-sdk` use it.
func GeneratePackage(
	req *pulumirpc.GeneratePackageRequest, generate PackageWriter,
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
	files, err := generate(pkg, loader)
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

// GenerateProgram writes a program for PCL text; `pulumi import` and `convert` use it.
func GenerateProgram(
	req *pulumirpc.GenerateProgramRequest, generate ProgramWriter,
) (*pulumirpc.GenerateProgramResponse, error) {
	program, diags, err := bind(req)
	if err != nil {
		return nil, err
	}
	if diags.HasErrors() {
		return &pulumirpc.GenerateProgramResponse{Diagnostics: plugin.HclDiagnosticsToRPCDiagnostics(diags)}, nil
	}
	files, more, err := generate(program)
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
