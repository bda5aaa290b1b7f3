# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Collision detection: poses in, contact manifolds out.

The compiled part (:mod:`mb_contact.core`) finds near pairs and builds manifolds; an engine
answers for the near pairs with a normal and a signed distance.  One step is

1. ``geometry_poses``, ``aabbs``, ``candidate_pairs`` (compiled),
2. closed forms, and ``NarrowPhase.query`` for what has none (from compiled code by its ``address``, or from Python),
3. ``build_contacts`` (compiled; planes are treated here, without the engine).

An engine is a class with ``__init__(geoms)`` and
``query(candidates, count, reach, geom_R, geom_p, witness)``, in a module of its own, listed in ``ENGINES``.  It follows
the sizes of the geometries, which worlds may change.
"""

import importlib
from typing import Protocol

import numpy as np
import numpy.typing as npt

from mb_contact.checks import Floats
from mb_contact.collision.buffers import CollisionBuffers, ask_engine, make_buffers, make_contacts
from mb_contact.errors import CollisionError
from mb_contact.types import Geoms

__all__ = [
    "ENGINES",
    "CollisionBuffers",
    "NarrowPhase",
    "ask_engine",
    "make_buffers",
    "make_contacts",
    "make_narrow_phase",
]

#: engine name -> module that defines its ``NarrowPhase``; imported only when asked for
ENGINES = {"coal": "mb_contact.collision.coal_engine", "fcl": "mb_contact.collision.fcl_engine"}
#: what to install for an engine
PACKAGES = {"coal": "coal", "fcl": "python-fcl"}


class NarrowPhase(Protocol):
    """What every engine's class does, made with the world's ``Geoms``."""

    def query(
        self,
        candidates: npt.NDArray[np.int64],
        count: int,
        reach: Floats,
        geom_R: Floats,
        geom_p: Floats,
        witness: Floats,
    ) -> None:
        """Fill the witness rows of near pairs; see :class:`mb_contact.collision.coal_engine.NarrowPhase`."""


def make_narrow_phase(geoms: Geoms, engine: str = "coal") -> NarrowPhase:
    """Narrow phase of a world.

    Parameters
    ----------
    geoms : Geoms
    engine : str
        One of ``ENGINES``.

    Returns
    -------
    NarrowPhase

    Raises
    ------
    CollisionError
        The engine is unknown or its library is not installed, or a geometry has a size that
        makes no shape.
    """
    if engine not in ENGINES:
        available = ", ".join(sorted(ENGINES))
        raise CollisionError(f"collision engine {engine!r} is unknown; available: {available}")
    try:
        module = importlib.import_module(ENGINES[engine])
    except ImportError as error:
        raise CollisionError(
            f"collision engine {engine!r} cannot be imported ({error}); pip install {PACKAGES[engine]}"
        ) from error
    library = importlib.import_module(f"{__name__}.coal_library").library() if engine == "coal" else None
    if library is not None:
        return importlib.import_module(f"{__name__}.coal_compiled").NarrowPhase(geoms, library)
    return module.NarrowPhase(geoms)
