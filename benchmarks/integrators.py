# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The scene's integrators: order, what they keep, pendulums of 30 and 100 links, long runs.

    python benchmarks/integrators.py [--plot] [--only orders,tumbling,pendulums,energies,long] [--steps 1000000]

``orders``: error after 0.4 s over the step, on every joint type, against the adaptive integrator at 1e-13 (which the
test suite holds against DOP853 on independent equations).  ``tumbling``: a body with moments 1, 2, 3 flips about its
middle axis.  ``pendulums``: the 12 m pendulum, horizontal and at rest at first, up to its first impact and for 5 s.
``energies``: a chain of 4 links for 60 s.  ``long``: memory before and after many steps.  ``--plot`` writes
docs/pictures/integrators.png.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from quick import options_of

import mb_contact as mb
from mb_contact.model.scene import Ground, Pose, Primitive, Scene, SceneModel, Velocity

INTEGRATORS = ("semi_implicit_euler", "rk4", "midpoint", "adaptive")
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "integrators.png"
FLIPS = np.array([6.059041, 17.036614, 28.014187])  # [s], from the elliptic functions
SYSTEMS = {
    "4 hinges": (("continuous",) * 4, "weld"),
    "spherical, hinge": (("spherical", "continuous"), "weld"),
    "planar, hinge": (("planar", "continuous"), "weld"),
    "universal, prismatic": (("universal", "prismatic"), "weld"),
    "flying robot": (("spherical", "continuous"), "free"),
}
STEPS = 0.04 / 2.0 ** np.arange(7)


def chain(joints):
    """URDF text of a serial robot of lopsided links."""
    solid = '<inertia ixx="0.03" iyy="0.04" izz="0.02" ixy="0.002" ixz="-0.003" iyz="0.001"/></inertial></link>'
    axes = ("1 0 0", "0 0.6 0.8", "0 1 0", "0.8 0 -0.6")
    lines = ['<robot name="chain">', f'<link name="l0"><inertial><mass value="1"/>{solid}']
    for k, kind in enumerate(joints):
        more = '<axis2 xyz="0 0 1"/>' if kind == "universal" else ""
        more += '<limit lower="-9" upper="9" effort="9" velocity="9"/>' if kind == "prismatic" else ""
        lines += [
            f'<link name="l{k + 1}"><inertial><origin xyz="0.02 0.05 -0.2"/><mass value="{2 - 0.3 * k}"/>{solid}',
            f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>'
            f'<origin xyz="0.1 0 -0.4" rpy="0.3 -0.2 0.5"/><axis xyz="{axes[k % 4]}"/>{more}</joint>',
        ]
    return "\n".join([*lines, "</robot>"])


def simulator(system, integrator, dt, **options):
    """A robot in motion, or the tumbling body."""
    options = {"integrator": integrator, "time_step": dt, **options}
    if system == "tumbling body":
        return mb.Simulator(tumbler((1.0, 2.0, 0.3), **options))
    joints, base = SYSTEMS[system]
    sim = mb.Simulator(Scene(models=(SceneModel(chain(joints), base=base),), **options))
    v = 1.5 * np.cos(np.arange(len(sim.v)))
    sim.set_state(sim.q, v)
    return sim


def tumbler(spin, **options):
    body = Primitive("body", "box", (0.3, 0.2, 0.1), Pose(), "free", 1.0, inertia=(1.0, 2.0, 3.0),
                     velocity=Velocity(spin))  # fmt: skip
    return Scene(primitives=(body,), gravity=(0.0, 0.0, 0.0), **options)


def run(sim, seconds):
    for _ in range(round(seconds / sim.time_step)):
        sim.step()
    return np.concatenate((sim.q, sim.v))


# --- studies ------------------------------------------------------------------------------------------


