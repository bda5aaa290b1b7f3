# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Other engines behind one face, for ``fidelity_peers.py``: free bodies, a ground, walls, one time step.

Each adapter states its settings in ``SETTINGS``: what its documentation offers towards rigid contact at this step.
This file knows nothing of mb_contact: it runs in the interpreter that has the engines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Shape(NamedTuple):
    """sphere (r), capsule or cylinder (r, length of the straight part), box (x, y, z); lengths in m."""

    kind: str
    size: tuple
    R: np.ndarray = np.eye(3)  # noqa: RUF009


class Body(NamedTuple):
    """A body with its centre of mass at its origin, free, ``fixed``, or ``pivot`` [m] above a ball joint."""

    name: str
    shapes: tuple
    mass: float
    inertia: np.ndarray
    position: tuple
    R: np.ndarray = np.eye(3)  # noqa: RUF009
    omega: tuple = (0.0, 0.0, 0.0)
    v: tuple = (0.0, 0.0, 0.0)
    mu: float | None = None
    pivot: float | None = None
    fixed: bool = False


class World(NamedTuple):
    """A scene; ``mu`` counts for every pair where bodies have none of their own; walls are planes, columns x y n."""

    bodies: tuple
    gravity: tuple = (0.0, 0.0, -9.81)
    mu: float = 0.5
    ground: bool = True
    walls: tuple = ()
    restitution: float = 0.0
    ground_mu: float | None = None
    time_step: float = 1e-3


def quaternion(R):
    """w x y z of a rotation matrix."""
    K = np.array([
        [R[0, 0] - R[1, 1] - R[2, 2], 0, 0, 0],
        [R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], 0, 0],
        [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1], 0],
        [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], R[0, 0] + R[1, 1] + R[2, 2]],
    ]) / 3.0  # fmt: skip
    _, vectors = np.linalg.eigh(K)
    x, y, z, w = vectors[:, -1]
    return np.array([w, x, y, z]) * (1.0 if w >= 0.0 else -1.0)


def rotation(w, x, y, z):
    """Rotation matrix of a unit quaternion."""
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def damping_ratio(restitution):
    """Of a spring and damper that only push: eps = exp(-2 zeta / r atan(r / zeta)), r = sqrt(1 - zeta^2)."""
    low, high = 1e-9, 1.0 - 1e-9
    for _ in range(60):
        zeta = 0.5 * (low + high)
        r = np.sqrt(1.0 - zeta * zeta)
        low, high = (zeta, high) if np.exp(-2.0 * zeta / r * np.arctan2(r, zeta)) > restitution else (low, zeta)
    return zeta


def planes(world):
    """Rotation matrices of the ground and the walls."""
    return ([np.eye(3)] if world.ground else []) + [np.asarray(R) for R in world.walls]


# --- MuJoCo ---------------------------------------------------------------------------------------


