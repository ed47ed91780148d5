"""The project's pipelines for previews, as a small repository whose engine prints a recorded preview."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SAMPLES = ROOT / "tests/unit/preview/samples"
_TEXTS = {".md", ".py", ".sh", ".yaml", ".yml", ".json", ".txt"}
_STAND_INS = {
    "scripts/_setup.sh": f"ensure_environment() {{ ln -sfn {Path(sys.executable).parents[1]} .venv; }}\n",
    "scripts/engine": '#!/bin/sh\necho "export PATH=$PWD/fake:$PATH"\n',
    "scripts/test": "#!/bin/sh\n",
    "fake/pulumi": """#!/bin/sh
echo "pulumi $*" >&2
[ -z "$OS_CLIENT_CONFIG_FILE" ] || stat -c 'credential %a' "$OS_CLIENT_CONFIG_FILE" >&2
[ "$1" != preview ] || cat infra/planned.json
""",
}


def files(*pipelines: str) -> dict[str, str]:
    """Return what the pipelines in these files need, by path, with stand-ins for set-up and engine."""
    found = [*(ROOT / "infra").rglob("*"), *(ROOT / "tests/policy").glob("*")]
    texts = [file for file in found if file.is_file() and file.suffix in _TEXTS]
    own = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in texts}
    return own | {name: (ROOT / name).read_text(encoding="utf-8") for name in pipelines} | _STAND_INS


def executable(path: str) -> bool:
    """Whether a file has that mode in the repository."""
    return path.endswith(".sh") or path in _STAND_INS


def planned(sample: str) -> dict[str, str]:
    """Return a change of the stack that the engine previews as recorded in the sample of this name."""
    return {"infra/planned.json": (_SAMPLES / f"{sample}.json").read_text(encoding="utf-8")}
