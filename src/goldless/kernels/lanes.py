"""Four floats at once in kernels: one load, one sum, one store of the machine.

Numba adds four neighbours one by one, unless a long loop runs over them. A row of a table has few states, so kernels
say what they mean: ``sums = plus(sums, four(table, place))``.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.datamodel import models, register_default
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

LANES = 4
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_BYTES = 8  # of a float: where four of them start is not aligned otherwise


class Four(types.Type):
    """The type of four floats."""

    def __init__(self) -> None:
        super().__init__(name="Four")


_FOUR = Four()


@register_default(Four)
class _FourModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any):
        super().__init__(manager, kind, _VECTOR)


def _place(context: Any, builder: Any, kind: Any, array: Any, start: Any) -> Any:
    """Return where four floats of a flat array lie."""
    first = builder.gep(make_array(kind)(context, builder, array).data, [start])
    return builder.bitcast(first, _VECTOR.as_pointer())


@intrinsic
def four(typing: Any, flat: Any, start: Any) -> Any:
    """Return four floats of a flat array."""

    def generate(context, builder, signature, arguments):
        loaded = builder.load(_place(context, builder, signature.args[0], *arguments))
        loaded.align = _BYTES
        return loaded

    return _FOUR(flat, types.intp), generate


@intrinsic
def put(typing: Any, flat: Any, start: Any, values: Any) -> Any:
    """Store four floats in a flat array."""

    def generate(context, builder, signature, arguments):
        array, place, values = arguments
        builder.store(values, _place(context, builder, signature.args[0], array, place)).align = _BYTES
        return context.get_dummy_value()

    return types.void(flat, types.intp, values), generate


@intrinsic
def plus(typing: Any, one: Any, other: Any) -> Any:
    """Return the sums of four floats and four others."""
    return _FOUR(one, other), lambda context, builder, signature, arguments: builder.fadd(*arguments)
