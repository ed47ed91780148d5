// Package plugin turns a Terraform provider into a Pulumi resource plugin that serves the types in a table.
package plugin

import (
	"strings"

	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	shim "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
)

// maxName and nameSeparator are the official plugins' settings for names that Pulumi makes up.
const (
	maxName       = 255
	nameSeparator = "-"
)

// Table maps Terraform type names to places in the Pulumi package, such as "compute/instance"; a data source's
// place ends in its function's name, such as "compute/getFlavor".
type Table struct {
	Resources, DataSources map[string]string
}

// Info describes a plugin that serves the table's types and none else.
func Info(name, version string, provider shim.Provider, table Table) tfbridge.ProviderInfo {
	info := tfbridge.ProviderInfo{
		P:           provider,
		Name:        name,
		Version:     version,
		Resources:   map[string]*tfbridge.ResourceInfo{},
		DataSources: map[string]*tfbridge.DataSourceInfo{},
	}
	provider.ResourcesMap().Range(func(terraform string, _ shim.Resource) bool {
		if place, ok := table.Resources[terraform]; ok {
			info.Resources[terraform] = &tfbridge.ResourceInfo{Tok: tokens.Type(token(name, place, upperFirst))}
		} else {
			info.IgnoreMappings = append(info.IgnoreMappings, terraform)
		}
		return true
	})
	provider.DataSourcesMap().Range(func(terraform string, _ shim.Resource) bool {
		if place, ok := table.DataSources[terraform]; ok {
			info.DataSources[terraform] = &tfbridge.DataSourceInfo{Tok: tokens.ModuleMember(token(name, place, asIs))}
		} else {
			info.IgnoreMappings = append(info.IgnoreMappings, terraform)
		}
		return true
	})
	info.SetAutonaming(maxName, nameSeparator)
	return info
}

// token spells a place as Pulumi does: "openstack:compute/instance:Instance".
func token(pkg, place string, member func(string) string) string {
	return pkg + ":" + place + ":" + member(place[strings.LastIndex(place, "/")+1:])
}

func upperFirst(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

func asIs(name string) string { return name }
