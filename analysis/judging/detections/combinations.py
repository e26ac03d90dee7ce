"""The sets of publications that fulfil a pattern within a window, found in one pass over them in order of time.

This is the oracle's own definition of a detection, by relational algebra and independent of the brokers' detector:

1. A leaf is a relation whose rows are the publications that match it. The rows of `||` are those of its operands. The
   rows of `&` are the joins of its operands' rows: the union of their publications, where they agree on all variables
   that both have.
2. Publications are added in the order of their stamps. A new row of an operand is joined with the rows that the others
   have by then, so every combination is found once, when the last of its publications is added.
3. `&` of several operands is a chain of joins of two, each hashed on the variables that both sides bind in any case.
   The operand with the fewest matches comes first, and one that shares a variable with those before comes next, so that
   the rows of inner joins stay few.
4. A row whose oldest publication has left the window joins no more. Such rows are removed when half of a table may
   consist of them, so that memory holds two windows at most.
5. A test of a variable by another operator than equality is made when the pattern is complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from analysis.judging.language import (
    AllOf,
    AnyOf,
    Part,
    Pattern,
    Relation,
    Value,
    Variable,
    bound_by,
    parts_of,
    related,
)

Members = tuple[int, ...]
"""The numbers of publications, ascending, each once."""
_Values = tuple[Value | None, ...]
"""The values of the pattern's variables; None for those that are not bound."""
_Test = tuple[Value, Relation, int]
"""A value that is to be tested against a variable, given by its place."""
_Row = tuple[int, Members, _Values, tuple[_Test, ...]]
"""The stamp of the oldest publication, the publications, the values, and the tests to be made."""
_Emit = Callable[[_Row], None]
_Key = tuple[Value | None, ...]

_FEWEST_REMOVED = 64
"""Rows that a table holds before any are removed."""


class Combinations:
    """The sets of publications that fulfil one pattern."""

    def __init__(self, pattern: Pattern, within: int, matches: Sequence[int]) -> None:
        """`within` is the window in nanoseconds; `matches` are the numbers of publications that match each part, about,
        from which the order of joins follows."""
        parts = parts_of(pattern)
        variables = list(dict.fromkeys(made.variable for part in parts for made in part.variables))
        self._within = within
        self._window = _Window()
        self._places = {variable: place for place, variable in enumerate(variables)}
        self._leaves: list[_Leaf] = []
        self._tables: list[_Table] = []
        self._matches = matches
        self._complete: dict[Members, None] = {}
        self._build(pattern, self._completed)

    @property
    def rows(self) -> int:
        """The number of rows that are kept for joins."""
        return sum(table.rows for table in self._tables)

    def add(self, stamp: int, number: int, leaves: Iterable[int], values: Sequence[Sequence[Value]]) -> list[Members]:
        """Adds a publication that matches these parts of the pattern, and returns the sets that it completes.

        Stamps and numbers must ascend. `values` are those of the attributes that each part compares with variables, in
        the order of its predicates; empty where no part has variables.
        """
        self._window.start = stamp - self._within
        for place, leaf in enumerate(leaves):
            self._leaves[leaf].add(stamp, number, values[place] if values else ())
        if not self._complete:
            return []
        found = list(self._complete)
        self._complete.clear()
        return found

    def _completed(self, row: _Row) -> None:
        _, members, values, tests = row
        if all(_passes(test, values) for test in tests):
            self._complete[members] = None

    def _build(self, pattern: Pattern, emit: _Emit) -> None:
        """Makes the relations below a node, whose rows go to `emit`. Leaves are made in the order of the parts."""
        match pattern:
            case Part():
                self._leaves.append(_Leaf(pattern, self._places, emit))
            case AnyOf(operands):
                for operand in operands:
                    self._build(operand, emit)
            case AllOf(operands):
                for operand, receive in zip(operands, self._chain(operands, emit), strict=True):
                    self._build(operand, receive)

    def _chain(self, operands: Sequence[Pattern], emit: _Emit) -> list[_Emit]:
        """The chain of joins of these operands: the receiver of each operand's rows."""
        order = self._order(operands)
        bound = bound_by(operands[order[0]])
        joins: list[_Join] = []
        for place in order[1:]:
            of_operand = bound_by(operands[place])
            shared = [self._places[variable] for variable in _sorted(bound & of_operand)]
            left, right = _Table(self._window), _Table(self._window)
            self._tables += left, right
            joins.append(_Join(shared, left, right, self._window))
            bound |= of_operand
        for join, following in zip(joins, [*(join.from_left for join in joins[1:]), emit], strict=True):
            join.emit = following
        receivers = dict(zip(order, [joins[0].from_left, *(join.from_right for join in joins)], strict=True))
        return [receivers[place] for place in range(len(operands))]

    def _order(self, operands: Sequence[Pattern]) -> list[int]:
        first = len(self._leaves)
        sizes = []
        for operand in operands:
            end = first + len(parts_of(operand))
            sizes.append(_size(operand, self._matches[first:end]))
            first = end
        remaining = list(range(len(operands)))
        order: list[int] = []
        bound: frozenset[Variable] = frozenset()
        while remaining:
            chosen = min(remaining, key=lambda place: (not bound_by(operands[place]) & bound, sizes[place], place))
            remaining.remove(chosen)
            order.append(chosen)
            bound |= bound_by(operands[chosen])
        return order


