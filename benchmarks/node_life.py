# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Life of the node with a controller in another process: resets, pauses, spawned and deleted bodies, in lockstep.

    python benchmarks/node_life.py [--resets 1000] [--spawns 1000] [--pauses 100] [--backend embedded]
    python benchmarks/node_life.py --ros2-control [the same]    # a sourced ROS 2 with ros2_control

The controller answers every state with its header and counts states that it has had already, states left out, and
states of a run that is over.  Every service is called over DDS by a third node.  Round trips are measured before and
after; memory counts from a tenth of the resets and of the spawnings on.  Exit code 1 where a state was lost, told twice
or old, or memory grew by more than one per cent.

With ``--ros2-control`` the node and unmodified controllers are started by ``ros2 launch mb_contact
ros2_control.launch.py``; after every reset, spawning and pause their commands must come again, and in place of the
round trip stands the time from a state to the next command, both as a third process hears them.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
from quick import options_of

from mb_contact.model.resources import child_environment

SCENE = "package://mb_contact/config/drumwright_grasp.yaml"
JOINT_STATE, DOMAIN = "sensor_msgs/msg/JointState", "94"
BALL = "{shape: sphere, size: [0.05], mass: 0.5}"


class States:
    """What was wrong with the states that came."""

    def __init__(self):
        self._last, self._step = None, 0  # [ns]
        self.counts = dict.fromkeys(("states", "twice", "left_out", "old"), 0)

    def take(self, state):
        """Count a state."""
        now = int(state.header.frame_id.split()[1]), state.header.stamp.sec * 10**9 + state.header.stamp.nanosec
        counts, last = self.counts, self._last
        if last is not None and now != last:
            counts["states"] += 1
            counts["old"] += now[0] < last[0]
            self._step = self._step or now[1] - last[1]
            counts["left_out"] += now[1] != last[1] + self._step  # time goes on over a reset
        counts["twice"] += now == last
        self._last = now


class Answerer(States):
    """The controller: a command for every state."""

    def __init__(self, node, qos):
        super().__init__()
        self._publisher = node.create_publisher(JOINT_STATE, "joint_commands", qos(10))
        self._make = node.message_type(JOINT_STATE)
        node.create_subscription(JOINT_STATE, "joint_states", self._answer, qos(100))

    def _answer(self, state):
        self.take(state)
        command = self._make(name=list(state.name), effort=[0.0] * len(state.name))
        command.header = state.header
        self._publisher.publish(command)


def answer(backend):
    """What the child does until a line comes on its input."""
    from mb_contact.ros import QoS, create_node

    node = create_node("controller", backend)
    answerer, ended = Answerer(node, QoS), threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), ended.set()), daemon=True).start()
    while not ended.is_set():
        node.spin_once(0.05)
    print(json.dumps(answerer.counts), flush=True)
    node.destroy_node()


class Caller:
    """Calls services of the node from a thread of its own."""

    def __init__(self, backend):
        from mb_contact.ros import create_node

        self._node, self._clients = create_node("caller", backend), {}

    def __call__(self, name, kind, /, **fields):
        if name not in self._clients:
            self._clients[name] = self._node.create_client(kind, name)
            if not self._clients[name].wait_for_service(timeout_sec=30.0):
                raise SystemExit(f"no service {name}")
        client = self._clients[name]
        request = self._node.message_type(f"{kind}_Request")(**fields)
        future = client.call_async(request)
        while not future.done():
            self._node.spin_once(0.1)
        return future.result()

    def done(self, name, kind, /, **fields):
        """Call, and end the program where the answer is a failure."""
        result = self(name, kind, **fields).result
        if result.result != 1:
            raise SystemExit(f"{name}: {result.error_message}")

    def message(self, kind, **fields):
        """A message."""
        return self._node.message_type(kind)(**fields)


