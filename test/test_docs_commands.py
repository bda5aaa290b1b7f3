# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Every command of README.md and docs/ is one: it parses, its files exist, and a test runs it or a reason says why not.

Commands stand in blocks that are indented, or fenced without a language or for a shell, and in code within a line.
One with a placeholder (SCENE, N, …) is checked option by option.
"""

from __future__ import annotations

import argparse
import ast
import re
import runpy
import shlex
import sys
from functools import cache

import pytest

from each import of_each
from mb_contact.cli import build_parser
from paths import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md",
                *(ROOT / "docs").rglob("*.md")])  # fmt: skip
FENCE = re.compile(r"^(```+)([^\n`]*)\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
SHELLS = ("", "bash", "sh", "console", "shell")
RUNNERS = ("mb-contact", "python", "make", "pytest", "pip", "ros2", "colcon", "rosdep", "source", "sudo", "git",
           "rviz2", "pre-commit", "export", "cd", "docker", "apt", "ray", "npm", "jupyter", "sphinx-build")  # fmt: skip
PLACEHOLDER = re.compile(r"…|\.\.\.|(?<![\w/.])[A-Z][A-Z_]*(?![\w./])|[\[\]|<>*]")
NEEDED = 77  # exit code of a program that lacks something of the machine (benchmarks/quick.py)


def commands_of(page):
    """The commands of a page, each once."""
    text = page.read_text(encoding="utf-8")
    lines = []
    for _, language, block in FENCE.findall(text):
        if language.strip() in SHELLS:
            lines += block.replace("\\\n", " ").splitlines()
    lines += re.findall(r"^(?: {4}|\t)(\S.*)$", FENCE.sub("", text), re.MULTILINE)  # indented blocks
    lines += re.findall(r"(?<!`)`([^`\n]+)`(?!`)", FENCE.sub("", text))
    found = {}
    for line in lines:
        command = re.sub(r"(^|\s)#.*", "", line.strip().removeprefix("$ ")).strip()
        for part in re.split(r"\s+(?:&&|;)\s+", command):
            words = re.sub(r"^([A-Z_]+=\S+\s+)+", "", part).split()
            if len(words) > 1 and words[0] in RUNNERS:
                found[" ".join(words)] = None
    return list(found)


#: Beginning of a command: the test that runs such a one, and a word of that test.  The longest beginning counts.
RUN = {
    "mb-contact render": ("test/viewer/test_film.py", '"render"'),
    "mb-contact --help": ("test/test_cli.py", "test_help_names_every_command"),
    "mb-contact bench": ("test/test_cli.py", "bench"),
    "mb-contact bench fidelity": ("test/programs/bench/test_fidelity.py", '"fidelity"'),
    "mb-contact bench formulations": ("test/programs/bench/test_orders.py", '"formulations"'),
    "mb-contact bench grasp": ("test/programs/bench/test_grasp.py", '"grasp"'),
    "mb-contact bench hold": ("test/programs/bench/test_hold.py", "hold"),
    "mb-contact bench node": ("test/programs/bench/test_node.py", "node"),
    "mb-contact bench pendulum": ("test/programs/bench/test_pendulum.py", '"pendulum"'),
    "mb-contact bench quadruped": ("test/programs/bench/test_quadruped.py", "quadruped"),
    "mb-contact bench worlds": ("test/programs/bench/test_worlds.py", "worlds"),
    "mb-contact check": ("test/test_cli.py", '"check"'),
    "mb-contact compile": ("test/conftest.py", '"compile"'),
    "mb-contact demo lift": ("test/programs/demo/test_running.py", '"demo"'),
    "mb-contact demo nut": ("test/programs/demo/test_nut.py", "nut"),
    "mb-contact demo wheel": ("test/programs/demo/test_wheel.py", "wheel"),
    "mb-contact export": ("test/test_cli.py", '"export"'),
    "mb-contact import": ("test/test_cli.py", '"import"'),
    "mb-contact info": ("test/model/test_describe.py", '"info"'),
    "mb-contact lcp": ("test/solvers/test_friction.py", '"lcp"'),
    "mb-contact new": ("test/programs/test_new.py", '"new"'),
    "mb-contact record": ("test/ros/test_replay.py", '"record"'),
    "mb-contact replay": ("test/ros/test_replay.py", '"replay"'),
    "mb-contact run": ("test/ros/test_replay.py", '"run"'),
    "mb-contact test": ("test/testing/test_command.py", '"test"'),
    "python test/covers.py": ("test/test_covers.py", "covers.main()"),
    "mb-contact view": ("test/viewer/test_command.py", '"view"'),
    "python benchmarks/": ("test/benchmarks/test_programs.py", '"--quick"'),
    "python examples/follow_trajectory.py": ("test/ros/test_ros2_controllers.py", "follow_trajectory"),
    "python examples/flip_box.py": ("test/examples/test_flip_box.py", "flip_box"),
    "python examples/push_to_pose.py": ("test/examples/test_push_to_pose.py", "push_to_pose"),
    "python examples/learn_to_reach.py": ("test/examples/test_learn_to_reach.py", "learn_to_reach"),
    "python examples/nut_in_process.py": ("test/examples/test_nut_controller.py", "nut_in_process"),
    "python examples/press_with_force.py": ("test/examples/test_press_controller.py", "press_with_force"),
    "python examples/wheel_change.py": ("test/examples/test_wheel_controller.py", "wheel"),
    "python examples/wheel_in_process.py": ("test/examples/test_wheel_controller.py", "wheel_in_process"),
    "python -m mb_contact.model.scene.reference": ("test/model/scene/test_reference.py", "reference.text()"),
    "python -m mb_contact.model.scene.schema": ("test/model/scene/test_schema.py", "schema_text()"),
    "python -m mb_contact.ros.reference": ("test/ros/test_reference.py", "parameter_file()"),
    "python -m mb_contact.testing.plan": ("test/testing/test_plan.py", "plan_schema"),
    "python -m mb_contact.ros.message_packages": ("test/ros/test_message_packages.py", "packages.main()"),
    "python -m mb_contact.model.builtin.wheel": ("test/programs/demo/test_wheel.py", "model.builtin.wheel"),
    "python -m mb_contact.surfaces.scene_reference": ("test/model/scene/test_reference.py", "scene_reference.text()"),
    "python pick.py": ("test/test_docs_howto.py", '"test"'),  # as a controller of that command
    "make docs": ("test/test_docs_site.py", "sphinx"),
    "make measurements": ("test/benchmarks/test_programs.py", '"--quick"'),
    "make wheel": ("test/test_packaging.py", "MB_CONTACT_PRECOMPILE"),
    "make run": ("test/programs/demo/test_running.py", '"demo"'),  # what it runs when all is installed
}
SUITE = "is this suite, or a part of it"
INSTALLS = "writes to the environment, from PyPI"
SOURCED = "needs a sourced ROS 2: docs/measurements/verified_on.md tells what came out by hand"
MINUTES = "a picture or a measurement that takes minutes"
#: Beginning of a command: why no test runs it.
NOT_RUN = {
    "make check": SUITE, "make test": SUITE, "make test-all": SUITE, "pytest": SUITE, "python -m pytest": SUITE,
    "make help": "prints the head of the Makefile", "make lint": "a job of its own in .github/workflows/ci.yml",
    "make release": "writes to dist/ for minutes; test/test_release.py runs its checks",
    "pip install": INSTALLS, "pre-commit": INSTALLS, "rosdep": INSTALLS,
    "colcon": SOURCED, "source": SOURCED, "ros2": SOURCED,
    "mb-contact bench collision": MINUTES, "python docs/pictures/": MINUTES,
    "source .venv/bin/activate": "sets up a shell",
    "mb-contact demo patch": MINUTES + "; test/surfaces/test_motion.py has what it judges",
}  # fmt: skip
COMMANDS = sorted({(command, str(page.relative_to(ROOT))) for page in PAGES for command in commands_of(page)})
TEXTS = sorted({command for command, _ in COMMANDS})


def beginning(command, table):
    """The longest key that a command begins with, or None."""
    found = [key for key in table if (command + " ").startswith(key if key[-1] == "/" else key + " ")]
    return max(found, key=len, default=None)


def test_commands_are_found():
    assert len(TEXTS) > 150
    assert {"README.md", "docs/viewer.md", "CONTRIBUTING.md"} <= {page for _, page in COMMANDS}


@of_each(TEXTS)
def test_a_test_runs_it_or_a_reason_says_why_not(command):
    run, reason = beginning(command, RUN), beginning(command, NOT_RUN)
    assert run or reason, f"no test runs `{command}`: name one in RUN, or the reason in NOT_RUN"
    assert not (run and reason and run == reason)


@of_each(RUN)
def test_the_named_tests_are_there(key):
    path, word = RUN[key]
    assert word in (ROOT / path).read_text(encoding="utf-8")
    assert any(command.startswith(key) for command in TEXTS), f"no page has `{key}` any more"


@of_each(NOT_RUN)
def test_reasons_are_still_needed(key):
    assert any(command.startswith(key) for command in TEXTS), f"no page has `{key}` any more"


@of_each(c for c in TEXTS if c.startswith("make "))
def test_targets_exist(command):
    target = command.split()[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


def words_of(command):
    """Its words without the brackets of what may be left out, a pipe and what goes to ROS."""
    words = shlex.split(re.sub(r"[\[\]]", " ", command.split(" > ")[0]))
    return words[: words.index("--ros-args")] if "--ros-args" in words else words


@cache
def own_parser():
    return build_parser()


def judge(parser, command, words):
    """A parser takes these words; where some stand for others it has their options at least."""
    if not PLACEHOLDER.search(command):
        try:
            parser.parse_args(words)
        except SystemExit as end:
            assert words[-1] == "--help" and end.code == 0, f"`{command}` is refused"
        return
    while True:  # down to the subcommand
        (below,) = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)] or [None]
        if below is None or not words or words[0] not in below.choices:
            break
        parser, words = below.choices[words[0]], words[1:]
    unknown = [word for word in words if re.match(r"--?[a-z]", word) and word not in parser._option_string_actions]
    assert not unknown, f"`{command}`: there is no {', '.join(unknown)}"


@of_each(c for c in TEXTS if c.startswith("mb-contact "))
def test_the_command_line_takes_it(command):
    words = words_of(command)[1:]
    if words in (["info"], ["view"], ["replay"], ["demo"], ["new"], ["check"]):  # its name alone
        assert words[0] in next(a for a in own_parser()._actions if a.choices).choices
        return
    judge(own_parser(), command, words)


class Looked(Exception):
    """A program has made its parser, which is this exception's argument."""


