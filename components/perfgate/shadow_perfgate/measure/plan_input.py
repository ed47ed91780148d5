"""Reads one `[[workload]]` table of the configuration into a `Plan`, and notes every fault."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, cast

from shadow_perfgate.errors import Faults
from shadow_perfgate.measure import prompts
from shadow_perfgate.measure.plan import Plan, WarmUpLimits

NAME = "letters, digits, '.', '_' and '-'"
NUMBERS: Final = {
    "batch": (1, 4096, 1),
    "input_tokens": (0, 1_000_000, 0),
    "output_tokens": (1, 100_000, 128),
    "passes": (1, 1000, 5),
    "seed": (0, 2**31 - 1, 0),
    "cores": (0, 1024, 0),
    "leak_batches": (0, 100_000, 0),
    "timeout_s": (1, 86_400, 900),
    "warmup_least": (0, 100, 1),
    "warmup_most": (1, 1000, 8),
}
"""Key to (least, most, default)."""
TEXTS: Final = {"name", "engine", "prompts", "quiet", "python"}
QUIET: Final = ("eager", "graphs", "compile")
ENGINES: Final[Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    "callable": (("call", "load"), ("call", "load")),
    "transformers": (
        ("model", "config", "load"),
        ("model", "config", "load", "dtype", "device", "attention", "tokenizer"),
    ),
    "openai": (("url",), ("url", "model", "chat", "extra", "api_key_env", "server", "ready_s", "request_s")),
    "command": (("argv",), ("argv", "metrics")),
}
"""Engine to (keys of which its table needs one, all keys of its table)."""


KINDS: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "config": ((dict,), "a table"),
    "extra": ((dict,), "a table"),
    "metrics": ((dict,), "a table"),
    "chat": ((bool,), "true or false"),
    "ready_s": ((int, float), "a number of seconds"),
    "request_s": ((int, float), "a number of seconds"),
}
"""Option of an engine to what it must be; others are text."""


def plan(table: Mapping[str, object], faults: Faults, where: str, folder: Path) -> Plan | None:
    """Return the plan of one table, or None after noting what is wrong; paths are relative to `folder`."""
    before = len(faults.found)
    engine = _engine(table, faults, where)
    _unknown(table, faults, where, {*NUMBERS, *TEXTS, *ENGINES, "warmup_tolerance", "gpu_time", "preload"})
    numbers = {key: _number(table, key, faults, where) for key in NUMBERS}
    texts = {key: _text(table, key, faults, where) for key in TEXTS}
    tolerance = _tolerance(table, faults, where)
    options = _options(table, engine, faults, where)
    preload = _preload(table, faults, where)
    _quiet(texts, numbers, faults, where)
    found = prompts.load(texts["prompts"] or "decode-heavy", folder, faults, f"{where}.prompts")
    if len(faults.found) > before or found is None:
        return None
    warmup = WarmUpLimits(numbers.pop("warmup_least"), numbers.pop("warmup_most"), tolerance=tolerance)
    return Plan(
        name=texts["name"],
        engine=engine,
        options=options,
        prompts=found,
        warmup=warmup,
        quiet=texts["quiet"] or "eager",
        gpu_time=table.get("gpu_time", True) is True,
        timeout_s=float(numbers.pop("timeout_s")),
        python=texts["python"],
        preload=preload,
        **numbers,
    )


def plans(tables: Sequence[Mapping[str, object]], source: str, folder: Path) -> list[Plan]:
    """Return the plans of all tables of the configuration `source`; raise `InputError` with every fault."""
    faults = Faults(source)
    read = [plan(table, faults, f"workload[{place}]", folder) for place, table in enumerate(tables)]
    found = [one for one in read if one is not None]
    names = [one.name for one in found]
    for name in sorted({name for name in names if names.count(name) > 1}):
        faults.add("workload", name, "each name once", "rename one")
    faults.raise_if_any()
    return found


def _engine(table: Mapping[str, object], faults: Faults, where: str) -> str:
    engine = table.get("engine")
    if not isinstance(engine, str) or engine not in ENGINES:
        faults.add(f"{where}.engine", engine, f"one of {', '.join(ENGINES)}", "name what is measured")
        return ""
    return engine


def _unknown(table: Mapping[str, object], faults: Faults, where: str, known: set[str]) -> None:
    for key in table:
        if key not in known:
            faults.add(
                f"{where}.{key}", table[key], f"a key of {', '.join(sorted(known))}", "correct or remove it"
            )


def _number(table: Mapping[str, object], key: str, faults: Faults, where: str) -> int:
    least, most, default = NUMBERS[key]
    value = table.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        faults.add(
            f"{where}.{key}", value, f"a whole number from {least} to {most}", f"the default is {default}"
        )
        return default
    return value


def _text(table: Mapping[str, object], key: str, faults: Faults, where: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        faults.add(f"{where}.{key}", value, "text", "put it in quotes")
        return ""
    if key == "name" and not (value and all(sign.isalnum() or sign in "._-" for sign in value)):
        faults.add(f"{where}.name", value, NAME, "give the workload a short name")
    return value


def _preload(table: Mapping[str, object], faults: Faults, where: str) -> tuple[str, ...]:
    value = table.get("preload", [])
    names = _words(value)
    if names is None:
        faults.add(f"{where}.preload", value, "a list of package names", 'write ["torch", "transformers"]')
        return ()
    return names


def _words(value: object) -> tuple[str, ...] | None:
    """Return the words of a list of texts, or None for anything else."""
    if not isinstance(value, list):
        return None
    words = cast("list[object]", value)
    return tuple(map(str, words)) if all(isinstance(word, str) and word for word in words) else None


def _tolerance(table: Mapping[str, object], faults: Faults, where: str) -> float:
    value = table.get("warmup_tolerance", 0.02)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        faults.add(f"{where}.warmup_tolerance", value, "a share above 0 and below 1", "0.02 means 2 %")
        return 0.02
    return float(value)


def _options(table: Mapping[str, object], engine: str, faults: Faults, where: str) -> Mapping[str, object]:
    options: object = table.get(engine, {}) if engine else {}
    if not isinstance(options, dict):
        faults.add(f"{where}.{engine}", options, "a table", f"write [workload.{engine}]")
        return {}
    named = cast("dict[str, object]", options)
    if engine:
        needed, known = ENGINES[engine]
        _unknown(named, faults, f"{where}.{engine}", set(known))
        if not any(named.get(key) for key in needed):
            faults.add(
                f"{where}.{engine}", sorted(named), f"one of {', '.join(needed)}", "say what is measured"
            )
        _argv(named, faults, f"{where}.{engine}")
        _kinds(named, faults, f"{where}.{engine}")
    return named


def _kinds(options: Mapping[str, object], faults: Faults, where: str) -> None:
    for key, value in options.items():
        kinds, wanted = KINDS.get(key, ((str,), "text"))
        if key not in {"argv", "server"} and not _is_one_of(value, kinds):
            faults.add(f"{where}.{key}", value, wanted, "correct it")
    names = options.get("metrics")
    table = cast("dict[str, object]", names) if isinstance(names, dict) else {}
    if not all(isinstance(name, str) for name in table.values()):
        faults.add(f"{where}.metrics", table, "names as text", 'write {latency = "tpot_median"}')


def _is_one_of(value: object, kinds: tuple[type, ...]) -> bool:
    """Tell whether `value` is of one of the kinds; a truth value is no number, though Python counts it so."""
    return isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def _argv(options: Mapping[str, object], faults: Faults, where: str) -> None:
    for key in ("argv", "server"):
        value = options.get(key)
        if value is not None and not _words(value):
            faults.add(
                f"{where}.{key}", value, "a list of words", 'write ["python", "bench.py"]; no shell is used'
            )


def _quiet(texts: Mapping[str, str], numbers: Mapping[str, int], faults: Faults, where: str) -> None:
    quiet = texts["quiet"]
    if quiet and quiet not in QUIET:
        faults.add(f"{where}.quiet", quiet, f"one of {', '.join(QUIET)}", "see the quiet modes in the manual")
    elif quiet not in {"", "eager"} and not numbers["input_tokens"]:
        need = f"a prompt length with quiet = {quiet!r}: what is captured has one shape"
        faults.add(f"{where}.input_tokens", 0, need, "set it, for example to 64; prompts are cut or repeated")
