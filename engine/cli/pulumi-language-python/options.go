package main

import (
	"context"
	"fmt"
	"os/exec"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/pulumi/pulumi/sdk/v3/python/toolchain"
)

// options are the `runtime.options` of Pulumi.yaml, PulumiPlugin.yaml or PulumiPolicy.yaml.
type options struct {
	toolchain.PythonOptions
	// checkerModule is the type checker's Python module, empty for none.
	checkerModule string
}

// optionsOf reads a program's runtime options; an unknown value is an error that names the key and the choices.
func optionsOf(info *pulumirpc.ProgramInfo) (options, error) {
	result := options{PythonOptions: toolchain.PythonOptions{
		Root:       info.GetRootDirectory(),
		ProgramDir: info.GetProgramDirectory(),
	}}
	values := map[string]string{}
	for key, value := range info.GetOptions().AsMap() {
		text, ok := value.(string)
		if !ok {
			return result, fmt.Errorf("runtime.options.%s is %v; expected a string", key, value)
		}
		values[key] = text
	}
	result.Virtualenv = values["virtualenv"]
	if err := result.setToolchain(values["toolchain"]); err != nil {
		return result, err
	}
	return result, result.setTypechecker(values["typechecker"])
}

func (o *options) setToolchain(name string) error {
	switch name {
	case "":
		// A named environment is used as it is; without one the lock file decides, as the official host does.
		o.Toolchain = toolchain.Auto
		if o.Virtualenv != "" {
			o.Toolchain = toolchain.Pip
		}
	case "pip":
		o.Toolchain = toolchain.Pip
	case "poetry":
		o.Toolchain = toolchain.Poetry
	case "uv":
		o.Toolchain = toolchain.Uv
	default:
		return fmt.Errorf("runtime.options.toolchain is %q; expected pip, poetry or uv", name)
	}
	return nil
}

func (o *options) setTypechecker(name string) error {
	switch name {
	case "":
		o.Typechecker = toolchain.TypeCheckerNone
	case "mypy":
		o.Typechecker = toolchain.TypeCheckerMypy
	case "pyright":
		o.Typechecker = toolchain.TypeCheckerPyright
	default:
		return fmt.Errorf("runtime.options.typechecker is %q; expected mypy or pyright", name)
	}
	o.checkerModule = name
	return nil
}

// toolchainOf returns the package manager and environment that a program uses.
func toolchainOf(info *pulumirpc.ProgramInfo) (toolchain.Toolchain, error) {
	options, err := optionsOf(info)
	if err != nil {
		return nil, err
	}
	return toolchain.ResolveToolchain(options.PythonOptions)
}

// python prepares a Python command for the program described by info.
func python(ctx context.Context, info *pulumirpc.ProgramInfo, args ...string) (*exec.Cmd, error) {
	tc, err := toolchainOf(info)
	if err != nil {
		return nil, err
	}
	if err := tc.ValidateVenv(ctx); err != nil {
		return nil, err
	}
	return tc.Command(ctx, args...)
}
