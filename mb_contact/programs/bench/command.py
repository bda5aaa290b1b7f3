# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact bench NAME``: one entry for each measurement, with the options that it takes."""

import argparse
import importlib

from mb_contact.errors import InputError


def _numbers(text):
    """Whole numbers with commas between them."""
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a list of whole numbers like 3,6,12") from None


REPEATS = ("--repeats", {"type": int, "default": 30, "metavar": "N", "help": "the least of N timings is reported"})
#: By name: the module of this room, what it measures, and the options; their values are the arguments of its
#: ``run_bench``, which returns the exit code.
BENCHES = {
    "step": ("step", "the parts of a time step of the lift", (
        REPEATS,
        ("--cold", {"action": "store_true", "help": "also compile everything anew, in an empty cache"}),
    )),
    "formulations": ("formulations", "sizes, times and orders of cost of J14 Table 1", (
        ("urdf", {"nargs": "?", "metavar": "URDF",
                  "help": "robot, a path or package:// (default: the dual arm)"}),
        ("--contacts", {"type": int, "default": 4, "metavar": "K", "help": "number of contacts (default: 4)"}),
        ("--n-f", {"type": int, "default": 4, "metavar": "F", "help": "friction directions, even (default: 4)"}),
        ("--floating", {"action": "store_true", "help": "with a floating base"}),
        ("--links", {"type": _numbers, "default": (10, 20, 40, 80, 150, 300), "metavar": "N,N...",
                     "help": "lengths of the chains to which orders are fitted (default: 10,20,40,80,150,300)"}),
        REPEATS,
    )),
    "grasp": ("grasp", "Drumwright's grasp by several solvers", (
        ("--steps", {"type": int, "default": 100, "metavar": "N", "help": "of 10 ms (default: 100)"}),
    )),
    "hold": ("hold", "shaken grasps: how far what is held creeps, beside MuJoCo where it is installed", (
        ("--seconds", {"type": float, "default": 60.0, "metavar": "S",
                       "help": "of each grasp, simulated (default: 60)"}),
        ("--only", {"metavar": "NAME", "help": "one grasp alone, as 'mass ratio 100'"}),
    )),
    "quadruped": (
        "quadruped", "Drumwright's quadruped, a run for each solver: PPM, active sets, Lemke",
        (
            ("--seconds", {"type": float, "default": 10.0, "metavar": "T", "help": "simulated time (default: 10)"}),
            ("--plot", {"dest": "picture", "metavar": "FILE",
                        "help": "write a picture of the walk there (.png)"}),
            ("--feet", {"default": "soles", "metavar": "FEET",
                        "help": "soles of 30 studs on tiles, or balls on hills (default: soles)"}),
        ),
    ),
    "pendulum": ("pendulum", "OS against NMC/OS: J14 Table 2 and J12 Table I", (
        ("--links", {"type": _numbers, "metavar": "N,N...",
                     "help": "numbers of links, with commas (default: 3,6,12,15,24,30; 100,300 take minutes)"}),
        ("--seconds", {"type": float, "default": 5.0, "metavar": "T", "help": "simulated time (default: 5)"}),
        ("--budget", {"type": float, "default": 30.0, "metavar": "S",
                      "help": "CPU seconds after which a run is cut off and scaled up (default: 30)"}),
        ("--integrator", {"metavar": "NAME",
                          "help": "integrator of OS (default: semi_implicit_euler up to 30 links, midpoint beyond)"}),
        ("--plot", {"metavar": "DIR", "help": "write the pictures of the papers there (matplotlib)"}),
        ("--scenes", {"metavar": "DIR", "help": "only write the scene files there"}),
    )),
    "fidelity": ("fidelity.table", "cases with known answers: our error beside the exact value", (
        ("--case", {"dest": "name", "metavar": "NAME", "help": "one case alone"}),
        ("--markdown", {"dest": "as_markdown", "action": "store_true", "help": "print a table for a document"}),
    )),
    "worlds": ("worlds", "many worlds: steps a second by count, threads and scene, beside mujoco.rollout where it is "
               "installed", (
        ("--scenes", {"metavar": "NAME,NAME", "help": "some of legged36, dual_arm, quadruped, heap20 (default: all)"}),
        ("--counts", {"type": _numbers, "metavar": "N,N...", "help": "numbers of worlds (default: 1,16,256)"}),
        ("--threads", {"type": _numbers, "metavar": "N,N...", "help": "numbers of threads (default: 1,2)"}),
        ("--steps", {"type": int, "default": 100, "metavar": "N", "help": "of a world in a round (default: 100)"}),
        ("--rounds", {"type": int, "default": 3, "metavar": "N", "help": "the best of N counts (default: 3)"}),
        ("--tolerance", {"type": float, "default": 1e-9, "metavar": "R",
                         "help": "that the solver is asked for (default: 1e-9)"}),
    )),
    "collision": ("collision", "collision detection by each engine; growth with the number of bodies", (REPEATS,)),
    "node": ("node", "the node between processes: lockstep round trip, publishing rate, CPU share, soak", (
        ("--scene", {"metavar": "SCENE", "help": "scene file (default: the dual-arm lift, 26 joints)"}),
        ("--seconds", {"type": float, "default": 20.0, "metavar": "S",
                       "help": "of each run, simulated (default: 20)"}),
        ("--soak", {"type": float, "metavar": "MINUTES",
                    "help": "only this: so many simulated minutes in lockstep; memory may grow by 1 %% and no state "
                            "may be missed"}),
        ("--backend", {"choices": ("rclpy", "embedded"), "default": "embedded"}),
        ("--wire", {"choices": ("auto", "dds", "zenoh", "both"), "default": "auto",
                    "help": "of the embedded backend; both: lockstep round trips over Zenoh beside DDS, in turn"}),
    )),
}  # fmt: skip


def add_benches(parser: argparse.ArgumentParser) -> None:
    """Give ``parser`` a subcommand for every measurement; without a name it measures a step."""
    parser.set_defaults(bench=("step", ("repeats", "cold")), repeats=30, cold=False)
    names = parser.add_subparsers(title="measurements", description="Without a NAME: step.", metavar="NAME")
    for name, (module, text, options) in BENCHES.items():
        own = names.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        own.set_defaults(bench=(module, [own.add_argument(flag, **settings).dest for flag, settings in options]))


def run_bench(arguments: argparse.Namespace) -> int:
    """Run what was chosen; the exit code."""
    if getattr(arguments, "repeats", 1) < 1:
        raise InputError(f"--repeats must be 1 or more, got {arguments.repeats}")
    module, names = arguments.bench
    measure = importlib.import_module(f"mb_contact.programs.bench.{module}").run_bench
    return measure(**{name: getattr(arguments, name) for name in names})