class MuJoCo:
    """https://mujoco.org: soft convex contact, elliptic cones, Newton's method."""

    NAME = "MuJoCo"
    FALLBACK = None
    SETTINGS = (
        "elliptic cones, Newton solver with 200 iterations to 1e-14, impratio 100, 100 no-slip iterations, solref "
        "2 ms / 1, solimp 0.99 0.9999 0.1 mm; implicitfast, RK4 where nothing touches; restitution by solref -k -b, b "
        "that of a spring and damper that only push"
    )

    @staticmethod
    def pair_mu(box, ball, ground):
        """Coefficients of bodies for pairs box-ground and ball-box; MuJoCo takes the larger of two."""
        return {"box": ground, "ball": ball, "ground": ground}

    def __init__(self, world):
        import mujoco

        self._mj = mujoco
        self._model = mujoco.MjModel.from_xml_string(self._xml(world))
        self._data = mujoco.MjData(self._model)
        for body in world.bodies:
            if body.fixed:
                continue
            k = self._model.body(body.name).dofadr[0]
            if body.pivot is None:
                self._data.qvel[k : k + 3] = body.v
                k += 3
            self._data.qvel[k : k + 3] = np.asarray(body.R).T @ body.omega
        mujoco.mj_forward(self._model, self._data)

    def _xml(self, world):
        smooth = not (world.ground or world.walls or any(body.fixed for body in world.bodies))
        solref = "0.002 1"
        if world.restitution > 0.0:
            stiffness = 2e5
            damping = 2.0 * damping_ratio(world.restitution) * np.sqrt(stiffness)
            solref = f"{-stiffness} {-damping}"
        geom = f'solref="{solref}" solimp="0.99 0.9999 0.0001 0.5 2" condim="3"'
        parts = []
        for R in planes(world):
            mu = world.ground_mu or world.mu
            quat = self._text(quaternion(R))
            parts.append(f'<geom type="plane" size="50 50 1" quat="{quat}" friction="{mu} 0 0" {geom}/>')
        for body in world.bodies:
            parts.append(self._body(body, world, geom))
        return f"""<mujoco><option timestep="{world.time_step!r}" gravity="{self._text(world.gravity)}"
            integrator="{'RK4' if smooth else 'implicitfast'}" cone="elliptic" impratio="100" solver="Newton"
            iterations="200" tolerance="1e-14" noslip_iterations="100"/>
            <worldbody>{''.join(parts)}</worldbody></mujoco>"""

    def _body(self, body, world, geom):
        text = [f'<body name="{body.name}" pos="{self._text(body.position)}" quat="{self._text(quaternion(body.R))}">']
        if body.pivot is None:
            text.append("" if body.fixed else "<freejoint/>")
        else:
            text.append(f'<joint type="ball" pos="0 0 {-body.pivot!r}"/>')
        text.append(f'<inertial pos="0 0 0" mass="{body.mass!r}" diaginertia="{self._text(body.inertia)}"/>')
        for shape in body.shapes:
            size = {"sphere": shape.size, "box": np.asarray(shape.size) / 2}.get(shape.kind)
            if size is None:
                size = (shape.size[0], shape.size[1] / 2)
            text.append(f'<geom type="{shape.kind}" size="{self._text(size)}" quat="{self._text(quaternion(shape.R))}" '
                        f'friction="{body.mu or world.mu} 0 0" {geom}/>')  # fmt: skip
        return "".join(text) + "</body>"

    @staticmethod
    def _text(values):
        return " ".join(repr(float(x)) for x in values)

    def step(self):
        self._mj.mj_step(self._model, self._data)

    def push(self, name, force):
        self._data.body(name).xfrc_applied[:3] = force

    def pose(self, name):
        self._mj.mj_kinematics(self._model, self._data)
        body = self._data.body(name)
        return body.xpos.copy(), body.xmat.reshape(3, 3).copy()

    def velocity(self, name):
        _, R = self.pose(name)
        k = self._model.body(name).dofadr[0]
        if self._model.body(name).dofnum[0] == 3:
            return R @ self._data.qvel[k : k + 3], np.zeros(3)
        return R @ self._data.qvel[k + 3 : k + 6], self._data.qvel[k : k + 3].copy()


# --- Bullet ---------------------------------------------------------------------------------------


