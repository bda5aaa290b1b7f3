# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Texts of small SDF files."""

MASS = "<inertial><mass>{0}</mass><inertia><ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia></inertial>"
BOX = "<{0} name='{0}'><geometry><box><size>{1}</size></box></geometry>{2}</{0}>"
LINK = f"<link name='a'>{MASS.format(1)}</link>"
TWO = LINK + f"<link name='b'>{MASS.format(1)}</link>"
JOINT = "<joint name='j' type='{0}'><parent>a</parent><child>{1}</child>{2}</joint>"
PLANE = "<{0} name='c'><geometry><plane/></geometry>{1}</{0}>"
LIMIT = "<limit><lower>{0}</lower><upper>{1}</upper></limit>"


def arm(links="", joints="", version="1.9"):
    """Links are in line 2, joints in line 3."""
    return f'<sdf version="{version}"><model name="arm">\n{links}\n{joints}\n</model></sdf>'


def still(name, shapes, more=""):
    return f"<model name='{name}'><static>1</static><link name='l'>{shapes}</link>{more}</model>"


def world(models):
    return f"<sdf version='1.9'>\n<world name='w'>\n{models}</world></sdf>"


def box(more="", size="1 1 1"):
    return f"<link name='a'>{BOX.format('collision', size, more)}</link>"


def moving(kind, axis, more=""):
    return arm(TWO, JOINT.format(kind, "b", f"{more}<axis><xyz>0 1 0</xyz>{axis}</axis>"))
