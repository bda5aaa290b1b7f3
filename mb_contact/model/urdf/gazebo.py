# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a URDF asks of Gazebo: links without weight and robots that stand still are so here, other tags are named."""

from mb_contact.checks import as_number

SWITCHES = {"true": True, "1": True, "false": False, "0": False}
RIGID = 1e12  #: Gazebo's own stiffness of contacts, which stands for none [N/m]


def take_gazebo(reader, robot, links, joints):
    """What Gazebo's own tags say of gravity and of robots that stand still; the others are warned of.

    Parameters
    ----------
    reader : ElementReader
    robot : element
    links : dict of str to LinkSpec
        ``weightless`` of those that are.
    joints : dict of str to JointSpec
        All fixed where the robot is static.

    Returns
    -------
    bool
        Whether the robot is static, and so welded.

    Raises
    ------
    ModelError
        A tag holds nothing that it can mean.
    """
    still = False
    for gazebo in robot.findall("gazebo"):
        link = gazebo.get("reference")
        what = f"link '{link}'"
        if link is None and _switch(reader, gazebo, "static", False):
            still = True
            reader.warn(gazebo.find("static"), "<static>: the robot stands still, its base and all joints are fixed")
        if link in links:
            if _switch(reader, gazebo, "static", False):
                reader.warn(gazebo.find("static"), f"<static>: {what} moves, as only a whole robot is static; leave "
                                                   "out its reference, or make its joint fixed")  # fmt: skip
            off = _switch(reader, gazebo, "turnGravityOff", False)
            links[link].weightless = off or not _switch(reader, gazebo, "gravity", True)
            _warn_of_direction(reader, gazebo, what)
            _warn_of_softness(reader, gazebo, what)
    for joint in joints.values() if still else ():
        joint.kind, joint.mimic = "fixed", None
    return still


def _text(element):
    return (element.get("value") or element.text or "").strip()


def _switch(reader, gazebo, tag, default):
    """What a switch says, or the default where there is none."""
    element = gazebo.find(tag)
    if element is None:
        return default
    text = _text(element)
    reader.refuse_if(text.lower() not in SWITCHES, element, f"<{tag}> must be true or false, got '{text}'")
    return SWITCHES[text.lower()]


def _numbers(reader, element, what, count):
    """So many numbers of an element; None where there is none."""
    if element is None:
        return None
    text = _text(element)
    try:
        numbers = [as_number(part) for part in text.split()]
    except ValueError:
        numbers = []
    message = f"{what}: <{element.tag}> must have {count} number{'s' if count > 1 else ''}, got '{text}'"
    reader.refuse_if(len(numbers) != count, element, message)
    return numbers


def _warn_of_direction(reader, gazebo, what):
    element = gazebo.find("fdir1")
    direction = _numbers(reader, element, what, 3)
    if direction and any(direction):
        values = {tag: gazebo.find(tag) for tag in ("mu1", "mu2")}
        along, across = ("..." if value is None else _text(value) for value in values.values())
        remedy = f"{{along: {along}, across: {across}, direction: [{', '.join(f'{part:g}' for part in direction)}]}}"
        reader.warn(element, f"{what}: <fdir1> is passed over; a material of the scene with anisotropic_friction: "
                             f"{remedy} has it")  # fmt: skip


def _warn_of_softness(reader, gazebo, what):
    stiffness, damping = (_numbers(reader, gazebo.find(tag), what, 1) for tag in ("kp", "kd"))
    k, d = (numbers[0] if numbers else 0.0 for numbers in (stiffness, damping))
    element = gazebo.find("kp" if stiffness else "kd")
    reader.refuse_if(min(k, d) < 0.0, element, f"{what}: <kp> and <kd> must be at least zero, got {k:g} and {d:g}")
    if (0.0 < k < RIGID) or (d > 0.0 and not stiffness):
        law = f"{{stiffness: {k:g}, damping: {d / k:.3g}}}" if k > 0.0 else "{stiffness: ..., damping: kd/kp}"
        reader.warn(element, f"{what}: <{element.tag}> is passed over, as contacts are rigid; a material of the scene "
                             f"with softness: {law} gives way")  # fmt: skip
