package langhost

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// Dependency returns what a package's plugin description asks for; nil when it needs no plugin. The fallbacks are
// used where the description names no plugin or version.
func Dependency(described *plugin.PulumiPluginJSON, name, version string) *pulumirpc.PackageDependency {
	if described == nil || !described.Resource {
		return nil
	}
	result := &pulumirpc.PackageDependency{
		Kind:             "resource",
		Name:             described.Name,
		Version:          described.Version,
		Server:           described.Server,
		Parameterization: parameterization(described.Parameterization),
		Extension:        parameterization(described.ExtensionParameterization),
	}
	if result.Name == "" {
		result.Name = name
	}
	if result.Version == "" {
		result.Version = version
	}
	return result
}

func parameterization(p *plugin.PulumiParameterizationJSON) *pulumirpc.PackageParameterization {
	if p == nil {
		return nil
	}
	return &pulumirpc.PackageParameterization{Name: p.Name, Version: p.Version, Value: p.Value}
}
