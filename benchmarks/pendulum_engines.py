# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One run of the pendulum in another engine; started by pendulum_peers.py, which gives the case as JSON on stdin.

Needs NumPy and the engine, nothing of mb_contact.  Every engine gives joint angles and rates; energy, heights and the
first touch are computed from these alike.  Prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

SLACK = 2e-3  # [m] nearer than this counts as touched


class MuJoCo:
    """MuJoCo; ``integrator`` is Euler (its default), implicitfast or RK4."""

    def __init__(self, case, integrator):
        import mujoco

        self.step_function = mujoco.mj_step
        self.model = mujoco.MjModel.from_xml_string(self._xml(case, integrator))
        self.data = mujoco.MjData(self.model)
        self.data.qpos[0], self.data.qvel[0] = case["angle"], case["rate"]
        self.version = mujoco.__version__

    @staticmethod
    def _xml(case, integrator):
        half, r, n = 0.5 * case["spacing"], case["radius"], case["links"]
        bodies = ""
        for k in range(n):
            z = case["base_height"] if k == 0 else -case["spacing"]
            bodies += (
                f'<body pos="0 0 {z!r}"><joint type="hinge" axis="0 1 0"/>'
                f'<geom type="sphere" size="{r!r}" pos="0 0 {-half!r}" mass="{case["mass"]!r}"/>'
            )
        bodies += "</body>" * n
        mu = case["friction"]
        return f"""<mujoco><compiler angle="radian"/>
        <option timestep="{case["time_step"]!r}" gravity="0 0 {-case["gravity"]!r}" integrator="{integrator}"/>
        <default><geom friction="{mu} 0 0" condim="3"/></default><size memory="200M"/><worldbody>
        <geom type="plane" size="0 0 1" pos="0 0 {case["floor"]}"/>
        <geom type="plane" size="0 0 1" pos="{case["wall"]} 0 0" zaxis="-1 0 0"/>{bodies}</worldbody></mujoco>"""

    def step(self):
        self.step_function(self.model, self.data)

    def state(self):
        return self.data.qpos.copy(), self.data.qvel.copy()


class Bullet:
    """pybullet's multibody."""

    def __init__(self, case, _):
        import tempfile
        from pathlib import Path

        import pybullet as p

        self.p, self.n, self.version = p, case["links"], str(p.getAPIVersion())
        p.connect(p.DIRECT)
        p.setGravity(0.0, 0.0, -case["gravity"])
        p.setTimeStep(case["time_step"])
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "pendulum.urdf"
            file.write_text(case["urdf"], encoding="utf-8")
            flags = p.URDF_USE_SELF_COLLISION | p.URDF_USE_SELF_COLLISION_EXCLUDE_PARENT
            at = [0.0, 0.0, case["base_height"]]
            self.body = p.loadURDF(str(file), at, useFixedBase=True, flags=flags)
        surface = {"lateralFriction": case["friction"] ** 0.5, "restitution": case["restitution"] ** 0.5}  # a product
        half_turn = p.getQuaternionFromEuler([0.0, -0.5 * np.pi, 0.0])
        for at, turn in (([0, 0, case["floor"]], [0, 0, 0, 1]), ([case["wall"], 0, 0], half_turn)):
            shape = p.createCollisionShape(p.GEOM_PLANE, planeNormal=[0, 0, 1])
            plane = p.createMultiBody(0, shape, basePosition=at, baseOrientation=turn)
            p.changeDynamics(plane, -1, **surface)
        for k in range(-1, self.n):
            p.changeDynamics(self.body, k, linearDamping=0, angularDamping=0, jointDamping=0, maxJointVelocity=1e9,
                             rollingFriction=0, spinningFriction=0, **surface)  # fmt: skip
        self.joints = list(range(self.n))
        p.setJointMotorControlArray(self.body, self.joints, p.VELOCITY_CONTROL, forces=[0.0] * self.n)
        p.resetJointState(self.body, 0, case["angle"], case["rate"])

    def step(self):
        self.p.stepSimulation()

    def state(self):
        states = self.p.getJointStates(self.body, self.joints)
        return np.array([s[0] for s in states]), np.array([s[1] for s in states])


