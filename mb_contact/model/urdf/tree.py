# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Links and joints to the arrays of a Model: checks that they form a tree and numbers its moving bodies."""

from itertools import combinations

import numpy as np

from mb_contact.errors import ModelError
from mb_contact.model.flexible.links import flexible_bodies
from mb_contact.model.model import Frame, Geometry, Model, freeze
from mb_contact.model.poses import tree_roots
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.model.shapes.inertia import weld
from mb_contact.model.urdf.massless import SHARE, bare_joints, is_singular, mass_matrix_at_zero
from mb_contact.model.urdf.mimics import eliminate, resolve_mimics
from mb_contact.model.urdf.xml import SCALAR, JointSpec
from mb_contact.types import (
    JOINT_FLOATING,
    JOINT_MODE,
    JOINT_NODE,
    JOINT_NQ,
    JOINT_NV,
    JOINT_PLANAR,
    JOINT_PRISMATIC,
    JOINT_REVOLUTE,
    JOINT_SCREW,
    JOINT_SPHERICAL,
    JOINT_UNIVERSAL,
    JOINT_WELD,
    WORLD,
    Tree,
)

KERNEL_JOINT = {
    "revolute": JOINT_REVOLUTE,
    "continuous": JOINT_REVOLUTE,
    "prismatic": JOINT_PRISMATIC,
    "screw": JOINT_SCREW,
    "floating": JOINT_FLOATING,
    "planar": JOINT_PLANAR,
    "spherical": JOINT_SPHERICAL,
    "universal": JOINT_UNIVERSAL,
    "weld": JOINT_WELD,
    "mode": JOINT_MODE,
    "node": JOINT_NODE,
}
OF_MODES = ("mode", "node")  #: joints of flexible links: what they move has neither mass nor shapes that a joint needs
TOL_HINGE = 1e-12  #: inertia about a hinge, relative to the body's largest: below it is rounding, and nothing resists
DOF_SUFFIXES = {  # of the names of degrees of freedom
    "floating": ("_wx", "_wy", "_wz", "_vx", "_vy", "_vz"),
    "planar": ("_x", "_y", "_angle"),
    "spherical": ("_wx", "_wy", "_wz"),
    "universal": ("_1", "_2"),
}