def orders():
    """Errors (steps,) by system and integrator; prints the observed orders."""
    errors = {}
    print("| system | " + " | ".join(INTEGRATORS[:3]) + " | adaptive, 1e-9, at 40 ms |\n|---|---|---|---|---|")
    for system in (*SYSTEMS, "tumbling body"):
        want = run(simulator(system, "adaptive", 0.01, integrator_tolerance=1e-13), 0.4)
        row = []
        for integrator in INTEGRATORS:
            e = np.array([np.abs(run(simulator(system, integrator, dt), 0.4) - want).max() for dt in STEPS])
            errors[system, integrator] = e
            slope = np.log2(e[:-1] / e[1:])
            good = slope[(e[1:] > 1e-10) & (e[:-1] < 0.3)]
            row.append(f"{e[0]:.0e}" if integrator == "adaptive" else f"{np.median(good):.2f}")
        print(f"| {system} | " + " | ".join(row) + " |")
    return errors


def tumbling():
    """Flips of the intermediate axis, energy and momentum over 30 s at 1 ms."""
    print("\n| integrator | errors of the flips [s] | energy | angular momentum |\n|---|---|---|---|")
    for integrator in INTEGRATORS:
        sim = mb.Simulator(tumbler((0.01, 2.0, 0.01), integrator=integrator))
        flips, drift, turned = watch(sim, 30.0)
        late = "none in 30 s" if len(flips) != 3 else ", ".join(f"{x:.1e}" for x in flips - FLIPS)
        print(f"| {integrator} | {late} | {drift:.1e} | {turned:.1e} |")


def watch(sim, seconds):
    """Times at which the middle component changes sign, relative drift of energy, change of the momentum vector."""
    moments = np.array([1.0, 2.0, 3.0])

    def spin():
        R = sim.context.kin.R[0]
        w = R.T @ sim.v[:3]
        return w, R @ (moments * w)

    energy, (w, start) = sim.energy(), spin()
    flips, drift, turned, last = [], 0.0, 0.0, w[1]
    for _ in range(round(seconds / sim.time_step)):
        sim.step()
        w, momentum = spin()
        if w[1] * last < 0.0:
            flips.append(sim.time - sim.time_step * w[1] / (w[1] - last))
        last = w[1]
        drift = max(drift, abs(sim.energy() / energy - 1.0))
        turned = max(turned, np.abs(momentum - start).max())
    return np.array(flips), drift, turned


def pendulums(lengths=(30, 100), variant="first_impact"):
    """Energy of the 12 m pendulum before its first impact and over 5 s at 1 ms; energies over time for the plot."""
    curves = {}
    print("\n| links | integrator | before the impact, change of E / E0 | highest E / E0 - 1 in 5 s | own error [J] | "
          "fastest joint [rad/s] | wall [s] |\n|---|---|---|---|---|---|---|")  # fmt: skip
    for links in lengths:
        for integrator in INTEGRATORS:
            sim = mb.Simulator(mb.pendulum(links, variant).scene(integrator=integrator))
            curves[links, integrator] = _swing(sim, links, integrator)
    return curves


def _swing(sim, links, integrator):
    start, before, impact, fastest, balance, energies = sim.energy(), 0.0, False, 0.0, 0.0, []
    begin, failed = time.perf_counter(), None
    for _ in range(5000):
        try:
            step = sim.step()
        except mb.DynamicsError:
            failed = sim.time
            break
        energies.append(step.certificate.energy)
        impact = impact or step.events or (len(step.contacts) and step.contacts["impulse"].any())
        if not impact:
            before = max(before, abs(energies[-1] - start))
        fastest = max(fastest, np.abs(sim.v).max())
        balance = step.certificate.energy_balance
    wall = time.perf_counter() - begin
    rise = f"failed at {failed:.3f} s" if failed else f"{max(energies) / start - 1.0:.1e}"
    print(f"| {links} | {integrator} | {before / start:.1e} | {rise} | {balance:.1e} | {fastest:.0f} | {wall:.1f} |")
    return np.array(energies) / start


def energies():
    """Energy error of four hinges over 60 s at 5 ms."""
    curves = {}
    print("\n| integrator | largest energy error in 60 s at 5 ms [J] | us a step |\n|---|---|---|")
    for integrator in INTEGRATORS:
        sim = simulator("4 hinges", integrator, 0.005)
        start, error, begin = sim.energy(), [], time.perf_counter()
        for _ in range(12_000):
            error.append(sim.step().certificate.energy - start)
        wall = time.perf_counter() - begin
        curves[integrator] = np.abs(error)
        print(f"| {integrator} | {np.abs(error).max():.1e} | {1e6 * wall / 12_000:.0f} |")
    return curves


