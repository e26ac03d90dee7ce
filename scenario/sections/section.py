"""The base of all sections of a scenario, and the types that they share."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetJsonSchemaHandler, ValidationInfo, model_validator
from pydantic_core import PydanticCustomError

from topology.model import MOST_BROKERS

UNKNOWN_FIELD = "unknown_field"


class Section(BaseModel):
    """A mapping of known fields. The docstring of a field is its description in the documentation.

    A field whose name is a keyword of Python has an alias, which is its name in files.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        validate_default=False,
        serialize_by_alias=True,
        allow_inf_nan=False,
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_fields(cls, data: Any) -> Any:
        if isinstance(data, dict) and cls.model_config.get("extra") == "forbid":
            known = [field.alias or name for name, field in cls.model_fields.items()]
            for name in data:
                if name not in known:
                    problem = f"unknown field {name!r}{suggestion(str(name), known)}"
                    # The braces keep pydantic from taking the message for a template.
                    raise PydanticCustomError(UNKNOWN_FIELD, "{problem}", {"problem": problem, "field": name})
        return data


@dataclass(frozen=True, eq=False)
class AlsoWritten:
    """A short form that a field takes as well; a validator turns it into the usual one."""

    short: Mapping[str, Any]
    """The form's JSON Schema."""

    def __get_pydantic_json_schema__(self, usual: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [handler(usual), dict(self.short)]}


PAIR = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 2, "maxItems": 2}
"""The JSON Schema of two brokers that stand for their link."""


def suggestion(name: str, accepted: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest accepted name, or all of them."""
    accepted = sorted(accepted)
    nearest = difflib.get_close_matches(name, accepted, n=1, cutoff=0.6)
    return f"; did you mean {nearest[0]!r}?" if nearest else f"; there are {', '.join(accepted)}"


Count = Annotated[int, Field(strict=True, ge=1)]
"""A whole number from 1."""
Name = Annotated[str, Field(strict=True, min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$")]
"""Letters, digits and `_.+-`, because it becomes part of file names."""
BrokerCount = Annotated[int, Field(strict=True, ge=1, le=MOST_BROKERS)]
CpuQuota = Annotated[float, Field(strict=True, ge=0.01, le=1000)]
"""Cores."""
Degree = Annotated[float, Field(strict=True, gt=0, le=MOST_BROKERS)]
"""Mean number of links of a broker."""
BrokerName = Annotated[str, Field(strict=True, min_length=1, max_length=32)]


ProtocolReference = Annotated[str, Field(strict=True, min_length=1, max_length=4096, pattern=r"^[A-Za-z0-9_./]")]
"""A built-in protocol's name, the path of a file or package, `module:Name`, or an installed package's name for it."""


def beside_the_scenario(path: str, info: ValidationInfo) -> str:
    """Resolves a path against the directory of the scenario's file, which the loader passes as context."""
    return str((info.context or {}).get("directory", Path()) / path)


FilePath = Annotated[str, Field(min_length=1), AfterValidator(beside_the_scenario)]
"""A file or directory, kept as an absolute path so that a resolved scenario means the same anywhere."""
