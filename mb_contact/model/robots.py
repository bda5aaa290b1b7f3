# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The robots of a world: bodies, joints, actuators and shapes, each where the scene puts it."""

import numpy as np

from mb_contact.checks import instead_of
from mb_contact.model.model import Frame
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix
from mb_contact.model.scene.robots import JOINT_PROPERTIES
from mb_contact.model.shapes.primitives import flexible_links, moved_frame, scene_file
from mb_contact.model.urdf.reader import load_urdf
from mb_contact.model.urdf.series_springs import spring_joint
from mb_contact.model.urdf.srdf import load_srdf
from mb_contact.types import JOINT_FLOATING, JOINT_PRISMATIC, WORLD

#: What a position beyond a joint's limits may be meant in: from when on, the unit, its size in that of the joint.
DEGREES, MILLIMETRES = (2.0 * np.pi, "degrees", np.pi / 180.0, "rad"), (1.0, "millimetres", 1e-3, "m")
#: Arrays of Tree by what their first axis counts.
BODY_ARRAYS = ("joint_type", "nv", "R_joint", "p_joint", "axis", "axis2", "mass", "com", "inertia", "body_gravity")
DOF_ARRAYS = ("armature", "damping", "effort_limit", "lower", "upper")
#: Arrays of JointForces, and what they hold where nothing is said.
FORCE_ARRAYS = {
    "stiffness": 0.0, "rest": 0.0, "friction": 0.0, "velocity_limit": np.inf, "gain": 0.0, "rate_gain": 0.0,
    "target": 0.0, "target_rate": 0.0, "saturation": 0.0,
}  # fmt: skip


