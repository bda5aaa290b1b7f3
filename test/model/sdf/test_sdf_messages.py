# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What SDF files have that is refused or not taken is named with its place."""

import pytest

import mb_contact as mb
from oracles.sdf_texts import BOX, JOINT, LIMIT, LINK, MASS, PLANE, TWO, arm, box, moving, still, world

SENSED = "<link name='a'><sensor name='s' type='{0}'>{1}</sensor></link>"
NOWHERE = "<pose relative_to='nope'>0 0 0 0 0 0</pose>"
#: A text, the line of what is wrong, what is said.
WRONG = [
    (arm(), 1, "model 'arm' has no <link>"),
    (arm("<link name='a'/><link name='a'/>"), 2, "'arm::a' is declared twice, first in line 2"),
    (arm(LINK + "<link name='b'><pose>0 0 0</pose></link>"), 2, "<pose> must be 6 numbers, got '0 0 0'"),
    (arm(LINK + f"<link name='b'>{NOWHERE}</link>"), 2, "there is no frame 'arm::nope'"),
    (arm(box(NOWHERE)), 2, "<collision>: there is no frame 'arm::nope'"),
    (arm(box().replace("collision", "visual").replace("<geometry>", NOWHERE + "<geometry>")), 2,
     "<visual>: there is no frame 'arm::nope'"),
    (arm(f"<link name='a'><inertial>{NOWHERE}</inertial></link>"), 2, "<inertial>: there is no frame 'arm::nope'"),
    (arm(TWO, JOINT.format("revolute", "b", "<axis><xyz expressed_in='nope'>0 0 1</xyz></axis>")), 3,
     "<axis>: there is no frame 'arm::nope'"),
    (world(still("floor", PLANE.format("collision", NOWHERE))), 3, "<collision>: there is no frame 'floor::nope'"),
    (arm(f"<link name='a'><sensor name='s' type='imu'>{NOWHERE}</sensor></link>"), 2, "<sensor>: there is no frame"),
    (arm("<link name='a'><pose relative_to='b'>0 0 0 0 0 0</pose></link><link name='b'><pose relative_to='a'/></link>"),
     2, "relative to itself, by"),
    (arm(LINK + "<frame name='f' attached_to='g'/><frame name='g' attached_to='f'/>"), 2, "itself"),
    (arm(LINK).replace('"arm"', '"__model__"'), 1, "'__model__' is what every model calls its own frame"),
    (arm("<link name='world'/>"), 2, "'world' is the frame that does not move; choose another name"),
    (arm(LINK).replace('"arm"', '"arm" canonical_link="b"'), 1, "canonical_link: model 'arm' has no link 'arm::b'"),
    (arm("<link name='a'><inertial><mass>x</mass></inertial></link>"), 2, "<mass> must be a number, got 'x'"),
    (arm("<link name='a'><inertial><mass></mass></inertial></link>"), 2, "<mass> must be a number, got ''"),
    (arm("<link name='a'><inertial auto='true'/></link>"), 2, "inertias are not computed of shapes"),
    (arm(LINK + "<static>yes</static>"), 2, "<static> must be true, 1, false, 0, got 'yes'"),
    (arm(LINK + "<static></static>"), 2, "<static> must be true, 1, false, 0, got ''"),
    (arm(LINK, still("n", "")), 3, "model 'n' is static within one that is not"),
    (arm(LINK, JOINT.format("hinge", "a", "")), 3, "type 'hinge' is not read; allowed: revolute"),
    (arm(LINK, JOINT.format("fixed", "b", "")), 3, "names 'b', which is no link of model 'arm'"),
    (arm(LINK, JOINT.format("fixed", "a", "")), 3, "joins a link to itself"),
    (arm(LINK + "<link name='b'/>", JOINT.format("revolute", "b", "")), 3, "has no <axis>"),
    (moving("revolute", "<mimic joint='j' axis='axis2'/>"), 3, "joint 'arm::j' has no axis2"),
    (arm(f"<link name='a'>{PLANE.format('collision', '')}</link>"), 2, "<plane> is no shape of a link here"),
    (arm("<link name='a'><collision name='c'><geometry/></collision></link>"), 2, "<collision> needs one shape"),
    (arm("<include><uri>model://nowhere</uri></include>"), 2, "'model://nowhere' not found"),
    (arm("<include><uri>https://fuel.org/1</uri></include>"), 2, "https:// addresses are not read"),
    (arm("<include merge='true'><uri>scene.sdf</uri></include>"), 2, 'merge="true"> is not read'),
    (arm("<include><uri>scene.sdf</uri></include>"), 2, "includes itself"),
    # what the made URDF or the scene refuses
    (arm(f"<link name='a'>{MASS.format(-1)}</link>"), 2, "link 'arm': mass -1 kg is negative"),
    (moving("revolute", LIMIT.format(1, -1)), 3, "joint 'j': lower limit 1 is above upper -1"),
    (moving("revolute", "").replace("0 1 0", "0 0 0"), 3, "joint 'j': the axis is zero"),
    (arm(box(size="-1 1 1")), 2, "<box> has a length that is not greater than zero"),
    (arm(box().replace("<box><size>1 1 1</size></box>", "<mesh><uri>no.stl</uri></mesh>")), 2,
     "/no.stl' does not exist"),
    (arm(box("<surface><friction><ode><mu>-1</mu></ode></friction></surface>")), 2, "<mu> must be at least 0, got -1"),
    (arm(box("<surface><bounce><restitution_coefficient>2</restitution_coefficient></bounce></surface>")), 2,
     "<restitution_coefficient> must be between 0 and 1, got 2"),
    (arm(SENSED.format("camera", "<camera><image><width>-3</width></image></camera>")), 2,
     "<width> must be a whole number of at least 1, got -3"),
    (arm(SENSED.format("lidar", "<lidar><range><min>3</min><max>1</max></range></lidar>")), 2, "must be above near"),
    ("<sdf version='1.9'>\n<world name='w'/></sdf>", 2, "there is no <model> and no <include>"),
    ("<?xml version='1.0'?>\n<sdf version='2.0'/>", 2, "SDF version '2.0' is not read"),
    ("<?xml version='1.0'?>\n<robot/>", 2, "the root element is <robot>"),
    ("\n<sdf>", 2, "not well-formed XML"),
]  # fmt: skip


