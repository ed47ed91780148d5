package main

import (
	"context"
	"fmt"

	codegen "github.com/pulumi/pulumi/pkg/v3/codegen/nodejs"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/sdk/v3/nodejs/npm"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"shadow/engine/cli/internal/langhost"
)

// GeneratePackage writes a TypeScript SDK for a schema.
func (h *host) GeneratePackage(
	_ context.Context, req *pulumirpc.GeneratePackageRequest,
) (*pulumirpc.GeneratePackageResponse, error) {
	return langhost.GeneratePackage(req,
		func(pkg *schema.Package, loader schema.ReferenceLoader) (map[string][]byte, error) {
			return codegen.GeneratePackage("pulumi-language-nodejs", pkg, req.GetExtraFiles(),
				req.GetLocalDependencies(), req.GetLocal(), loader)
		})
}

// GenerateProgram writes a TypeScript program for PCL text.
func (h *host) GenerateProgram(
	_ context.Context, req *pulumirpc.GenerateProgramRequest,
) (*pulumirpc.GenerateProgramResponse, error) {
	return langhost.GenerateProgram(req, codegen.GenerateProgram)
}

// Link adds generated or local SDKs to the program's package.json and says how to import them.
func (h *host) Link(ctx context.Context, req *pulumirpc.LinkRequest) (*pulumirpc.LinkResponse, error) {
	options, err := optionsOf(req.GetInfo())
	if err != nil {
		return nil, err
	}
	folder := req.GetInfo().GetProgramDirectory()
	manager, err := npm.ResolvePackageManager(options.packageManager, folder)
	if err != nil {
		return nil, err
	}
	imports := "You can import the SDK in your TypeScript code with:\n\n"
	for _, dependency := range req.GetPackages() {
		name := dependency.GetPackage().GetName()
		if p := dependency.GetPackage().GetParameterization(); p != nil {
			name = p.GetName()
		}
		module := "@pulumi/" + name
		if err := manager.Link(ctx, folder, module, dependency.GetPath()); err != nil {
			return nil, fmt.Errorf("adding %s to the program's package.json: %w", module, err)
		}
		imports += fmt.Sprintf("  import * as %s from %q;\n", camel(name), module)
	}
	return &pulumirpc.LinkResponse{ImportInstructions: imports}, nil
}

// camel turns "gpu-runners" into "gpuRunners".
func camel(name string) string {
	var result []rune
	upper := false
	for _, r := range name {
		if r == '-' || r == '_' {
			upper = true
			continue
		}
		if upper && r >= 'a' && r <= 'z' {
			r -= 'a' - 'A'
		}
		upper = false
		result = append(result, r)
	}
	return string(result)
}