class _Window:
    """The present window."""

    __slots__ = ("start",)

    def __init__(self) -> None:
        self.start = 0
        """The stamp of the oldest publication that lies in it."""


class _Leaf:
    """The publications that match a part."""

    def __init__(self, part: Part, places: dict[Variable, int], emit: _Emit) -> None:
        numbered = list(enumerate(part.variables))
        self._bindings = [(number, places[made.variable]) for number, made in numbered if made.binds]
        self._tests = [(number, made.relation, places[made.variable]) for number, made in numbered if not made.binds]
        self._unbound: _Values = (None,) * len(places)
        self._emit = emit

    def add(self, stamp: int, number: int, values: Sequence[Value]) -> None:
        """Adds a publication unless two values of one variable differ."""
        bound = self._unbound
        if self._bindings:
            filled = list(bound)
            for own, place in self._bindings:
                value, present = values[own], filled[place]
                if present is not None and present != value:
                    return
                filled[place] = value
            bound = tuple(filled)
        tests = tuple([(values[own], relation, place) for own, relation, place in self._tests])
        self._emit((stamp, (number,), bound, tests))


class _Table:
    """Rows by the values of some variables."""

    __slots__ = ("_limit", "_rows", "_window", "rows")

    def __init__(self, window: _Window) -> None:
        self._rows: dict[_Key, list[_Row]] = {}
        self._window = window
        self.rows = 0
        self._limit = _FEWEST_REMOVED

    def add(self, key: _Key, row: _Row) -> None:
        rows = self._rows.get(key)
        if rows is None:
            self._rows[key] = [row]
        else:
            rows.append(row)
        self.rows += 1
        if self.rows >= self._limit:
            self._remove_old()

    def get(self, key: _Key) -> Sequence[_Row]:
        """The rows with these values, among them some that have left the window."""
        return self._rows.get(key, ())

    def _remove_old(self) -> None:
        start = self._window.start
        kept = {key: [row for row in rows if row[0] >= start] for key, rows in self._rows.items()}
        self._rows = {key: rows for key, rows in kept.items() if rows}
        self.rows = sum(map(len, self._rows.values()))
        self._limit = max(_FEWEST_REMOVED, 2 * self.rows)


class _Join:
    """The join of two relations."""

    __slots__ = ("_left", "_places", "_right", "_window", "emit")

    def __init__(self, places: Sequence[int], left: _Table, right: _Table, window: _Window) -> None:
        """`places` are those of the variables that both sides bind in any case."""
        self.emit: _Emit = _no_receiver
        self._places = places
        self._window = window
        self._left, self._right = left, right

    def from_left(self, row: _Row) -> None:
        self._join(row, self._left, self._right)

    def from_right(self, row: _Row) -> None:
        self._join(row, self._right, self._left)

    def _join(self, row: _Row, own: _Table, other: _Table) -> None:
        oldest, members, values, tests = row
        key = tuple([values[place] for place in self._places])
        own.add(key, row)
        start = self._window.start
        for partner_oldest, partners, partner_values, partner_tests in other.get(key):
            if partner_oldest < start:
                continue
            joined = _united(values, partner_values) if values else values
            if joined is not None:
                together = members if members == partners else tuple(sorted({*members, *partners}))
                self.emit((min(oldest, partner_oldest), together, joined, tests + partner_tests))


def _no_receiver(_row: _Row) -> None:
    raise AssertionError("a join whose rows go nowhere")


def _passes(test: _Test, values: _Values) -> bool:
    """True when a test holds, given the values of the variables, of which it is one that is bound."""
    value, relation, place = test
    bound = values[place]
    return bound is not None and related(value, relation, bound)


def _united(values: _Values, others: _Values) -> _Values | None:
    """The values of both rows; None where they differ."""
    united = []
    for value, other in zip(values, others, strict=True):
        if value is None:
            united.append(other)
        elif other is None or value == other:
            united.append(value)
        else:
            return None
    return tuple(united)


def _size(pattern: Pattern, matches: Sequence[int]) -> int:
    """A rough number of rows; `matches` are those of the pattern's own parts."""
    match pattern:
        case Part():
            return matches[0]
        case AnyOf(operands) | AllOf(operands):
            sizes, first = [], 0
            for operand in operands:
                end = first + len(parts_of(operand))
                sizes.append(_size(operand, matches[first:end]))
                first = end
            return sum(sizes) if isinstance(pattern, AnyOf) else min(sizes)


def _sorted(variables: frozenset[Variable]) -> list[Variable]:
    return sorted(variables)
