# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Where Numba lacks a name that is not public, kernels are compiled by Numba alone, with the same results.

Covers compile/private.py.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from mb_contact.compile import private

CODE = """
from typing import Annotated, NamedTuple
import numpy as np
from mb_contact.compile.decorated import AS_IT_IS, entry_for, is_kept
from mb_contact.compile.handles import handle
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import REAL, kernel, on_demand, sweep

class Sums(NamedTuple):
    count: Annotated[Integers, 1]
    x: Annotated[Reals, "n"]

SumsHandleType, SumsHandle, make = handle(Sums)

@sweep
def square(x):
    return x * x

@on_demand(REAL)
def later(h):
    h.x[0] = 7.0
    return h.x[0]

@kernel
def squares(h):
    total = 0.0
    for i in range(h.count[0]):
        total += square(h.x[i])
    return total + later(h)

sums = allocate(Sums, n=3)
sums.x[:], sums.count[0] = (1.0, 2.0, 3.0), 3
h = make(sums)
print(squares(h), entry_for(squares, h)(h), sums.x[0], AS_IT_IS, is_kept(squares))
"""


def run(tmp_path, **variables):
    """(what the code prints, what is logged) in a fresh process."""
    (tmp_path / "sums.py").write_text(CODE, encoding="utf-8")
    environment = os.environ | {"MB_CONTACT_CACHE_DIR": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path)} | variables
    answer = subprocess.run(
        [sys.executable, "-c", "import sums"], cwd=tmp_path, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr
    return answer.stdout.split(), answer.stderr


@pytest.mark.long
def test_numba_alone_gives_the_same_and_says_why(tmp_path):
    usual, silence = run(tmp_path)
    assert usual[:3] == ["21.0", "69.0", "7.0"] and usual[3] == "False" and not silence
    alone, line = run(tmp_path, MB_CONTACT_NUMBA_ALONE="1")
    assert alone == ["21.0", "69.0", "7.0", "True", "True"]
    assert line.strip() == (
        "kernels are compiled by Numba alone, which takes minutes at first: MB_CONTACT_NUMBA_ALONE is set"
    )


def test_the_first_name_that_is_missing_is_told():
    assert private.missing() == ""
    assert private.missing({"json": ("dumps",), "numba.core.nowhere": ()}) == "numba.core.nowhere"
    assert private.missing({"json": ("JSONEncoder.encode", "JSONEncoder.no_such")}) == "json.JSONEncoder.no_such"
