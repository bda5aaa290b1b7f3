# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mistakes in scenes, robots' files, Python, commands and ROS, each with the sentence that tells it.

Covers checks.py, errors.py.
"""

from __future__ import annotations

import shlex

import numpy as np
import pytest

import mb_contact as mb
from mb_contact import cli
from mb_contact.checks import instead_of
from mb_contact.errors import MbContactError
from mb_contact.ros.options import DESCRIPTIONS, NodeOptions, Schedule
from mb_contact.ros.parameters import unknown_parameters

ARM = "package://mb_contact/urdf/planar_arm.urdf"
SCENE = """\
models:
- {urdf: package://mb_contact/urdf/planar_arm.urdf, joints: {elbow: 0.5},
   actuators: {elbow: {kind: position, stiffness: 50.0}}}
primitives:
- {name: box, shape: box, size: [0.1, 0.1, 0.1], pose: {position: [0, 2, 0.05]}, mass: 1.0, base: free, material: wood}
- {name: cup, shape: mesh, mesh: cup.stl, mass: 0.2, base: free}
ground: {height: 0.0}
materials: {wood: {friction: 0.6}}
time_step: 0.002
gravity: [0, 0, -9.81]
sensors: [{name: eyes, kind: imu, link: tip}]
operational_frames: [tip]
rates: {control_period: 0.004}
"""
CUP = "solid cup" + "".join(
    "\nfacet normal 0 0 0\nouter loop\n" + "\n".join(f"vertex {corner}" for corner in face) + "\nendloop\nendfacet"
    for face in (("0 0 0", "0 1 0", "1 0 0"), ("0 0 0", "1 0 0", "0 0 1"), ("0 0 0", "0 0 1", "0 1 0"),
                 ("1 0 0", "0 1 0", "0 0 1"))
) + "\nendsolid cup\n"  # fmt: skip
#: (what is written, what is written instead, the sentence)
IN_SCENES = [
    ("time_step: 0.002", "time_step: 2", "time_step: must be at most 0.1, got 2"),
    ("time_step: 0.002", "time_step: 0", "time_step: must be greater than 0, got 0"),
    ("time_step: 0.002", "time_step: fast", "time_step: must be a number, got 'fast'"),
    ("time_step: 0.002", "timestep: 0.002", "timestep: unknown key (did you mean 'time_step'?)"),
    ("gravity: [0, 0, -9.81]", "gravity: -9.81", "gravity: must be a list"),
    ("gravity: [0, 0, -9.81]", "gravity: [0, 0]", "gravity: must be a list of 3 numbers, got 2"),
    ("gravity: [0, 0, -9.81]", "gravity: [0, 0, down]", "gravity[2]: must be a number, got 'down'"),
    ("urdf: package://mb_contact/urdf/planar_arm.urdf", "urdf: none.urdf",
     "models[0].urdf: 'none.urdf' does not exist"),
    ("urdf: package://mb_contact/urdf/planar_arm.urdf", "urdf: package://my_robots/arm.urdf",
     "models[0].urdf: 'package://my_robots/arm.urdf' not found"),
    ("urdf: package://mb_contact/urdf/planar_arm.urdf", "urdf: https://example.org/arm.urdf",
     "models[0].urdf: 'https://example.org/arm.urdf': https:// addresses are not read; fetch the file and "),
    ("urdf: package://mb_contact/urdf/planar_arm.urdf, ", "", "models[0]: the key 'urdf' is missing"),
    ("{elbow: 0.5}", "{elbo: 0.5}",
     "models[0].joints.elbo: robot 'planar_arm' has no joint 'elbo'; did you mean 'elbow'?"),
    ("{elbow: 0.5}", "{elbow: true}", "models[0].joints.elbow: must be a number, got 'true'"),
    ("{elbow: 0.5}", "{elbow: .nan}", "models[0].joints.elbow: must be a number, got '.nan'"),
    ("{elbow: 0.5}", "[0.5]", "models[0].joints: must be a mapping of keys to values"),
    ("{elbow: {kind", "{wrist: {kind",
     "models[0].actuators.wrist: robot 'planar_arm' has no joint 'wrist'; it has shoulder, elbow"),
    ("kind: position", "kind: torque",
     "models[0].actuators.elbow.kind: 'torque' is not known; available: effort, velocity, position"),
    (", stiffness: 50.0", "",
     "models[0].actuators.elbow.stiffness: an actuator of kind position needs a stiffness; add stiffness: "),
    ("stiffness: 50.0", "stiffness: -1", "models[0].actuators.elbow.stiffness: must be at least 0, got -1"),
    ("stiffness: 50.0", "stiffness: 50.0, damp: 1",
     "models[0].actuators.elbow.damp: unknown key (did you mean 'damping'?)"),
    ("shape: box, size: [0.1, 0.1, 0.1]", "shape: cube, size: [0.1, 0.1, 0.1]",
     "primitives[0].shape: 'cube' is not known; available: sphere, capsule, cylinder, box, cone, ellipsoid"),
    ("[0.1, 0.1, 0.1]", "[0.1, 0.1]", "primitives[0].size: a box has size [x, y, z], got [0.1, 0.1]"),
    ("[0.1, 0.1, 0.1]", "[0.1, 0.1, -0.1]", "primitives[0].size[2]: must be greater than 0, got -0.1"),
    ("size: [0.1, 0.1, 0.1], ", "", "primitives[0].size: a box has size [x, y, z], got []"),
    ("mass: 1.0, base", "base", "primitives[0].mass: a primitive of base free needs a mass; add mass: 2.0"),
    ("mass: 1.0", "mass: 0", "primitives[0].mass: must be greater than 0, got 0"),
    ("mass: 1.0", "mass: heavy", "primitives[0].mass: must be a number, got 'heavy'"),
    ("base: free, material", "base: floating, material",
     "primitives[0].base: 'floating' is not known; available: weld, free"),
    ("material: wood}", "material: wod}",
     "primitives[0].material: material 'wod' is not defined under materials; did you mean 'wood'?"),
    ("position: [0, 2, 0.05]", "position: [0, 2]", "primitives[0].pose.position: must be a list of 3 numbers, got 2"),
    ("position: [0, 2, 0.05]", "xyz: [0, 2, 0.05]", "primitives[0].pose.xyz: unknown key"),
    ("position: [0, 2, 0.05]", "quat_xyzw: [0, 0, 0, 2]",
     "primitives[0].pose.quat_xyzw: must be a unit quaternion x y z w, got a length of 2"),
    ("position: [0, 2, 0.05]", "rpy: [0, 0, 0], quat_xyzw: [0, 0, 0, 1]",
     "primitives[0].pose: has both rpy and quat_xyzw; keep one of them"),
    ("name: box", "name: tip",
     "primitives[0].name: link 'tip' occurs twice in this scene; links of all robots and objects need name"),
    ("name: cup", "name: box", "primitives[1].name: 'box' is used twice; give each its own name"),
    ("mesh: cup.stl", "mesh: mug.stl", "primitives[1].mesh: 'mug.stl' does not exist"),
    ("mesh: cup.stl", "mesh: meshes/../cpu.stl",
     "primitives[1].mesh: 'cpu.stl' does not exist; did you mean 'cup.stl'?"),
    ("urdf: package://mb_contact/urdf/planar_arm.urdf", "urdf: robt.urdf",
     "models[0].urdf: 'robt.urdf' does not exist; did you mean 'robot.urdf'?"),
    ("material: wood}", "material: stone}", "material 'stone' is not defined under materials; defined: wood"),
    ("link: tip}", "link: tpi}", "sensors[0]: there is no link 'tpi'; did you mean 'tip'?"),
    ("operational_frames: [tip]", "operational_frames: [Tip]",
     "operational_frames[0]: no link is called 'Tip'; did you mean 'tip'?"),
    ("mesh: cup.stl", "mesh: cup.step",
     "primitives[1].mesh: 'cup.step': the format '.step' is not read; save it as one of: stl, obj, dae, pl"),
    ("mesh: cup.stl, ", "", "primitives[1].mesh: a mesh needs the address of its file, or pieces"),
    ("ground: {height: 0.0}", "ground: true", "ground: must be a mapping of keys to values"),
    ("friction: 0.6", "friction: -0.6", "materials.wood.friction: must be at least 0, got -0.6"),
    ("friction: 0.6", "mu: 0.6", "materials.wood.mu: unknown key"),
    ("kind: imu", "kind: gyro",
     "sensors[0].kind: 'gyro' is not known; available: imu, force_torque, encoder, contact, tactile, camer"),
    ("link: tip}", "link: hand}",
     "sensors[0]: there is no link 'hand'; known are box, cup, fore, ground, post, tip, upper"),
    (", link: tip}", "}", "sensors[0].link: a sensor of kind imu needs a link; add link: tool"),
    ("kind: imu, link: tip", "kind: force_torque, joint: wrist",
     "sensors[0]: there is no joint 'wrist'; known are elbow, shoulder, tip_mount"),
    ("operational_frames: [tip]", "operational_frames: [hand]",
     "operational_frames[0]: no link is called 'hand'; links: post, upper, fore, tip, box, cup, ground"),
    ("control_period: 0.004", "control_period: 0.003",
     "rates.control_period: 0.003 s must be a multiple of the time step 0.002 s"),
    ("rates: {control_period: 0.004}", "rates: {control_rate: 250}",
     "rates.control_rate: unknown key (did you mean 'contact_rate'?)"),
    ("rates:", "rates\n:", "not well-formed YAML: could not find expected ':'"),
    ("rates: {", "rates: {{", "not well-formed YAML: expected ',' or '}', but got '<stream end>'"),
    ("time_step: 0.002", "time_step: 0.002\ntime_step: 0.001", "time_step: is given twice"),
    ("gravity:", "\tgravity:", "not well-formed YAML: found character '\\t' that cannot start any token"),
    ("time_step: 0.002", "solver: pgs", "solver: 'pgs' is not known; available: auto, lemke, ppm, active_set"),
    ("time_step: 0.002", "friction_model: pyramid",
     "friction_model: 'pyramid' is not known; available: coulomb_cone, coulomb_polyhedral, viscous, no_sli"),
    ("time_step: 0.002", "integrator: euler",
     "integrator: 'euler' is not known; available: semi_implicit_euler, rk4, midpoint, adaptive"),
    ("time_step: 0.002", "collision_engine: bullet", "collision_engine: 'bullet' is not known; available: coal, fcl"),
    ("time_step: 0.002", "packages: [nowhere]", "packages[0]: there is no folder 'nowhere'"),
    ("time_step: 0.002", "friction_directions: 3",
     "friction_directions: must be an even whole number from 4 to 32, got 3"),
]  # fmt: skip
#: The same, of words that newcomers bring from elsewhere, forms that are other, and files of another kind.
IN_SCENES += [
    ("urdf: package://mb_contact/urdf/planar_arm.urdf", "urdf: cup.stl", "cup.stl: not a robot: it is a mesh; a scene"),
    ("urdf: package://mb_contact/urdf/planar_arm.urdf", "urdf: model.xml",
     "model.xml: not a robot: it is a model of MuJoCo; mb-contact import model.xml"),
    ("urdf: package://mb_contact/urdf/planar_arm.urdf", "urdf: exp.yaml",
     "exp.yaml: not a robot: it is expectations; mb-contact test SCENE --expect exp.yaml takes them"),
    ("urdf: package://mb_contact/urdf/planar_arm.urdf", "urdf: params.yml",
     "params.yml: not a robot: it is YAML, as scenes are; mb-contact check params.yml takes a scene"),
    ("time_step: 0.002", "dt: 0.002", "dt: unknown key (did you mean 'time_step'?)"),
    ("stiffness: 50.0", "kp: 50.0", "models[0].actuators.elbow.kp: unknown key (did you mean 'stiffness'?)"),
    ("friction: 0.6", "mu: 0.6", "materials.wood.mu: unknown key (did you mean 'friction'?)"),
    ("position: [0, 2, 0.05]", "xyz: [0, 2, 0.05]", "pose.xyz: unknown key (did you mean 'position'?)"),
    ("ground: {height: 0.0}", "floor: {}", "floor: unknown key (did you mean 'ground'?)"),
    ("joints: {elbow: 0.5}", "position: [0, 0, 1]",
     "models[0].position: unknown key (did you mean 'pose: {position: ...}'?)"),
    ("kind: imu", "width: 640, kind: camera",
     "sensors[0].width: unknown key (did you mean 'image: {width: ...}'?)"),
    ("height: 0.0", "height: 0,5", "ground.5: unknown key (decimals have a point, no comma)"),
    ("gravity: [0, 0, -9.81]", "gravity: earth", "gravity: must be a list of 3 numbers, got 'earth'"),
    ("operational_frames: [tip]", "operational_frames: tip", "operational_frames: must be a list, got 'tip'"),
    ("operational_frames: [tip]", "operational_frames:", "operational_frames: must be a list, got nothing"),
    ("{friction: 0.6}", "0.6", "materials.wood: must be a mapping of keys to values, got '0.6'; allowed keys:"),
    ("pose: {position: [0, 2, 0.05]}", "pose: [0, 2, 0.05]",
     "primitives[0].pose: must be a mapping of keys to values, got a list; allowed keys: position, rpy"),
    ("mass: 0.2", "mass: 0.2, scale: 0.001", "primitives[1].scale: must be a list of 3 numbers, got '0.001'"),
    ("sensors: [", "sensors: [{name: eyes, kind: imu, link: tip}, ",
     "sensors[1].name: 'eyes' is used twice; give each its own name"),
    ("time_step: 0.002", "entities: {bxo: {tags: [a]}}", "entities.bxo: there is no 'bxo'; did you mean 'box'?"),
    ("time_step: 0.002", "contact_wrench_links: [tip, tip]", "contact_wrench_links[1]: 'tip' stands here twice; leave"),
    ("time_step: 0.002", "contact_wrench_links: [a.b, a b]", "'a b' has topics of a_b, as another one; change"),
    ("time_step: 0.002", "collision_filters: {disable: [tip, box]}",
     "collision_filters.disable[0]: must be a list of 2 names, got 'tip'"),
]
#: What runs, and is told.
ODD_SCENES = [
    ("link: tip}", "link: tip, rate: 333}", "sensors[0].rate: 333 /s is 250 /s with steps of 0.002 s"),
    ("control_period: 0.004", "contact_rate: 333", "rates.contact_rate: 333 /s is 250 /s with steps of 0.002 s"),
    ("-9.81]", "9.81]", "gravity is 9.81 m/s^2 along z, which points up"),
]
INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
ROBOT = f"""<robot name="r"><link name="base"/>
<link name="arm">{INERTIAL}
<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="10" velocity="1"/></joint></robot>"""
IN_ROBOTS = [
    ('<robot name="r">', "<sdf>", "not well-formed XML"),
    ("</robot>", "", "not well-formed XML: Premature end of data"),
    ('name="arm"', 'name="base"', "link 'base' is declared twice, first in line 1; rename one"),
    ('type="revolute"', 'type="hinge"', "joint 'j': type 'hinge' is not known; allowed: revolute, continuous"),
    (' type="revolute"', "", "joint 'j' has no type; allowed: revolute"),
    ('<child link="arm"/>', '<child link="hand"/>', "joint 'j' names link 'hand', which is not declared"),
    ('<parent link="base"/>', "", 'joint \'j\' has no <parent link="..."/>; add it'),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 0 0"/>', "joint 'j': the axis is zero; give a direction"),
    ('<axis xyz="0 1 0"/>', '<axis xyz="0 1"/>', '<axis xyz="0 1"> must have 3 numbers, got 2'),
    ('lower="-1" upper="1"', 'lower="1" upper="-1"', "joint 'j': lower limit 1 is above upper -1"),
    ('effort="10"', 'effort="strong"', '<limit effort="strong"> is not a number'),
    ('mass value="1"', 'mass value="-1"', "link 'arm': mass -1 kg is negative"),
    ('mass value="1"', 'mass value="1kg"', '<mass value="1kg"> is not a number'),
    ('ixx="1"', 'ixx="-1"', "the inertia is indefinite, moments -1, 1, 1 kg m^2; correct <inertia>"),
    (' izz="1"', "", "<inertia> has no attribute 'izz'; add it"),
    (INERTIAL, "", "joint 'j' moves link 'arm', which has no mass and none below it; give it an <inertial>"),
    ('box size="0.1 0.1 0.1"', 'box size="0.1 0.1"', '<box size="0.1 0.1"> must have 3 numbers, got 2'),
    ('box size="0.1 0.1 0.1"', 'cube size="0.1"',
     "link 'arm': <cube> is not a collision shape; allowed: box, sphere"),
    ('box size="0.1 0.1 0.1"', 'mesh filename="none.stl"',
     "collision mesh 'none.stl': 'none.stl' does not exist; mend it"),
    ('box size="0.1 0.1 0.1"', 'mesh filename="package://nobody/a.stl"', "'package://nobody/a.stl' not found"),
    ('xyz="0 0 1"', 'xyz="0 0 one"', '<origin xyz="one"> is not a number'),
    ('<limit lower="-1" upper="1" effort="10" velocity="1"/>', "",
     "a revolute joint needs a <limit>; add one or make it"),
    ("<axis", '<mimic joint="k"/><axis', "joint 'j' mimics 'k', which is not declared; correct the name"),
    ('xyz="0 0 1"', 'xyz="0, 0, 1"', "is not a number; numbers have a point and blanks between them, no comma"),
    ('xyz="0 0 1"', 'xyz="0 0 ${h}"', "is not a number; of xacro: let the file's name end in .xacro"),
]  # fmt: skip


def arm():
    return mb.Simulator(ARM)


BOX = mb.Scene(primitives=(mb.model.Primitive("box", "box", size=(0.1,) * 3, base="free", mass=1.0),))


def falling():
    return mb.Simulator(BOX, warm_up=False)


def worlds():
    return mb.Worlds(BOX, 2, threads=1)


def box(**more):
    body = mb.model.Primitive("box", "box", **{"size": (0.1,) * 3, "base": "free", "mass": 1.0, **more})
    return mb.build_world(mb.Scene(primitives=(body,)))


#: What is read, and told.
ODD_ROBOTS = [
    ('lower="-1" upper="1"', 'lower="-180" upper="180"',
     "joint 'j': limits of 180 rad are many turns; 180 degrees are 3.142 rad"),
    ('xyz="0 0 1"', 'xyz="0 0 1" rpy="0 0 90"', "rpy of 90 rad is more than a turn; 90 degrees are 1.571 rad"),
    ('type="revolute"', 'type="continuous"',
     "joint 'j': limits of a continuous joint are not applied; type=\"revolute\" has limits"),
    ("<link name", '<xacro:property name="a" value="1"/><link name', "<xacro:property> and its like are passed over"),
]
IN_PYTHON = [
    (lambda: mb.Simulator(mb.load_urdf(ARM)), "no scene: got Model; give the path of a file, or a Scene, as Scene("),
    (lambda: mb.Simulator("."), "no scene: . is a folder; name a file in it"),
    (lambda: mb.load_urdf("."), "no URDF: . is a folder; name a file in it"),
    (lambda: mb.load_urdf("cup.stl"), "cup.stl: not a robot: it is a mesh"),
    (lambda: arm().step("go"), "effort must hold numbers, got 'go'"),
    (lambda: arm().step({"elbow": 1.0}), "effort must hold numbers, got {'elbow': 1.0}"),
    (lambda: arm().set_targets("elbow", 0.1), "names must be a list of joints, got 'elbow'; write ['elbow']"),
    (lambda: arm().set_joints("elbow", 0.1), "names must be a list of joints, got 'elbow'; write ['elbow']"),
    (lambda: falling().set_object("box", [0.0, 0.0, 1.0]), "the pose of 'box' must be (position (3,), quaternion x y"),
    (lambda: mb.control.inverse_kinematics(arm().world, "tip"), "{'hand': (position, quaternion)}"),
    (lambda: mb.model.save_scene("cell.yaml", mb.Scene()), "save_scene writes a Scene, got str: save_scene("),
    (lambda: arm().step([1.0]), "effort must have 2 entries, got 1"),
    (lambda: arm().step([np.nan, 0.0]), "effort[0] is nan; every entry must be finite"),
    (lambda: arm().step(steps=0), "steps must be a whole number of at least 1, got 0"),
    (lambda: arm().step(time_step=-1.0), "time_step must be finite and above zero, got -1"),
    (lambda: arm().link_pose("tpi"), "there is no link 'tpi'; did you mean 'tip'?"),
    (lambda: arm().set_joints(["elbo"], [0.1]), "no joint 'elbo'; did you mean 'elbow'?"),
    (lambda: arm().set_targets(["elbow"], [0.1]), "joint 'elbow' has no actuator that a position can be asked of"),
    (lambda: arm().set_object("tip"), "there is no free object 'tip'"),
    (lambda: arm().set_gravity(-9.81), "gravity must have 3 entries, got 1"),
    (lambda: arm().set_external_wrench("post", [0] * 6), "link 'post' is welded to the inertial frame"),
    (lambda: arm().set_state([0.0], [0.0, 0.0]), "q must have 2 entries, got 1"),
    (lambda: arm().contact_problem(), "there is no contact problem yet: take a step first"),
    (lambda: mb.Worlds(ARM, 0), "count must be a whole number of at least 1, got 0"),
    (lambda: mb.Worlds(ARM, 2).set("mas", 1.0), "worlds have no value 'mas' of their own; they have mass, damping"),
    (lambda: worlds().set("position", 1.0, of=["box"]), "'position' is of joints; of a free object set or "),
    (lambda: worlds().randomise("pose", -0.1, 0.1), "a pose has no factor: by='offset' takes a way and a rotation"),
    (lambda: mb.build_world("scene.yaml"), "build_world needs a Scene, got str; use load_scene for a file"),
    (lambda: box(size=(0.1,)), "primitives[0].size: a box has size [x, y, z], got [0.1]"),
    (lambda: box(mass=None), "a primitive of base free needs a mass; add mass: 2.0"),
    (lambda: box(pose=mb.model.Pose(rpy=(0, 0, 0), quat_xyzw=(0, 0, 0, 1))), "has both rpy and quat_xyzw; keep one"),
    (lambda: box(material="wood"), "material 'wood' is not defined under materials"),
    (lambda: mb.control.inverse_kinematics(arm().world, {"hand": ((0, 0, 0), (0, 0, 0, 1))}), "no frame 'hand'"),
    (lambda: mb.control.hold(arm(), [0.0]), "target must have 2 entries, got 1"),
    (lambda: mb.control.hold("cell.yaml", [0.0]), "no robot: got 'cell.yaml'; give a Simulator, as mb.Simul"),
    (lambda: mb.control.move_frames(mb.load_urdf(ARM), {}), "or a mb.control.Robot of a model"),
    (lambda: mb.model.compose(ROBOT, ROBOT, "tool0"), "the robot has no link 'tool0'; it has base, arm"),
    (lambda: mb.load_urdf(ROBOT, collision_meshes="hull"), "must be one of convex_hull, convex_pieces, mesh, skip"),
    (lambda: mb.load_urdf(ARM, xacro_args={"a": 1}), "xacro_args are for files that end in .xacro"),
    (lambda: mb.load_scene("cup.stl"), "cup.stl: not a scene: it is a mesh; a scene has it in a primitive"),
    (lambda: Schedule(NodeOptions(), {"control_period": 0.0015}, 0.001), "must be a multiple of the time step 0.001 s"),
    (lambda: print(*unknown_parameters(["lockstp"], DESCRIPTIONS)), "'lockstp' is unknown to this node and has no eff"),
]  # fmt: skip
IN_COMMANDS = [
    ("run", "the following arguments are required: scene"),
    ("run parms.yaml", "the scene cannot be read: 'parms.yaml' does not exist; did you mean 'params.yaml'?"),
    ("run none.yaml", "the scene cannot be read: 'none.yaml' does not exist"),
    ("run robot.urdf --duration soon", "'soon' is no number of seconds"),
    ("run robot.urdf --backend ros", "invalid choice: 'ros'"),
    ("run robot.urdf --wire tcp", "invalid choice: 'tcp'"),
    ("run robot.urdf --ros-args -p nonsense", "'-p nonsense' in --ros-args must look like name:=value"),
    ("run robot.urdf --ros-args -r joint_states", "'-r joint_states' in --ros-args must look like name:=value"),
    ("chekc robot.urdf", "invalid choice: 'chekc'"),
    ("check model.xml", "it is a model of MuJoCo; mb-contact import model.xml --out FOLDER makes a scene of it"),
    ("check 'my model.xml'", "it is a model of MuJoCo; mb-contact import 'my model.xml' --out FOLDER makes a scene"),
    ("info 'my scene.yaml'", "it is YAML, as scenes are; mb-contact check 'my scene.yaml' takes a scene"),
    ("replay 'my run.mcap' robot.urdf", "mb-contact replay SCENE 'my run.mcap'"),
    ("check world.sdf", "there is no <model> and no <include>"),
    ("check robot.urdf --package-path nowhere", "--package-path: there is no folder 'nowhere'"),
    ("info none.urdf", "no URDF: 'none.urdf' does not exist"),
    ("run .", "no scene: . is a folder; name a file in it"),
    ("run exp.yaml", "exp.yaml: not a scene: it is expectations; mb-contact test SCENE --expect exp.yaml takes them"),
    ("run params.yaml", "it is parameters of a node; mb-contact run SCENE --ros-args --params-file params.yaml takes"),
    ("run sim.launch.py", "it is a program; python sim.launch.py runs it, or ros2 launch where it is a launch file"),
    ("info cup.stl", "cup.stl: not a robot: it is a mesh"),
    ("info scene.sdf", "no URDF: 'scene.sdf' does not exist"),
    ("import cup.stl", "cup.stl: not a model of MuJoCo: it is a mesh"),
    ("new robot.urdf --robot robot.urdf", "robot.urdf is a file; the first word after new is the name of a folder"),
    ("new cell --robot cup.stl", "cup.stl: not a robot: it is a mesh"),
    ("new cell", "the following arguments are required: --robot"),
    ("new cell --robot macro.urdf", "the robot has no <link>; add at least one; of a xacro file that only defines"),
    ("new cell --robot none.urdf", "'none.urdf' does not exist"),
    ("new cell --robot robot.urdf --gripper robot.urdf", "--gripper and --at belong together"),
    ("new cell --robot robot.urdf --tcp 0 0 0.1", "--tcp needs --gripper and --at"),
    ("new cell --robot robot.urdf --gripper macro.urdf --at base",
     "robot 'macro' has no link; of a xacro file that only defines a macro take the one that calls it"),
    ("export robot.urdf", "the following arguments are required: MODEL.xml"),
    ("view none.yaml", "the scene cannot be read: 'none.yaml' does not exist"),
    ("replay run.mcap robot.urdf",
     "'run.mcap' is a recording, which comes behind its scene: mb-contact replay SCENE run.mcap"),
    ("replay robot.urdf none.mcap", "no recording: 'none.mcap' does not exist"),
    ("test robot.urdf --expect none.yaml", "none.yaml: cannot be read as expectations"),
    ("compile none.yaml", "the scene cannot be read: 'none.yaml' does not exist"),
]
MISTAKES = [
    *(("scene", SCENE.replace(old, new, 1), said) for old, new, said in (*IN_SCENES, *ODD_SCENES)),
    *(("robot", ROBOT.replace(old, new, 1), said) for old, new, said in (*IN_ROBOTS, *ODD_ROBOTS)),
    *(("python", call, said) for call, said in IN_PYTHON),
    *(("command", words, said) for words, said in IN_COMMANDS),
]

FILES = {
    "cup.stl": CUP, "cup.step": "x", "robot.urdf": ROBOT, "model.xml": "<mujoco/>", "world.sdf": "<sdf/>",
    "exp.yaml": "expect:\n- {height: box}\n", "params.yaml": "node:\n  ros__parameters: {}\n", "params.yml": "a: 1",
    "sim.launch.py": "a = 1", "run.mcap": "\x89MCAP", "macro.urdf": "<robot name='macro'/>",
    "my run.mcap": "\x89MCAP", "my model.xml": "<mujoco/>", "my scene.yaml": "a: 1",
}  # fmt: skip


def test_there_are_a_hundred_and_each_is_one():
    assert len(MISTAKES) >= 100
    assert all(old in SCENE for old, _, _ in IN_SCENES) and all(old in ROBOT for old, _, _ in IN_ROBOTS)


@pytest.mark.parametrize("wanted, said", [
    ("Tip", "did you mean 'tip'?"), ("elbwo", "did you mean 'elbow'?"), ("hand", "it has tip, elbow"),
    (None, "it has tip, elbow"),
])  # fmt: skip
def test_a_near_name_stands_for_all(wanted, said):
    assert instead_of(wanted, ["tip", "elbow"]) == said and instead_of(wanted, [], "known are") == "known are none"


def make(kind, what):
    if kind == "scene":
        with open("scene.yaml", "w", encoding="utf-8") as file:
            file.write(what)
        sim = mb.Simulator("scene.yaml", warm_up=False)
        return sim.sensors and sim.warnings
    return mb.load_urdf(what).warnings if kind == "robot" else what()


@pytest.mark.parametrize("kind, what, said", MISTAKES, ids=[f"{n} {kind}" for n, (kind, _, _) in enumerate(MISTAKES)])
def test_the_sentence_tells_it(kind, what, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    if kind == "command":
        try:
            assert cli.main(shlex.split(what)) == 2
        except SystemExit as end:
            assert end.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert said in line
        return
    try:
        told = make(kind, what)
    except MbContactError as error:
        assert said in str(error)
    else:
        assert said in capsys.readouterr().out or any(said in line for line in told)
