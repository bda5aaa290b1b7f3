# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""coal's narrow phase in machine code beside its Python binding: the same bits, in every step and every world.

Covers collision/coal_check.py, collision/coal_library.py, collision/coal_settled.py.
"""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.collision import coal_check, coal_compiled, coal_engine, coal_library, make_narrow_phase
from mb_contact.model.pairs import first_rows, hull_arrays
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene
from mb_contact.model.shapes.hulls import convex_hull
from mb_contact.types import SHAPE_CONVEX, SHAPE_PLANE, Geoms
from scenes.collision_cases import random_rotation

built = pytest.mark.skipif(coal_library.library() is None, reason="no compiled narrow phase: mb-contact compile")


@pytest.fixture
def binding(monkeypatch):
    """``binding(make)``: what ``make()`` makes while there is no library."""

    def call(make):
        with monkeypatch.context() as patch:
            patch.setattr(coal_library, "library", lambda: None)
            return make()

    return call


def some_shapes(rng, copies):
    """Geoms of all pairs of ``copies`` shapes of each kind, a plane, two equal cones, a hull, its equal and mirrors."""
    kinds = [kind for kind in range(SHAPE_CONVEX + 1) for _ in range(copies)] + [SHAPE_PLANE, 4, 4, 6, 6, 6, 6]
    hulls = [convex_hull(rng.normal(0.0, 0.05, (rng.integers(8, 200), 3))) if kind == SHAPE_CONVEX else None
             for kind in kinds]  # fmt: skip
    hulls[-3:] = [convex_hull(hulls[-4].vertices * mirror) for mirror in ((1, 1, 1), (-1, 1, 1), (1, -1, 1))]
    size = np.array([rng.uniform(0.03, 0.1, 3) if hull is None else hull.half for hull in hulls])
    size[-5], size[-4:] = size[-6], size[-4]
    g, pairs = len(kinds), np.stack(np.triu_indices(len(kinds), 1), axis=1)
    pairs[::2] = pairs[::2, ::-1].copy()
    return Geoms(
        body=np.arange(g), kind=np.array(kinds), size=size, R=np.tile(np.eye(3), (g, 1, 1)), p=np.zeros((g, 3)),
        pairs=pairs, mu=np.full(len(pairs), 0.5), margin=np.array([0.002]), **hull_arrays(hulls),
        first_row=first_rows(pairs, g),
    )  # fmt: skip


def answers(narrow, geoms, R, p, reach):
    """Witnesses of all pairs, -7 where nothing is written."""
    rows = np.arange(len(geoms.pairs))
    witness = np.full((len(rows), 4), -7.0)
    narrow.query(rows, len(rows), np.full(len(rows), reach), R, p, witness)
    return witness


@built
def test_all_pairs_of_shapes_are_the_same_bits():
    rng = np.random.default_rng(4)
    geoms = some_shapes(rng, 2)
    compiled, python = make_narrow_phase(geoms), coal_engine.NarrowPhase(geoms)
    assert isinstance(compiled, coal_compiled.NarrowPhase) and min(compiled.address) > 0
    for width in (0.05, 0.1, 0.3):  # deep in each other, touching, apart
        for reach in (np.inf, 0.01):
            R = np.array([random_rotation(rng) for _ in geoms.kind])
            p = rng.uniform(-width, width, (len(R), 3))
            assert np.array_equal(*(answers(n, geoms, R, p, reach) for n in (compiled, python)), equal_nan=True)


@built
def test_the_order_of_a_pair_does_not_matter():
    rng = np.random.default_rng(5)
    geoms = some_shapes(rng, 1)
    other = geoms._replace(pairs=np.ascontiguousarray(geoms.pairs[:, ::-1]))
    R, p = np.array([random_rotation(rng) for _ in geoms.kind]), rng.uniform(-0.1, 0.1, (len(geoms.kind), 3))
    a, b = (answers(make_narrow_phase(g), g, R, p, np.inf) for g in (geoms, other))
    asked = a[:, 3] != -7.0
    assert asked.sum() > 50
    twins = (geoms.size[geoms.pairs[:, 0]] == geoms.size[geoms.pairs[:, 1]]).all(axis=1)  # of one kind: either is first
    assert np.array_equal(a[asked & ~twins, 3], b[asked & ~twins, 3])
    assert np.array_equal(a[asked & ~twins, :3], -b[asked & ~twins, :3])


@pytest.mark.parametrize("engine", [pytest.param("coal", marks=built), "binding", "fcl"])
def test_an_engine_follows_the_sizes(engine):
    """What it answers after sizes have changed is what one answers that was made with them."""
    rng = np.random.default_rng(6)
    geoms = some_shapes(rng, 1)
    make = coal_engine.NarrowPhase if engine == "binding" else lambda geoms: make_narrow_phase(geoms, engine)
    R, p = np.array([random_rotation(rng) for _ in geoms.kind]), rng.uniform(-0.1, 0.1, (len(geoms.kind), 3))
    narrow = make(geoms)
    before = answers(narrow, geoms, R, p, np.inf)
    geoms.size[geoms.kind != SHAPE_CONVEX] *= 1.3
    after = answers(narrow, geoms, R, p, np.inf)
    assert np.array_equal(after, answers(make(geoms), geoms, R, p, np.inf))
    assert not np.array_equal(after, before)


def pile(**choices):
    """Shapes without closed form that fall onto each other."""
    shapes = (("cylinder", (0.08, 0.1)), ("cone", (0.08, 0.12)), ("ellipsoid", (0.06, 0.08, 0.05)),
              ("cylinder", (0.05, 0.16)), ("box", (0.1, 0.12, 0.08)))  # fmt: skip
    bodies = [Primitive(f"body_{i}", kind, size, Pose((0.02 * i, 0.01 * i, 0.1 + 0.13 * i), rpy=(0.4 * i, 0.3, 0.0)),
                        "free", 1.0, material="wood") for i, (kind, size) in enumerate(shapes)]  # fmt: skip
    materials = {"wood": Material(0.5, restitution=choices.pop("restitution", 0.0))}
    return Scene(primitives=tuple(bodies), ground=Ground(0.0, "wood"), materials=materials, time_step=0.002, **choices)


def run(sim, steps=150):
    """Steps from the start; the state after each."""
    sim.reset()
    return [(sim.step(), np.concatenate((sim.q, sim.v)))[1] for _ in range(steps)]


def never():
    raise AssertionError("an engine in Python was asked")


@built
@pytest.mark.parametrize("choices", [{}, {"integrator": "rk4"}, {"restitution": 0.5}], ids=["euler", "rk4", "bounces"])
def test_steps_with_and_without_it_are_the_same_bits(choices, binding, monkeypatch):
    compiled, python = mb.Simulator(pile(**choices)), binding(lambda: mb.Simulator(pile(**choices)))
    asked = []
    monkeypatch.setattr(compiled.context, "ask_engine", never)
    ask = python.context.ask_engine
    monkeypatch.setattr(python.context, "ask_engine", lambda: (asked.append(1), ask()))
    assert np.array_equal(run(compiled), run(python))
    assert len(asked) > 50


@built
def test_threads_do_not_share_it():
    """Two simulators in two threads, and two threads of worlds, take the steps of one."""
    sims = [mb.Simulator(pile()) for _ in range(2)]
    alone = run(sims[0])
    with ThreadPoolExecutor(2) as pool:
        for result in pool.map(run, sims):
            assert np.array_equal(result, alone)


@built
def test_worlds_of_several_sizes_are_the_same_bits(binding):
    ends = []
    for make in (lambda make: make(), binding):
        worlds = make(lambda: mb.Worlds(pile(), 4, threads=2))
        worlds.set("size", [[0.1, 0.12, 1.0]], of=["body_1"], mask=[1, 3])
        worlds.step(steps=150)
        ends.append(np.concatenate((worlds.q, worlds.v), axis=1))
        worlds.close()
    assert np.array_equal(*ends)
    assert np.array_equal(ends[0][0], ends[0][2]) and np.abs(ends[0][1] - ends[0][0]).max() > 1e-3


def test_where_it_fails_python_is_asked(binding):
    """An engine in machine code that refuses: its pairs are asked for from Python, and the steps are the same."""
    words = [ctypes.c_void_p] * 7
    calls = []

    def refuse(*arguments):
        calls.append(arguments[1])
        return 1

    refuses = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, *words)(refuse)
    python, failing = (binding(lambda: mb.Simulator(pile())) for _ in range(2))
    failing.context.buffers.engine[:] = ctypes.cast(refuses, ctypes.c_void_p).value, 0
    assert np.array_equal(run(failing, 60), run(python, 60))
    assert len(calls) > 20


# --- building it ----------------------------------------------------------------------------------


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """No library anywhere; what is built goes to a new folder."""
    monkeypatch.setenv("MB_CONTACT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(coal_library, "PACKAGED", tmp_path / "none")
    caches = coal_library.library, coal_library._places
    for cache in caches:
        cache.cache_clear()
    yield tmp_path
    for cache in caches:
        cache.cache_clear()


def test_without_a_compiler_python_is_asked(empty_cache, monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(coal_library.NoLibrary, match="no C\\+\\+ compiler"):
        coal_library.build()
    assert not coal_library.is_worth_a_try()
    assert isinstance(make_narrow_phase(some_shapes(np.random.default_rng(0), 1)), coal_engine.NarrowPhase)


def test_a_compiler_that_fails_is_tried_once(empty_cache, monkeypatch):
    script = empty_cache / "compiler"
    script.write_text("#!/bin/sh\necho 'x.cpp:1: error: no luck' >&2\nexit 1\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("CXX", str(script))
    if coal_library._own_library() is None:
        pytest.skip("libcoal.so is not beside coal's Python package")
    try:
        coal_library._command()
    except coal_library.NoLibrary as error:
        pytest.skip(str(error))
    assert coal_library.is_worth_a_try()
    with pytest.raises(coal_library.NoLibrary, match="the compiler fails: x.cpp:1: error: no luck"):
        coal_library.build()
    assert not coal_library.is_worth_a_try() and coal_library.library() is None


@built
def test_other_numbers_than_the_bindings_are_found_out(monkeypatch):
    path = coal_library.library()._name
    coal_check.check(path)
    monkeypatch.setattr(coal_engine, "TOLERANCE", 1e-4)
    with pytest.raises(RuntimeError, match="answers differ by"):
        coal_check.check(path)


@built
def test_what_does_not_fit_is_not_loaded(empty_cache):
    """A truncated file, and one that was built for another coal."""
    (place,) = coal_library._places()[-1:]
    place.parent.mkdir()
    place.write_bytes(b"\x7fELF")
    assert coal_library.library() is None


@built
def test_an_answer_of_the_library_that_is_an_error_is_an_exception():
    geoms = some_shapes(np.random.default_rng(0), 1)
    narrow = make_narrow_phase(geoms)

    class Failing:
        mb_coal_query = staticmethod(lambda *_: 1)
        mb_coal_failure = staticmethod(lambda _: b"the solver is lost")
        mb_coal_drop = narrow._library.mb_coal_drop

    narrow._library = Failing
    with pytest.raises(RuntimeError, match="the solver is lost"):
        answers(narrow, geoms, np.tile(np.eye(3), (len(geoms.kind), 1, 1)), np.zeros((len(geoms.kind), 3)), 0.1)
