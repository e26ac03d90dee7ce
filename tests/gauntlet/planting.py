"""Planting: replaces a function of the product by one that wraps it, in a process that ends with the run.

Nothing is ever undone, because each run has a process of its own.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

Wrapper = Callable[..., Any]
"""Called with the original function and then with its arguments; what it returns takes the place of the result."""


def around(owner: type | ModuleType, name: str, wrapper: Wrapper) -> None:
    """Replaces `owner.name`, a function of a module or a method, static method or property of a class.

    A function that other modules have imported by name is replaced in these as well. Raises `AttributeError` where
    there is no such name, so that a row cannot silently plant nothing.
    """
    found = inspect.getattr_static(owner, name)
    if isinstance(found, property):
        assert found.fget is not None
        setattr(owner, name, property(_wrapped(found.fget, wrapper)))
    elif isinstance(found, staticmethod):
        setattr(owner, name, staticmethod(_wrapped(found.__func__, wrapper)))
    elif isinstance(found, classmethod):
        setattr(owner, name, classmethod(_wrapped(found.__func__, wrapper)))
    else:
        install(owner, name, _wrapped(found, wrapper))


def install(owner: type | ModuleType, name: str, function: Callable[..., Any]) -> None:
    """Puts a function in the place of `owner.name`, and of all names that modules have bound to it."""
    original = inspect.getattr_static(owner, name)
    setattr(owner, name, function)
    if isinstance(owner, ModuleType):
        for module in tuple(sys.modules.values()):
            for bound, value in tuple(vars(module).items()) if isinstance(module, ModuleType) else ():
                if value is original:
                    setattr(module, bound, function)


def constant(module: ModuleType, name: str, value: object) -> None:
    """Gives a module's constant another value, in that module alone. Raises `AttributeError` where there is none."""
    getattr(module, name)
    setattr(module, name, value)


def _wrapped(original: Callable[..., Any], wrapper: Wrapper) -> Callable[..., Any]:
    @functools.wraps(original)
    def planted(*arguments: Any, **named: Any) -> Any:
        return wrapper(original, *arguments, **named)

    return planted


class EveryNth:
    """True at every `n`-th call, beginning with the `n`-th."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._calls = 0

    def __call__(self) -> bool:
        self._calls += 1
        return self._calls % self._n == 0
