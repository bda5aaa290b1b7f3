# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mutated URDFs, SRDFs and scenes: each is read, or refused with a sentence that names a place.

    python benchmarks/fuzz.py [--cases 20400] [--seed 6] [--kind urdf|srdf|scene|surface] [--show N]

A case is one file of the corpus with one to three mutations: of bytes, of XML or YAML nodes, of numbers.  The corpus is
every scene and robot of the checkout, laid out as there, and small ones that use every key.  Wrong are:
an exception that is no MbContactError; a refusal without file and line; more than LIMIT seconds of CPU time or
WALL_LIMIT of wall time; and nonsense that is accepted: a world whose arrays are not finite, whose masses are negative
or whose tree is none, or a file in which a single number was replaced by what is no number.  Exit code 1 if anything
is wrong.
"""

from __future__ import annotations

import argparse
import copy
import random
import re
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import yaml
from lxml import etree
from quick import options_of

import mb_contact as mb
from mb_contact.errors import MbContactError
from mb_contact.surfaces.scene_build import build_surface_scene
from mb_contact.surfaces.scene_file import is_surface_scene
from mb_contact.types import JOINT_FLOATING, JOINT_MODE

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("urdf", "scene", "srdf", "surface")
LIMIT = 20.0  #: [s] of CPU time for one case, so that a busy machine is no hang; the slowest sane one takes 3
WALL_LIMIT = 60.0  #: [s] of wall time for one case, to catch one that is asleep; generous for the same reason
PLACE = re.compile(r"\S+:\d+: ")  #: file and line
NO_NUMBER = ("nan", "inf", "-inf", "", "up", "1,5", "1_0", "0x1f", "\u0661", "1e400", "--1", "1e", "1.2.3")
NASTY = (*NO_NUMBER, "0", "-0", "-1", "1e-300", "1e300", "1e30", "1 2", "1 2 3", "1 2 3 4", "1e-320", " 7 ", "9" * 400,
         "a" * 5000, "\u00e9", "world", "package://x/y", "file://", "<", "&amp;", "'", "../../etc", "~", "*a", "&a")
READ = {  # attributes that are numbers and are read, in elements that count
    "mass": ("value",), "inertia": ("ixx", "iyy", "izz", "ixy"), "axis": ("xyz",), "box": ("size",),
    "sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length"),
    "lateral_friction": ("value",),
}  # fmt: skip

SMALL = """<robot name="small" xmlns:drake="d">
  <link name="base"><inertial><mass value="3"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0"/></inertial>
    <collision name="c"><origin xyz="0 0 1" rpy="0 1 0"/><geometry><box size="1 2 3"/></geometry>
      <drake:proximity_properties><drake:mu_dynamic value="0.3"/></drake:proximity_properties></collision>
    <contact><lateral_friction value="0.5"/></contact></link>
  <link name="arm"><inertial><origin xyz="0 0 0.1"/><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>
    <collision><origin quat_xyzw="0 0 0 1"/><geometry><capsule radius="0.1" length="1"/></geometry></collision></link>
  <link name="slide"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>
    <collision><geometry><cylinder radius="0.1" length="1"/></geometry></collision>
    <collision><geometry><sphere radius="0.1"/></geometry></collision></link>
  <link name="ball"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
  <link name="tool"/>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 1"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="3"/><dynamics damping="0.1"/></joint>
  <joint name="rail" type="prismatic"><parent link="arm"/><child link="slide"/><axis xyz="0 0 2"/>
    <limit lower="0" upper="1" effort="10" velocity="3"/></joint>
  <joint name="socket" type="floating"><parent link="slide"/><child link="ball"/></joint>
  <joint name="weld" type="fixed"><parent link="ball"/><child link="tool"/></joint>
  <gazebo reference="arm"><mu1>0.4</mu1><mu2>0.4</mu2></gazebo>
</robot>"""
SRDF = """<robot name="small">
  <group name="arm"><chain base_link="base" tip_link="tool"/></group>
  <disable_collisions link1="base" link2="slide" reason="Never"/>
  <disable_default_collisions link="ball"/>
  <enable_collisions link1="ball" link2="base"/>