class Dart:
    """DART with its default constraint solver and Bullet's or its own collision detection."""

    def __init__(self, case, _):
        import dartpy as dart

        self.version = getattr(dart, "__version__", "?")
        self.world = dart.simulation.World()
        self.world.setGravity([0.0, 0.0, -case["gravity"]])
        self.world.setTimeStep(case["time_step"])
        self.chain = self._chain(dart, case)
        self.world.addSkeleton(self.chain)
        thick = 10.0
        self.world.addSkeleton(self._block(dart, case, "floor", [0, 0, case["floor"] - 0.5 * thick], [60, 60, thick]))
        self.world.addSkeleton(self._block(dart, case, "wall", [case["wall"] + 0.5 * thick, 0, 0], [thick, 60, 60]))
        self.chain.setPosition(0, case["angle"])
        self.chain.setVelocity(0, case["rate"])

    def _chain(self, dart, case):
        d = dart.dynamics
        chain, body = d.Skeleton("pendulum"), None
        for k in range(case["links"]):
            joint = d.RevoluteJointProperties()
            joint.mName, joint.mAxis = f"hinge_{k}", [0.0, 1.0, 0.0]
            t = dart.math.Isometry3()
            t.set_translation([0.0, 0.0, case["base_height"] if k == 0 else -case["spacing"]])
            joint.mT_ParentBodyToJoint = t
            _, body = chain.createRevoluteJointAndBodyNodePair(body, joint)
            moment, middle = 0.4 * case["mass"] * case["radius"] ** 2, [0.0, 0.0, -0.5 * case["spacing"]]
            inertia = d.Inertia(case["mass"], [0.0, 0.0, 0.0], moment * np.eye(3))
            inertia.setLocalCOM(middle)
            body.setInertia(inertia)
            node = body.createShapeNode(d.SphereShape(case["radius"]))
            node.setRelativeTranslation(middle)
            self._surface(node, case)
        chain.enableSelfCollisionCheck()
        chain.disableAdjacentBodyCheck()
        return chain

    def _block(self, dart, case, name, at, size):
        d = dart.dynamics
        block = d.Skeleton(name)
        joint, body = block.createWeldJointAndBodyNodePair(None)
        t = dart.math.Isometry3()
        t.set_translation(at)
        joint.setTransformFromParentBodyNode(t)
        self._surface(body.createShapeNode(d.BoxShape(size)), case)
        return block

    @staticmethod
    def _surface(node, case):
        node.createCollisionAspect()
        node.createDynamicsAspect()
        node.getDynamicsAspect().setFrictionCoeff(case["friction"])
        node.getDynamicsAspect().setRestitutionCoeff(case["restitution"] ** 0.5)

    def step(self):
        self.world.step()

    def state(self):
        return np.array(self.chain.getPositions()), np.array(self.chain.getVelocities())


class Drake:
    """Drake's discrete multibody plant with its default solver."""

    def __init__(self, case, _):
        from pydrake.geometry import HalfSpace, Sphere
        from pydrake.math import RigidTransform, RotationMatrix
        from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
        from pydrake.multibody.tree import FixedOffsetFrame, RevoluteJoint, SpatialInertia
        from pydrake.systems.analysis import Simulator
        from pydrake.systems.framework import DiagramBuilder

        self.version = _distribution("drake")
        builder = DiagramBuilder()
        self.plant, _ = AddMultibodyPlantSceneGraph(builder, case["time_step"])
        plant, mu = self.plant, CoulombFriction(case["friction"], case["friction"])
        middle = RigidTransform([0.0, 0.0, -0.5 * case["spacing"]])
        inertia = SpatialInertia.SolidSphereWithMass(case["mass"], case["radius"]).Shift([0, 0, 0.5 * case["spacing"]])
        parent, z = plant.world_frame(), case["base_height"]
        for k in range(case["links"]):
            body = plant.AddRigidBody(f"link_{k}", inertia)
            pin = plant.AddFrame(FixedOffsetFrame(f"pin_{k}", parent, RigidTransform([0.0, 0.0, z])))
            plant.AddJoint(RevoluteJoint(f"hinge_{k}", pin, body.body_frame(), [0, 1, 0]))
            plant.RegisterCollisionGeometry(body, middle, Sphere(case["radius"]), f"sphere_{k}", mu)
            parent, z = body.body_frame(), -case["spacing"]
        world = plant.world_body()
        facing_back = RigidTransform(RotationMatrix.MakeYRotation(-0.5 * np.pi), [case["wall"], 0, 0])
        plant.RegisterCollisionGeometry(world, RigidTransform([0, 0, case["floor"]]), HalfSpace(), "floor", mu)
        plant.RegisterCollisionGeometry(world, facing_back, HalfSpace(), "wall", mu)
        plant.mutable_gravity_field().set_gravity_vector([0, 0, -case["gravity"]])
        plant.Finalize()
        self.simulator = Simulator(builder.Build())
        self.context = plant.GetMyMutableContextFromRoot(self.simulator.get_mutable_context())
        q, v = np.zeros(case["links"]), np.zeros(case["links"])
        q[0], v[0] = case["angle"], case["rate"]
        plant.SetPositions(self.context, q)
        plant.SetVelocities(self.context, v)
        self.simulator.Initialize()
        self.dt, self.count = case["time_step"], 0

    def step(self):
        self.count += 1
        self.simulator.AdvanceTo(self.count * self.dt)

    def state(self):
        return self.plant.GetPositions(self.context).copy(), self.plant.GetVelocities(self.context).copy()


