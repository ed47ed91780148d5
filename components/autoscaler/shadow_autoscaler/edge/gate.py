"""Judges webhooks with the secrets as they are now."""

from shadow_autoscaler.edge.config import Config
from shadow_autoscaler.edge.webhooks import github, gitlab
from shadow_autoscaler.edge.webhooks.verdicts import Refused, Request, Verdict
from shadow_autoscaler.ports import Secrets


class Gate:
    """Knows which secrets a genuine webhook shows."""

    def __init__(self, config: Config, secrets: Secrets) -> None:
        self._config, self._secrets = config, secrets

    def judge(self, forge: str, request: Request) -> Verdict:
        """Return what becomes of a webhook; `PortError` where its secret cannot be read."""
        if forge == "github" and self._config.github:
            return github.verify(request, self._secrets.get(self._config.github.webhook_secret))
        if forge == "gitlab" and self._config.gitlab:
            section = self._config.gitlab
            tokens = self._secrets.get(section.webhook_token) if section.webhook_token else ()
            signing = self._secrets.get(section.signing_secret) if section.signing_secret else ()
            return gitlab.verify(request, gitlab.Trusted(tokens, signing))
        return Refused(404, f"{forge} is not configured here", f"add the section {forge}")
