# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Round trips of the bare transport: two processes that write and take joint states of 26 joints, without a node.

    python benchmarks/transport.py [--count 5000] [--one-core]

Nothing is computed and nothing decoded, so this is the least that a lockstep takes on the machine: with threads that
sleep until a sample wakes them, and with threads that look for it and give way between two looks (``waiting.py``).
``--one-core`` keeps both processes on one core, where nobody has to be woken elsewhere.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

import numpy as np
from quick import need, options_of

from mb_contact.model.resources import child_environment

TYPE, JOINTS, DOMAIN = "sensor_msgs/msg/JointState", 26, "92"
PATIENCE = 30.0  #: seconds for the other process to begin


def ends(topic_out, topic_in):
    """A node, a prepared message and a function that takes one sample, by looking or asleep."""
    from mb_contact.ros import QoS, create_node
    from mb_contact.ros.embedded import waiting

    os.environ.setdefault("ROS_DOMAIN_ID", DOMAIN)
    node = create_node(f"transport_{topic_out}", "embedded")
    message = node.message_type(TYPE)()
    message.name = [f"joint_{i}" for i in range(JOINTS)]
    message.position = message.velocity = message.effort = [0.0] * JOINTS
    publisher, port = node.create_publisher(TYPE, topic_out, QoS(10)), node.create_port()
    port.create_subscription(TYPE, topic_in, lambda _: None, QoS(10))

    def take(looks):
        waiting.LOOK_SECONDS = 0.1 if looks else 0.0
        return port.samples(0.1)[0]

    return node, publisher, publisher.prepare(message), take


def answer(looks):
    """The other process: every sample is answered by another, until this one is terminated."""
    _, _, message, take = ends("pong", "ping")
    print("ready", flush=True)
    while True:
        for _ in take(looks):
            message.publish()


def measure(looks, count):
    """Seconds of the round trips and of the writes in them."""
    node, publisher, message, take = ends("ping", "pong")
    command = [sys.executable, __file__, "--answer", *(["--looks"] if looks else [])]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, env=child_environment())
    try:
        child.stdout.readline()
        deadline = time.monotonic() + PATIENCE
        while not publisher.get_subscription_count() or not take(looks):
            time.sleep(0.01)
            message.publish()
            if time.monotonic() > deadline:
                raise SystemExit("the other process does not answer")
        while take(looks):
            pass  # what else has been answered meanwhile
        times = np.empty((count, 2))
        for row in times:
            begun = time.perf_counter()
            message.publish()
            row[1] = time.perf_counter() - begun
            while not take(looks):
                pass
            row[0] = time.perf_counter() - begun
    finally:
        child.terminate()
        child.wait()
        node.destroy_node()
    return times[count // 5 :]  # caches are warm by then


def main(argv=None):
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=5000, help="round trips")
    parser.add_argument("--one-core", action="store_true", help="both processes on one core")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--looks", action="store_true", help=argparse.SUPPRESS)
    arguments = options_of(parser, argv, count=200)
    need("cyclonedds")
    if arguments.answer:
        return answer(arguments.looks)
    if arguments.one_core:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # for the child too; nobody looks there
    print(f"{len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}; microseconds")
    print("threads that   round trip p50, p99   write p50")
    for looks in (False,) if arguments.one_core else (False, True):
        times = 1e6 * measure(looks, arguments.count)
        p50, p99 = np.percentile(times[:, 0], (50.0, 99.0))
        print(f"{'look' if looks else 'sleep':<12} {p50:12.1f} {p99:8.1f} {np.median(times[:, 1]):11.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
