// Command schema writes the plugins' Pulumi schemas: openstack/schema.json and github/schema.json.
//
// They are kept in the repository because the generator compiles for longer than both plugins together. Run it after a
// change of a mapping or of a provider's version: go run -trimpath ./schema .
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfgen"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"

	github "shadow/engine/providers/github/mapping"
	openstack "shadow/engine/providers/openstack/mapping"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: schema FOLDER")
	}
	for _, info := range []tfbridge.ProviderInfo{openstack.Info(), github.Info()} {
		if err := write(os.Args[1], info); err != nil {
			log.Fatal(err)
		}
	}
}

func write(folder string, info tfbridge.ProviderInfo) error {
	sink := diag.DefaultSink(os.Stderr, os.Stderr, diag.FormatOptions{Color: colors.Never})
	spec, err := tfgen.GenerateSchema(info, sink)
	if err != nil {
		return err
	}
	text, err := plain(spec)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, info.Name, "schema.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// plain spells a schema with one line per type, without its descriptions: they are the greater part of it, and the
// SDKs carry them anyway.
func plain(spec any) ([]byte, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	var sections map[string]any
	if err := json.Unmarshal(text, &sections); err != nil {
		return nil, err
	}
	lines := make([]string, 0, len(sections))
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		line, err := section(without(sections[name]))
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("%q: %s", name, line))
	}
	return []byte("{\n" + strings.Join(lines, ",\n") + "\n}\n"), nil
}

// section spells an object with one line per entry, and anything else on one line.
func section(value any) (string, error) {
	entries, ok := value.(map[string]any)
	if !ok {
		text, err := json.Marshal(value)
		return string(text), err
	}
	lines := make([]string, 0, len(entries))
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		text, err := json.Marshal(entries[key])
		if err != nil {
			return "", err
		}
		lines = append(lines, fmt.Sprintf("  %q: %s", key, text))
	}
	return "{\n" + strings.Join(lines, ",\n") + "\n}", nil
}

// without drops every description that is a text; a property may itself be called "description".
func without(tree any) any {
	switch node := tree.(type) {
	case map[string]any:
		for key, value := range node {
			if _, isText := value.(string); isText && key == "description" {
				delete(node, key)
				continue
			}
			node[key] = without(value)
		}
	case []any:
		for i, value := range node {
			node[i] = without(value)
		}
	}
	return tree
}
