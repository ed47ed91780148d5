// Command pulumi-language-nodejs runs Pulumi programs, component plugins and policy packs written in TypeScript or
// JavaScript, and writes SDKs for them.
//
// It is the language host that the Pulumi engine starts for `runtime: nodejs`. The official host's module is not
// served by the Go module proxy, so this one implements the same gRPC service on the public SDK packages. The scripts
// that set a program up come with the program's own @pulumi/pulumi package.
package main

import (
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"shadow/engine/cli/internal/langhost"
)

func main() {
	langhost.Main("pulumi-language-nodejs", func(base *langhost.Base) (pulumirpc.LanguageRuntimeServer, error) {
		return &host{Base: base}, nil
	})
}

// host serves pulumirpc.LanguageRuntime for Node.js.
type host struct {
	*langhost.Base
}
