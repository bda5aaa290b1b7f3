# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Imports point one way (docs/design.md, "Packages and imports"), also those inside functions.

Covers types.py.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from functools import cache

import pytest

from mb_contact.core.jit import ROOMS
from paths import ROOT

pytestmark = pytest.mark.quick

PACKAGE = ROOT / "mb_contact"

LEAVES = {"errors", "checks"}
BASE = LEAVES | {"types", "keys"}
BELOW_SIMULATION = BASE | {"compile", "core", "record", "model", "solvers", "dynamics", "collision"}

#: room -> rooms that it may import; a room may always import itself.  A new room needs a row here.
ALLOWED = {
    "types": set(),
    "lazy": set(),
    "errors": set(),
    "checks": {"errors"},
    "compile": set(),
    "keys": LEAVES,
    "core": {"types", "compile"},
    "record": LEAVES | {"core"},
    "solvers": BASE | {"core", "lazy"},
    "model": BASE | {"core"},
    "dynamics": BASE | {"core", "model", "solvers"},
    "control": BASE | {"core", "model", "dynamics"},
    "collision": BASE | {"compile", "core", "model", "solvers"},
    "surfaces": BASE | {"core", "record", "model", "dynamics"},
    "gradients": BASE | {"core", "model", "dynamics"},
    "simulation": BELOW_SIMULATION | {"lazy", "surfaces", "gradients"},
    "studies": BELOW_SIMULATION | {"lazy", "simulation"},
    "worlds": BELOW_SIMULATION | {"lazy", "simulation", "gradients"},
    "gym": BELOW_SIMULATION | {"control", "simulation", "worlds", "viewer"},
    "identification": BELOW_SIMULATION | {"gradients", "simulation"},
    "distributed": BELOW_SIMULATION | {"simulation", "worlds"},
    "ros": BELOW_SIMULATION | {"simulation", "surfaces"},
    "viewer": BELOW_SIMULATION | {"control", "simulation", "surfaces", "ros"},
    "testing": BELOW_SIMULATION | {"lazy", "simulation", "worlds", "ros", "viewer"},
    "programs": BELOW_SIMULATION | {"control", "simulation", "surfaces", "studies", "worlds", "ros", "viewer",
                                    "testing"},
    "cli": BELOW_SIMULATION | {"lazy", "simulation", "surfaces", "ros", "viewer", "testing", "programs"},
    "__main__": {"cli"},
    "__init__": BELOW_SIMULATION | {"lazy", "gradients", "identification", "simulation", "surfaces", "studies",
                                    "viewer", "worlds"},
}

#: library -> the only rooms or files that may import it
CONFINED = {
    "numba": {"compile", "core"},
    "coal": {"collision"},
    "fcl": {"collision"},
    "embreex": {"collision/ray_scene.py"},
    "rclpy": {"ros/rclpy_backend.py", "ros/rclpy_turns.py"},
    "cyclonedds": {"ros"},
    "zenoh": {"ros"},
    "matplotlib": {"programs"},
    "viser": {"viewer/library.py"},
    "pinocchio": set(),
    "mujoco": {"programs", "model/mjcf/compiled.py"},
    "gymnasium": {"gym"},
    "ray": {"distributed"},
    "jax": {"gradients/jax_rollout.py"},
    "torch": {"gradients/torch_rollout.py"},
}

#: libraries that `import mb_contact` must not load: not needed by every user, or slow
NOT_AT_IMPORT = ("rclpy", "cyclonedds", "zenoh", "rosbags", "matplotlib", "trimesh", "fcl", "viser", "embreex")


def room_of(path, package=PACKAGE):
    first = path.relative_to(package).parts[0]
    return first.removesuffix(".py")