class Bullet:
    """https://pybullet.org: sequential impulses."""

    NAME = "Bullet"
    FALLBACK = None
    SETTINGS = (
        "pybullet, 500 iterations without an early end, cone friction, no damping, no contact slop, restitution from "
        "1e-3 m/s on; friction coefficients whose products are those of the pairs"
    )

    @staticmethod
    def pair_mu(box, ball, ground):
        """Bullet multiplies: box 1."""
        return {"box": 1.0, "ball": ball, "ground": ground}

    def __init__(self, world):
        import pybullet
        from pybullet_utils.bullet_client import BulletClient

        self._p = p = BulletClient(pybullet.DIRECT)  # a world of its own
        p.setGravity(*world.gravity)
        p.setPhysicsEngineParameter(
            fixedTimeStep=world.time_step, numSolverIterations=500, solverResidualThreshold=0.0, enableConeFriction=1,
            restitutionVelocityThreshold=1e-3, contactSlop=0.0, allowedCcdPenetration=0.0,
        )  # fmt: skip
        own = any(body.mu is not None for body in world.bodies)
        root = np.sqrt(world.mu)
        bounce = np.sqrt(world.restitution)
        for R in planes(world):
            shape = p.createCollisionShape(p.GEOM_PLANE, planeNormal=[float(x) for x in R[:, 2]])
            plane = p.createMultiBody(0, shape)
            p.changeDynamics(plane, -1, lateralFriction=world.ground_mu if own else root, restitution=bounce)
        self._ids, self._force = {}, {}
        for body in world.bodies:
            self._ids[body.name] = self._add(body, body.mu if own else root, bounce)

    def _add(self, body, mu, bounce):
        p = self._p
        if body.pivot is not None:
            raise NotImplementedError("no spherical joint with a set spin")
        xyzw = np.roll(quaternion(body.R), -1)
        kinds = {"sphere": p.GEOM_SPHERE, "capsule": p.GEOM_CAPSULE, "cylinder": p.GEOM_CYLINDER, "box": p.GEOM_BOX}
        shapes = list(body.shapes) or [Shape("sphere", (0.1,))]
        shape = p.createCollisionShapeArray(
            shapeTypes=[kinds[s.kind] for s in shapes],
            radii=[float(s.size[0]) for s in shapes],
            halfExtents=[[float(x) / 2 for x in s.size] if s.kind == "box" else [0.0, 0.0, 0.0] for s in shapes],
            lengths=[float(s.size[1]) if s.kind in ("capsule", "cylinder") else 0.0 for s in shapes],
            collisionFramePositions=[[0, 0, 0] for _ in shapes],
            collisionFrameOrientations=[np.roll(quaternion(s.R), -1).tolist() for s in shapes],
        )
        i = p.createMultiBody(0.0 if body.fixed else body.mass, shape, basePosition=[float(x) for x in body.position],
                              baseOrientation=xyzw.tolist())  # fmt: skip
        if body.fixed:
            p.changeDynamics(i, -1, lateralFriction=mu, restitution=bounce)
            return i
        p.changeDynamics(
            i, -1, lateralFriction=mu, restitution=bounce, linearDamping=0.0, angularDamping=0.0, rollingFriction=0.0,
            spinningFriction=0.0, localInertiaDiagonal=[float(x) for x in body.inertia], maxJointVelocity=1e6,
        )  # fmt: skip
        p.resetBaseVelocity(i, [float(x) for x in body.v], [float(x) for x in body.omega])
        return i

    def step(self):
        for name, force in self._force.items():
            place, _ = self._p.getBasePositionAndOrientation(self._ids[name])
            self._p.applyExternalForce(self._ids[name], -1, force, place, self._p.WORLD_FRAME)
        self._p.stepSimulation()

    def push(self, name, force):
        self._force[name] = [float(x) for x in force]

    def pose(self, name):
        place, (x, y, z, w) = self._p.getBasePositionAndOrientation(self._ids[name])
        return np.array(place), rotation(w, x, y, z)

    def velocity(self, name):
        linear, angular = self._p.getBaseVelocity(self._ids[name])
        return np.array(angular), np.array(linear)


# --- Drake ----------------------------------------------------------------------------------------


