"""Secrets from AWS Secrets Manager: `AWSCURRENT`, and `AWSPREVIOUS` while it has one.

Secrets Manager keeps `AWSPREVIOUS` until the next rotation; remove the stage from the old version to end the
time in which both values are valid.
"""

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from shadow_autoscaler.adapters.aws_errors import code_of, port_errors
from shadow_autoscaler.adapters.local_secrets import checked, missing

if TYPE_CHECKING:
    from types_boto3_secretsmanager import SecretsManagerClient


class AwsSecrets:
    """A `Secrets`; the secret `webhook-secret` is named `<prefix>webhook-secret` there."""

    def __init__(self, client: "SecretsManagerClient", prefix: str = "shadow-autoscaler/") -> None:
        self._client, self._prefix = client, prefix

    def get(self, name: str) -> tuple[str, ...]:
        """Return the current value and, while there is one, the former."""
        secret_id = self._prefix + checked(name)
        with port_errors(f"secret {secret_id!r}"):
            value, former = self._stage(secret_id, "AWSCURRENT"), self._stage(secret_id, "AWSPREVIOUS")
        if not value:
            raise missing(name, f"Secrets Manager has no text secret {secret_id!r}; create it there")
        return (value, former) if former else (value,)

    def _stage(self, secret_id: str, stage: str) -> str:
        try:
            answer = self._client.get_secret_value(SecretId=secret_id, VersionStage=stage)
        except ClientError as error:
            if code_of(error) == "ResourceNotFoundException":
                return ""
            raise
        return answer.get("SecretString", "")