@pytest.mark.parametrize("text, line, said", WRONG)
def test_what_is_not_read_is_refused_with_its_place(file, text, line, said):
    with pytest.raises(mb.MbContactError) as caught:
        mb.build_world(mb.load_scene(file(text)))
    assert said in str(caught.value) and f"scene.sdf:{line}: " in str(caught.value)


RING = JOINT.format("revolute", "b", "<axis><xyz>0 1 0</xyz></axis>").replace("'j'", "'i'")
#: A text, the elements that are told as not taken.
LEFT = [
    (arm(TWO, RING + JOINT.format("fixed", "b", "<axis><xyz>0 1 0</xyz><limit/><dynamics/><mimic/><unknown/></axis>")),
     ("limit", "dynamics", "mimic", "unknown")),
    (moving("screw", LIMIT.format(-1, 1), "<screw_thread_pitch>0.1</screw_thread_pitch>"), ("lower", "upper")),
    (moving("continuous", LIMIT.format(-1, 1)), ("lower", "upper")),
    (moving("ball", "<dynamics><damping>1</damping></dynamics>"), ("dynamics",)),
    (arm("<link name='a'><velocity_decay/></link>"), ("velocity_decay",)),
    (arm(SENSED.format("gpu_lidar", "<lidar><scan><vertical><resolution>2</resolution></vertical></scan></lidar>")),
     ("resolution",)),
    (arm(SENSED.format("camera", "<camera><image><format>L8</format></image></camera>")), ("format",)),
    (arm(box(size="1 1 1</size></box></geometry></collision><collision name='d'><geometry><box><size>1 1 1").replace(
        "</link>", "<sensor name='s' type='contact'><contact><collision>d</collision></contact></sensor></link>")),
     ("collision",)),
    (arm(LINK, "<model name='n'><self_collide>1</self_collide><link name='b'/></model>"), ("self_collide",)),
    (world(f"<physics type='ode'><max_step_size>5</max_step_size></physics><model name='m'>{LINK}</model>"),
     ("max_step_size",)),
    (arm(f"<link name='a'>{PLANE.format('visual', '')}</link>"), ("plane",)),
    (arm(box("<surface><friction><ode><mu>1</mu><mu2>0.5</mu2></ode></friction></surface>")), ("mu2",)),
    (arm(f"<link name='a'>{BOX.format('visual', '1', '<material><diffuse>1 0 0</diffuse></material>')}</link>").replace(
        "<box><size>1</size></box>", "<mesh><uri>a.dae</uri></mesh>"), ("material",)),
]  # fmt: skip


@pytest.mark.parametrize("text, tags", LEFT)
def test_what_is_not_taken_is_told_once(file, text, tags):
    scene = mb.load_scene(file(text))
    assert tuple(doubt.split(": <")[1].split(">")[0] for doubt in scene.doubts) == tags
    assert all(" is not taken" in doubt and ", nor in" not in doubt for doubt in scene.doubts)
