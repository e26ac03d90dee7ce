"""Builds the package: generated protobuf code, the files that commands need, and the commit are added at build time."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).resolve().parents[1]
SHIPPED = ("campaigns", "examples/routers", "proto", "scenarios", "schemas", "tests/conformance")
"""Files that `record.installation` finds below `brokerlab/shipped`."""
GENERATED = {"broker_service/generated": "proto", "analysis/generated": "proto/viewers"}
"""Folders of generated code, with those of their definitions. Services are in the first."""
_COMMIT = "commit"
"""File of the commit, in the root of a source distribution and among the shipped files."""


class BuildPackage(build_py):  # type: ignore[misc]
    """Makes what is in no package of the sources. An editable installation uses the checkout's own files."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            package = Path(self.build_lib)
            for generated, definitions in GENERATED.items():
                _generate(package, generated, ROOT / definitions)
            for path in _shipped():
                target = package / "brokerlab" / "shipped" / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / path, target)
            (package / "brokerlab" / "shipped" / _COMMIT).write_text(_commit(), encoding="utf-8")


class SourceDistribution(sdist):  # type: ignore[misc]
    """Adds the commit, which a source distribution has no other trace of."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        commit = _commit()  # before the tree is made inside of the checkout, of whose files git knows nothing
        super().make_release_tree(base_dir, files)
        Path(base_dir, _COMMIT).write_text(commit, encoding="utf-8")


def _shipped() -> Iterator[Path]:
    """The shipped files, relative to the root."""
    for name in SHIPPED:
        yield from (path.relative_to(ROOT) for path in sorted((ROOT / name).rglob("*")) if path.is_file())


def _generate(package: Path, generated: str, definitions: Path) -> None:
    """Generates the code, under the package's name, so that its modules import each other by that name."""
    from grpc_tools import protoc  # noqa: PLC0415 - an editable installation needs none

    options = [f"-I{generated}={definitions}", f"--python_out={package}", f"--grpc_python_out={package}"]
    if protoc.main(["protoc", *options, *map(str, sorted(definitions.glob("*.proto")))]):
        raise RuntimeError("protoc failed, with the reason above")


def _commit() -> str:
    """The commit of the sources, with `+` if files differ from it; empty where it is not known."""
    kept = ROOT / _COMMIT
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    if not (ROOT / ".git").exists():
        return ""
    git = ["git", "-C", str(ROOT), "-c", f"safe.directory={ROOT}"]
    try:
        revision, status = (
            subprocess.run([*git, *command], capture_output=True, text=True, check=True).stdout.strip()
            for command in (["rev-parse", "HEAD"], ["status", "--porcelain"])
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return revision + ("+" if status else "")
