"""Stand-in for Pulumi's GitLab resource plugin, over python-gitlab.

It serves the few resource types that a runner stack uses, with the property names, defaults and secret
outputs of the official plugin, for machines where the official plugin cannot be had.
"""

PLUGIN = "gitlab"
"""Package name that the engine looks the plugin up by."""

VERSION = "10.4.0"
"""Version of the official SDK whose schema this stand-in follows."""

NOTICE = (
    f"gitlab plugin: this is a stand-in for the official {PLUGIN} {VERSION} plugin, "
    "which could not be had here; "
    "it manages user runners, hooks, projects, groups and CI/CD variables only"
)
"""Said once at start-up, so that nobody takes it for the official plugin."""