class Drake:
    """https://drake.mit.edu: compliant contact, discrete solver."""

    NAME = "Drake"
    SOLVER = "tamsi"
    SETTINGS = (
        "discrete plant, TAMSI, or Lagged where that fails; boxes hydroelastic, 1e8 Pa on rigid ground, others points "
        "of 1e7 N/m; dissipation 10 s/m, stiction tolerance 1e-6 m/s; it has no restitution"
    )

    @staticmethod
    def pair_mu(box, ball, ground):
        """Drake takes 2 a b / (a + b): box as the balls."""
        return {"box": ball, "ball": ball, "ground": ground * ball / (2 * ball - ground)}

    def __init__(self, world):
        if world.restitution > 0.0:
            raise NotImplementedError("no restitution")
        from pydrake.math import RigidTransform, RotationMatrix
        from pydrake.multibody.math import SpatialVelocity
        from pydrake.multibody.plant import AddMultibodyPlant, MultibodyPlantConfig
        from pydrake.multibody.tree import BallRpyJoint, SpatialInertia, UnitInertia
        from pydrake.systems.analysis import Simulator
        from pydrake.systems.framework import DiagramBuilder

        builder = DiagramBuilder()
        config = MultibodyPlantConfig(time_step=world.time_step, stiction_tolerance=1e-6, penetration_allowance=1e-5,
                                      discrete_contact_approximation=self.SOLVER)  # fmt: skip
        self._plant, _ = AddMultibodyPlant(config, builder)
        plant = self._plant
        plant.mutable_gravity_field().set_gravity_vector(np.asarray(world.gravity, dtype=float))
        for i, R in enumerate(planes(world)):
            self._plane(RigidTransform(RotationMatrix(R), np.zeros(3)), i, world)
        for body in world.bodies:
            moments = np.asarray(body.inertia, dtype=float) / body.mass
            inertia = SpatialInertia(body.mass, np.zeros(3), UnitInertia(*moments), skip_validity_check=True)
            link = plant.AddRigidBody(body.name, inertia)
            for j, shape in enumerate(body.shapes):
                self._shape(link, shape, f"{body.name}_{j}", body.mu or world.mu)
            if body.fixed:
                place = RigidTransform(RotationMatrix(body.R), body.position)
                plant.WeldFrames(plant.world_frame(), link.body_frame(), place)
            if body.pivot is not None:
                below = RigidTransform([0.0, 0.0, -body.pivot])
                plant.AddJoint(BallRpyJoint("pivot", plant.world_frame(), plant.AddFrame(self._frame(link, below))))
        plant.Finalize()
        diagram = builder.Build()
        self._context = diagram.CreateDefaultContext()
        self._state = plant.GetMyMutableContextFromRoot(self._context)
        for body in world.bodies:
            link = plant.GetBodyByName(body.name)
            if body.fixed:
                continue
            if body.pivot is None:
                plant.SetFreeBodyPose(self._state, link, RigidTransform(RotationMatrix(body.R), body.position))
                velocity = SpatialVelocity(np.array(body.omega, float), np.array(body.v, float))
                plant.SetFreeBodySpatialVelocity(self._state, link, velocity)
            else:
                joint = plant.GetJointByName("pivot")
                joint.set_angles(self._state, RotationMatrix(body.R).ToRollPitchYaw().vector())
                joint.set_angular_velocity(self._state, np.array(body.omega, float))
        self._force = {}
        self._simulator = Simulator(diagram, self._context)
        self._simulator.Initialize()
        self._step, self._count = world.time_step, 0

    @staticmethod
    def _frame(link, transform):
        from pydrake.multibody.tree import FixedOffsetFrame

        return FixedOffsetFrame("tip", link.body_frame(), transform)

    @staticmethod
    def _properties(mu, kind):
        from pydrake.geometry import (
            AddCompliantHydroelasticProperties,
            AddContactMaterial,
            AddRigidHydroelasticProperties,
            ProximityProperties,
        )
        from pydrake.multibody.plant import CoulombFriction

        properties = ProximityProperties()
        AddContactMaterial(10.0, 1e7, CoulombFriction(mu, mu), properties)
        if kind == "plane":
            AddRigidHydroelasticProperties(properties)
        elif kind == "box":
            AddCompliantHydroelasticProperties(0.02, 1e8, properties)
        return properties

    def _plane(self, pose, i, world):
        from pydrake.geometry import HalfSpace

        mu = world.ground_mu or world.mu
        self._plant.RegisterCollisionGeometry(self._plant.world_body(), pose, HalfSpace(), f"plane_{i}",
                                              self._properties(mu, "plane"))  # fmt: skip

    def _shape(self, link, shape, name, mu):
        from pydrake.geometry import Box, Capsule, Cylinder, Sphere
        from pydrake.math import RigidTransform, RotationMatrix

        kinds = {"sphere": Sphere, "capsule": Capsule, "cylinder": Cylinder, "box": Box}
        pose = RigidTransform(RotationMatrix(np.asarray(shape.R)), np.zeros(3))
        self._plant.RegisterCollisionGeometry(link, pose, kinds[shape.kind](*(float(x) for x in shape.size)), name,
                                              self._properties(mu, shape.kind))  # fmt: skip

    def step(self):
        self._count += 1
        self._simulator.AdvanceTo(self._count * self._step)

    def push(self, name, force):
        from pydrake.multibody.math import SpatialForce
        from pydrake.multibody.plant import ExternallyAppliedSpatialForce

        applied = ExternallyAppliedSpatialForce()
        applied.body_index = self._plant.GetBodyByName(name).index()
        applied.p_BoBq_B = np.zeros(3)
        applied.F_Bq_W = SpatialForce(np.zeros(3), np.asarray(force, dtype=float))
        self._plant.get_applied_spatial_force_input_port().FixValue(self._state, [applied])

    def pose(self, name):
        pose = self._plant.EvalBodyPoseInWorld(self._state, self._plant.GetBodyByName(name))
        return pose.translation().copy(), pose.rotation().matrix().copy()

    def velocity(self, name):
        v = self._plant.EvalBodySpatialVelocityInWorld(self._state, self._plant.GetBodyByName(name))
        return v.rotational().copy(), v.translational().copy()


class LaggedDrake(Drake):
    """Drake with its default solver, which errs by 0.3 % on a slope where TAMSI is exact, and converges more often."""

    SOLVER = "lagged"
    FALLBACK = None


Drake.FALLBACK = LaggedDrake


# --- DART -----------------------------------------------------------------------------------------