def resident(process="self"):
    """Resident memory of a process [bytes]."""
    with open(f"/proc/{process}/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Life:
    """The programme, beside a running node."""

    def __init__(self, running, options):
        self.running, self.options, self.trips, self.memory = running, options, [], []
        self._call = Caller("embedded")
        running.answered = self.trips.append

    def live(self):
        """All of it; ends the node."""
        try:
            self._wait(1000)
            self._tell("before")
            self._repeat("resets", self._reset)
            self._repeat("spawns", self._spawn)
            self._repeat("pauses", self._pause)
            self._wait(1000)
            self._tell("afterwards")
        finally:
            self._end()

    def _end(self):
        self.running.stop()

    def _check(self):
        """Nothing may end meanwhile."""

    def _resident(self):
        return resident()

    def _wait(self, states):
        begun = len(self.trips)
        while len(self.trips) < begun + states:
            self._check()
            time.sleep(0.01)

    def _tell(self, when):
        trips = 1e3 * np.array(self.trips[-1000:])
        low, high = np.percentile(trips, (50, 99))
        print(f"round trip {when}: p50 {low:.2f} ms, p99 {high:.2f} ms; {self._resident() / 2**20:.1f} MiB", flush=True)

    def _repeat(self, name, act):
        count = getattr(self.options, name)
        begun, memory = time.monotonic(), None
        for k in range(count):
            act(k)
            if k == count // 10:
                memory = self._resident()
        grown = 100.0 * (self._resident() / memory - 1.0) if memory else 0.0
        self.memory.append(grown)
        print(f"{count} {name} in {time.monotonic() - begun:.0f} s: memory {grown:+.2f} %", flush=True)

    def _reset(self, _k):
        self._wait(5)
        self._call.done("reset_simulation", "simulation_interfaces/srv/ResetSimulation", scope=2)

    def _spawn(self, k):
        pose = self._call.message("geometry_msgs/msg/PoseStamped")
        pose.pose.position.x, pose.pose.position.z, pose.pose.orientation.w = 5.0, 2.0, 1.0
        kind, name = "simulation_interfaces/srv/SpawnEntity", f"ball_{k}"
        self._call.done("spawn_entity", kind, name=name, uri="", resource_string=BALL, initial_pose=pose)
        self._wait(2)
        self._call.done("delete_entity", "simulation_interfaces/srv/DeleteEntity", entity=name)

    def _pause(self, _k):
        for paused in (True, False):
            self._call(f"{self.options.name}/pause", "std_srvs/srv/SetBool", data=paused)
        self._wait(5)


class Launched(Life):
    """The same with ros2_control's controllers, all of it started by its launch file."""

    def __init__(self, options):
        self.options, self.memory, self.trips = options, [], []
        self._call, self._pid = Caller("embedded"), "self"
        self.states, self._last, self._told = States(), "", time.perf_counter()
        command = "ros2 launch mb_contact ros2_control.launch.py real_time_factor:=0.3 backend:=embedded"
        self._launch = subprocess.Popen(command.split(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self._read, daemon=True).start()

    def _check(self):
        if self._launch.poll() is not None:
            raise SystemExit(f"the launch has ended: {self._last}")

    def _read(self):
        for line in self._launch.stdout:
            self._last = line.strip() or self._last
            found = re.search(r"simulator_node.*started with pid \[(\d+)\]", line)
            self._pid = found[1] if found else self._pid

    def _resident(self):
        return resident(self._pid)

    def listen(self, qos):
        """Hear states and commands on a thread of their own."""
        from mb_contact.ros import create_node, spin

        node = create_node("listener", "embedded")
        node.create_subscription(JOINT_STATE, "robot_joint_states", self._take, qos(5000))
        node.create_subscription(JOINT_STATE, "robot_joint_commands", self._answered, qos(100), raw=True)
        threading.Thread(target=lambda: spin(node), daemon=True).start()

    def _take(self, state):
        self._told = time.perf_counter()
        self.states.take(state)

    def _answered(self, _command):
        self.trips.append(time.perf_counter() - self._told)

    def _end(self):
        self._launch.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            print("launch ended with", self._launch.wait(30.0))


def main(argv=None):
    """Live, and judge; 0 where nothing was lost and memory is flat."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, count in (("resets", 1000), ("spawns", 1000), ("pauses", 100)):
        parser.add_argument(f"--{name}", type=int, default=count)
    parser.add_argument("--backend", choices=("embedded", "rclpy"), default="embedded", help="of node and controller")
    parser.add_argument("--ros2-control", action="store_true", help="with its controllers, by launch")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    options = options_of(parser, argv, resets=10, spawns=3, pauses=5)
    os.environ.setdefault("ROS_DOMAIN_ID", DOMAIN)
    if options.answer:
        return answer(options.backend)
    options.name = "mb_contact" if options.ros2_control else "life"
    return judge(options, *(launched(options) if options.ros2_control else lockstep(options)))


def launched(options):
    """Counts and memory with ros2_control's controllers."""
    from mb_contact.ros import QoS

    life = Launched(options)
    life.listen(QoS)
    life.live()
    return life.states.counts, life.memory


def lockstep(options):
    """Counts and memory with a controller of our own."""
    import mb_contact as mb
    from mb_contact.ros.main import RunOptions, run_node
    from mb_contact.ros.options import NodeOptions

    command = [sys.executable, __file__, "--answer", "--backend", options.backend]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=child_environment())
    lives = []

    def ready(running):
        lives.append(Life(running, options))
        threading.Thread(target=lives[0].live, daemon=True).start()

    node = NodeOptions(lockstep=True, lockstep_timeout=30.0, real_time_factor=0.0)
    run_node(mb.Simulator(SCENE), RunOptions(node=node, backend=options.backend, name=options.name, ready=ready))
    return json.loads(child.communicate("end\n", timeout=30.0)[0].splitlines()[-1]), lives[0].memory


def judge(options, counts, memory):
    """Print the counts; 0 where they are as they should be."""
    print(", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counts.items()))
    bad = counts["twice"] + counts["left_out"] + counts["old"] + (counts["states"] == 0)
    return 1 if bad or (not options.quick and max(memory) > 1.0) else 0


if __name__ == "__main__":
    sys.exit(main())
