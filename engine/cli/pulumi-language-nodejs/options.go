package main

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/nodejs/npm"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// options are the `runtime.options` of Pulumi.yaml, PulumiPlugin.yaml or PulumiPolicy.yaml.
type options struct {
	typescript     bool
	tsconfig       string
	nodeArguments  []string
	packageManager npm.PackageManagerType
}

// optionsOf reads a program's runtime options; a value of the wrong type is an error that names the key.
func optionsOf(info *pulumirpc.ProgramInfo) (options, error) {
	result := options{typescript: true, packageManager: npm.AutoPackageManager}
	for key, value := range info.GetOptions().AsMap() {
		ok := true
		switch key {
		case "typescript":
			result.typescript, ok = value.(bool)
		case "tsconfig":
			result.tsconfig, ok = value.(string)
		case "nodeargs":
			var text string
			text, ok = value.(string)
			result.nodeArguments = strings.Fields(text)
		case "packagemanager":
			var text string
			text, ok = value.(string)
			result.packageManager = npm.PackageManagerType(text)
		}
		if !ok {
			return result, fmt.Errorf("runtime.options.%s is %v, which has the wrong type", key, value)
		}
	}
	return result, nil
}

// environment holds what the SDK's scripts read.
func (o options) environment() []string {
	result := []string{fmt.Sprintf("PULUMI_NODEJS_TYPESCRIPT=%t", o.typescript)}
	if o.tsconfig != "" {
		result = append(result, "PULUMI_NODEJS_TSCONFIG_PATH="+o.tsconfig)
	}
	return result
}
