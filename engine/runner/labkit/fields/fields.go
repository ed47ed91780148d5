// Package fields stands in for the table of renamed log fields; without entries GitLab Runner keeps the old names.
//
// The module gitlab.com/gitlab-org/labkit/v2 is not served by the Go module proxy, and logging takes no part in
// reading a config.toml.
package fields

// Field is what an old log field became.
type Field struct{ Standard string }

var (
	// Deprecated maps old names to new ones.
	Deprecated = map[string]Field{}
	// VariantVersion tells since when a new name holds.
	VariantVersion = map[string]int{}
)
