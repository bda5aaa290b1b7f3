# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Whether a library that has just been built answers as coal's Python binding does."""

from typing import Any

import numpy as np

from mb_contact.collision import coal_compiled, coal_engine, coal_library
from mb_contact.model.pairs import first_rows, hull_arrays
from mb_contact.model.shapes.hulls import convex_hull
from mb_contact.types import SHAPE_CONVEX, Geoms


def check(path: str) -> None:
    """Compare the library of a file with coal's Python binding, over all pairs of shapes.

    Raises
    ------
    RuntimeError
        An answer is not the same bits.
    """
    rng, kinds = np.random.default_rng(0), np.repeat(np.arange(SHAPE_CONVEX + 1), 2)
    hulls = [convex_hull(rng.normal(size=(40, 3))) if kind == SHAPE_CONVEX else None for kind in kinds]
    size = [rng.uniform(0.5, 1.5, 3) if hull is None else hull.half for hull in hulls]
    g = len(kinds)
    pairs = np.stack(np.triu_indices(g, 1), axis=1)
    geoms = Geoms(
        body=np.arange(g), kind=kinds, size=np.array(size),
        R=np.tile(np.eye(3), (g, 1, 1)), p=np.zeros((g, 3)), pairs=pairs, mu=np.ones(len(pairs)), margin=np.zeros(1),
        **hull_arrays(hulls), first_row=first_rows(pairs, g),
    )  # fmt: skip
    engines: list[Any] = [coal_compiled.NarrowPhase(geoms, coal_library.load(path)), coal_engine.NarrowPhase(geoms)]
    for _ in range(5):
        R = np.linalg.qr(rng.normal(size=(g, 3, 3)))[0]
        R *= np.linalg.det(R)[:, None, None]
        p, answers = rng.uniform(-1.5, 1.5, (g, 3)), np.zeros((2, len(pairs), 4))
        for engine, witness in zip(engines, answers):
            engine.query(np.arange(len(pairs)), len(pairs), np.full(len(pairs), np.inf), R, p, witness)
        if not np.array_equal(answers[0], answers[1], equal_nan=True):
            raise RuntimeError(f"answers differ by {np.abs(answers[0] - answers[1]).max():.1e}")
