# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a URDF asks of Gazebo alone: each tag is named, with what does it here."""

from mb_contact.checks import as_number

SWITCHES = {"true": True, "1": True, "false": False, "0": False}
RIGID = 1e12  #: Gazebo's own stiffness of contacts, which stands for none [N/m]
WEIGHT = "sim.set('gravity', [0, 0, 0], of=['{link}']) takes it away, of the whole body that the link belongs to"
STATIC = "make its joints fixed, and leave out base: free"


def warn_of_gazebo(reader, robot, links):
    """Warn of what Gazebo would do by its own tags.

    Parameters
    ----------
    reader : ElementReader
    robot : element
    links : dict of str to LinkSpec

    Raises
    ------
    ModelError
        A tag holds nothing that it can mean.
    """
    for gazebo in robot.findall("gazebo"):
        link = gazebo.get("reference")
        what = "the robot" if link is None else f"link '{link}'"
        if link is None or link in links:
            _warn_of_switch(reader, gazebo, "static", True, f"{what} is static in Gazebo, and moves here", STATIC)
        if link in links:
            weightless = f"{what} has no weight in Gazebo, and has one here"
            _warn_of_switch(reader, gazebo, "gravity", False, weightless, WEIGHT.format(link=link))
            _warn_of_switch(reader, gazebo, "turnGravityOff", True, weightless, WEIGHT.format(link=link))
            _warn_of_direction(reader, gazebo, what)
            _warn_of_softness(reader, gazebo, what)


def _text(element):
    return (element.get("value") or element.text or "").strip()


def _warn_of_switch(reader, gazebo, tag, stands, words, remedy):
    """Warn where a switch is there and ``stands`` so."""
    element = gazebo.find(tag)
    if element is not None:
        text = _text(element)
        known = text.lower() in SWITCHES
        reader.refuse_if(not known, element, f"<{tag}> must be true or false, got '{text}'")
        if SWITCHES[text.lower()] == stands:
            reader.warn(element, f"<{tag}>: {words}; {remedy}")


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
