"""Results of pytest-benchmark (`--benchmark-json`, `.benchmarks/`): seconds, each test a workload."""

from shadow_perfgate.imports.build import session
from shadow_perfgate.imports.node import Node
from shadow_perfgate.model import Session, Workload

ONE_PROCESS = "rounds of one process: noise between processes is not in them; run pytest several times"


def fits(document: Node) -> bool:
    """Tell whether `document` looks like a result of pytest-benchmark."""
    return document.has("machine_info", "benchmarks")


def read(document: Node) -> list[Session]:
    """Return one session per test."""
    return [_test(test) for test in document["benchmarks"].each()]


def _test(test: Node) -> Session:
    stats = test["stats"]
    values = tuple(value * 1000 for value in stats["data"].numbers())
    return session(
        "pytest-benchmark",
        test.source,
        Workload(test["fullname"].text(test["name"].text("test")), arguments=test["params"].settings()),
        {"e2e_median": stats["median"].needed() * 1000},
        requests=int(stats["rounds"].needed()),
        samples={"e2e": values} if values else {},
        notes=(ONE_PROCESS,),
    )
