"""Relations of a page's parameters, such as ``training + test <= 190``.

A relation is a comparison in Python's notation. It is read as a syntax tree, in which only numbers,
names of parameters, sums, differences, products, comparisons and the functions of `FUNCTIONS` are
allowed; Python's own `eval` never sees it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from scorecard.values import ParameterError

Term = Callable[[Mapping[str, Any]], Any]

_SUMS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
}  # fmt: skip
_ORDERS: Mapping[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


def _is_falling(values: Sequence[float]) -> bool:
    return all(before > after for before, after in pairwise(values))


def _is_rising(values: Sequence[float]) -> bool:
    return all(before < after for before, after in pairwise(values))


#: Relations of the values of one list, and numbers that a relation may compare.
_OF_A_LIST: Mapping[str, Callable[[Any], bool]] = {"falling": _is_falling, "rising": _is_rising}
_NUMBERS: Mapping[str, Callable[[Any], Any]] = {"len": len, "min": min, "max": max, "sum": sum}
FUNCTIONS = (*_NUMBERS, *_OF_A_LIST)


@dataclass(frozen=True)
class Relation:
    """One relation that a page declares.

    `text`: the relation as the page has it; `reason`: why it must hold; `names`: the parameters in
    it, in order.
    """

    text: str
    reason: str
    names: tuple[str, ...]
    _holds: Term

    @classmethod
    def parse(cls, text: str, reason: str) -> Relation:
        """Read a relation; raise ParameterError if it has anything that is not allowed in one."""
        try:
            tree = ast.parse(text, mode="eval").body
        except SyntaxError:
            raise _make_error(text) from None
        named = dict.fromkeys(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        names = tuple(name for name in named if name not in FUNCTIONS)
        return cls(text, reason, names, _compile_relation(tree, text))

    def check(self, values: Mapping[str, Any]) -> None:
        """Raise ParameterError with the relation, its reason and the values if it does not hold."""
        if not self._holds(values):
            assignments = ", ".join(f"{name} = {values[name]!r:.80}" for name in self.names)
            raise ParameterError(f"{self.text} must hold ({self.reason}), got {assignments}")


def _make_error(text: str) -> ParameterError:
    return ParameterError(
        f"a relation must compare numbers, parameters, sums, products and {', '.join(_NUMBERS)} of "
        f"a list, or be {' or '.join(_OF_A_LIST)} of one, got {text!r:.80}"
    )


def _compile_relation(node: ast.expr, text: str) -> Term:
    """Return the function that decides the whole tree from the parameters' values."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[ast.Name() as argument], keywords=[]) if (
            name in _OF_A_LIST
        ):
            ordered, argument_term = _OF_A_LIST[name], _compile_term(argument, text)
            return lambda values: ordered(argument_term(values))
        case ast.Compare(left=first, ops=signs, comparators=others) if all(
            type(sign) in _ORDERS for sign in signs
        ):
            terms = [_compile_term(operand, text) for operand in (first, *others)]
            orders = [_ORDERS[type(sign)] for sign in signs]

            def holds(values: Mapping[str, Any]) -> bool:
                numbers = pairwise([term(values) for term in terms])
                return all(order(*pair) for order, pair in zip(orders, numbers, strict=True))

            return holds
    raise _make_error(text)


def _compile_term(node: ast.expr, text: str) -> Term:
    """Return the function that computes a number of a relation from the parameters' values."""
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return lambda values: number
        case ast.Name(id=name) if name not in FUNCTIONS:
            return lambda values: values[name]
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SUMS:
            left_term, right_term, combine = (
                _compile_term(left, text),
                _compile_term(right, text),
                _SUMS[type(sign)],
            )
            return lambda values: combine(left_term(values), right_term(values))
        case ast.Call(func=ast.Name(id=name), args=[ast.Name() as argument], keywords=[]) if (
            name in _NUMBERS
        ):
            function, argument_term = _NUMBERS[name], _compile_term(argument, text)
            return lambda values: function(argument_term(values))
    raise _make_error(text)