@cache
def nodes_of(path):
    """All nodes of a file's syntax tree."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported_modules(path, package=PACKAGE):
    """Absolute names of all modules that a file imports, with their line numbers."""
    parts = ("mb_contact", *path.relative_to(package).with_suffix("").parts)
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            anchor = parts[: len(parts) - node.level] if node.level else ()
            module = ".".join([*anchor, *filter(None, [node.module])])
            # `from mb_contact import model` names the room only in the alias
            yield from ((f"{module}.{alias.name}", node.lineno) for alias in node.names)


def violations(path, package=PACKAGE):
    """One sentence per import that points the wrong way."""
    room, relative = room_of(path, package), path.relative_to(package).as_posix()
    for name, line in imported_modules(path, package):
        top, *rest = name.split(".")
        if top == "mb_contact":
            target = rest[0]
            if target != room and target not in ALLOWED[room]:
                yield f"{relative}:{line}: {room} must not import {name}"
        elif top in CONFINED and not {room, relative} & CONFINED[top]:
            yield f"{relative}:{line}: {top} is confined to {sorted(CONFINED[top]) or 'tests'}"


def test_every_room_has_a_rule():
    rooms = {room_of(path) for path in PACKAGE.rglob("*.py")}
    assert rooms <= set(ALLOWED), f"add a row to ALLOWED for {sorted(rooms - set(ALLOWED))}"


def test_the_rules_have_no_cycle():
    order = []
    left = dict(ALLOWED)
    while left:
        ready = [room for room, allowed in left.items() if not (allowed & set(left)) - {room}]
        assert ready, f"these rooms may import each other in a circle: {sorted(left)}"
        order += ready
        for room in ready:
            del left[room]


def test_imports_point_one_way():
    found = [text for path in sorted(PACKAGE.rglob("*.py")) for text in violations(path)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "import mb_contact.simulation",
        "from mb_contact import simulation",
        "from mb_contact.simulation.simulator import Simulator",
        "from ..simulation import Simulator",
        "def f():\n    import rclpy",
        "import coal",
    ],
)
def test_the_walk_sees_a_wrong_import(tmp_path, line):
    file = tmp_path / "mb_contact" / "solvers" / "lemke.py"
    file.parent.mkdir(parents=True)
    file.write_text(line, encoding="utf-8")
    assert len(list(violations(file, tmp_path / "mb_contact"))) == 1


def test_importing_the_package_stays_light():
    code = "import json, sys, mb_contact; print(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent
    )
    assert set(NOT_AT_IMPORT).isdisjoint(json.loads(answer.stdout))


def core_room(parts):
    """The room of a module below core/, given its path's parts; empty for a file that stands in core/ itself."""
    return parts[0] if parts[0] in ROOMS else ""


def test_every_room_of_core_has_a_rule():
    rooms = {path.name for path in (PACKAGE / "core").iterdir() if any(path.glob("*.py"))}
    assert rooms == set(ROOMS)


def test_the_rooms_of_core_import_one_way():
    found, core = [], PACKAGE / "core"
    for path in sorted(core.rglob("*.py")):
        room = core_room(path.relative_to(core).parts)
        for name, line in imported_modules(path):
            if not name.startswith("mb_contact.core."):
                continue
            target = core_room(name.split(".")[2:])
            if target not in {"", room} | set(ROOMS.get(room, ())):
                found.append(f"{path.relative_to(PACKAGE)}:{line}: core/{room} must not import {name}")
    assert not found, "\n".join(found)


# --- files ------------------------------------------------------------------------------------------------

#: Libraries' private names that have no public one.
LIBRARIES = {"os._exit", "sys._getframe", "reader._ref", "writer._ref", "waitset._ref"}
#: of Numba's compiler, which has no public names for what becomes of compiled code; for compile/ alone
NUMBA = {
    "_Utils", "_code", "_create_empty_module", "_data_layout", "_defn", "_ee", "_engine", "_ensure_finalized",
    "_final_module", "_finalized", "_find_referenced_environments", "_get_compiled_object", "_get_module_for_linking",
    "_make_subtarget", "_module_pass_manager", "_shared_module",
}  # fmt: skip
NAMED_TUPLE = {"_asdict", "_fields", "_make", "_replace"}


