# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What makes the compiler of kernels quicker than Numba's: it asks for types once, and takes memory for frames once."""

from __future__ import annotations

import operator
import resource
import sys

import numba
import numpy as np
import pytest
from numba.core import types, typing
from numba.core.registry import cpu_target

from mb_contact.compile.compiler import KernelTyping, on_one_stack
from mb_contact.compile.decorated import DISABLE_JIT
from mb_contact.core.jit import kernel

CALLS = 2000


@pytest.fixture
def asked(monkeypatch):
    """What Numba's own context was asked for."""
    calls = []
    find = typing.Context.resolve_function_type

    def tell(self, func, args, kws):
        calls.append(args)
        return find(self, func, args, kws)

    monkeypatch.setattr(typing.Context, "resolve_function_type", tell)
    monkeypatch.setattr(KernelTyping, "_known", {})
    return calls


def test_the_types_of_an_operation_are_looked_up_once(asked):
    cpu_target.typing_context.refresh()
    for _ in range(3):
        context = KernelTyping.of(cpu_target.typing_context)
        for left, right in ((types.float64, types.int64), (types.int64, types.int64)):
            result = context.resolve_function_type(operator.mul, (left, right), {})
            assert result.return_type == left and result.args in ((types.float64,) * 2, (types.int64,) * 2)
    assert asked == [(types.float64, types.int64), (types.int64, types.int64)]


def test_what_is_not_found_is_looked_up_again(asked):
    """What has no type at first can have one when a registry has been loaded."""
    context = KernelTyping.of(cpu_target.typing_context)
    assert context.resolve_function_type("no such operation", (types.int64,), {}) is None
    assert context.resolve_function_type("no such operation", (types.int64,), {}) is None
    assert len(asked) == 2


def worst(depth):
    """Most page faults of ``CALLS`` calls, over all depths of frames below."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(CALLS):
        leaf()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    return max(faults, worst(depth - 1)) if depth else faults


def leaf():
    return None


@pytest.mark.skipif(sys.version_info < (3, 11), reason="frames are objects of their own")
def test_frames_are_in_one_piece_of_memory():
    """300 frames do not fit into one of Python's chunks: before 3.14 some calls in between asked for a new one each."""

    @on_one_stack
    def roomy(depth):
        return worst(depth)

    assert sys.version_info >= (3, 14) or worst(300) >= CALLS
    assert CALLS > 10 * roomy(300)


def entry(a, i):
    return a[i]


def last(a):
    return a[-1]


@pytest.mark.skipif(DISABLE_JIT, reason="plain Python counts from the end too")
def test_indices_are_taken_as_they_are():
    """Numba's own code of the same function looks at the sign of the index."""
    looks = {}
    for compiled in (kernel(entry), numba.njit(entry)):
        assert compiled(np.array([1.0, 2.0]), 1) == 2.0
        looks[compiled] = "icmp slt" in compiled.inspect_llvm(compiled.signatures[0])
    assert list(looks.values()) == [False, True]


@pytest.mark.skipif(DISABLE_JIT, reason="plain Python counts from the end too")
def test_an_index_from_the_end_is_refused_where_it_can_be_seen():
    with pytest.raises(IndexError, match="the index -1: kernels count from the start"):
        kernel(last)(np.array([1.0, 2.0]))
    assert numba.njit(last)(np.array([1.0, 2.0])) == 2.0  # Numba's own functions are left alone
