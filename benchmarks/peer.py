# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pinocchio's side of the comparison: called from Python, and inside a compiled loop (pinocchio_peer.cpp)."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
from cases import GRAVITY

SOURCE = Path(__file__).with_name("pinocchio_peer.cpp")
NO_TENSORS = Path(__file__).with_name("no_tensors")
#: Pinocchio's Data holds four N^3 tensors (32 GB for N = 1000): beyond this N its Python functions are left out
PYTHON_DOFS = 400
MU = 1e-4  #: damping of the damped inverse, as in SOURCE

#: Pinocchio's headers want these
DEFINITIONS = ("BOOST_MPL_LIMIT_LIST_SIZE=30", "BOOST_MPL_LIMIT_VECTOR_SIZE=30", "BOOST_FUSION_INVOKE_MAX_ARITY=12",
               "BOOST_MPL_CFG_NO_PREPROCESSED_HEADERS")
#: compiled with the machine's own instruction set and no assertions: the fastest that the peer can be
FLAGS = ("-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-w")


class NoProgram(Exception):
    """Why the compiled loop cannot be built here."""


def build():
    """Path of the compiled program; compiling takes a few minutes once, then it is kept.

    Raises
    ------
    NoProgram
        No compiler, or headers are missing.
    """
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise NoProgram("no C++ compiler found (g++)")
    include = _pinocchio_headers()
    command = [compiler, *FLAGS, *(f"-D{name}" for name in DEFINITIONS), f"-I{NO_TENSORS}",
               f"-I{_eigen_headers(include)}", f"-I{include}", str(SOURCE)]
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout
    text = SOURCE.read_bytes() + repr([command, version, distribution("libpinocchio").version]).encode()
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mb_contact" / "benchmarks"
    program = folder / f"pinocchio_peer-{hashlib.sha256(text).hexdigest()[:16]}"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        print("compiling pinocchio_peer.cpp (a few minutes, once) ...", flush=True)
        part = program.with_suffix(f".{os.getpid()}")
        done = subprocess.run([*command, "-o", str(part)], capture_output=True, text=True)
        if done.returncode != 0:
            raise NoProgram(f"the compiler failed: {done.stderr.strip().splitlines()[:1]}")
        part.replace(program)
    return program


def _pinocchio_headers():
    try:
        data = distribution("libpinocchio")
    except Exception as error:
        raise NoProgram(f"no Pinocchio wheel: {error}") from None
    include = Path(data.locate_file("cmeel.prefix/include"))
    if not (include / "pinocchio").is_dir():
        raise NoProgram(f"no headers in {include}")
    return include


def _eigen_headers(include):
    for folder in (os.environ.get("EIGEN_INCLUDE", ""), include / "eigen3", "/usr/include/eigen3"):
        if folder and (Path(folder) / "Eigen" / "Core").exists():
            return folder
    raise NoProgram("no Eigen headers: pip install cmeel-eigen, or apt install libeigen3-dev, or set EIGEN_INCLUDE")


# --- the case as the program reads it --------------------------------------------------------------


def case_text(case):
    """The robot as Pinocchio's own URDF reader made it, its constraints and states."""
    peer = case.peer
    model = peer.model
    lines = [f"gravity {_words(model.gravity.linear)}", f"joints {model.njoints - 1}"]
    for i in range(1, model.njoints):
        joint, at, body = model.joints[i], model.jointPlacements[i], model.inertias[i]
        detail = joint.extract()
        axis = detail.axis if hasattr(detail, "axis") else np.zeros(3)
        lines.append(f"{joint.shortname()} {model.parents[i]} {_words(axis)} {_words(at.rotation)} "
                     f"{_words(at.translation)} {float(body.mass)!r} {_words(body.lever)} {_words(body.inertia)}")
    lines.append(f"constraints {len(case.body)}")
    for k, R, p in zip(case.body, case.R, case.p):
        lines.append(f"{peer.joint_ids[k]} {case.size} {_words(R)} {_words(p)}")
    lines.append(f"states {len(case.states)}")
    for state in case.states:
        lines += [_words(x) for x in their_state(case, state)]
    return "\n".join([*lines, "end", ""])


