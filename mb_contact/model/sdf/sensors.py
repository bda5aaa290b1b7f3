# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sensors of SDF links and joints as those of a scene."""

from mb_contact.model.scene.sensors import Image, Scan, Sensor
from mb_contact.model.sdf.elements import scene_pose
from mb_contact.model.sdf.models import short_names

#: Kinds of SDF, and of a scene; whether a camera takes colours.
KINDS = {
    "imu": "imu", "contact": "contact", "force_torque": "force_torque", "camera": "camera", "rgbd_camera": "camera",
    "depth_camera": "camera", "depth": "camera", "lidar": "lidar", "gpu_lidar": "lidar", "ray": "lidar",
    "gpu_ray": "lidar",
}  # fmt: skip
ON_JOINT = "force_torque"
#: What a sensor may hold that says nothing of what it measures.
PASSING = ("pose", "topic", "update_rate", "always_on", "visualize", "enable_metrics")


def sensors(models, names, joints, step):
    """The Sensors of all models; what is not taken is left to the readers' warnings.

    models : list of SdfModel
    names, joints : dict
        Names of links and of joints in the scene, by scoped names.
    step : float
        Time step [s]: samples are taken in whole ones.
    """
    found = {}
    for model in models:
        for of_joint, parts in ((False, model.links), (True, model.joints)):
            for on, part in parts.items():
                for element in part.element.findall("sensor"):
                    kind = KINDS.get(element.get("type") or "")
                    if kind is None or (kind == ON_JOINT) != of_joint or (of_joint and model.static):
                        part.reader.leave(element)
                        continue
                    about = _sensor(part.reader, element, kind, joints[on] if of_joint else names[on])
                    about["rate"] = _rate(part.reader, element, step)
                    found[f"{on}::{part.reader.name(element)}"] = about
    short = short_names(list(found))
    return [Sensor(name=short[name], **about) for name, about in found.items()]


def _rate(reader, element, step):
    """Samples a second, of which each takes whole time steps; 0: every step."""
    rate = reader.number(element, "update_rate", 0.0)
    return 0.0 if rate <= 0.0 else 1.0 / (step * max(1, round(1.0 / (rate * step))))


def _sensor(reader, element, kind, name):
    """Keys of one sensor, on the link or joint of a name, but its own name and rate."""
    parts = ("lidar", "ray") if kind == "lidar" else (kind,)
    reader.take(element, *PASSING, *parts)
    about = {"kind": kind, "joint" if kind == ON_JOINT else "link": name}
    relative, R, p = reader.pose(element)
    reader.refuse_if(bool(relative), element, "the pose of a sensor is relative to what it is mounted on")
    about["pose"] = scene_pose((R, p))
    inside = next((element.find(tag) for tag in parts if element.find(tag) is not None), None)
    if kind == "camera":
        about["image"] = _image(reader, inside, element.get("type") not in ("depth", "depth_camera"))
    elif kind == "lidar":
        about["scan"] = _scan(reader, inside)
    elif inside is not None and kind in ("imu", ON_JOINT):
        reader.take(inside)
    return about


def _image(reader, camera, colour):
    if camera is None:
        return Image(width=320, height=240, fov=1.047, colour=colour)  # as in SDF
    reader.take(camera, "horizontal_fov", "image", "clip")
    image, clip = camera.find("image"), camera.find("clip")
    size = {} if image is None else {
        tag: int(reader.number(image, tag, value)) for tag, value in (("width", 320), ("height", 240))
    }  # fmt: skip
    if clip is not None:
        size |= {tag: reader.number(clip, tag, value) for tag, value in (("near", 0.1), ("far", 100.0))}
    return Image(fov=reader.number(camera, "horizontal_fov", 1.047), colour=colour, **size)


def _scan(reader, lidar):
    if lidar is None:
        return Scan()
    reader.take(lidar, "scan", "range")
    scan, span = lidar.find("scan"), lidar.find("range")
    about = {}
    for tag, count, ends in (("horizontal", "samples", "angles"), ("vertical", "rings", "elevations")):
        rays = None if scan is None else scan.find(tag)
        if rays is not None:
            reader.take(rays, "samples", "resolution", "min_angle", "max_angle")
            about[count] = max(1, int(reader.number(rays, "samples", 1)))
            about[ends] = (reader.number(rays, "min_angle", 0.0), reader.number(rays, "max_angle", 0.0))
    if span is not None:
        reader.take(span, "min", "max", "resolution")
        about |= {"near": reader.number(span, "min", 0.0), "far": reader.number(span, "max", 30.0, finite=False)}
    return Scan(**about)
