// Command github is the Pulumi resource plugin "github": the Terraform provider behind Pulumi's bridge.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"

	"shadow/engine/providers/github/mapping"
)

// schema is what ./schema writes.
//
//go:embed schema.json
var schema []byte

func main() { tfbridge.Main("github", mapping.Version, mapping.Info(), schema) }
