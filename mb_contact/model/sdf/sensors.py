# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors of SDF links and joints as those of a scene."""

from mb_contact.model.scene.sensors import Image, Scan, Sensor
from mb_contact.model.sdf.elements import scene_pose

#: Kinds of SDF, and of a scene; whether a camera takes colours.
KINDS = {
    "imu": "imu", "contact": "contact", "force_torque": "force_torque", "camera": "camera", "rgbd_camera": "camera",
    "depth_camera": "camera", "depth": "camera", "lidar": "lidar", "gpu_lidar": "lidar", "ray": "lidar",
    "gpu_ray": "lidar",
}  # fmt: skip
ON_JOINT = "force_torque"
FORMATS = ("R8G8B8", "RGB_INT8", "R_FLOAT32", "FLOAT32")  #: of pictures, of colours and of depths
#: What a sensor may hold that says nothing of what it measures.
PASSING = ("pose", "topic", "update_rate", "always_on", "visualize", "enable_metrics")


def sensors(models, robots, frames, names, step, named):
    """[(reader, element, Sensor)] of all models; what is not taken is left to the readers' warnings.

    models, robots : list of SdfModel, list of Robot
    frames : Frames
    names : dict
        Names of links and joints in the scene, by scoped names.
    step : float
        Time step [s]: samples are taken in whole ones.
    named : callable
        Names in the scene of a list of scoped names.
    """
    found = {}
    for model, robot in zip(models, robots):
        for of_joint, parts in ((False, model.links), (True, model.joints)):
            for on, part in parts.items():
                for element in part.element.findall("sensor"):
                    kind = KINDS.get(element.get("type") or "")
                    if kind is None or (kind == ON_JOINT) != of_joint or (of_joint and on not in robot.measured):
                        part.reader.leave(element)
                        continue
                    R, p = frames.within_link(part, element, on)
                    if of_joint:
                        R_joint, p_joint, R_child = robot.measured[on]
                        p = p_joint + R_joint @ p
                        R = R_joint @ R if _axes(element) == "sensor" else R_child
                    about = _sensor(part.reader, element, kind, names[on])
                    about["pose"] = scene_pose((R, p))
                    about["rate"] = _rate(part.reader, element, step)
                    name = f"{on}::{part.reader.name(element)}"
                    part.reader.refuse_if(name in found, element, f"sensor '{name}' is declared twice; rename one")
                    found[name] = part.reader, element, about
    short = named(list(found))
    return [(*place, Sensor(name=short[name], **about)) for name, (*place, about) in found.items()]


def _rate(reader, element, step):
    """Samples a second, of which each takes whole time steps; 0: every step."""
    rate = reader.number(element, "update_rate", 0.0)
    return 0.0 if rate <= 0.0 else 1.0 / (step * max(1, round(1.0 / (rate * step))))


def _sensor(reader, element, kind, name):
    """Keys of one sensor, on the link or joint of a name, but its own name and rate."""
    parts = ("lidar", "ray") if kind == "lidar" else (kind,)
    reader.take(element, *PASSING, *parts)
    about = {"kind": kind, "joint" if kind == ON_JOINT else "link": name}
    inside = next((element.find(tag) for tag in parts if element.find(tag) is not None), None)
    if kind == "camera":
        about["image"] = _image(reader, inside, element.get("type") not in ("depth", "depth_camera"))
    elif kind == "lidar":
        about["scan"] = _scan(reader, inside)
    elif inside is not None and kind == ON_JOINT:
        usual = reader.text(inside, "measure_direction", "child_to_parent") == "child_to_parent"
        reader.take(inside, *(["frame"] if _axes(element) in ("child", "sensor") else []),
                    *(["measure_direction"] if usual else []))  # fmt: skip
    elif inside is not None and kind == "contact":
        there = {collision.get("name") for collision in element.getparent().findall("collision")}
        named = {(collision.text or "").strip() for collision in inside.findall("collision")}
        reader.take(inside, "topic", *(["collision"] if named == there else []))
    elif inside is not None:
        reader.take(inside)
    return about


def _axes(element):
    """Whose axes a sensor of force and torque measures in."""
    return (element.findtext("force_torque/frame") or "child").strip()


def _image(reader, camera, colour):
    size = {"width": 320, "height": 240, "fov": 1.047, "near": 0.1, "far": 100.0}  # as in SDF
    if camera is None:
        return Image(colour=colour, **size)
    reader.take(camera, "horizontal_fov", "image", "clip")
    image, clip = camera.find("image"), camera.find("clip")
    if image is not None:
        plain = reader.text(image, "format", FORMATS[0]) in FORMATS
        reader.take(image, "width", "height", *(["format"] if plain else []))
        size |= {tag: _count(reader, image, tag, size[tag]) for tag in ("width", "height")}
    if clip is not None:
        reader.take(clip, "near", "far")
        size |= {tag: reader.number(clip, tag, size[tag]) for tag in ("near", "far")}
    size["fov"] = reader.number(camera, "horizontal_fov", size["fov"])
    return Image(colour=colour, **size)


def _count(reader, element, tag, default):
    """A whole number above zero."""
    count = reader.number(element, tag, default)
    wrong = count < 1.0 or count != int(count)
    reader.refuse_if(wrong, element, f"<{tag}> must be a whole number of at least 1, got {count:g}")
    return int(count)


def _scan(reader, lidar):
    if lidar is None:
        return Scan()
    reader.take(lidar, "scan", "range")
    scan, span = lidar.find("scan"), lidar.find("range")
    about = {}
    for tag, count, ends in (("horizontal", "samples", "angles"), ("vertical", "rings", "elevations")):
        rays = None if scan is None else scan.find(tag)
        if rays is not None:
            whole = reader.number(rays, "resolution", 1.0) == 1.0
            reader.take(rays, "samples", "min_angle", "max_angle", *(["resolution"] if whole else []))
            about[count] = _count(reader, rays, "samples", 1)
            about[ends] = (reader.number(rays, "min_angle", 0.0), reader.number(rays, "max_angle", 0.0))
    if span is not None:
        reader.take(span, "min", "max", "resolution")
        about |= {"near": reader.number(span, "min", 0.0), "far": reader.number(span, "max", 30.0, finite=False)}
    return Scan(**about)
