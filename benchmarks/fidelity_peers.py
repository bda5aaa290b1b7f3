# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes of the fidelity suite in other engines; run by ``fidelity.py`` in the interpreter that has them.

    PYTHON benchmarks/fidelity_peers.py ENGINE

Prints one line of JSON a case: its name, and by the names of the suite what was measured, or why not.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from fidelity_engines import ENGINES, Body, Shape, World

G = 9.81
NOT_DONE = 600.0  #: seconds for one engine
SOFT = 20  #: steps in which a soft contact may take up an impact


def solid(kind, size, m):
    """Principal moments of a homogeneous solid."""
    if kind == "sphere":
        return np.full(3, 0.4 * m * size[0] ** 2)
    if kind == "box":
        x, y, z = np.square(size)
        return m / 12.0 * np.array([y + z, x + z, x + y])
    r, length = size
    if kind == "cylinder":
        across = m * (3 * r * r + length**2) / 12.0
        return np.array([across, across, m * r * r / 2])
    pipe, ball = np.pi * r * r * length, 4.0 / 3.0 * np.pi * r**3
    mp, mb = m * pipe / (pipe + ball), m * ball / (pipe + ball)
    across = mp * (3 * r * r + length**2) / 12.0 + mb * (0.4 * r * r + length**2 / 4.0 + 3.0 / 8.0 * length * r)
    return np.array([across, across, mp * r * r / 2 + 0.4 * mb * r * r])


def turn(axis, angle):
    """Rotation about x (0), y (1) or z (2)."""
    c, s = np.cos(angle), np.sin(angle)
    R = np.eye(3)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R[i, i] = R[j, j] = c
    R[i, j], R[j, i] = -s, s
    return R


def rpy(roll, pitch, yaw):
    return turn(2, yaw) @ turn(1, pitch) @ turn(0, roll)


def body(name, kind, size, position, mass=1.0, R=None, **options):
    size = tuple(np.atleast_1d(np.asarray(size, dtype=float)))
    inertia = options.pop("inertia", None)
    inertia = solid(kind, size, mass) if inertia is None else np.asarray(inertia)
    return Body(name, (Shape(kind, size),), mass, inertia, tuple(position), np.eye(3) if R is None else R, **options)


def slope(angle):
    return (G * np.sin(angle), 0.0, -G * np.cos(angle))


def drive(sim, seconds, dt, watch=None):
    for i in range(round(seconds / dt)):
        sim.step()
        if watch is not None:
            watch((i + 1) * dt)


# --- friction -------------------------------------------------------------------------------------


def block(engine, dt, gravity=(0.0, 0.0, -G), **options):
    return engine(World((body("block", "box", (0.2, 0.2, 0.1), (0, 0, 0.05), **options),), gravity, time_step=dt))


def slope_sticks(engine, dt):
    sim, worst = block(engine, dt, slope(np.radians(20))), [0.0]
    start = sim.pose("block")[0]
    drive(sim, 2.0, dt, lambda _: worst.append(np.linalg.norm(sim.pose("block")[0] - start)))
    return {"drift": max(worst)}


def slope_slides(engine, dt):
    sim = block(engine, dt, slope(np.radians(35)))
    drive(sim, 1.0, dt)
    return {"speed": sim.velocity("block")[1][0]}


def stop(engine, dt):
    sim = block(engine, dt, v=(1.0, 0.0, 0.0))
    drive(sim, 0.3, dt)
    return {"way": sim.pose("block")[0][0], "speed after 0.3 s": np.abs(np.concatenate(sim.velocity("block"))).max()}


def slide_to_roll(engine, dt):
    r, speed = 0.1, 5.0
    sim = engine(World((body("ball", "sphere", r, (0, 0, r), v=(speed, 0, 0)),), mu=0.2, time_step=dt))
    times, slips, places, heights = [0.0], [speed], [0.0], [r]

    def watch(t):
        omega, v = sim.velocity("ball")
        place = sim.pose("ball")[0]
        for seen, value in zip((times, slips, places, heights), (t, v[0] - r * omega[1], place[0], place[2])):
            seen.append(value)

    drive(sim, 1.0, dt, watch)
    last = int(np.flatnonzero(np.array(slips) > 1e-4 * speed)[-1])  # regularised friction leaves a creep
    rest = min(1.0, slips[last] / (slips[last - 1] - slips[last])) if last < len(slips) - 1 else 0.0
    after = min(last + 1, len(slips) - 1)
    return {
        "speed": sim.velocity("ball")[1][0], "end of slip": times[last] + rest * dt,
        "way until then": places[last] + rest * (places[after] - places[last]), "sinking": r - min(heights),
    }  # fmt: skip


