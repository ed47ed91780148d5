//go:build tools

// Package tools keeps the pulumi command in this module's requirements, so that one module graph
// (and one compile of it) serves both the command and the Python language host.
package tools

import (
	_ "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
)
