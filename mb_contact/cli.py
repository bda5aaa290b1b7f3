# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The ``mb-contact`` command.

Exit codes: 0 success; 1 the thing itself failed (a simulation, a lift, a problem without a solution);
2 bad input, with one line on standard error; 130 after Ctrl-C, but 0 for ``run``, which is meant to end so.
Every command imports what it needs when it runs, so ``--help`` is quick.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from mb_contact.errors import DynamicsError, InputError, MbContactError, SolverError
from mb_contact.lazy import imported

INTERRUPTED = 130
PACKAGES = ("--package-path", {"action": "append", "default": [], "metavar": "DIR",
                               "help": "folder of ROS packages, for package:// and xacro's $(find); again for more"})


class _Parser(argparse.ArgumentParser):
    """argparse with one line for an error instead of the usage and a line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: error: {message} (see {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands; ``arguments.run(arguments)`` runs one and returns its exit code."""
    version = sys.modules["mb_contact"].__version__  # the package that this module is in, loaded before it
    parser = _Parser(
        prog="mb-contact",
        description="Rigid-contact dynamics in minimal coordinates, with or without ROS 2.",
        epilog="Exit codes: 0 success, 1 failure, 2 bad input, 130 after Ctrl-C (run: 0).",
    )
    parser.add_argument("--version", action="version", version=f"mb_contact {version}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_commands(commands)
    return parser


def _add_commands(commands):
    """All commands, in the order of ``--help``."""
    from mb_contact.programs.bench.command import add_benches, run_bench
    from mb_contact.programs.new_options import NEW_OPTIONS, xacro_argument
    from mb_contact.ros.main import RUN_OPTIONS
    from mb_contact.ros.options import BACKENDS, WIRES
    from mb_contact.testing.options import TEST_OPTIONS
    from mb_contact.viewer.options import add_render_arguments, add_view_arguments

    _command(
        commands, "run", _run, "run a scene as a ROS 2 node until Ctrl-C or --duration",
        *RUN_OPTIONS,
        PACKAGES,
        (
            ("--view", {"action": "store_true", "help": "show the node in the browser too (needs viser)"}),
            ("--headless", {"action": "store_true", "help": "no view (the default)"}),
        ),
        ("--seed", {"type": int, "metavar": "N",
                    "help": "seed of NumPy's random numbers; the simulation itself draws none"}),
        epilog="Everything from --ros-args on goes to ROS (-r, -p, --params-file).",
    )  # fmt: skip
    add_view_arguments(_command(
        commands, "view", _view, "show a scene in the browser, simulated here or by a node, or a recording", PACKAGES,
        epilog="Needs viser: pip install 'mb_contact[viewer]'. With --follow --ros-args ... goes to ROS,"
        " such as -p frame_prefix:=left/ where the node has one.",
    ))  # fmt: skip
    add_render_arguments(_command(
        commands, "render", _later("viewer.rendering.run_render"),
        "draw a scene or a recording as a picture or a film, without a browser", PACKAGES,
    ))  # fmt: skip
    _command(
        commands, "record", _record, "record the topics of a ROS domain into an MCAP file",
        ("file", {"metavar": "FILE.mcap", "help": "file to write; an existing one is replaced"}),
        ("--topics", {"nargs": "+", "default": (), "metavar": "NAME",
                      "help": "only topics of these names; * and ? stand for any characters"}),
        ("--duration", {"type": float, "metavar": "S", "help": "wall seconds (else until Ctrl-C)"}),
        ("--use-sim-time", {"action": "store_true", "help": "stamp messages with /clock"}),
        ("--backend", {"choices": BACKENDS, "default": "auto"}),
    )  # fmt: skip
    _command(
        commands, "replay", _replay,
        "run a scene under recorded efforts and compare every state with the recording, bit for bit",
        ("scene", {"metavar": "SCENE", "help": "the scene file that was recorded"}),
        ("bag", {"metavar": "BAG", "help": "MCAP file, or a folder of ros2 bag"}),
        epilog="Resets that rewind time are not replayed; pushes and what was spawned only from bags of --record.",
    )
    _command(
        commands, "test", _later("testing.command.run_command"),
        "run a scene with your controllers and check what happens, once or over random trials",
        *TEST_OPTIONS,
        PACKAGES,
        epilog="Exit codes: 0 passed, 1 failed, 2 bad input. docs/testing.md has all checks.",
    )
    demo = _command(commands, "demo", None, "run a demonstration that judges itself")
    demos = demo.add_subparsers(title="demonstrations", metavar="NAME", required=True)
    judged = {"lift": "two arms lift a box", "wheel": "two arms change a wheel", "nut": "a hand turns a lug nut off"}
    for name, text in judged.items():
        _command(
            demos, name, _demo, f"{text}: simulator and controller in two processes",
            ("--out", {"default": "out", "metavar": "DIR", "help": f"folder for {name}.mcap and .png (default: out)"}),
            ("--backend", {"choices": BACKENDS, "default": "auto", "help": "ROS 2 or the wheel"}),
            ("--wire", {"choices": WIRES, "default": "auto", "help": "of the wheel: DDS or Zenoh"}),
            (
                ("--realtime", {"action": "store_true", "help": "pace at real time (the default)"}),
                ("--as-fast-as-possible", {"action": "store_true", "help": "do not pace"}),
            ),
            ("--view", {"action": "store_true", "help": "show it in the browser too (needs viser)"}),
            ("--controller", {"metavar": "FILE", "help": "script of another controller (it gets --backend, --wait)"}),
        ).set_defaults(demonstration=name)  # fmt: skip
    _command(
        demos, "patch", _later("programs.demo.patch.run_patch", "out"),
        "a curved patch slides on a flat one: energy, drift and pictures",
        ("--out", {"default": "out", "metavar": "DIR", "help": "folder for patch.png (default: out)"}),
    )
    _command(
        commands, "new", _new, "write a folder with a scene of your robots, grippers and objects that runs at once",
        *NEW_OPTIONS,
        PACKAGES,
    )
    _command(
        commands, "check", _check, "build a scene as run does, say what is in it, and all that is odd about it",
        ("scene", {"metavar": "SCENE", "help": "scene file (YAML), URDF or SDF"}),
        ("--strict", {"action": "store_true", "help": "exit code 1 where anything is odd, for continuous integration"}),
        PACKAGES,
    )
    _command(
        commands, "info", _later("programs.check.run_info", "urdf", "xacro_args", "floating"),
        "read a robot and print its tree, masses, sparsity, limits and warnings",
        ("urdf", {"metavar": "URDF", "help": "URDF, xacro or SDF file, a path or package://"}),
        ("xacro_args", {"nargs": "*", "type": xacro_argument, "metavar": "NAME:=VALUE",
                        "help": "arguments of a xacro file"}),
        ("--floating", {"action": "store_true", "help": "with a floating base"}),
        PACKAGES,
        epilog="What load_urdf refuses by default but can load (meshes, inertias) is a warning here.",
    )  # fmt: skip
    _command(
        commands, "import", _import, "turn an MJCF model (MuJoCo) into a folder with a scene, URDFs and meshes",
        ("model", {"metavar": "MODEL.xml", "help": "MJCF file"}),
        ("--out", {"metavar": "FOLDER", "help": "folder to write to (default: the model's name)"}),
        ("--keyframe", {"metavar": "NAME", "help": "keyframe to start from (default: home, else the first)"}),
        epilog="Needs MuJoCo, which compiles the model: pip install 'mb_contact[mjcf]'. The scene does not.",
    )  # fmt: skip
    _command(
        commands, "export", _export, "write a scene as an MJCF model, for MuJoCo",
        ("scene", {"metavar": "SCENE", "help": "scene file (YAML), URDF or SDF"}),
        ("model", {"metavar": "MODEL.xml", "help": "file to write; an existing one is replaced"}),
        PACKAGES,
    )  # fmt: skip
    _command(
        commands, "lcp", _later("programs.lcp.run_lcp"),
        "solve w = M z + q, w >= 0, z >= 0, w z = 0, or contact on friction cones",
        ("problem", {"metavar": "PROBLEM.npz",
                     "help": "NumPy archive with M (n, n) and q (n,), maybe lower and upper (n,); or with "
                             "W (3 n, 3 n), q (3 n,), mu (n,)"}),
        ("--method", {"help": "lemke (default), block_pivoting, principal_pivoting, modified_principal_pivoting, "
                              "gauss_seidel or auto; with mu: cone (the default and the only one)"}),
        ("--tolerance", {"type": float, "metavar": "T", "help": "residual that is solved (1e-9; cone 1e-8)"}),
    )  # fmt: skip
    _command(
        commands, "compile", _compile, "compile kernels ahead: those of every step, of scenes, or of every feature",
        ("scenes", {"nargs": "*", "metavar": "SCENE", "help": "scene files (YAML) whose kernels are compiled too"}),
        PACKAGES,
        ("--all", {"action": "store_true", "help": "every feature and every scene of the library"}),
        ("--into", {"metavar": "DIR", "help": "copy what was compiled into DIR, as a package carries it"}),
        epilog="Kernels are kept in ~/.cache/mb_contact, or where MB_CONTACT_CACHE_DIR says.",
    )  # fmt: skip
    add_benches(_command(commands, "bench", run_bench, "measure how long things take here, and how exact they are"))


def _command(commands, name, run, text, *options, epilog=None):
    """The parser of a command; of a tuple of options one may be given at most."""
    parser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", epilog=epilog)
    parser.set_defaults(run=run)
    for option in options:
        if isinstance(option[0], str):
            parser.add_argument(option[0], **option[1])
            continue
        group = parser.add_mutually_exclusive_group()
        for flag, settings in option:
            group.add_argument(flag, **settings)
    return parser


def _later(name: str, *given: str) -> Callable[[argparse.Namespace], Any]:
    """What runs a command, imported then: a function of its arguments, or of those that are ``given``."""

    def run(arguments):
        return imported(f"mb_contact.{name}")(*([getattr(arguments, key) for key in given] or [arguments]))

    return run


def _run(arguments):
    from mb_contact.model.scene import load_scene
    from mb_contact.model.world import build_world
    from mb_contact.ros.main import options_from_arguments, run_and_report
    from mb_contact.surfaces.scene_file import is_surface_scene

    if getattr(arguments, "seed", None) is not None:
        _seed(arguments.seed)
    scene = arguments.scene
    if is_surface_scene(scene):
        from mb_contact.simulation.surfaces.simulator import surface_simulator

        scene = surface_simulator(scene, _say_in_place)
    else:
        build_world(load_scene(scene))  # what is wrong with the scene comes before any word of progress
    options = options_from_arguments(arguments, arguments.ros_args)
    if not arguments.view:
        return run_and_report(scene, options)
    from mb_contact.viewer.process import NodeView

    with NodeView(arguments.scene) as view:
        options.ready = view.start
        return run_and_report(scene, options)


def _seed(seed):
    import numpy as np

    if not 0 <= seed < 2**32:
        raise InputError(f"--seed must be from 0 to {2**32 - 1}, got {seed}")
    np.random.seed(seed)  # noqa: NPY002 (the global generator is the one that a user's code may share)


def _view(arguments):
    from mb_contact.viewer.command import run_view
    from mb_contact.viewer.options import options_from_arguments

    return run_view(arguments.scene_file, options_from_arguments(arguments, arguments.ros_args))


def _record(arguments):
    from mb_contact.ros.graph_recorder import RecordOptions, record_graph

    duration = arguments.duration
    if duration is not None and not duration > 0.0:
        raise InputError(f"--duration must be greater than zero, got {duration}")
    options = RecordOptions(
        arguments.file, tuple(arguments.topics), duration, arguments.use_sim_time, arguments.backend
    )
    return record_graph(options)


def _replay(arguments):
    from mb_contact.ros.replay import replay_file

    return replay_file(arguments.scene, arguments.bag, _say_in_place)


def _demo(arguments):
    from mb_contact.programs.demo.running import DemoOptions, run_demonstration
    from mb_contact.ros.embedded.wires import speak_by

    speak_by(arguments.wire)
    demonstration = imported(f"mb_contact.programs.demo.{arguments.demonstration}.DEMONSTRATION")
    options = DemoOptions(
        out=arguments.out,
        backend=arguments.backend,
        real_time=not arguments.as_fast_as_possible,
        controller=arguments.controller,
        view=arguments.view,
    )
    return run_demonstration(demonstration, options)


def _compile(arguments):
    from mb_contact.model.scene import load_scene
    from mb_contact.simulation.kernels.warm_up import compile_ahead
    from mb_contact.surfaces.scene_file import is_surface_scene

    for scene in arguments.scenes:
        if not is_surface_scene(scene):
            load_scene(scene)  # what is wrong with a scene comes first
    return 0 if compile_ahead(arguments.scenes, arguments.all, arguments.into, _say_in_place) else 1


def _say_in_place(line):
    """A line of progress; on a terminal the next one takes its place."""
    moving = sys.stderr.isatty() and line.startswith("compiling [")
    clear = "\x1b[2K" if sys.stderr.isatty() else ""
    print(f"{clear}mb-contact: {line}", end="\r" if moving else "\n", file=sys.stderr, flush=True)


def _new(arguments):
    from pathlib import Path
    from shlex import quote

    from mb_contact.programs.new import Wanted, WantedRobot, new_scene

    file, scene = new_scene(Wanted(
        Path(arguments.name), [WantedRobot(**robot) for robot in arguments.robots], tuple(arguments.objects),
        arguments.table, tuple(arguments.package_path),
    ), _say_in_place)  # fmt: skip
    servos = sum(len(model.actuators) for model in scene.models)
    print(f"wrote {file}: {servos} position actuators, {len(scene.primitives)} primitives")
    print("".join(f"warning: {line}\n" for line in scene.doubts), end="")
    print(f"mb-contact check {quote(str(file))}\nmb-contact view {quote(str(file))}")
    return 0


def _check(arguments):
    from mb_contact.programs.check import run_check

    return run_check(arguments.scene, _say_in_place, arguments.strict)


def _import(arguments):
    from pathlib import Path

    from mb_contact.model.mjcf import import_mjcf

    made = import_mjcf(arguments.model, arguments.out or Path(arguments.model).stem, arguments.keyframe)
    print(f"wrote {made.scene}: {len(made.links)} bodies, {len(made.joints)} joints")
    for line in made.left_out:
        print(f"left out: {line}")
    return 0


def _export(arguments):
    from mb_contact.model.mjcf import export_mjcf

    left_out = export_mjcf(arguments.scene, arguments.model)
    print(f"wrote {arguments.model}")
    for line in left_out:
        print(f"left out: {line}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code (argparse exits by itself for --help and wrong options)."""
    argv = list(sys.argv[1:] if argv is None else argv)
    ros_args = []
    if argv[:1] in (["run"], ["view"]):
        from mb_contact.ros.main import split_ros_arguments

        argv, ros_args = split_ros_arguments(argv)
    arguments = build_parser().parse_args(argv)
    arguments.ros_args = ros_args
    try:
        _look_in(getattr(arguments, "package_path", ()))
        code = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("mb-contact: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader of our output (head, less) has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (MbContactError, OSError) as error:
        print(f"mb-contact: error: {_one_line(error)}", file=sys.stderr)
        return 1 if isinstance(error, (DynamicsError, SolverError)) else 2


def _look_in(folders):
    """Packages are looked for in these folders first, by this process and its children."""
    if folders:
        from mb_contact.model.resources import PACKAGE_PATH

        for folder in folders:
            if not os.path.isdir(folder):
                raise InputError(f"--package-path: there is no folder '{folder}'")
        os.environ[PACKAGE_PATH] = os.pathsep.join(map(os.path.abspath, folders))


def _one_line(error):
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split()) or type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