def _words(numbers):
    return " ".join(repr(float(x)) for x in np.ravel(numbers))


def their_state(case, state):
    """q, v, effort and acceleration of a state in Pinocchio's coordinates."""
    q, v, effort, v_dot = state
    peer = case.peer
    S, s = peer.transformation(q, v)
    return peer.position(q), S @ v, np.linalg.solve(S.T, effort), S @ v_dot + s


class Program:
    """The compiled program at work on one case."""

    def __init__(self, program, case, folder):
        file = Path(folder) / f"{case.name.replace(' ', '_')}.txt"
        file.write_text(case_text(case), encoding="utf-8")
        self.process = subprocess.Popen([str(program), str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)

    def ask(self, command, name, count):
        self.process.stdin.write(f"{command} {name} {count}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the compiled program stopped with {self.process.wait()}")
        return np.array([float(x) for x in answer.split()])

    def value(self, name, s):
        return self.ask("value", name, s)

    def seconds(self, name, R):
        return float(self.ask("time", name, R)[0])

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# --- the same from Python ---------------------------------------------------------------------------


class Python:
    """Pinocchio's Python functions on one case, by the names of the program.

    The damped inverse is not among them: the Python module has no initPvDelassus, and without it
    computeDampedDelassusMatrixInverse returns 1/mu times the identity (pin 4.1.0).
    """

    def __init__(self, case):
        import pinocchio as pin

        peer = case.peer
        m, d = peer.model, peer.data
        states = [their_state(case, state) for state in case.states]
        kind = pin.ContactType.CONTACT_6D if case.size == 6 else pin.ContactType.CONTACT_3D
        models, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for k, R, p in zip(case.body, case.R, case.p):
            model = pin.RigidConstraintModel(kind, m, int(peer.joint_ids[k]), pin.SE3(R, p), pin.ReferenceFrame.LOCAL)
            models.append(model)
            datas.append(model.createData())
        self.calls = {
            "aba": lambda s: pin.aba(m, d, *states[s][:3], pin.Convention.WORLD),
            "aba_local": lambda s: pin.aba(m, d, *states[s][:3], pin.Convention.LOCAL),
            "crba": lambda s: pin.crba(m, d, states[s][0], pin.Convention.WORLD),
            "crba_local": lambda s: pin.crba(m, d, states[s][0], pin.Convention.LOCAL),
            "rnea": lambda s: pin.rnea(m, d, states[s][0], states[s][1], states[s][3]),
            "osim": lambda s: pin.computeDelassusMatrix(m, d, states[s][0], models, datas, 0.0),
        }


# --- their numbers in our coordinates ---------------------------------------------------------------


def expected(case, name, s, numbers):
    """What ours should be, from the numbers of algorithm ``name`` at state s."""
    q, v, _, _ = case.states[s]
    S, drift = case.peer.transformation(q, v)
    if name.startswith("aba"):
        return np.linalg.solve(S, numbers - drift)
    if name == "rnea":
        return S.T @ numbers
    if name.startswith("crba"):
        return S.T @ numbers.reshape(S.shape) @ S
    return _world_axes(case, q) @ numbers.reshape(case.rows, case.rows) @ _world_axes(case, q).T


def _world_axes(case, q):
    """Turns rows in the axes of the nodes, linear part first, into world axes, angular part first."""
    R_body, _ = case.model.body_poses(q)
    T = np.zeros((case.rows, case.rows))
    for i, (k, R) in enumerate(zip(case.body, case.R)):
        at, turn = case.size * i, R_body[k] @ R
        if case.size == 3:
            T[at : at + 3, at : at + 3] = turn
        else:
            T[at : at + 3, at + 3 : at + 6] = turn
            T[at + 3 : at + 6, at : at + 3] = turn
    return T


__all__ = ["GRAVITY", "MU", "NoProgram", "Program", "Python", "build", "case_text", "expected"]
