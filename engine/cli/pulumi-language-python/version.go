package main

import (
	"regexp"
	"strings"
)

// pep440 splits a Python version into release, pre-release kind and number, and the rest (post, dev, local).
var pep440 = regexp.MustCompile(`^v?(\d+(?:\.\d+)*)(?:[-_.]?(a|b|rc)(\d+))?(.*)$`)

var preRelease = map[string]string{"a": "alpha", "b": "beta", "rc": "rc"}

// semverOf turns a Python package version into the plugin version that it stands for, or "" when it cannot.
func semverOf(version string) string {
	match := pep440.FindStringSubmatch(version)
	if match == nil || strings.Contains(version, "!") {
		return ""
	}
	numbers := strings.Split(match[1], ".")
	for len(numbers) < 3 {
		numbers = append(numbers, "0")
	}
	result := strings.Join(numbers[:3], ".")
	if match[2] != "" {
		result += "-" + preRelease[match[2]] + "." + match[3]
	}
	if build := strings.Trim(match[4], ".+"); build != "" {
		result += "+" + strings.ReplaceAll(build, ".", "")
	}
	return result
}