</robot>"""
SCENE = """time_step: 0.001
gravity: [0, 0, -9.81]
models:
  - name: small
    urdf: small.urdf
    srdf: small.srdf
    pose: {position: [0, 0, 1], rpy: [0, 0, 1.5]}
    base: free
    joints: {hinge: 0.5}
    velocities: {rail: 0.1}
    materials: {default: steel, links: {tool: rubber}}
primitives:
  - {name: can, shape: cylinder, size: [0.03, 0.1], base: free, mass: 0.3, material: steel}
  - name: wall
    shape: plane
    pose: {quat_xyzw: [0, 0, 0, 1]}
ground: {height: -1, material: rubber}
materials:
  rubber: {friction: 0.9}
  steel: {friction: 0.4, viscous: 1}
pairs:
  - {materials: [rubber, steel], friction: 0.7}
collision_filters: {adjacent: true, disable: [[can, wall]]}
friction_directions: 4
contact_margin: 0.001
operational_frames: [tool]
rates: {control_period: 0.002}
"""


# --- mutations ------------------------------------------------------------------------------------


def mutate_bytes(text, rng):
    """One change of the text that knows nothing of its structure."""
    i, j = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    j = min(j, i + rng.choice((1, 3, 20, 200)))
    return rng.choice((
        lambda: text[:i] + text[j:],
        lambda: text[:i] + text[i:j] * 2 + text[j:],
        lambda: text[:i],
        lambda: text[:i] + rng.choice(NASTY) + text[j:],
        lambda: text[:i] + chr(rng.choice((0, 9, 10, 13, 32, 34, 60, 127, 255, 0x2028, 0x1F600))) + text[j:],
    ))()  # fmt: skip


def mutate_xml(text, rng):
    """One change of an element or attribute; of broken XML, one of bytes."""
    try:
        root = etree.fromstring(text.encode())
    except (etree.XMLSyntaxError, ValueError, UnicodeEncodeError):
        return mutate_bytes(text, rng)
    elements = [element for element in root.iter() if isinstance(element.tag, str)]
    element, other = rng.choice(elements), rng.choice(elements)
    parent, kind = element.getparent(), rng.randrange(7)
    if kind == 0 and parent is not None:
        parent.remove(element)
    elif kind == 1:
        other.append(copy.deepcopy(element))
    elif kind == 2 and other not in element.iter():
        other.append(element)
    elif kind == 3:
        element.tag = other.tag
    elif kind == 4 and element.attrib:
        element.attrib.pop(rng.choice(list(element.attrib)))
    elif element.attrib:
        value = rng.choice([*NASTY, *other.attrib.values()])
        element.set(rng.choice(list(element.attrib)), "".join(c for c in value if c >= " "))
    return etree.tostring(root, encoding="unicode")


def mutate_tree(text, rng):
    """One change of a node of a scene that stays YAML; of broken YAML, one of a line."""
    try:
        root = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        return mutate_lines(text, rng)
    places = []

    def walk(node):
        for key in list(node) if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
            places.append((node, key))
            if len(places) < 500:
                walk(node[key])

    walk(root)
    if not places:
        return mutate_lines(text, rng)
    (node, key), (other, name) = rng.choice(places), rng.choice(places)
    kind = rng.randrange(5)
    if kind == 0:
        del node[key]
    elif kind == 1 and isinstance(other, dict):
        other[rng.choice((key, *NASTY))] = copy.deepcopy(node[key])
    elif kind == 2 and isinstance(node[key], (int, float)):
        node[key] = rng.choice((0, -1, 1e300, 1e-300, -node[key], 1e30, 10 * node[key], 0.1 * node[key], 3, True))
    elif kind == 3:
        node[key] = copy.deepcopy(other[name])
    else:
        node[key] = rng.choice((*NASTY, None, [], {}, 0, [1.0], True))
    return yaml.safe_dump(root, sort_keys=False, allow_unicode=True)


def mutate_lines(text, rng):
    """One change of a line of a scene or of a value in it."""
    lines = text.split("\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    kind = rng.randrange(6)
    if kind == 0:
        del lines[i]
    elif kind == 1:
        lines.insert(i, lines[j])
    elif kind == 2:
        lines[i] = " " * rng.randrange(6) + lines[i].lstrip()
    elif kind == 3:
        lines[i] = lines[i].split(":")[0] + ": " + rng.choice((*NASTY, "&a [*a]", "{a: 1}", "[1]", "null", "true"))
    else:
        values = list(re.finditer(r"[\w.\-]+", lines[i]))
        if values:
            at = rng.choice(values)
            lines[i] = lines[i][: at.start()] + rng.choice(NASTY) + lines[i][at.end() :]
    return "\n".join(lines)


def spoil_number(rng):
    """SMALL with one number that counts replaced by what is no number; nothing else."""
    root = etree.fromstring(SMALL.encode())
    element = rng.choice([e for e in root.iter(*READ)])
    key = rng.choice([key for key in READ[element.tag] if element.get(key)])
    parts = element.get(key).split()
    parts[rng.randrange(len(parts))] = rng.choice(NO_NUMBER)
    element.set(key, " ".join(parts))
    return etree.tostring(root, encoding="unicode")


def spoil_scene(rng):
    """SCENE with one number replaced by what is no number; nothing else."""
    numbers = list(re.finditer(r"(?<=[\s\[])-?\d[\d.]*(?=[\s,\]}])", SCENE))
    at = rng.choice(numbers)
    return SCENE[: at.start()] + rng.choice(NO_NUMBER[:4] + NO_NUMBER[4:]) + SCENE[at.end() :]


# --- judges ---------------------------------------------------------------------------------------


def nonsense(world):
    """What is wrong with a World, a Model or a simulation of surfaces that was accepted, or None."""
    if hasattr(world, "energy"):
        try:
            return None if np.isfinite(world.energy()) else "the energy is not finite"
        except MbContactError as error:
            return f"it has no energy: {error}"
    tree = world.tree
    arrays = {name: getattr(tree, name) for name in ("R_joint", "p_joint", "axis", "mass", "com", "inertia", "damping")}
    if hasattr(world, "geoms"):
        geoms = world.geoms
        arrays.update(size=geoms.size, R=geoms.R, p=geoms.p, mu=geoms.mu, q0=world.q0, v0=world.v0)
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            return f"{name} is not finite"
    if (tree.mass < 0.0).any() or (tree.damping < 0.0).any():
        return "a negative mass or damping"
    if (tree.parent >= np.arange(len(tree.parent))).any():
        return "a body before its parent"
    if not (tree.lower <= tree.upper).all():
        return "crossed limits"
    turned = (tree.nv == 1) & (tree.joint_type != JOINT_MODE)
    if np.abs(np.linalg.norm(tree.axis[turned], axis=1) - 1.0).max(initial=0.0) > 1e-9:
        return "an axis that is no unit vector"
    alone = (tree.joint_type == JOINT_FLOATING) & ~np.isin(np.arange(len(tree.parent)), tree.parent)
    if (tree.mass[alone] <= 0.0).any() or (np.linalg.eigvalsh(tree.inertia[alone])[:, 0] <= 0.0).any():
        return "a free body that nothing resists"
    return None


class Overdue(Exception):
    """A case took longer than LIMIT or WALL_LIMIT."""


def judge(read, spoiled, timed=True):
    """(verdict, words) of one case: ``accepted`` and ``refused`` are fine, everything else is not."""

    def stop(number, _):
        raise Overdue(f"{LIMIT} s of CPU time" if number == signal.SIGPROF else f"{WALL_LIMIT} s of wall time")

    signal.signal(signal.SIGPROF, stop)
    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT if timed else 0.0)
    signal.setitimer(signal.ITIMER_REAL, WALL_LIMIT if timed else 0.0)
    try:
        result = read()
    except MbContactError as error:
        words = str(error)
        return ("refused" if PLACE.search(words) and "\n" not in words else "no place"), words
    except Overdue as late:
        return "hang", f"longer than {late}"
    except Exception as error:  # whatever it is, it is a crash
        return "crash", f"{type(error).__name__}: {error}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
    if spoiled:
        return "nonsense", "what is no number was accepted"
    wrong = nonsense(result)
    return ("accepted", "") if wrong is None else ("nonsense", wrong)


# --- the run --------------------------------------------------------------------------------------


class Fuzzer:
    """Makes and judges cases in a folder of its own; case number k of a seed is always the same."""

    def __init__(self, folder, seed):
        self.folder, self.seed = Path(folder) / "config", seed
        self.folder.mkdir()
        for name in ("urdf", "config/meshes", "config/nets"):  # what the scenes of the checkout name
            (Path(folder) / name).symlink_to(ROOT / name)
        scenes = [file for file in sorted((ROOT / "config").glob("*.yaml")) if file.name != "node.yaml"]
        surfaces = [file for file in scenes if is_surface_scene(file)]
        self.corpus = {
            "urdf": [SMALL, *(file.read_text() for file in sorted((ROOT / "urdf").glob("*.urdf")))],
            "srdf": [SRDF],
            "scene": [SCENE, SCENE, *(file.read_text() for file in scenes if file not in surfaces)],
            "surface": [file.read_text() for file in surfaces],
        }

    def case(self, kind, k):
        """(verdict, words, text) of case k."""
        rng = random.Random(f"{self.seed} {kind} {k}")
        spoiled = kind in ("urdf", "scene") and rng.random() < 0.2
        text = self._spoil(kind, rng) if spoiled else self._mutate(kind, rng)
        if kind == "urdf":
            options = {"mimic": rng.choice(("error", "independent")), "inertia_errors": rng.choice(("error", "warn"))}
            options["floating"] = rng.random() < 0.5
        else:
            options = {}
        return *self.judge(kind, text, spoiled, **options), text

    def refused_seeds(self, kinds):
        """Wrong cases of the corpus itself: what is refused unmutated would be refused whatever is done to it.

        Without time limits: kernels may have to be compiled, once.
        """
        judged = [(kind, *self.judge(kind, text, timed=False), text) for kind in kinds for text in self.corpus[kind]]
        return [(kind, "of the corpus", *rest) for kind, *rest in judged if rest[0] != "accepted"]

    def judge(self, kind, text, spoiled=False, timed=True, **options):
        """(verdict, words) of a file."""
        for name, content in (("small.urdf", SMALL), ("small.srdf", SRDF), ("scene.yaml", SCENE)):
            self._write(name, content)
        file = {"urdf": "small.urdf", "srdf": "small.srdf"}.get(kind, "scene.yaml")
        self._write(file, text)
        if kind == "urdf":
            return judge(lambda: mb.load_urdf(self.folder / file, **options), spoiled, timed)
        if kind == "surface":
            return judge(lambda: build_surface_scene(self.folder / file)[1], spoiled, timed)
        return judge(lambda: mb.build_world(mb.load_scene(self.folder / "scene.yaml")), spoiled, timed)

    def _spoil(self, kind, rng):
        return spoil_number(rng) if kind == "urdf" else spoil_scene(rng)

    def _mutate(self, kind, rng):
        text = rng.choice(self.corpus[kind])
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            steps = (mutate_xml,) if kind in ("urdf", "srdf") else (mutate_tree, mutate_tree, mutate_tree, mutate_lines)
            text = rng.choice(steps)(text, rng) if rng.random() < 0.85 else mutate_bytes(text, rng)
        return text

    def _write(self, name, text):
        (self.folder / name).write_bytes(text.encode("utf-8", errors="surrogateescape"))


def run(cases, seed, kinds=KINDS, show=0):
    """Judge ``cases`` cases shared among the kinds; returns the count of each (kind, verdict) and the wrong ones."""
    counts, wrong = Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        fuzzer = Fuzzer(folder, seed)
        wrong += fuzzer.refused_seeds(kinds)
        for k in range(cases):
            kind = kinds[k % len(kinds)]
            verdict, words, text = fuzzer.case(kind, k)
            counts[kind, verdict] += 1
            if verdict not in ("accepted", "refused"):
                wrong.append((kind, k, verdict, words, text))
            elif k < show:
                print(kind, k, verdict, words)
    return counts, wrong


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=20400)
    parser.add_argument("--seed", type=int, default=6)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the verdicts of the first N cases")
    arguments = options_of(parser, cases=40)
    start = time.perf_counter()
    kinds = (arguments.kind,) if arguments.kind else KINDS
    counts, wrong = run(arguments.cases, arguments.seed, kinds, arguments.show)
    for (kind, verdict), count in sorted(counts.items()):
        print(f"{kind:6} {verdict:9} {count}")
    for kind, k, verdict, words, _ in wrong[:20]:
        print(f"WRONG {kind} case {k}: {verdict}: {words[:300]}")
    print(f"{arguments.cases} cases, {len(wrong)} wrong, {time.perf_counter() - start:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
