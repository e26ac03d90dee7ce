"""Missing extras: recognised by any of their modules, and named with the remedy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from record import extras, installation
from record.errors import HostError
from record.extras import EXTRAS, SPARK, SYSTEMS, Extra, about_missing

ABSENT = Extra("absent", "nothing", ("json", "no_such_module"))


def test_an_extra_is_missing_when_one_of_its_modules_is() -> None:
    assert ABSENT.missing() == "no_such_module"
    assert Extra("there", "nothing", ("json",)).missing() is None
    with pytest.raises(HostError, match=r"no_such_module is missing.*make setup"):
        ABSENT.require()


def test_a_module_that_may_not_be_imported_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def find_spec(self, name: str, path: object = None, target: object = None) -> None:
            if name == "pyspark":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Refusing(), *sys.meta_path])
    assert SPARK.missing() == "pyspark"


@pytest.mark.parametrize("extra", EXTRAS, ids=lambda extra: str(extra.name))
def test_an_import_that_failed_names_the_extra(extra: Extra) -> None:
    for module in extra.modules:
        sentence = about_missing(ModuleNotFoundError(name=f"{module}.part"))
        assert sentence is not None
        assert sentence.endswith(f": make {extra.target}")


def test_an_installed_package_is_completed_by_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "INSTALLED", True)
    assert SPARK.remedy == "pip install 'brokerlab[spark]'"


def test_the_container_of_the_emulator_is_completed_on_its_host(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(installation, "_IMAGE_OF_THE_EMULATOR", tmp_path)
    assert SYSTEMS.remedy == "make base on the host of this container, and brokerlab there"


def test_code_that_a_checkout_has_yet_to_generate_names_the_target(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = ModuleNotFoundError(name="analysis.generated.trace_file_pb2")
    sentence = about_missing(missing)
    assert sentence is not None and sentence.startswith("analysis.generated.trace_file_pb2 has not been generated")
    assert sentence.endswith("`make proto` there")
    monkeypatch.setattr(extras, "INSTALLED", True)
    assert about_missing(missing) is None


def test_other_errors_of_imports_are_no_matter_of_extras() -> None:
    assert about_missing(ModuleNotFoundError(name="brokerlab.nothing")) is None
    assert about_missing(ImportError("cannot import name")) is None