def rolls_down(engine, dt):
    sim = engine(World((body("ball", "sphere", 0.1, (0, 0, 0.1)),), slope(np.radians(20)), time_step=dt))
    drive(sim, 1.0, dt)
    return {"acceleration": sim.velocity("ball")[1][0]}


# --- passing --------------------------------------------------------------------------------------


def fixed(name, size, position):
    return body(name, "box", size, position, fixed=True)


def seam(engine, dt):
    tiles = [fixed(f"tile_{i}", (0.1, 1.0, 0.1), (0.1 * i - 0.95, 0.0, -0.05)) for i in range(30)]
    box = body("box", "box", (0.13, 0.09, 0.08), (-0.3, 0.0, 0.04), v=(2.0, 0.0, 0.0))
    sim, heights = engine(World((*tiles, box), mu=0.3, ground=False, time_step=dt)), []
    drive(sim, 0.8, dt, lambda _: heights.append(sim.pose("box")[0][2] - 0.04))
    return {"way": sim.pose("box")[0][0] + 0.3, "off the surface": np.abs(heights).max()}


def passes(engine, dt):
    flying = body("flying", "box", (0.1, 0.1, 0.1), (-0.2537, 0.0, 0.0501), v=(1.0, 0.0, 0.0))
    table = fixed("fixed", (0.2, 0.2, 0.2), (0.0, 0.0, -0.1))
    sim = engine(World((table, flying), (0.0, 0.0, 0.0), mu=0.3, ground=False, time_step=dt))
    drive(sim, 0.5, dt)
    omega, v = sim.velocity("flying")
    return {"speed": v[0], "spin": np.abs(omega).max()}


passes.__name__ = "pass"


def hole(engine, dt):
    width = 0.06 + 2e-5
    middle = 0.5 * width + 0.1
    walls = [fixed(f"x{s}", (0.2, 0.6, 0.05), (s * middle, 0.0, -0.025)) for s in (-1, 1)]
    walls += [fixed(f"y{s}", (width, 0.2, 0.05), (0.0, s * middle, -0.025)) for s in (-1, 1)]
    peg = body("peg", "box", (0.06, 0.06, 0.08), (5e-6, 0.0, 0.12))
    sim = engine(World((*walls, peg), ground=False, time_step=dt))
    drive(sim, 0.25, dt)
    return {"way": 0.12 - sim.pose("peg")[0][2], "spin": np.abs(sim.velocity("peg")[0]).max()}


# --- impacts --------------------------------------------------------------------------------------

MASS, HALF, THIN = 1.3, 0.5, 0.01
ACROSS = MASS * HALF**2 / 3.0


def rod(engine, dt, steepness, mu, gravity, v):
    height = HALF * np.sin(steepness) + THIN
    moments = (ACROSS, ACROSS, 1e-3 * ACROSS)
    return engine(World((body("rod", "capsule", (THIN, 2 * HALF), (0, 0, height), MASS, turn(1, steepness - np.pi / 2),
                              inertia=moments, v=v),), gravity, mu, time_step=dt))  # fmt: skip


def rod_on_ice(engine, dt):
    """The spin when the tip has stopped closing; soft contact needs some steps for it."""
    sim = rod(engine, dt, np.pi / 4, 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, -1.0))
    for _ in range(SOFT):
        sim.step()
        omega, v = sim.velocity("rod")
        tip = sim.pose("rod")[1] @ (0.0, 0.0, -HALF)
        closing = v[2] + omega[0] * tip[1] - omega[1] * tip[0]
        if closing > -1e-3:
            break
    return {"omega l / v": abs(omega[1]) * HALF, "tip velocity": abs(closing)}


def painleve(engine, dt):
    steepness = np.arctan(2.0)
    sim = rod(engine, dt, steepness, 1.5, (0.0, 0.0, -G), (1.0, 0.0, 0.0))
    for _ in range(SOFT):
        sim.step()
        omega, v = sim.velocity("rod")
        x, _, z = sim.pose("rod")[1] @ (0.0, 0.0, -HALF) - (0.0, 0.0, THIN)
        tip = max(abs(v[0] + omega[1] * z), abs(v[2] - omega[1] * x))
        if tip < 1e-2:
            break
    return {"omega after the jam": omega[1], "tip velocity": tip}


def rimless_wheel(engine, dt):
    spoke, m, I, half = 0.5, 1.0, 0.05, np.pi / 8
    side, x, z = 2**0.5 * spoke, spoke * np.sin(half), spoke * np.cos(half)
    shapes = (Shape("box", (side, 0.2, side)), Shape("box", (side, 0.2, side), turn(1, np.pi / 4)))
    wheel = Body("wheel", shapes, m, np.array([0.04, I, 0.04]), (0, 0, z), turn(1, half), (0, 1.0, 0), (z, 0, -x))
    sim = engine(World((wheel,), (0.0, 0.0, 0.0), 1.0, time_step=dt))
    for _ in range(SOFT):
        sim.step()
        omega, v = sim.velocity("wheel")
        if v[2] - omega[1] * x > -1e-3:  # the landing foot, at +x
            break
    return {"omega after / before": omega[1]}


