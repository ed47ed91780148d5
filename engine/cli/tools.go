//go:build tools

// Package tools keeps the pulumi command and the YAML host in this module's requirements, so that one module graph
// (and one compile of it) serves them and the Python language host.
package tools

import (
	_ "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml"
	_ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
)
