package main

import (
	"context"
	"fmt"
	"strings"

	codegen "github.com/pulumi/pulumi/pkg/v3/codegen/python"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"shadow/engine/cli/internal/langhost"
)

// GeneratePackage writes a Python SDK for a schema.
func (h *host) GeneratePackage(
	_ context.Context, req *pulumirpc.GeneratePackageRequest,
) (*pulumirpc.GeneratePackageResponse, error) {
	return langhost.GeneratePackage(req,
		func(pkg *schema.Package, loader schema.ReferenceLoader) (map[string][]byte, error) {
			return codegen.GeneratePackage("pulumi-language-python", pkg, req.GetExtraFiles(), loader)
		})
}

// GenerateProgram writes a Python program for PCL text.
func (h *host) GenerateProgram(
	_ context.Context, req *pulumirpc.GenerateProgramRequest,
) (*pulumirpc.GenerateProgramResponse, error) {
	return langhost.GenerateProgram(req, codegen.GenerateProgram)
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