def drop(engine, dt):
    deepest = 0.0
    for kind, size, attitude in (("sphere", (0.1,), (0, 0, 0)), ("box", (0.2, 0.2, 0.2), (0, 0, 0)),
                                 ("box", (0.2, 0.2, 0.2), (0.5, 0.6, 0.1)), ("capsule", (0.05, 0.2), (1.2, 0, 0)),
                                 ("cylinder", (0.1, 0.2), (0.3, 0, 0))):  # fmt: skip
        R = rpy(*attitude)
        low = lowest(kind, size, R)
        sim, depth = engine(World((body("drop", kind, size, (0, 0, 1.0 + low), R=R),), time_step=dt)), [0.0]

        def watch(_, sim=sim, depth=depth, kind=kind, size=size):
            p, R = sim.pose("drop")
            depth.append(lowest(kind, size, R) - p[2])

        drive(sim, np.sqrt(2.0 / G) + 1.0, dt, watch)
        deepest = max(deepest, *depth)
    return {"penetration": deepest}


def lowest(kind, size, R):
    """How far a shape reaches below its centre."""
    down = np.abs(R[2])
    if kind == "sphere":
        return size[0]
    if kind == "box":
        return down @ size / 2.0
    return size[0] * (1.0 if kind == "capsule" else np.hypot(*down[:2])) + down[2] * size[1] / 2.0


def bounce(engine, dt):
    """Apexes from the ball's heights, and the time of its last rise above 0.1 mm."""
    r = 0.1
    sim = engine(World((body("ball", "sphere", r, (0, 0, 1.0 + r)),), restitution=0.5, time_step=dt))
    times, heights = [], []
    drive(sim, 2.0, dt, lambda t: (times.append(t), heights.append(sim.pose("ball")[0][2] - r)))
    z = np.array(heights)
    tops = [z[i] for i in range(1, len(z) - 1) if z[i] >= z[i - 1] and z[i] > z[i + 1] and z[i] > 1e-3]
    tops += [0.0] * 3
    moving = np.flatnonzero(z > 1e-4)
    return {"first apex": tops[0], "second apex": tops[1], "third apex": tops[2], "rest": times[moving[-1]]}


# --- rotation -------------------------------------------------------------------------------------


def dzhanibekov(engine, dt):
    I, w0 = np.array([1.0, 2.0, 3.0]), np.array([0.01, 2.0, 0.01])
    free = Body("body", (Shape("sphere", (0.1,)),), 1.0, I, (0, 0, 0), omega=tuple(w0))
    sim = engine(World((free,), (0.0, 0.0, 0.0), ground=False, time_step=dt))
    turns, energies, last = [], [], [0.0, w0[1]]

    def rates():
        return sim.pose("body")[1].T @ sim.velocity("body")[0]

    def watch(t):
        w = rates()
        if w[1] * last[1] < 0.0:
            turns.append(last[0] + (t - last[0]) * last[1] / (last[1] - w[1]))
        last[:] = t, w[1]
        energies.append(0.5 * I @ (w * w))

    drive(sim, 30.0, dt, watch)
    momentum = sim.pose("body")[1] @ (I * rates())
    out = {f"flip {i + 1}": t for i, t in enumerate(turns[:3])}
    out["drift of energy"] = np.abs(np.array(energies) / (0.5 * I @ (w0 * w0)) - 1.0).max()
    out["drift of angular momentum"] = np.linalg.norm(momentum - I * w0) / np.linalg.norm(I * w0)
    return out


def sleeping_top(engine, dt):
    mass, length, central, axial, tilt = 1.0, 0.1, 0.004, 0.007, 0.01
    critical = np.sqrt(4.0 * (central + mass * length**2) * mass * G * length) / axial
    out = {}
    for part in (1.05, 0.95):
        R = turn(1, tilt)
        top = Body("top", (), mass, np.array([central, central, axial]), tuple(R @ (0, 0, length)), R,
                   tuple(part * critical * R[:, 2]), pivot=length)  # fmt: skip
        sim, upright = engine(World((top,), ground=False, time_step=dt)), []
        drive(sim, 3.0, dt, lambda _, sim=sim, upright=upright: upright.append(sim.pose("top")[1][2, 2]))
        out[f"{part:.2f} of the limit"] = np.arccos(min(upright))
    return out


# --- assemblies -----------------------------------------------------------------------------------


