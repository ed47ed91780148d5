//go:build tools

// Package tools pins the linter of GitHub workflows.
package tools

import _ "github.com/rhysd/actionlint/cmd/actionlint"
