// Command openstack is the Pulumi resource plugin "openstack": the Terraform provider behind Pulumi's bridge.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"

	"shadow/engine/providers/openstack/mapping"
)

// schema is what ./schema writes.
//
//go:embed schema.json
var schema []byte

func main() { tfbridge.Main("openstack", mapping.Version, mapping.Info(), schema) }
