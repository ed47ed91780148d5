// Package mapping describes the github plugin.
package mapping

import (
	"strings"

	"github.com/integrations/terraform-provider-github/v6/github"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	shim "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim"
	shimv2 "github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfshim/sdk-v2"

	"shadow/engine/providers/internal/plugin"
)

// Version is that of the Python SDK whose schema the plugin follows.
const Version = "6.15.0"

// renamed holds the one data source whose Pulumi name does not follow from its Terraform name.
var renamed = map[string]string{"github_app": "index/getGithubApp"}

// Info describes the plugin: every type of the Terraform provider, named by the rule that the official plugin follows.
func Info() tfbridge.ProviderInfo {
	provider := shimv2.NewProvider(github.NewProvider(Version, "")())
	return plugin.Info("github", Version, provider, plugin.Table{
		Resources:   places(provider.ResourcesMap(), ""),
		DataSources: places(provider.DataSourcesMap(), "get"),
	})
}

func places(types shim.ResourceMap, verb string) map[string]string {
	result := map[string]string{}
	types.Range(func(terraform string, _ shim.Resource) bool {
		result[terraform] = "index/" + camel(verb+"_"+strings.TrimPrefix(terraform, "github_"))
		if name, ok := renamed[terraform]; ok && verb != "" {
			result[terraform] = name
		}
		return true
	})
	return result
}

// camel turns "get_repository_file" into "getRepositoryFile".
func camel(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' })
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}
