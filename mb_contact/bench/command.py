# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact bench NAME``: one entry for each measurement, with the options that it takes."""

from __future__ import annotations

import argparse

from mb_contact.errors import InputError


def add_benches(parser):
    """Give ``parser`` a subcommand for every measurement; without a name it measures a step."""
    parser.set_defaults(measure=_step, repeats=30, cold=False)
    names = parser.add_subparsers(title="measurements", description="Without a NAME: step.", metavar="NAME")
    for add in (
        _add_step, _add_formulations, _add_grasp, _add_quadruped, _add_pendulum, _add_fidelity, _add_collision,
        _add_node,
    ):  # fmt: skip
        add(names)


def run_bench(arguments):
    """Run what was chosen; the exit code."""
    if getattr(arguments, "repeats", 1) < 1:
        raise InputError(f"--repeats must be 1 or more, got {arguments.repeats}")
    return arguments.measure(arguments)


def _add(names, name, measure, text):
    parser = names.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    parser.set_defaults(measure=measure)
    return parser


def _add_repeats(parser):
    parser.add_argument("--repeats", type=int, default=30, metavar="N", help="the least of N timings is reported")


def _add_step(names):
    parser = _add(names, "step", _step, "the parts of a time step of the lift")
    _add_repeats(parser)
    parser.add_argument("--cold", action="store_true", help="also compile everything anew, in an empty cache")


def _step(arguments):
    from mb_contact.bench.step import run_bench as run

    return run(arguments.repeats, arguments.cold)


def _add_formulations(names):
    parser = _add(names, "formulations", _formulations, "sizes and times of J14 Table 1")
    parser.add_argument("urdf", nargs="?", metavar="URDF", help="robot, a path or package:// (default: the dual arm)")
    parser.add_argument("--contacts", type=int, default=4, metavar="K", help="number of contacts (default: 4)")
    parser.add_argument("--n-f", type=int, default=4, metavar="F", help="friction directions, even (default: 4)")
    parser.add_argument("--floating", action="store_true", help="with a floating base")
    _add_repeats(parser)


def _formulations(arguments):
    from mb_contact.bench.formulations import run_bench as run

    return run(arguments.urdf, arguments.contacts, arguments.n_f, arguments.repeats, arguments.floating)


def _add_grasp(names):
    _add(names, "grasp", _grasp, "Drumwright's grasp by several solvers")


def _grasp(_arguments):
    from mb_contact.bench.grasp import run_bench as run

    return run()


def _add_quadruped(names):
    text = "Drumwright's quadruped on a height field: modified PPM against Lemke (needs example-robot-data)"
    parser = _add(names, "quadruped", _quadruped, text)
    parser.add_argument("--seconds", type=float, default=10.0, metavar="T", help="simulated time (default: 10)")
    parser.add_argument("--plot", metavar="FILE", help="write a picture of the walk there (matplotlib)")


def _quadruped(arguments):
    from mb_contact.bench.quadruped import run_bench as run

    if not 0.0 < arguments.seconds <= 1000.0:
        raise InputError(f"--seconds must be above 0 and at most 1000, got {arguments.seconds:g}")
    return run(arguments.seconds, arguments.plot)


def _add_pendulum(names):
    parser = _add(names, "pendulum", _pendulum, "OS against NMC/OS: J14 Table 2 and J12 Table I")
    text = "numbers of links, with commas (default: 3,6,12,15,24,30; 100,300 take minutes)"
    parser.add_argument("--links", type=_numbers, metavar="N,N...", help=text)
    parser.add_argument("--seconds", type=float, default=5.0, metavar="T", help="simulated time (default: 5)")
    text = "CPU seconds after which a run is cut off and scaled up (default: 30)"
    parser.add_argument("--budget", type=float, default=30.0, metavar="S", help=text)
    text = "integrator of OS (default: semi_implicit_euler up to 30 links, midpoint beyond)"
    parser.add_argument("--integrator", metavar="NAME", help=text)
    parser.add_argument("--plot", metavar="DIR", help="write the pictures of the papers there (matplotlib)")
    parser.add_argument("--scenes", metavar="DIR", help="only write the scene files there")


def _numbers(text):
    """Whole numbers with commas between them."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of whole numbers like 3,6,12") from None


def _pendulum(arguments):
    from mb_contact.bench.pendulum import run_bench as run

    return run(
        arguments.links, arguments.seconds, budget=arguments.budget, plot=arguments.plot, scenes=arguments.scenes,
        integrator=arguments.integrator,
    )  # fmt: skip


def _add_fidelity(names):
    parser = _add(names, "fidelity", _fidelity, "cases with known answers: our error beside the exact value")
    parser.add_argument("--case", metavar="NAME", help="one case alone")
    parser.add_argument("--markdown", action="store_true", help="print a table for a document")


def _fidelity(arguments):
    from mb_contact.bench.fidelity.table import run_bench as run

    return run(arguments.case, arguments.markdown)


def _add_collision(names):
    text = "collision detection by each engine; growth with the number of bodies"
    _add_repeats(_add(names, "collision", _collision, text))


def _collision(arguments):
    from mb_contact.bench.collision import run_bench as run

    return run(arguments.repeats)


def _add_node(names):
    parser = _add(names, "node", _node, "the node over DDS: lockstep round trip, publishing rate, CPU share, soak")
    parser.add_argument("--scene", metavar="SCENE", help="scene file (default: the dual-arm lift, 26 joints)")
    parser.add_argument("--seconds", type=float, default=20.0, metavar="S", help="of each run, simulated (default: 20)")
    text = "only this: so many simulated minutes in lockstep; memory may grow by 1 %% and no state may be missed"
    parser.add_argument("--soak", type=float, metavar="MINUTES", help=text)
    parser.add_argument("--backend", choices=("rclpy", "embedded"), default="embedded")


def _node(arguments):
    from mb_contact.bench.node import run_bench as run

    return run(arguments.scene, arguments.seconds, arguments.soak, arguments.backend)