class TreeBuilder:
    """Turns the specifications of one file into the arrays of a Model."""

    def __init__(self, reader, robot, links, joints, floating, massless="error", flexible=()):
        self.reader, self.robot, self.links, self.joints = reader, robot, links, joints
        self.massless, self.flexible = massless, flexible
        self.children = {name: [] for name in links}
        self.root = self._find_root()
        self.frames = {}  # link to Frame
        self.bodies = []  # (JointSpec, parent body, R_joint, p_joint)
        self.zero_poses = []  # body pose in the inertial frame, every joint at zero
        self._number_bodies(floating)

    def fail(self, line, message):
        return ModelError(f"{self.reader.source}:{line}: {message}")

    def refuse_if(self, broken, line, message):
        """Raise the ModelError of :meth:`fail` where a rule is broken."""
        if broken:
            raise self.fail(line, message)

    # --- the tree -----------------------------------------------------------------------

    def _find_root(self):
        parent_joint = {}
        for joint in self.joints.values():
            for link in (joint.parent, joint.child):
                self.refuse_if(
                    link not in self.links, joint.line,
                    f"joint '{joint.name}' names link '{link}', which is not declared",
                )
            if joint.child in parent_joint:
                first = parent_joint[joint.child].name
                message = f"link '{joint.child}' has two parent joints, '{first}' and '{joint.name}'; "
                raise self.fail(joint.line, message + "a URDF is a tree: declare the loop in the scene file")
            parent_joint[joint.child] = joint
            self.children[joint.parent].append(joint)
        roots = [name for name in self.links if name not in parent_joint]
        if len(roots) > 1:
            message = f"two root links, '{roots[0]}' and '{roots[1]}'; connect them with a joint"
            raise self.fail(self.links[roots[1]].line, message)
        self._refuse_cycle(roots, parent_joint)
        return roots[0]

    def _refuse_cycle(self, roots, parent_joint):
        reached, stack = set(), list(roots)
        while stack:
            link = stack.pop()
            reached.add(link)
            stack.extend(joint.child for joint in self.children[link])
        lost = next((name for name in self.links if name not in reached), None)
        if lost is None:
            return
        walked = []
        while lost not in walked:  # walk up until a link comes round again
            walked.append(lost)
            lost = parent_joint[lost].parent
        cycle = walked[walked.index(lost):][::-1]
        names = " -> ".join(f"'{name}'" for name in [*cycle, cycle[0]])
        joint = parent_joint[cycle[0]]
        raise self.fail(joint.line, f"the joints form a cycle of links: {names}; remove joint '{joint.name}'")

    def _number_bodies(self, floating):
        """Depth first in the file's order; fixed joints lump a link into the body it hangs on."""
        if floating:
            joint = JointSpec(f"{self.root}_floating", self.links[self.root].line, "floating", "", self.root,
                              np.eye(3), np.zeros(3), np.zeros(3))
            self._add_body(joint, WORLD, np.eye(3), np.zeros(3))
        else:
            self.frames[self.root] = Frame(WORLD, np.eye(3), np.zeros(3))
        stack = list(reversed(self.children[self.root]))
        while stack:
            joint = stack.pop()
            parent = self.frames[joint.parent]
            R, p = parent.R @ joint.R, parent.p + parent.R @ joint.p
            if joint.kind == "fixed":
                self.frames[joint.child] = Frame(parent.body, R, p)
            else:
                self._add_body(joint, parent.body, R, p)
            stack.extend(reversed(self.children[joint.child]))

    def _add_body(self, joint, parent, R, p):
        R_zero, p_zero = R, p
        if parent != WORLD:
            R_parent, p_parent = self.zero_poses[parent]
            R_zero, p_zero = R_parent @ R, p_parent + R_parent @ p
        self.zero_poses.append((R_zero, p_zero))
        if joint.kind == "floating":  # carries no constraint: the root of a tree of its own
            parent, R, p = WORLD, np.eye(3), np.zeros(3)
        self.frames[joint.child] = Frame(len(self.bodies), np.eye(3), np.zeros(3))
        self.bodies.append((joint, parent, R, p))

    # --- the arrays ---------------------------------------------------------------------

    def model(self, text):
        """The finished Model."""
        kinds = np.array([KERNEL_JOINT[body[0].kind] for body in self.bodies], dtype=np.int64)
        nq, nv = np.array(JOINT_NQ)[kinds], np.array(JOINT_NV)[kinds]
        q_start, v_start = np.cumsum(nq) - nq, np.cumsum(nv) - nv
        tree = self._tree(kinds, q_start, v_start, nv)
        scalar = np.flatnonzero(nv == 1)
        joints = [body[0] for body in self.bodies]
        model = Model(
            name=self.robot, root_link=self.root, tree=tree,
            joint_names=tuple(joints[k].name for k in scalar),
            joint_q=q_start[scalar].astype(np.int64), joint_v=v_start[scalar].astype(np.int64),
            body_joint_names=tuple(joint.name for joint in joints),
            dof_joint_names=tuple(name for joint in joints for name in _dof_names(joint)),
            body_names=tuple(joint.child for joint in joints),
            link_names=tuple(self.frames), frames=self.frames,
            geometries=tuple(self._geometries()), adjacent_pairs=self._adjacent_pairs(tree),
            velocity_limit=self._per_dof("velocity", np.inf), friction=self._per_dof("friction", 0.0),
            neutral=self._neutral(q_start, int(nq.sum())), warnings=tuple(self.reader.warnings), urdf=text,
            still_mass=float(sum(self.links[link].inertia.mass for link, frame in self.frames.items()
                                 if frame.body == WORLD)),
            lenient=tuple(self.reader.lenient.items()),
            flexible=flexible_bodies(self.flexible, {link: frame.body for link, frame in self.frames.items()}),
        )
        freeze(model)
        return eliminate(model, resolve_mimics(self.joints, SCALAR, self.fail))

    def _tree(self, kinds, q_start, v_start, nv):
        n = len(self.bodies)
        inertias = self._inertias()
        parent = np.array([body[1] for body in self.bodies], dtype=np.int64)
        tree = Tree(
            parent=parent, joint_type=kinds,
            q_start=q_start.astype(np.int64), v_start=v_start.astype(np.int64), nv=nv.astype(np.int64),
            root=tree_roots(parent),
            R_joint=np.array([body[2] for body in self.bodies]).reshape(n, 3, 3),
            p_joint=np.array([body[3] for body in self.bodies]).reshape(n, 3),
            axis=np.array([body[0].axis for body in self.bodies]).reshape(n, 3),
            axis2=np.array([body[0].axis2 for body in self.bodies]).reshape(n, 3),
            mass=np.array([inertia.mass for inertia in inertias]),
            com=np.array([inertia.com for inertia in inertias]).reshape(n, 3),
            inertia=np.array([inertia.inertia for inertia in inertias]).reshape(n, 3, 3),
            armature=np.zeros(int(nv.sum())), damping=self._per_dof("damping", 0.0),
            effort_limit=self._per_dof("effort", 0.0),
            lower=self._per_dof("lower", -np.inf), upper=self._per_dof("upper", np.inf),
            body_gravity=self._gravities(),
        )
        self._check_masses(tree, inertias)
        return self._with_rotors(tree)

    def _with_rotors(self, tree):
        """The tree, with rotor inertias at joints of links without mass where the mass matrix would be singular."""
        bare = bare_joints(tree)
        followers = any(joint.mimic is not None for joint in self.joints.values())
        if not bare or not (followers or self.massless == "armature"):
            return tree
        M = mass_matrix_at_zero(tree, self.zero_poses)
        if not is_singular(M):
            return tree
        line = min(self.bodies[k][0].line for k in bare)
        names = ", ".join(f"'{self.bodies[k][0].name}'" for k in bare)
        self.refuse_if(
            self.massless != "armature", line,
            "joints move links without inertia, so that the mass matrix is singular where every joint is at zero: "
            f"{names}; give these links an <inertial>, or load with massless='armature', which guesses rotors",
        )
        for d in tree.v_start[bare]:
            tree.armature[d] = SHARE * M[d, d]
        self.reader.lenient["massless"] = "armature"
        self.reader.warnings.append(
            f"{self.reader.source}:{line}: joints of links without inertia get rotors of {SHARE:g} of what the links "
            f"below have about their axes: {names}"
        )
        return tree

    def _gravities(self):
        """No gravity of bodies all of whose masses are weightless, no numbers for the others, which have the scene's.
        """
        gravity = np.full((len(self.bodies), 3), np.nan)
        for k in range(len(self.bodies)):
            parts = [self.links[link] for link, frame in self.frames.items() if frame.body == k]
            parts = [link for link in parts if link.inertia.mass > 0.0]
            light = [link for link in parts if link.weightless]
            if light and len(light) == len(parts):
                gravity[k] = 0.0
            elif light:
                self.reader.warnings.append(
                    f"{self.reader.source}:{light[0].line}: link '{light[0].name}' has a weight here, as other links "
                    "of its body have one; take it from all that fixed joints hold together, or from none"
                )
        return gravity

    def _inertias(self):
        parts = [[] for _ in self.bodies]
        for link, frame in self.frames.items():
            if frame.body != WORLD:
                parts[frame.body].append(self.links[link].inertia.transformed(frame.R, frame.p))
        return [weld(part) for part in parts]

    def _check_masses(self, tree, inertias):
        """Refuse a movable body that nothing resists: no mass at or below it, or a tip without inertia."""
        n = len(inertias)
        below = tree.mass.copy()
        has_child = np.zeros(n, dtype=bool)
        spin = np.array([np.trace(inertia.inertia) for inertia in inertias])
        for k in reversed(range(n)):
            if tree.parent[k] != WORLD:
                below[tree.parent[k]] += below[k]
                spin[tree.parent[k]] += spin[k]
                has_child[tree.parent[k]] = True
        for k in range(n):
            joint, body = self.bodies[k][0], inertias[k]
            if joint.kind in OF_MODES or joint.kind == "weld":
                continue
            name = f"joint '{joint.name}' moves link '{joint.child}'"
            self.refuse_if(
                below[k] == 0.0 and spin[k] == 0.0, joint.line,
                f"{name}, which has no mass and none below it; give it an <inertial>, make the joint fixed, or load "
                "with massless='merge' (in a scene: massless: merge)",
            )
            self.refuse_if(
                not has_child[k] and not _resists(joint, body), joint.line,
                f"{name}, which has no inertia along that motion; give it an <inertia>",
            )

    def _per_dof(self, attribute, floating_value):
        values = []
        for joint, *_ in self.bodies:
            value = floating_value if joint.kind == "floating" else getattr(joint, attribute)
            values.extend([value] * JOINT_NV[KERNEL_JOINT[joint.kind]])
        return np.array(values, dtype=np.float64)

    def _neutral(self, q_start, size):
        q = np.zeros(size)
        for k, (joint, *_) in enumerate(self.bodies):
            if joint.kind == "floating":
                R, p = self.zero_poses[k]
                q[q_start[k]:q_start[k] + 7] = np.concatenate([p, matrix_to_quat(R)])
            elif joint.kind == "spherical":
                q[q_start[k] + 3] = 1.0
        return q

    # --- geometry -----------------------------------------------------------------------

    def _geometries(self):
        used = set()
        for link, frame in self.frames.items():
            for i, shape in enumerate(self.links[link].collisions):
                name = shape.name or (link if i == 0 else f"{link}_{i}")
                while name in used:
                    name += "_"
                used.add(name)
                yield Geometry(name, link, frame.body, shape.kind, shape.size, frame.R @ shape.R,
                               frame.p + frame.R @ shape.p, friction=shape.friction, hull=shape.hull)

    def _adjacent_pairs(self, tree):
        """Links of the same body, and of bodies with one joint between them.

        A body without mass is a mere knuckle (two hinges crossing in a point), so the bodies
        on its two sides count as neighbours too.
        """
        links = {body: [] for body in range(WORLD, len(self.bodies))}
        for link, frame in self.frames.items():
            links[frame.body].append(link)
        pairs = {frozenset(pair) for group in links.values() for pair in combinations(group, 2)}
        for part in self.flexible:  # a flexible link is one body to its neighbours
            frame, *nodes = (self.frames[name].body for name in (part.link, *part.nodes))
            around = [frame, *nodes, tree.parent[frame], *np.flatnonzero(np.isin(tree.parent, nodes))]
            family = {link for k in (frame, *nodes) for link in links[k]}
            pairs |= {frozenset((a, b)) for a in family for k in around for b in links[k]}
        for k in range(len(self.bodies)):
            if tree.joint_type[k] == JOINT_FLOATING:
                continue
            parent = tree.parent[k]
            pairs |= {frozenset((a, b)) for a in links[k] for b in links[parent]}
            while parent != WORLD and tree.mass[parent] == 0.0 and tree.joint_type[parent] != JOINT_FLOATING:
                parent = tree.parent[parent]
                pairs |= {frozenset((a, b)) for a in links[k] for b in links[parent]}
        return frozenset(pairs)


def _dof_names(joint):
    return [joint.name + suffix for suffix in DOF_SUFFIXES.get(joint.kind, ("",))]


def _resists(joint, body):
    """Whether a body at the tip of a tree has inertia in every direction in which its joint moves it."""
    if joint.kind == "prismatic":
        return body.mass > 0.0
    if joint.kind == "floating":
        low, _, high = np.linalg.eigvalsh(body.inertia)
        return body.mass > 0.0 and low > TOL_HINGE * high
    if joint.kind == "planar":  # the plane holds the body anywhere: about the centre of mass
        return body.mass > 0.0 and joint.axis @ body.inertia @ joint.axis > TOL_HINGE * np.abs(body.inertia).max()
    inertia = body.about_origin()
    if joint.kind == "screw" and body.mass > 0.0:  # its displacement meets the mass
        return True
    axes = {"spherical": np.eye(3), "universal": np.array([joint.axis, joint.axis2])}.get(joint.kind, joint.axis[None])
    return np.linalg.eigvalsh(axes @ inertia @ axes.T)[0] > TOL_HINGE * np.abs(inertia).max()
