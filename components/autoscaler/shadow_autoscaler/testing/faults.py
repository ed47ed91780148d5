"""Which calls fail, how, and whether they took effect all the same: by script or by seed."""

import random
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from shadow_autoscaler.core.faults import Failure, FailureKind, PortError

_BEFORE = (
    (FailureKind.TRANSIENT, "503 Service Unavailable", None),
    (FailureKind.TRANSIENT, "connection refused", None),
    (FailureKind.THROTTLED, "429 Too Many Requests", 30.0),
    (FailureKind.AUTH, "401 Unauthorized", None),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """One failing call."""

    failure: Failure
    after: bool = False
    """Whether the call takes effect before it fails."""


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of calls that go wrong, from 0 to 1."""

    before: float = 0.0
    """Refused before anything happens."""
    after: float = 0.0
    """Carried out, but the answer is lost."""
    stale: float = 0.0
    """Lists that show an earlier moment."""


class FaultPlan:
    """Decides for every call of every fake; the same seed and calls give the same faults."""

    def __init__(self, seed: int = 0, rates: Mapping[str, Rates] | None = None) -> None:
        self.rates = dict(rates or {})
        """By verb (`cloud.create`), port (`cloud`) or `*`; the most exact one counts."""
        self.calls: Counter[str] = Counter()
        """Calls made so far, by verb."""
        self.failed: Counter[str] = Counter()
        self.on = True
        """False ends all drawn faults, so that a test can watch everything settle."""
        self.hook: Callable[[str, str], None] = lambda _verb, _moment: None
        """Called `before` and `after` the effect of every call; may raise."""
        self._random = random.Random(seed)  # noqa: S311 (test data)
        self._script: dict[str, deque[Fault]] = defaultdict(deque)

    def script(self, verb: str, failure: Failure, *, after: bool = False, times: int = 1) -> None:
        """Have the next calls of a verb fail."""
        self._script[verb].extend([Fault(failure, after)] * times)

    @contextmanager
    def call(self, verb: str, *, writes: bool = True) -> Generator[None]:
        """Stand around the effect of a call and fail before or after it, or not at all."""
        self.calls[verb] += 1
        self.hook(verb, "before")
        fault = self._next(verb, writes=writes)
        if fault is not None and not fault.after:
            self.failed[verb] += 1
            raise PortError(fault.failure)
        yield
        self.hook(verb, "after")
        if fault is not None:
            self.failed[verb] += 1
            raise PortError(fault.failure)

    def stale(self, verb: str) -> bool:
        """Whether this list is to show an earlier moment."""
        return self.on and self._random.random() < self._rates(verb).stale

    def _next(self, verb: str, *, writes: bool) -> Fault | None:
        if self._script[verb]:
            return self._script[verb].popleft()
        if not self.on:
            return None
        rates, drawn = self._rates(verb), self._random.random()
        if drawn < rates.before:
            kind, text, retry_after_s = self._random.choice(_BEFORE)
            return Fault(Failure(kind, text, retry_after_s))
        if writes and drawn < rates.before + rates.after:
            return Fault(Failure(FailureKind.UNKNOWN_OUTCOME, "connection reset by peer"), after=True)
        return None

    def _rates(self, verb: str) -> Rates:
        port = verb.partition(".")[0]
        return self.rates.get(verb) or self.rates.get(port) or self.rates.get("*") or Rates()
