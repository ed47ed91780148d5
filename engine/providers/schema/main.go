// Command schema writes the plugins' Pulumi schemas below a folder: openstack/schema.json and github/schema.json.
package main

import (
	"encoding/json"
	"log"
	"os"
	"path/filepath"

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
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, info.Name, "schema.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