class RobotParts:
    """Collects the robots of a world in their final numbering, with the lists that all bodies go into."""

    def __init__(self, scene):
        self.scene = scene
        self.parents = []
        self.bodies = {name: [] for name in BODY_ARRAYS}
        self.dofs = {name: [] for name in DOF_ARRAYS}
        self.forces = {name: [] for name in FORCE_ARRAYS}
        self.q0, self.v0 = [], []
        self.joint_names, self.joint_q, self.joint_v, self.velocity = [], [], [], []
        self.movers, self.mimics = {}, []
        self.frames, self.objects, self.body_names = {}, {}, []
        self.models, self.geometries, self.adjacent = [], [], set()
        self.rules = []  # of the robots' SRDF files
        self.flexible, self.warnings = [], []

    def add_model(self, entry, key):
        """Append a robot: its bodies, its frames and geometries, all moved to where the scene puts it."""
        model = self._load(entry, key)
        whole = model.whole or model  # with the coordinates of mimic joints too
        R, p = entry.pose.rotation(), entry.pose.origin()
        first, q_first, v_first = len(self.parents), len(self.q0), len(self.dofs["lower"])
        self._append_tree(model.tree, R, p)
        for link in model.flexible:
            link.set_springs(model.tree, v_first, self.forces["stiffness"], self.dofs["damping"])
            self.flexible.append(link.shifted(first))
        self._set_joints(whole, entry, f"{key}.joint_properties", v_first)
        q = self._initial_q(model, entry, key, R, p)
        self._set_actuators(whole, entry, f"{key}.actuators", v_first, q)
        self.q0.extend(q)
        self.v0.extend(self._initial_v(model, entry, key))
        for name in model.joint_names:
            self.scene.refuse_if(
                name in self.joint_names, f"{key}.urdf",
                f"joint '{name}' occurs in two robots; rename it in one (a xacro prefix does it)",
            )
            self.joint_names.append(name)
        of_leaders = [whole.joint_names.index(name) for name in model.joint_names]
        self.joint_q.extend(q_first + whole.joint_q[of_leaders])
        self.joint_v.extend(v_first + whole.joint_v[of_leaders])
        for k in np.flatnonzero(model.tree.nv == 1):
            self.movers[model.body_joint_names[k]] = first + int(k)
        self.mimics.extend(model.mimics)
        self.body_names.extend(model.body_names)
        for link, frame in model.frames.items():
            self.add_frame(link, moved_frame(frame, R, p, first), f"{key}.urdf")
        self._add_geometries(model, entry, key, R, p, first)
        for k in np.flatnonzero(model.tree.joint_type == JOINT_FLOATING):
            self.objects[model.body_names[k]] = first + int(k)
        self.adjacent |= model.adjacent_pairs
        self.warnings.extend(model.warnings)
        if entry.srdf is not None:
            self.rules.append(load_srdf(scene_file(self.scene, entry.srdf, f"{key}.srdf"), model))
            self.warnings.extend(self.rules[-1].warnings)
        self.models.append(model)

    def _load(self, entry, key):
        source = entry.urdf
        if not str(source).lstrip().startswith("<"):
            source = scene_file(self.scene, source, f"{key}.urdf")
        return load_urdf(
            source,
            package_dirs=self.scene.package_folders(),
            floating=entry.base == "free",
            collision_meshes=entry.collision_meshes,
            inertia_errors=entry.inertia_errors,
            mimic=entry.mimic,
            massless=entry.massless,
            xacro_args=entry.xacro_args,
            series_springs=[name for name, a in entry.actuators.items() if a.series_stiffness is not None],
            flexible_links=flexible_links(self.scene, entry, f"{key}.flexible_links"),
        )

    def _append_tree(self, tree, R, p):
        """Bodies that hang on the inertial frame move with the robot; of floating ones, q says where."""
        first = len(self.parents)
        self.parents.extend(int(k) if k == WORLD else first + int(k) for k in tree.parent)
        for name in BODY_ARRAYS:
            self.bodies[name].extend(getattr(tree, name))
        for name in DOF_ARRAYS:
            self.dofs[name].extend(getattr(tree, name))
        for name, value in FORCE_ARRAYS.items():
            self.forces[name].extend([value] * len(tree.armature))
        for k in range(len(tree.parent)):
            if tree.parent[k] == WORLD and tree.joint_type[k] != JOINT_FLOATING:
                self.bodies["R_joint"][first + k] = R @ tree.R_joint[k]
                self.bodies["p_joint"][first + k] = p + R @ tree.p_joint[k]

    def _set_joints(self, model, entry, key, first):
        """Friction and velocity limits of the URDF, then what the scene says of joints."""
        N = model.N
        self.forces["friction"][first : first + N] = model.friction.tolist()
        if self.scene.enforce_velocity_limits:
            self.forces["velocity_limit"][first : first + N] = model.velocity_limit.tolist()
        for name, properties in entry.joint_properties.items():
            given = {source for source, *_ in JOINT_PROPERTIES if getattr(properties, source) is not None}
            rates = [first + int(v) for v in self._rates(model, name, given, f"{key}.{name}")]
            for source, target, arrays in JOINT_PROPERTIES:
                for d in rates if source in given else ():
                    getattr(self, arrays)[target][d] = getattr(properties, source)

    def _set_actuators(self, model, entry, key, first, q):
        """Servos, which hold the initial positions ``q``, gears with their rotors, and springs in series."""
        for name, actuator in entry.actuators.items():
            index = self._joint_index(model, name, f"{key}.{name}")
            d, square = first + model.joint_v[index], actuator.gear_ratio**2
            self.dofs["armature"][d] += square * actuator.rotor_inertia
            self.dofs["damping"][d] += square * actuator.rotor_damping
            if actuator.effort_limit is not None:
                self.dofs["effort_limit"][d] = actuator.effort_limit
            self.forces["gain"][d], self.forces["rate_gain"][d] = actuator.stiffness, actuator.damping
            self.forces["target"][d] = q[model.joint_q[index]]
            if actuator.series_stiffness is not None:
                d = first + model.joint_v[self._joint_index(model, spring_joint(name), f"{key}.{name}")]
                self.forces["stiffness"][d] = actuator.series_stiffness
                self.dofs["damping"][d] = actuator.series_damping
                self.dofs["effort_limit"][d] = 0.0

    def _initial_q(self, model, entry, key, R, p):
        for name, value in entry.joints.items():
            self._check_position(model, name, value, f"{key}.joints.{name}")
        q = model.expand_q(model.q_from(entry.joints)).copy()
        for k in np.flatnonzero(model.tree.joint_type == JOINT_FLOATING):
            s = model.tree.q_start[k]
            R_body, p_body = quat_to_matrix(q[s + 3:s + 7]), q[s:s + 3].copy()
            q[s:s + 3] = p + R @ p_body
            q[s + 3:s + 7] = matrix_to_quat(R @ R_body)
        return q

    def _initial_v(self, model, entry, key):
        v = np.zeros(model.N)
        for name, rate in entry.velocities.items():
            v[model.joint_v[self._joint_index(model, name, f"{key}.velocities.{name}")]] = rate
        if entry.velocity is not None:
            v[:6] = six(entry.velocity)
        return model.expand_v(v)

    def _rates(self, model, name, given, key):
        """Velocities of a joint; one of several degrees of freedom has an armature and a damping, the same for each."""
        if name in model.joint_names or name not in model.body_joint_names:
            return [model.joint_v[self._joint_index(model, name, key)]]
        k = model.body_joint_names.index(name)
        others = ", ".join(sorted(given - {"armature", "damping"}))
        message = f"'{name}' has several degrees of freedom, and only armature and damping; leave out {others}"
        self.scene.refuse_if(bool(others), key, message)
        return range(model.tree.v_start[k], model.tree.v_start[k] + model.tree.nv[k])

    def _joint_index(self, model, name, key):
        """Place of a joint among those of a robot."""
        if name not in model.joint_names:
            message = f"robot '{model.name}' has no joint '{name}'; {instead_of(name, model.joint_names)}"
            raise self.scene.error(key, message)
        return model.joint_names.index(name)

    def _check_position(self, model, name, value, key):
        v = model.joint_v[self._joint_index(model, name, key)]
        low, high = model.lower[v], model.upper[v]
        if not low <= value <= high:
            slides = model.tree.joint_type[np.searchsorted(model.tree.v_start, v, side="right") - 1] == JOINT_PRISMATIC
            least, other, factor, unit = MILLIMETRES if slides else DEGREES
            meant = f" ({other}? {value:g} {other} are {factor * value:.4g} {unit})"
            doubt = meant if abs(value) > least and low <= factor * value <= high else ""
            raise self.scene.error(key, f"{value:g} is outside the joint's limits, {low:g} to {high:g}{doubt}")

    def _add_geometries(self, model, entry, key, R, p, first):
        materials = entry.materials
        for link in materials.links:
            if link not in model.frames:
                message = f"robot '{model.name}' has no link '{link}'; {instead_of(link, model.link_names)}"
                raise self.scene.error(f"{key}.materials.links.{link}", message)
        for shape in model.geometries:
            frame = moved_frame(Frame(shape.body, shape.R, shape.p), R, p, first)
            material = materials.links.get(shape.link, shape.material or materials.default)
            self.geometries.append(shape._replace(body=frame.body, R=frame.R, p=frame.p, material=material))

    def add_frame(self, link, frame, key):
        """Name a frame of a body; ``key`` is that of its name in the scene."""
        self.scene.refuse_if(
            link in self.frames, key,
            f"link '{link}' occurs twice in this scene; links of all robots and objects need "
            "names of their own: rename one",
        )
        self.scene.refuse_if(
            link == "world" and key.startswith("primitives"), key,
            "'world' is the frame that does not move; give this object another name",
        )
        self.frames[link] = frame


def six(velocity):
    """Velocity of a floating joint: world axes at the body's origin, angular first."""
    return np.array([*velocity.angular, *velocity.linear], dtype=np.float64)