def long_runs(steps, integrators):
    """Resident memory around many steps of a box that slides to rest under a swinging chain."""
    print("\n| integrator | steps | resident before [MB] | after [MB] | us a step | residual |\n|" + "---|" * 6)
    for integrator in integrators:
        box = Primitive("box", "box", (0.2, 0.2, 0.1), Pose((0.0, 0.0, 0.05)), "free", 1.0,
                        velocity=Velocity(linear=(0.5, 0.1, 0.0)))  # fmt: skip
        model = SceneModel(chain(("continuous", "continuous")), pose=Pose((0.0, 0.0, 5.0)))
        sim = mb.Simulator(Scene(models=(model,), primitives=(box,), ground=Ground(), integrator=integrator))
        for _ in range(2000):
            sim.step()
        before, begin, worst = resident(), time.perf_counter(), 0.0
        for _ in range(steps):
            worst = max(worst, sim.step().certificate.residual)
        wall = time.perf_counter() - begin
        print(f"| {integrator} | {steps} | {before:.2f} | {resident():.2f} | {1e6 * wall / steps:.0f} | {worst:.0e} |",
              flush=True)  # fmt: skip


def resident():
    """Resident memory of this process [MB], Linux."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024.0
    raise RuntimeError("no VmRSS in /proc/self/status")


# --- the plot -----------------------------------------------------------------------------------------


def plot(errors, curves, swings):
    """Convergence on every system, energy over time, and the pendulum of 100 links."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colour = dict(zip(INTEGRATORS, ("tab:gray", "tab:blue", "tab:green", "tab:orange")))
    figure, axes = plt.subplots(2, 4, figsize=(17, 8), layout="constrained")
    for ax, system in zip(axes.ravel(), (*SYSTEMS, "tumbling body")):
        for integrator in INTEGRATORS:
            ax.loglog(1e3 * STEPS, errors[system, integrator], "o-", ms=3, color=colour[integrator], label=integrator)
        for order in (1, 2, 4):
            ax.loglog(1e3 * STEPS, {1: 0.3, 2: 0.02, 4: 1e-4}[order] * (STEPS / STEPS[0]) ** order, ":k", lw=0.7)
        ax.set(title=system, xlabel="step [ms]", ylabel="error after 0.4 s", ylim=(1e-15, 10))
    axes[0, 0].legend(fontsize=8)
    ax = axes[1, 2]
    for integrator in INTEGRATORS:
        ax.semilogy(0.005 * np.arange(12_000), curves[integrator] + 1e-16, color=colour[integrator], lw=0.6)
    ax.set(title="energy error of 4 hinges, 5 ms [J]", xlabel="time [s]")
    ax = axes[1, 3]
    for integrator in INTEGRATORS:
        e = swings[100, integrator]
        ax.plot(1e-3 * np.arange(1, len(e) + 1), e, color=colour[integrator])
    ax.set(title="100-link pendulum, E / E0, 1 ms", xlabel="time [s]", ylim=(0, 1.1))
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, dpi=80)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plot", action="store_true")
    parser.add_argument("--only", default="orders,tumbling,pendulums,energies,long")
    parser.add_argument("--steps", type=int, default=1_000_000, help="of the long runs")
    parser.add_argument("--integrators", default=",".join(INTEGRATORS), help="of the long runs")
    parser.add_argument("--links", default="30,100", help="of the pendulums")
    parser.add_argument("--variant", default="first_impact", help="of the pendulums: j14 for the papers' own")
    options = options_of(parser, only="long", steps=100, integrators="semi_implicit_euler,rk4")
    only = options.only.split(",")
    errors = orders() if "orders" in only or options.plot else None
    if "tumbling" in only:
        tumbling()
    lengths = [int(part) for part in options.links.split(",")]
    swings = pendulums(lengths, options.variant) if "pendulums" in only or options.plot else None
    curves = energies() if "energies" in only or options.plot else None
    if options.plot:
        plot(errors, curves, swings)
    if "long" in only:
        long_runs(options.steps, options.integrators.split(","))


if __name__ == "__main__":
    main()
