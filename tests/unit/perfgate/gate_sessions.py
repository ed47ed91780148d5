"""Sessions for tests."""

from collections.abc import Mapping, Sequence

from shadow_perfgate.metrics import CANONICAL
from shadow_perfgate.model import Fingerprint, Run, Session, Workload

B7 = [12.504, 12.670, 12.653, 12.436, 12.463, 12.434, 12.571]
SAME7 = [12.493, 12.593, 12.269, 12.696, 12.488, 12.585, 12.483]
SLOW7 = [13.449, 13.563, 13.611, 13.473, 13.479, 13.593, 13.383]
GPU = Fingerprint({"gpu": "H100-SXM-80GB", "driver": "580.159"})


def session(
    values: Mapping[str, Sequence[float]], *, paired: bool = False, workload: str = "chat128", **more: object
) -> Session:
    """Return a session with one run for each place of the metrics' values."""
    rows = list(zip(*values.values(), strict=True))
    runs = tuple(
        Run(metrics=dict(zip(values, row, strict=True)), pair=place if paired else None, requests=1000)
        for place, row in enumerate(rows)
    )
    described = tuple(CANONICAL[name] for name in values if name in CANONICAL)
    fields: dict[str, object] = {"metrics": described, "fingerprint": GPU, **more}
    return Session(workload=Workload(workload), runs=runs, **fields)  # type: ignore[arg-type]


def latency(values: Sequence[float], **more: object) -> Session:
    """Return a session of median inter-token latencies in ms."""
    return session({"itl_median": values}, **more)  # type: ignore[arg-type]
