// Command runnerconfig reads a config.toml by GitLab Runner's own code and prints what it understood, as JSON.
//
// Exit codes: 0 accepted, 1 refused (unknown key, wrong type, failed validation), 2 wrong usage.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/BurntSushi/toml"
	"gitlab.com/gitlab-org/gitlab-runner/common"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: runnerconfig CONFIG.TOML")
		os.Exit(2)
	}
	config, err := read(os.Args[1])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(config)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}

// read loads a file as GitLab Runner does; a key that its configuration does not know is an error here, where GitLab
// Runner itself would pass over it in silence.
func read(path string) (map[string]any, error) {
	config := common.NewConfig()
	if err := config.LoadConfig(path); err != nil {
		return nil, fmt.Errorf("GitLab Runner cannot load it: %w", err)
	}
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("GitLab Runner finds it invalid: %w", err)
	}
	metadata, err := toml.DecodeFile(path, common.NewConfig())
	if err != nil {
		return nil, err
	}
	if unknown := metadata.Undecoded(); len(unknown) > 0 {
		names := make([]string, len(unknown))
		for i, key := range unknown {
			names[i] = key.String()
		}
		return nil, errors.New("GitLab Runner does not know " + strings.Join(names, ", "))
	}
	return understood(config)
}

// understood turns the configuration back into TOML and that into plain values, so that names are those of the file.
func understood(config *common.Config) (map[string]any, error) {
	var text strings.Builder
	if err := toml.NewEncoder(&text).Encode(config); err != nil {
		return nil, fmt.Errorf("writing the configuration back: %w", err)
	}
	values := map[string]any{}
	_, err := toml.Decode(text.String(), &values)
	return values, err
}
