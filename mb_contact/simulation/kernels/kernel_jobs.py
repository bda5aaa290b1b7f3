# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The jobs of ``warm_up.py``: each compiles or loads kernels by calling what needs them, in a process of its own."""

import contextlib
import doctest
import importlib
import inspect
import io
import json

import numpy as np

from mb_contact.compile.workers import serve
from mb_contact.core.declare import allocate
from mb_contact.core.rays.cast import meet_triangles, turn_tiles
from mb_contact.core.step import closing, passing, problem, step
from mb_contact.core.step.assemble import assemble
from mb_contact.core.worlds import run, store
from mb_contact.errors import MbContactError
from mb_contact.model.builtin.pendulum import pendulum
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import ELASTIC_MODELS, Ground, Material, Pose, Primitive, Scene
from mb_contact.model.scene.sensors import Image, Sensor
from mb_contact.model.world import build_world
from mb_contact.simulation.context import StepContext
from mb_contact.simulation.kernels.warm_up import LIBRARY
from mb_contact.simulation.simulator import Simulator
from mb_contact.simulation.surfaces.simulator import simulator_of, surface_simulator


def falling_box(**choices):
    """A scene with the choices, in which everything is compiled: a box that bounces, or falls where nothing may."""
    restitution = 0.5 if choices.get("friction_model", ELASTIC_MODELS[0]) in ELASTIC_MODELS else 0.0
    box = Primitive("box", "box", (0.1, 0.1, 0.1), Pose((0.0, 0.0, 0.05)), "free", 1.0, material="rubber")
    rubber = {"rubber": Material(0.5, restitution=restitution)}
    return Scene(primitives=(box,), ground=Ground(0.0, "rubber"), materials=rubber, **choices)


def _context():
    scene = Scene(ground=Ground())
    context = StepContext(scene, build_world(scene))
    context.allocate()
    return context


#: by name, in the order in which ``warm_up.py`` hands them out; of the handle of a step
_STAGES = {
    "assemble_problem": problem.assemble_problem,
    "find_contacts": lambda handle: step.find_contacts(handle, 0),
    "solve": lambda handle: problem.solve(handle, problem.STEP),
    "conclude": step.conclude,
    "find_near": step.find_near,
    "assemble": assemble,
    "leave_out_passers": passing.leave_out_passers,
    "settle": step.settle,
    "smooth_dynamics": step.smooth_dynamics,
    "refresh": closing.refresh,
    "begin_step": step.begin_step,
    "saturate": step.saturate,
}


def _stage(name):
    """A kernel of a step, or each form of the whole step."""
    if name == "whole":
        context = Simulator(Scene(ground=Ground()), warm_up=False).context
        context.integrator.compile(context.handle)
    else:
        _STAGES[name](_context().handle)


def _terms(_):
    """What controllers ask for."""
    arm = Simulator(pendulum(2).scene(), warm_up=False)
    arm.mass_matrix()
    arm.operational_space(["link_1"])


def _worlds(_):
    none = dict.fromkeys(store.SIZES, 0)
    lane, worlds, values, job = (make(allocate(kind, **none)) for kind, make in store.MAKERS)
    context = _context()
    run.run_worlds(context.handle, lane, worlds, values, job, True, 0)
    run.reset_worlds(context.handle, lane, worlds, values, np.zeros(0, np.int64))


def _cameras(_):
    """What a camera needs; the kernels of meshes without Embree, which may be missing."""
    scene = Scene(ground=Ground(), sensors=(Sensor("eye", "camera", link="world", image=Image(16, 16, colour=True)),))
    _ = Simulator(scene, warm_up=False).sensors
    rays, turn, origin, one = np.ones((1, 1, 3)), np.eye(3), np.zeros((1, 3)), np.zeros(1, dtype=np.int64)
    turn_tiles(turn, rays, one, np.zeros((1, 3), dtype=np.float32))
    none, t, who = np.full(1, -1, dtype=np.int32), np.zeros((1, 1)), np.zeros((1, 1), dtype=np.int64)
    meet_triangles(none, origin, np.zeros(1), turn, origin, rays, one, 0, t, who)


def _choices(text):
    simulator = Simulator(falling_box(**json.loads(text)))
    simulator.step()
    if simulator.context.events is None:
        simulator.context.integrator.compile(simulator.context.handle)
    if simulator.scene.friction_model in ELASTIC_MODELS:
        simulator.contact_problem()


def _surfaces(_):
    simulator = surface_simulator(find_resource(f"{LIBRARY}/bezier_patch.yaml"))
    simulator.tree.run_adaptive(0.01)


def _scene(path):
    simulator = simulator_of(path)
    simulator.step()
    if simulator.scene.operational_frames:
        simulator.operational_space(simulator.scene.operational_frames)


def _library(path):
    """A scene of the library; the robots of some come with packages that may be missing."""
    _scene(path)


def _examples(room):
    """What the docstrings of a room's public functions and classes show."""
    package, module = (importlib.import_module(name) for name in ("mb_contact", f"mb_contact.{room}"))
    runner = doctest.DocTestRunner(verbose=False)
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isroutine(value) or inspect.isclass(value):
            for example in doctest.DocTestFinder().find(value, name, module=False):
                example.globs = {"mb": package, "np": np}
                runner.run(example, out=lambda _: None)


def _bench(options):
    """A measurement of ``mb-contact bench``; the robots of some come with packages that may be missing."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        importlib.import_module("mb_contact.cli").main(["bench", *options.split()])


def _kernel(key):
    """A function that is compiled when it is first called."""
    from mb_contact.compile.dispatcher import find_address  # there is none where Numba compiles alone

    find_address(key)


_ALL = _stage, _terms, _worlds, _cameras, _choices, _surfaces, _scene, _library, _examples, _bench, _kernel
OPTIONAL = ("choices", "library")  #: kinds of jobs that may fail: choices may exclude each other
KINDS = {kind.__name__[1:]: kind for kind in _ALL}


def work():
    """What a process runs that compiles."""
    serve(KINDS, OPTIONAL, MbContactError)
