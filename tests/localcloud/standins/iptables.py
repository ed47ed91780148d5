"""`iptables`, `ip6tables`, `nft`: rules are kept where the guest's metadata service reads and obeys them.

As on a real machine the rules are gone after a reboot.
"""

import ipaddress
import sys
from collections.abc import Sequence
from pathlib import Path

RULES = Path("/run/iptables")
_BUILT_IN = {
    "filter": ("INPUT", "FORWARD", "OUTPUT"),
    "nat": ("PREROUTING", "INPUT", "OUTPUT", "POSTROUTING"),
    "mangle": ("PREROUTING", "INPUT", "FORWARD", "OUTPUT", "POSTROUTING"),
    "raw": ("PREROUTING", "OUTPUT"),
}
_LONG = {
    "--append": "-A",
    "--insert": "-I",
    "--delete": "-D",
    "--check": "-C",
    "--new-chain": "-N",
    "--flush": "-F",
    "--policy": "-P",
    "--list-rules": "-S",
    "--list": "-L",
    "--delete-chain": "-X",
    "--jump": "-j",
    "--destination": "-d",
    "--dst": "-d",
    "--source": "-s",
    "--protocol": "-p",
    "--table": "-t",
}
_VERBS = ("-A", "-I", "-D", "-C", "-N", "-F", "-P", "-S", "-L", "-X")


class Refused(Exception):  # noqa: N818 - it carries the real program's message, not a fault of ours
    """The command fails as the real one does: exit code and message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def main(program: str, arguments: Sequence[str]) -> int:
    """Apply one command to the stored rules."""
    if program == "nft":
        sys.stderr.write("nft: this guest keeps its rules with iptables; use iptables.\n")
        return 1
    words = [_LONG.get(word, word) for word in arguments if word not in {"-w", "--wait", "-n", "-v"}]
    words = [word for i, word in enumerate(words) if not (word.isdigit() and i == 0)]
    table = _take(words, "-t") or "filter"
    family = "ip6tables" if program.startswith("ip6") else "iptables"
    try:
        path = RULES / f"{family}.{table}"
        rules = _load(path, table)
        if program == "iptables-save" or words[:1] == ["-S"]:
            chain = words[1] if len(words) > 1 else None
            _need(rules, chain)
            sys.stdout.write("".join(f"{r}\n" for r in rules if chain is None or r.split()[1] == chain))
            return 0
        return _apply(path, rules, words)
    except Refused as refused:
        sys.stderr.write(f"{program}: {refused}\n")
        return refused.code


def _apply(path: Path, rules: list[str], words: list[str]) -> int:
    verb = next((word for word in words if word in _VERBS), None)
    if verb is None:
        raise Refused(
            2, 'no command specified\nTry `iptables -h\' or "iptables --help" for more information.'
        )
    words.remove(verb)
    if verb == "-L":
        sys.stdout.write("".join(f"{rule}\n" for rule in rules))
        return 0
    chain = words.pop(0) if words else None
    if verb != "-N":
        _need(rules, chain)
    _change(verb, rules, chain or "", words)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".draft")
    draft.write_text("".join(f"{rule}\n" for rule in rules))
    draft.replace(path)
    return 0


def _change(verb: str, rules: list[str], chain: str, words: list[str]) -> None:
    if verb == "-N":
        _new_chain(rules, chain)
    elif verb == "-P":
        rules[:] = [f"-P {chain} {words[0]}" if r.startswith(f"-P {chain} ") else r for r in rules]
    elif verb == "-F":
        rules[:] = [r for r in rules if not r.startswith(f"-A {chain} " if chain else "-A ")]
    elif verb == "-X":
        rules[:] = [r for r in rules if r != f"-N {chain}"]
    else:
        _change_rule(verb, rules, chain, words)


def _change_rule(verb: str, rules: list[str], chain: str, words: list[str]) -> None:
    position = int(words.pop(0)) if verb == "-I" and words and words[0].isdigit() else 1
    rule = f"-A {chain} {_normal(words)}"
    if verb == "-A":
        rules.append(rule)
    elif verb == "-I":
        rules.insert(_index(rules, chain, position), rule)
    elif rule not in rules:
        raise Refused(1, "Bad rule (does a matching rule exist in that chain?).")
    elif verb == "-D":
        rules.remove(rule)


def _index(rules: Sequence[str], chain: str, position: int) -> int:
    places = [i for i, rule in enumerate(rules) if rule.startswith(f"-A {chain} ")]
    return places[position - 1] if position <= len(places) else len(rules)


def _new_chain(rules: list[str], chain: str) -> None:
    if chain in _chains(rules):
        raise Refused(1, "Chain already exists.")
    rules.append(f"-N {chain}")


def _normal(words: Sequence[str]) -> str:
    """Rule text as `iptables -S` prints it; refuses what the real program can't read."""
    out = list(words)
    for index, word in enumerate(out[:-1]):
        if word in {"-d", "-s"}:
            out[index + 1] = ",".join(_network(part) for part in out[index + 1].split(","))
    target = next((out[i + 1] for i, word in enumerate(out[:-1]) if word in {"-j", "-g"}), None)
    if "-j" in out and target is None:
        raise Refused(2, "option `-j' requires an argument")
    return " ".join(out)


def _network(text: str) -> str:
    try:
        return str(ipaddress.ip_network(text, strict=False))
    except ValueError:
        raise Refused(2, f"host/network `{text}' not found") from None


def _chains(rules: Sequence[str]) -> set[str]:
    return {rule.split()[1] for rule in rules if rule.startswith(("-P", "-N"))}


def _need(rules: Sequence[str], chain: str | None) -> None:
    if chain and chain not in _chains(rules):
        raise Refused(1, "No chain/target/match by that name.")


def _load(path: Path, table: str) -> list[str]:
    if path.exists():
        return path.read_text().splitlines()
    if table not in _BUILT_IN:
        raise Refused(3, f"can't initialize iptables table `{table}': Table does not exist")
    return [f"-P {chain} ACCEPT" for chain in _BUILT_IN[table]]


def _take(words: list[str], option: str) -> str | None:
    if option not in words[:-1]:
        return None
    index = words.index(option)
    value = words[index + 1]
    del words[index : index + 2]
    return value