ENGINES = {"mujoco": MuJoCo, "bullet": Bullet, "dart": Dart, "drake": Drake}


def _distribution(name):
    from importlib.metadata import version

    return version(name)


def measures(case, q, v):
    """Energy [J] and smallest gap [m] (floor, wall, next but one sphere) of a state in joint coordinates."""
    bend, rate = np.cumsum(q), np.cumsum(v)
    along = np.stack([np.sin(bend), np.cos(bend)], axis=1) * case["spacing"]
    turn = np.stack([-np.cos(bend), np.sin(bend)], axis=1) * (case["spacing"] * rate)[:, None]
    centre = np.array([0.0, case["base_height"]]) - np.cumsum(along, axis=0) + 0.5 * along
    velocity = np.cumsum(turn, axis=0) - 0.5 * turn
    kinetic = 0.5 * case["mass"] * ((velocity**2).sum() + 0.4 * case["radius"] ** 2 * (rate**2).sum())
    potential = case["mass"] * case["gravity"] * centre[:, 1].sum()
    gap = min(centre[:, 1].min() - case["floor"], case["wall"] - centre[:, 0].max()) - case["radius"]
    if len(q) > 2:
        gap = min(gap, np.sqrt(((centre[2:] - centre[:-2]) ** 2).sum(axis=1)).min() - 2.0 * case["radius"])
    return kinetic + potential, gap


def run(case, step, state, hit=lambda: False):
    """Step a case and collect what pendulum_peers.py prints; ``state`` gives joint angles and rates.

    ``hit`` tells of an impact in the last step, where an engine resolves those before anything comes near.
    """
    start, _ = measures(case, *state())
    seconds, drift, rise, touched, finite, energy, deepest = 0.0, 0.0, 0.0, None, True, start, 0.0
    steps = round(case["seconds"] / case["time_step"])
    done = 0
    for done in range(1, steps + 1):
        begin = time.process_time()
        step()
        seconds += time.process_time() - begin
        q, v = state()
        with np.errstate(all="ignore"):
            energy, gap = measures(case, q, v)
        if not np.isfinite(energy) or energy > 100.0 * abs(start):
            finite = False
            break
        if touched is None and (gap < SLACK or hit()):
            touched = done * case["time_step"]
        if touched is None:
            drift = max(drift, abs(energy - start))
        rise, deepest = max(rise, energy - start), max(deepest, -gap)
        if seconds > case["budget"]:
            break
    return {
        "seconds": seconds * steps / done, "cut": done < steps and finite, "finite": finite, "touched": touched,
        "ended": done * case["time_step"], "drift": drift / abs(start), "rise": rise / abs(start), "end": energy,
        "deepest": deepest,
    }  # fmt: skip


def main():
    case = json.load(sys.stdin)
    engine = ENGINES[case["engine"]](case, case["integrator"])
    result = {**run(case, engine.step, engine.state), "version": engine.version}
    print("\n" + json.dumps(result))  # on a line of its own: Bullet leaves one open


if __name__ == "__main__":
    main()
