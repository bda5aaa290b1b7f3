# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Topics and services of what attaches, conveys and pulls: pads, moving surfaces, tendons, welds that come on and off.

``handles`` lists them once; the inputs subscribe to the topics, and ``services/handling.py`` serves the others.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from mb_contact.errors import InputError
from mb_contact.ros.names import sanitise

BOOL, NUMBER, EMPTY, TEXT = (f"std_msgs/msg/{name}" for name in ("Bool", "Float64", "Empty", "String"))


class Handle(NamedTuple):
    """One topic or service."""

    name: str
    type: str  #: of the topic; empty of a service, which is a std_srvs/SetBool
    does: Callable[[Any], tuple[str, dict[str, Any]]]  #: of what comes, kind and fields of the event


def handles(scene: Any) -> list[Handle]:
    """All that a scene has."""
    found = []
    for pad in getattr(scene, "adhesion_pads", ()):
        switch = partial(_switch, pad.name)
        found += [Handle(f"adhesion/{sanitise(pad.name)}/{end}", kind, switch)
                  for end, kind in (("on", BOOL), ("switch", ""))]  # fmt: skip
    for surface in getattr(scene, "moving_surfaces", ()):
        found.append(Handle(f"surfaces/{sanitise(surface.name)}/speed", NUMBER, partial(_drive, surface.name)))
    for tendon in getattr(scene, "tendons", ()):
        found += [Handle(f"tendons/{sanitise(tendon.name)}/{end}", NUMBER, partial(_pull, tendon.name, end))
                  for end in ("tension", "rest_length")]  # fmt: skip
    welds = [closure for closure in getattr(scene, "loop_closures", ()) if closure.switched]
    for weld in welds:
        name = weld.name or f"{weld.link_a}_{weld.link_b}"
        place = f"attachments/{sanitise(name)}"
        for end, kind, on in (("hold", "", None), ("attach", EMPTY, True), ("detach", EMPTY, False)):
            found.append(Handle(f"{place}/{end}", kind, partial(_hold, name, weld.link_a, weld.link_b, on)))
    if welds:
        found += [Handle("attach", TEXT, _attach), Handle("detach", TEXT, _detach)]
    return found


def act(simulator: Any, kind: str, fields: dict[str, Any]) -> None:
    """Do it.

    Raises
    ------
    InputError
        It does not fit the scene; nothing has changed.
    """
    {"value": simulator.set, "attach": simulator.attach, "detach": simulator.detach}[kind](**fields)


def _switch(name, message):
    return "value", {"name": "adhesion", "values": float(message.data), "of": [name]}


def _drive(name, message):
    return "value", {"name": "surface_speed", "values": float(message.data), "of": [name]}


def _pull(name, what, message):
    return "value", {"name": what, "values": float(message.data), "of": [name]}


def _hold(name, body, link, on, message):
    """``on``, or what the message says where that is None."""
    on = message.data if on is None else on
    return ("attach", {"body": body, "link": link, "name": name}) if on else ("detach", {"name": name})


def _attach(message):
    words = message.data.split()
    if len(words) != 2:
        raise InputError(f"attach needs a body and a link with a blank between them, got '{message.data[:80]}'")
    return "attach", {"body": words[0], "link": words[1]}


def _detach(message):
    return "detach", {"name": message.data.strip()}
