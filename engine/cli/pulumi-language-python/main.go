// Command pulumi-language-python runs Pulumi programs, component plugins and policy packs written in Python.
//
// It is the language host that the Pulumi engine starts for `runtime: python`. The official host's module is not
// served by the Go module proxy, so this one implements the same gRPC service on the public SDK packages.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"shadow/engine/cli/internal/langhost"
)

func main() {
	langhost.Main("pulumi-language-python", func(base *langhost.Base) (pulumirpc.LanguageRuntimeServer, error) {
		executor, err := findExecutor()
		return &host{Base: base, executor: executor}, err
	})
}

// findExecutor returns the Python script that sets a program up and runs it.
func findExecutor() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("locating the language host: %w", err)
	}
	script := filepath.Join(filepath.Dir(self), "pulumi-language-python-exec")
	if _, err := os.Stat(script); err != nil {
		return "", fmt.Errorf("missing executor %s beside the language host; run scripts/engine again: %w", script, err)
	}
	return script, nil
}
