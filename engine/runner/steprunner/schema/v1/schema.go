// Package schema names the types of step-runner's schema that GitLab Runner's job model mentions.
//
// The module gitlab.com/gitlab-org/step-runner is not served by the Go module proxy. Nothing of it takes part in
// reading a config.toml; these packages let GitLab Runner's own code compile, and fail loudly if ever called.
package schema

// StepInputs are a step's inputs by name.
type StepInputs map[string]any

// Step is one step of a job.
type Step struct {
	Name   *string    `json:"name,omitempty" yaml:"name,omitempty"`
	Step   any        `json:"step,omitempty" yaml:"step,omitempty"`
	Inputs StepInputs `json:"inputs,omitempty" yaml:"inputs,omitempty"`
	Run    []Step     `json:"run,omitempty" yaml:"run,omitempty"`
}
