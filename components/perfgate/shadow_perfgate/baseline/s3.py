"""A store in S3-compatible object storage, through boto3.

Objects are created with `If-None-Match: *`. Servers differ in how they refuse (412, 409, 304), and some
ignore the condition: what was written is read back, so a collision is noticed either way.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, cast

from shadow_perfgate.baseline.store import ExistsError
from shadow_perfgate.errors import InputError, StoreError

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

_TAKEN = {"304", "409", "412", "PreconditionFailed", "ConditionalRequestConflict"}
_READERS = 16


class S3Store:
    """Objects of `bucket` below `prefix`."""

    def __init__(self, client: "S3Client", bucket: str, prefix: str) -> None:
        self.client = client
        self.bucket = bucket
        self.prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""

    @classmethod
    def connect(cls, bucket: str, prefix: str, options: Mapping[str, str]) -> Self:
        """Return a store whose credentials come from the environment, as boto3 finds them."""
        try:
            import boto3  # noqa: PLC0415 - an optional dependency
            from botocore.config import Config  # noqa: PLC0415
        except ImportError:
            raise InputError(f"store s3://{bucket}: boto3 is not installed; pip install boto3") from None
        # Several S3-compatible servers know neither the newer checksums nor buckets as host names.
        settings = Config(
            retries={"mode": "standard", "max_attempts": 5},
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
            s3={"addressing_style": "path"} if options.get("endpoint") else {},
            max_pool_connections=_READERS,
        )
        client: S3Client = cast("Any", boto3).client(
            "s3",
            endpoint_url=options.get("endpoint") or None,
            region_name=options.get("region") or None,
            config=settings,
        )
        return cls(client, bucket, prefix)

    def create(self, files: Mapping[str, bytes]) -> None:
        """Write new objects; raise `ExistsError` for one that is there."""
        for name, content in files.items():
            with self._errors("PutObject", name):
                self.client.put_object(
                    Bucket=self.bucket,
                    Key=self.prefix + name,
                    Body=content,
                    IfNoneMatch="*",
                    ContentType="application/json",
                )
            if dict(self.read([name])).get(name) != content:
                raise ExistsError(name)

    def names(self, prefix: str) -> list[str]:
        """Return the paths below `prefix`, in order."""
        found: list[str] = []
        with self._errors("ListObjectsV2", prefix):
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket, Prefix=self.prefix + prefix
            )
            for page in pages:
                found += [e.get("Key", "").removeprefix(self.prefix) for e in page.get("Contents", [])]
        return sorted(found)

    def read(self, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield path and content of each object that is still there, several fetched at a time."""
        with ThreadPoolExecutor(_READERS) as pool:
            for name, content in pool.map(self._read, names):
                if content is not None:
                    yield name, content

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects."""
        for name in names:
            with self._errors("DeleteObject", name):
                self.client.delete_object(Bucket=self.bucket, Key=self.prefix + name)

    def _read(self, name: str) -> tuple[str, bytes | None]:
        from botocore.exceptions import ClientError  # noqa: PLC0415 - see connect

        with self._errors("GetObject", name):
            try:
                return name, self.client.get_object(Bucket=self.bucket, Key=self.prefix + name)["Body"].read()
            except ClientError as error:
                if _code(error.response) in {"NoSuchKey", "404"}:
                    return name, None
                raise

    @contextmanager
    def _errors(self, call: str, name: str) -> Generator[None]:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - see connect

        where = f"store s3://{self.bucket}/{self.prefix}{name}: {call}"
        try:
            yield
        except ClientError as error:
            if call == "PutObject" and _code(error.response) in _TAKEN:
                raise ExistsError(name) from None
            said = error.response.get("Error", {}).get("Message", "")
            raise StoreError(
                f"{where}: {_code(error.response)} {said}".rstrip()
                + "; check bucket, region, endpoint and the job's credentials"
            ) from None
        except BotoCoreError as error:
            raise StoreError(f"{where}: {error}; check endpoint and the job's credentials") from None


def _code(response: Any) -> str:
    return str(response.get("Error", {}).get("Code", ""))