class Dart:
    """https://dartsim.github.io: boxed LCP in generalised coordinates."""

    NAME = "DART"
    FALLBACK = None
    SETTINGS = "friction solver NSGS on exact cones, 300 sweeps to 1e-12, collision detection of ODE, no deactivation"

    @staticmethod
    def pair_mu(box, ball, ground):
        """DART takes the smaller of two."""
        return {"box": ball, "ball": ball, "ground": ground}

    def __init__(self, world):
        import dartpy as dart

        self._dart = dart
        self._world = dart.simulation.World()
        self._world.setTimeStep(world.time_step)
        self._world.setGravity(np.asarray(world.gravity, dtype=float))
        solver = self._world.getConstraintSolver()
        solver.setCollisionDetector(dart.collision.OdeCollisionDetector())
        options = dart.constraint.NsgsFrictionSolver.Options()
        options.maxSweeps, options.tolerance = 300, 1e-12
        friction = dart.constraint.NsgsFrictionSolver()
        friction.setOptions(options)
        solver.setBoxedLcpSolver(friction)
        for i, R in enumerate(planes(world)):
            self._plane(np.asarray(R), i, world)
        self._bodies, self._force = {}, {}
        for body in world.bodies:
            self._bodies[body.name] = self._add(body, world)

    def _surface(self, node, mu, restitution):
        aspect = node.getDynamicsAspect()
        aspect.setFrictionCoeff(mu)
        aspect.setRestitutionCoeff(restitution)

    def _plane(self, R, i, world):
        dart = self._dart
        skeleton = dart.dynamics.Skeleton(f"plane_{i}")
        _, node = skeleton.createWeldJointAndBodyNodePair()
        shape = node.createShapeNode(dart.dynamics.PlaneShape(R[:, 2].copy(), 0.0))
        shape.createCollisionAspect()
        shape.createDynamicsAspect()
        self._surface(shape, world.ground_mu or world.mu, np.sqrt(world.restitution))
        self._world.addSkeleton(skeleton)

    def _add(self, body, world):
        dart = self._dart
        kinds = {"sphere": dart.dynamics.SphereShape, "capsule": dart.dynamics.CapsuleShape,
                 "cylinder": dart.dynamics.CylinderShape}  # fmt: skip
        skeleton = dart.dynamics.Skeleton(body.name)
        if body.pivot is None:
            joint, node = skeleton.createFreeJointAndBodyNodePair()
        else:
            joint, node = skeleton.createBallJointAndBodyNodePair()
        for shape in body.shapes:
            size = [float(x) for x in shape.size]
            made = dart.dynamics.BoxShape(size) if shape.kind == "box" else kinds[shape.kind](*size)
            holder = node.createShapeNode(made)
            holder.setRelativeRotation(np.asarray(shape.R))
            holder.createCollisionAspect()
            holder.createDynamicsAspect()
            self._surface(holder, body.mu or world.mu, np.sqrt(world.restitution))
        com = np.array([0.0, 0.0, body.pivot or 0.0])
        node.setInertia(dart.dynamics.Inertia(body.mass, com, np.diag(np.asarray(body.inertia, dtype=float))))
        R = np.asarray(body.R)
        pose = dart.math.Isometry3()
        pose.set_rotation(R)
        if body.pivot is None:
            pose.set_translation(np.asarray(body.position, dtype=float))
            joint.setPositions(dart.dynamics.FreeJoint.convertToPositions(pose))
            skeleton.setVelocities(np.concatenate([body.omega, body.v]))
        else:
            joint.setPositions(dart.dynamics.BallJoint.convertToPositions(R))
            skeleton.setVelocities(R.T @ body.omega)
        if not np.allclose(node.getAngularVelocity(), body.omega):
            raise AssertionError("this DART takes initial velocities in other axes")
        skeleton.setMobile(not body.fixed)
        self._world.addSkeleton(skeleton)
        return node

    def step(self):
        for name, force in self._force.items():
            self._bodies[name].addExtForce(np.asarray(force, dtype=float))
        self._world.step()

    def push(self, name, force):
        self._force[name] = force

    def pose(self, name):
        pose = self._bodies[name].getWorldTransform()
        return np.array(self._bodies[name].getCOM()), np.array(pose.rotation())

    def velocity(self, name):
        node = self._bodies[name]
        return np.array(node.getAngularVelocity()), np.array(node.getCOMLinearVelocity())


ENGINES = {engine.NAME: engine for engine in (MuJoCo, Bullet, Drake, Dart)}