def rolling_balls(engine, dt):
    mu = engine.pair_mu(0.4, 0.8, 0.4)
    height, r = 0.1, 0.05
    grid = 0.4 * np.arange(-2, 3)
    bodies = [body("box", "box", (3.0, 3.0, height), (0, 0, height / 2), 10.0, mu=mu["box"])]
    bodies += [body(f"ball_{5 * i + j}", "sphere", r, (x, y, height + r), mu=mu["ball"])
               for i, x in enumerate(grid) for j, y in enumerate(grid)]  # fmt: skip
    sim = engine(World(tuple(bodies), ground_mu=mu["ground"], time_step=dt))
    sim.push("box", (150.0 / 2**0.5, 150.0 / 2**0.5, 0.0))
    drive(sim, 1.0, dt)
    along = np.array([sim.velocity(b.name)[1][:2] @ (0.5**0.5, 0.5**0.5) for b in bodies])
    return {"box": along[0], "balls, mean": along[1:].mean(), "balls, spread": np.ptp(along[1:])}


def groove(engine, dt):
    half, side = 0.1, np.pi / 4
    out = {}
    for name, angle in (("drift in 2 s, 20 deg", 20.0), ("acceleration, 35 deg", 35.0)):
        prism = body("prism", "box", (0.3, 2 * half, 2 * half), (0, 0, half * 2**0.5), R=turn(0, side))
        sim = engine(World((prism,), slope(np.radians(angle)), 0.3, ground=False, walls=(turn(0, -side), turn(0, side)),
                           time_step=dt))  # fmt: skip
        start = sim.pose("prism")[0]
        drive(sim, 2.0 if "drift" in name else 1.0, dt)
        out[name] = np.linalg.norm(sim.pose("prism")[0] - start) if "drift" in name else sim.velocity("prism")[1][0]
    return out


def wedge(engine, dt):
    apart, width, height, radius = 0.1, 0.4, 0.3, 0.3
    side = 2**0.5 * radius

    def scene(mu):
        blocks = [body(name, "box", (width, 0.4, height), (sign * (apart + width) / 2, 0, height / 2))
                  for name, sign in (("left", -1), ("right", 1))]  # fmt: skip
        prism = body("wedge", "box", (side, 0.3, side), (0, 0, height - apart / 2 + radius), R=turn(1, np.pi / 4))
        return engine(World((*blocks, prism), mu=mu, time_step=dt))

    free, held = scene(1e-9), scene(0.5)
    start = held.pose("wedge")[0]
    drive(free, 0.25, dt)
    drive(held, 1.0, dt)
    return {"wedge": -free.velocity("wedge")[1][2] / 0.25, "block": free.velocity("right")[1][0] / 0.25,
            "drift of the jammed wedge in 1 s": np.abs(held.pose("wedge")[0] - start).max()}  # fmt: skip


def stacks(engine, dt):
    out = {}
    for name, masses in (("ten", [1.0] * 10), ("four", [0.01, 0.1, 1.0, 10.0])):
        boxes = [body(f"box_{i}", "box", (0.2, 0.2, 0.1), (0, 0, 0.05 + 0.1 * i), m) for i, m in enumerate(masses)]
        sim = engine(World(tuple(boxes), time_step=dt))
        start = [sim.pose(b.name)[0] for b in boxes]
        drive(sim, 2.0, dt)
        out[f"drift of {name}"] = max(np.abs(sim.pose(b.name)[0] - p).max() for b, p in zip(boxes, start))
    return out


CASES = (slope_sticks, slope_slides, stop, slide_to_roll, rolls_down, seam, passes, hole, rod_on_ice, painleve,
         rimless_wheel, drop, bounce, dzhanibekov, sleeping_top, rolling_balls, groove, wedge, stacks)  # fmt: skip


def measure(case, engine):
    """Figures of a case; an engine with a second solver gets it where the first one gives up."""
    try:
        figures = case(engine, 1e-3)
    except RuntimeError:
        if engine.FALLBACK is None:
            raise
        figures = case(engine.FALLBACK, 1e-3)
    return {key: float(value) for key, value in figures.items()}


def main(argv):
    """Measure all cases (or those named after the engine) and print them."""
    name, *wanted = argv
    engine = ENGINES[name]
    print(json.dumps({"settings": engine.SETTINGS}), flush=True)
    begin = time.perf_counter()
    for case in CASES:
        if wanted and case.__name__ not in wanted:
            continue
        try:
            if time.perf_counter() - begin > NOT_DONE:
                raise TimeoutError("the engine's time is up")
            figures = measure(case, engine)
            print(json.dumps({"case": case.__name__, "figures": figures}), flush=True)
        except Exception as error:  # noqa: BLE001 (whatever an engine throws is its result)
            text = str(error).partition("\n")[0].partition(". ")[0]
            print(json.dumps({"case": case.__name__, "error": text}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