def file_graph(package=PACKAGE):
    """File -> files that it imports, inside functions too, but not under TYPE_CHECKING: that is for type checkers."""
    modules = {}
    for path in package.rglob("*.py"):
        name = ".".join(("mb_contact", *path.relative_to(package).with_suffix("").parts))
        modules[name.removesuffix(".__init__")] = path
    graph = {}
    for path in modules.values():
        unseen = lines_for_type_checkers(path)
        names = [name for name, line in imported_modules(path, package) if line not in unseen]
        graph[path] = {modules.get(name) or modules.get(name.rpartition(".")[0]) for name in names} - {None, path}
    return graph


def lines_for_type_checkers(path):
    """Numbers of the lines under ``if TYPE_CHECKING``."""
    lines = set()
    for node in nodes_of(path):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            lines.update(range(node.body[0].lineno, node.body[-1].end_lineno + 1))
    return lines


def circles(graph):
    """Files on a circle: what is left when files that import none of the others are taken away again and again."""
    left = dict(graph)
    while ready := [path for path, targets in left.items() if not targets & set(left)]:
        for path in ready:
            del left[path]
    while ready := [path for path in left if not any(path in targets for targets in left.values())]:
        for path in ready:
            del left[path]
    return left


def test_no_files_import_each_other_in_a_circle():
    assert not sorted(str(path.relative_to(PACKAGE)) for path in circles(file_graph()))


def test_the_walk_sees_a_circle(tmp_path):
    package = tmp_path / "mb_contact"
    (package / "solvers").mkdir(parents=True)
    for name, line in {"a": "from mb_contact.solvers import b", "b": "def f():\n    from mb_contact.solvers.a import x",
                       "c": "import mb_contact.solvers.a"}.items():  # fmt: skip
        (package / "solvers" / f"{name}.py").write_text(line, encoding="utf-8")
    assert {path.stem for path in circles(file_graph(package))} == {"a", "b"}


def own_names(nodes):
    """Names that a file gives: its functions and classes, what it assigns, and what it puts into ``self``."""
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node.value):
            yield node.attr


def is_own(node):
    """Whether an expression is ``self``, ``cls`` or ``super()``."""
    return getattr(node, "id", getattr(getattr(node, "func", None), "id", "")) in ("self", "cls", "super")


def reaches(path):
    """Accesses ``x._name``, but those to ``self`` and ``cls`` and to names that the file itself gives."""
    nodes = nodes_of(path)
    known = NAMED_TUPLE | set(own_names(nodes)) | (NUMBA if path.parent.name == "compile" else set())
    for node in nodes:
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_") or node.attr.startswith("__"):
            continue
        if node.attr not in known and not is_own(node.value) and (text := ast.unparse(node)) not in LIBRARIES:
            yield f"{path.name}:{node.lineno}: {text}"


def test_no_file_touches_private_names_of_another():
    assert not [text for path in sorted(PACKAGE.rglob("*.py")) for text in reaches(path)]


def test_tests_and_benchmarks_leave_private_names_of_simulators_alone():
    paths = [path for folder in ("test", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")]
    found = [text for path in sorted(paths) for text in reaches(path)]
    assert not [text for text in found if text.split()[-1].rpartition(".")[0].endswith(("sim", "simulator"))]


@pytest.mark.parametrize("line", ["sim._q[:] = 0", "x = node.simulator._state", "def f(a):\n    return a._b"])
def test_the_walk_sees_a_private_name(tmp_path, line):
    file = tmp_path / "reach.py"
    file.write_text(line, encoding="utf-8")
    assert len(list(reaches(file))) == 1


@pytest.mark.parametrize("room", ["core", "simulation"])
def test_files_are_short(room):
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in (PACKAGE / room).rglob("*.py")}
    assert not {name: length for name, length in lengths.items() if length > 400}


def test_kernels_take_few_arguments():
    counts = {}
    for path in (*(PACKAGE / "core").rglob("*.py"), *(PACKAGE / "studies").rglob("*.py")):
        for node in nodes_of(path):
            decorators = {getattr(getattr(d, "func", d), "id", "") for d in getattr(node, "decorator_list", ())}
            if decorators & {"kernel", "sweep", "entry", "on_demand", "part", "unlocked"}:
                counts[f"{path.name}: {node.name}"] = len(node.args.args)
    assert len(counts) > 500 and not {name: count for name, count in counts.items() if count > 14}
