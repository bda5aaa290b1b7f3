# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Cameras and lidars: time of an image, and a camera beside a lockstep at 1 kHz over DDS.

    python benchmarks/sensors.py [--seconds 20] [--rate 15] [--size 640x480] [--repeats 20]

First images and scans of config/watched_table.yaml, and of a sphere of 80,000 triangles, by themselves.  Then two arms
(config/dual_arm_lift.yaml) in lockstep with a controller in another process, paced at real time, without and with a
camera whose depth images a third process receives.  Exit code 1 where a state was lost, or where fewer than ten images
a second came.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from quick import need, options_of

import mb_contact as mb
from mb_contact.model.resources import child_environment
from mb_contact.model.scene.sensors import Image, Sensor
from mb_contact.programs.bench.node import DOMAIN, SCENE, measure
from mb_contact.programs.bench.responder import percentiles
from mb_contact.ros import QoS, create_node

TABLE = "package://mb_contact/config/watched_table.yaml"
TOPIC, LEAST = "/sensors/eye/depth", 10.0  #: images a second of real time


def sphere(folder, turns=200):
    """A scene with a ball of 4 turns^2 / 2 triangles as a robot's visual, 2 m before a camera."""
    up, around = np.meshgrid(np.linspace(0.0, np.pi, turns + 1), np.linspace(0.0, 2.0 * np.pi, turns, endpoint=False))
    corners = np.stack([np.sin(up) * np.cos(around), np.sin(up) * np.sin(around), np.cos(up)], -1).reshape(-1, 3)
    i, j = (x.ravel() for x in np.meshgrid(np.arange(turns), np.arange(turns), indexing="ij"))
    a, b = i * (turns + 1) + j, (i + 1) % turns * (turns + 1) + j
    triangles = np.concatenate([np.stack([a, a + 1, b + 1], -1), np.stack([a, b + 1, b], -1)]) + 1
    lines = [f"v {x:.9f} {y:.9f} {z:.9f}" for x, y, z in corners] + [f"f {p} {q} {r}" for p, q, r in triangles]
    (folder / "ball.obj").write_text("\n".join(lines), encoding="utf-8")
    (folder / "ball.urdf").write_text(
        '<robot name="ball"><link name="ball"><visual><geometry><mesh filename="ball.obj"/></geometry></visual></link>'
        "</robot>", encoding="utf-8",
    )  # fmt: skip
    model = mb.model.SceneModel(str(folder / "ball.urdf"), pose=mb.model.Pose((2.0, 0.0, 0.0)))
    return mb.Scene(models=(model,), sensors=(Sensor("eye", "camera", link="world", image=Image()),))


def images(repeats):
    """Times of single images, with nothing beside them."""
    table = mb.load_scene(TABLE)
    camera = table.sensors[0]
    plain = dataclasses.replace(camera, name="depth", image=dataclasses.replace(camera.image, colour=False))
    scenes = [("table", dataclasses.replace(table, sensors=(*table.sensors, plain)))]
    with tempfile.TemporaryDirectory() as folder:
        scenes.append(("80,000 triangles", sphere(Path(folder))))
        for label, scene in scenes:
            sim = mb.Simulator(scene)
            for sensor in scene.sensors:
                if sensor.kind in ("camera", "lidar"):
                    sim.sensors.read(sensor.name)
                    wall, cpu = [], []
                    for _ in range(repeats):
                        begun = time.perf_counter(), time.process_time()
                        reading = sim.sensors.read(sensor.name)
                        wall.append(1e3 * (time.perf_counter() - begun[0]))
                        cpu.append(1e3 * (time.process_time() - begun[1]))
                    size = f"{reading[0].shape[1]} x {reading[0].shape[0]}"
                    times = f"least {min(wall):6.1f} ms, median {np.median(wall):6.1f}"
                    print(f"{label:17} {sensor.name:8} {size:9}  {times}, least of CPU time {min(cpu):6.1f}")


def listen():
    """The third process: counts images, from the first to the last of them, until it is ended."""
    node, ended, stamps, arrivals = create_node("images"), threading.Event(), [], []

    def keep(data):
        stamps.append(int.from_bytes(data[4:8], "little") * 10**9 + int.from_bytes(data[8:12], "little"))
        arrivals.append(time.perf_counter())

    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    node.create_subscription("sensor_msgs/msg/Image", TOPIC, keep, QoS(50, reliable=False), raw=True)
    print("listening", flush=True)
    while not ended.is_set():
        node.spin_once(0.1)
    rate = (len(arrivals) - 1) / (arrivals[-1] - arrivals[0]) if len(arrivals) > 1 else 0.0
    steps = np.diff(stamps)
    print(json.dumps({"images": len(stamps), "rate": rate, "left out": int(sum(steps > 1.5 * min(steps, default=1)))}))
    node.destroy_node()


def beside_lockstep(seconds, camera):
    """The node in lockstep, perhaps with a camera; the run, and what came of images."""
    scene = mb.load_scene(SCENE)
    sim = mb.Simulator(dataclasses.replace(scene, sensors=(camera,) if camera else ()))
    listener = None
    if camera is not None:
        command = [sys.executable, str(Path(__file__).resolve()), "--listen"]
        listener = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=child_environment())
        listener.stdout.readline()
    run = measure(sim, seconds, True)
    if listener is None:
        return run, {}
    listener.terminate()
    return run, json.loads(listener.communicate()[0].splitlines()[-1])


def main(argv=None):
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each run in lockstep")
    parser.add_argument("--rate", type=float, default=15.0, help="images a second")
    parser.add_argument("--size", default="640x480", metavar="WxH")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--listen", action="store_true", help=argparse.SUPPRESS)
    options = options_of(parser, argv, seconds=0.5, repeats=1, size="64x48")
    os.environ.setdefault("ROS_DOMAIN_ID", DOMAIN)
    if options.listen:
        listen()
        return 0
    need("embreex", "cyclonedds")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    images(options.repeats)
    width, height = (int(n) for n in options.size.split("x"))
    pose = mb.model.Pose((2.2, 0.0, 1.6), rpy=(0.0, 0.45, np.pi))
    camera = Sensor("eye", "camera", link="world", pose=pose, image=Image(width, height), rate=options.rate)
    lost = few = 0
    for label, eye in (("without a camera", None), (f"with {options.size}", camera)):
        if eye is None and options.quick:
            continue
        run, seen = beside_lockstep(options.seconds, eye)
        times = ", ".join(f"{name} {1e3 * value:.2f}" for name, value in percentiles(run.round_trips).items())
        states = f"{run.child['states']} states, {run.child['missed']} missed"
        told = f"{states}, CPU {100.0 * run.cpu:.0f} %, round trip [ms] {times}"
        print(f"{label}: real-time factor {run.factor:.2f}, {told}")
        lost += run.child["missed"]
        if eye is not None:
            print(f"  {seen['images']} images, {seen['rate']:.1f} a second of wall time, {seen['left out']} gaps")
            few = seen["rate"] < min(LEAST, 0.9 * options.rate) and not options.quick
    return int(lost > 0 or few)


if __name__ == "__main__":
    sys.exit(main())