@cache
def parser_of(path):
    """The parser of a program; None for one without options, a text for what this machine lacks."""
    if "ArgumentParser" not in (ROOT / path).read_text(encoding="utf-8"):
        return None

    def look(parser, *_, **__):
        raise Looked(parser)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("parse_args", "parse_known_args"):
            patch.setattr(argparse.ArgumentParser, name, look)
        patch.setattr(sys, "argv", [path])
        patch.setattr(sys, "path", [str((ROOT / path).parent), *sys.path])
        try:
            runpy.run_path(str(ROOT / path), run_name="__main__")
        except Looked as found:
            return found.args[0]
        except SystemExit as end:
            if end.code == NEEDED or isinstance(end.code, str):  # a text: what it needs
                return "a package that it needs is not installed"
            raise
    raise AssertionError(f"{path} did not look at its options")


@of_each(c for c in TEXTS if re.match(r"python \w+/", c) and "NAME.py" not in c)
def test_programs_take_these_options(command):
    _, path, *words = words_of(command)
    parser = parser_of(path)
    if isinstance(parser, str):  # what this machine lacks
        return
    if parser is None:
        assert not words and "\nif __name__ ==" in (ROOT / path).read_text(encoding="utf-8")
    else:
        judge(parser, command, words)


@of_each(c for c in TEXTS if "pytest test/" in c)
def test_tests_exist(command):
    for word in words_of(command):
        path, _, name = word.partition("::")
        if not path.startswith("test/"):
            continue
        assert (ROOT / path).exists()
        if name:
            tree = ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
            assert name in {node.name for node in tree if isinstance(node, ast.FunctionDef)}


FILE = re.compile(r"(?<![\w/])(?:config|urdf|launch|examples)/[\w./]+\.\w+")


@of_each((command, page) for command, page in COMMANDS if FILE.search(command))
def test_files_exist(command, page):
    for path in FILE.findall(command):
        assert "NAME" in path or (ROOT / path).is_file(), f"{page} names {path}"


#: A file of the code that a page names by its folder: from the top, from the package, or from any folder
CODE = re.compile(r"(?<!`)`((?:[\w.-]+/)+[\w-]+\.(?:py|pyi|cpp|yaml|urdf|xacro|json|npz))(?: [\w., ]+)?`(?!`)")
FOLDERS = ("benchmarks", "config", "docs", "examples", "launch", "mb_contact", "test", "urdf")
OF_USERS = {"cell/scene.yaml"}  #: files that a reader has after what the page says


@of_each(page for page in PAGES if page.parent.name != "measurements")
def test_files_of_the_code_exist(page):
    names = set(CODE.findall(page.read_text(encoding="utf-8"))) - OF_USERS
    assert not {name for name in names if not any(f"/{path}".endswith(f"/{name}") for path in files_of_the_code())}


@cache
def files_of_the_code():
    return [path.relative_to(ROOT).as_posix() for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]
