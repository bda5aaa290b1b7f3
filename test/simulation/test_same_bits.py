# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The same scene gives the same bits whatever ran before in the process: ten orders, each in a fresh process."""

import hashlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model import Ground, Material, Pose, Primitive, Velocity

SHAPES = (
    ("cone", (0.04, 0.07)),
    ("box", (0.07, 0.06, 0.05)),
    ("cylinder", (0.03, 0.07)),
    ("ellipsoid", (0.09, 0.06, 0.05)),
)


def heap(seed, turned, **more):
    """Shapes above a block; what coal is asked first has zeros in its direction unless they are ``turned``."""
    rng = np.random.default_rng(seed)
    bodies = [Primitive("block", "box", (0.4, 0.4, 0.1), Pose((0.0, 0.0, -0.05), tuple(turned * rng.normal(size=3))))]
    for i in range(5):
        shape, size = SHAPES[(seed + i) % len(SHAPES)]
        place = Pose((0.03 * (i % 2), 0.02 * (i % 3), 0.1 + 0.09 * i), tuple(turned * rng.normal(size=3)))
        spin = Velocity(angular=tuple(turned * rng.normal(size=3)))
        bodies.append(Primitive(f"b{i}", shape, size, place, base="free", mass=0.2 + 0.1 * i, velocity=spin))
    return mb.Scene(primitives=tuple(bodies), ground=Ground(height=-0.2), time_step=0.002, **more)


def bouncing():
    rubber = {"rubber": Material(restitution=0.5, friction=0.3)}
    box = Primitive(
        "box", "box", (0.1, 0.08, 0.06), Pose((0.0, 0.0, 0.1), (0.3, 0.2, 0.1)), "free", 1.0, material="rubber"
    )
    return mb.Scene(primitives=(box,), ground=Ground(material="rubber"), materials=rubber)


SCENES = {
    "straight": lambda: heap(0, 0.0),
    "turned": lambda: heap(1, 0.4),
    "turned more": lambda: heap(2, 1.0),
    "turned, without a cone": lambda: heap(5, 0.7),
    "bouncing": bouncing,
}


def hashes(names):
    """By name, the bits of q and v after some steps of scenes that run one after the other."""
    found = {}
    for name in names:
        sim = mb.Simulator(SCENES[name]())
        sim.step(steps=150)
        found[name] = hashlib.md5(np.r_[sim.q, sim.v].tobytes()).hexdigest()
    return found


def main():
    """Print what each order finds; every order runs in a copy of this process, which has asked coal nothing yet.

    It has loaded the kernels, by a body that nothing else is there for.
    """
    mb.Simulator(mb.Scene(primitives=(Primitive("lone", "sphere", (0.1,), base="free", mass=1.0),))).step()
    for order in range(int(sys.argv[1])):
        names = list(SCENES)
        random.Random(order).shuffle(names)
        child = os.fork()
        if child == 0:
            print(json.dumps(hashes(names)), flush=True)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("orders", [3, pytest.param(10, marks=pytest.mark.slow)])
def test_orders_of_scenes_give_one_hash_each(orders):
    command = [sys.executable, str(Path(__file__)), str(orders)]
    paths = [*(path for path in sys.path if path), str(Path(mb.__file__).parents[1])]
    lines = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    ).stdout.splitlines()
    found = [json.loads(line) for line in lines]
    assert len(found) == orders
    for name in SCENES:
        assert len({order[name] for order in found}) == 1, name


def test_a_box_has_its_own_size_on_both_sides():
    """coal adds 1e-10 to the negative sides where the first direction it was ever asked for had a zero."""
    code = """
import numpy as np
import pytest
from mb_contact.collision.coal_settled import coal
box, cone, request = coal.Box(2.0, 2.0, 2.0), coal.Cone(0.5, 1.0), coal.DistanceRequest()
request.gjk_tolerance = 1e-13
for x in (-3.0, 3.0):
    place = coal.Transform3s()
    place.setTranslation(np.array([x, 0.1, 0.2]))
    print(repr(coal.ComputeDistance(box, cone)(coal.Transform3s(), place, request, coal.DistanceResult())))
"""
    paths = [*(path for path in sys.path if path), str(Path(mb.__file__).parents[1])]
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    ).stdout.split()  # fmt: skip
    left, right = map(float, answer)
    assert abs(left - right) < 1e-12


if __name__ == "__main__":
    main()
