# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Hostile requests to every service of a node, its action, and the page of its view; the node has to stand as before.

    python benchmarks/fuzz_node.py [--count 100000] [--service spawn] [--seed 1] [--parts bytes,services,page]
                                   [--minutes 60]

Over DDS half of the messages to a service are true requests with bytes changed, half have numbers that are NaN,
infinite, negative or huge, and texts that are long, hostile, or names of files.  Cyclone DDS lets no bytes through that
do not fit a type; so as many random bytes again, and requests that are cut off, are handed to the services of a node in
this process, as if they had come in.
Exit code 0 when the node still answers, its log and its answers show no exception, and its scene, loaded again, moves
bit for bit as in a simulation that nobody has disturbed.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections import deque
from functools import cache
from pathlib import Path

import numpy as np
from quick import need, options_of

ROOT = Path(__file__).resolve().parent.parent
SCENE = ROOT / "config" / "box_on_table.yaml"
DOMAIN = "93"
SIZES = (4, 8, 16, 20, 24, 28, 40, 64, 120, 400, 2000)  #: of random requests [bytes]
BROWSERS = 16  #: connections to the page at a time
WINDOW, PATIENCE = 8, 20.0  #: requests that wait for an answer at a time; seconds to wait for one
BATCH = 5  #: changed requests between two questions for the node's state; a service keeps ten of a client
PAUSE = ("/mb_contact/pause", "std_srvs/srv/SetBool")
STATE = ("/get_simulation_state", "simulation_interfaces/srv/GetSimulationState")
FLOATS = (float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e-320, 1e308, -1e308, 1.0, -1.0, 1e6)
FAULT = re.compile(r"\b[A-Z]\w*(Error|Exception)\b|Traceback|in a callback")  #: what a bug looks like
OURS = re.compile(r"(Refusal|InputError|SceneError|ModelError|CommunicationError|DynamicsError)")
BALL = "{shape: sphere, size: [0.1], mass: 1}"  #: what can be spawned
WORLD = f"primitives: [{{name: a, base: free, {BALL[1:]}]"
SOUND = ("", "", "", "", BALL, "box", WORLD, "package://mb_contact/urdf/peg.urdf")
TEXTS = (
    "", "box", "table", "a" * 20_000, "\U0001f916" * 50, "\x01\x7f", "../" * 40 + "etc/passwd", "file:///etc/passwd",
    "package://mb_contact/../../etc/passwd", "/dev/zero", "(a+)+b", "(" * 400, "[[:alpha:]]{1,999}", "{shape: box",
    "{shape: sphere, size: [.nan], mass: 1}", "{shape: sphere, size: [1e300], mass: 1e300}",
    "{shape: sphere, size: [0.1], mass: 1.0e-300}", "{shape: box, size: [0.1, 0.1, 0.1], mass: 1}",
    "<robot name='r'><link name='l'><inertial><mass value='nan'/></inertial></link></robot>",
    "<robot name='r'><link name='a'/><joint name='j' type='fixed'><parent link='a'/><child link='a'/></joint></robot>",
    "<!DOCTYPE r [<!ENTITY a 'aaaa'>]><robot name='&a;'/>", "<robot>" * 3000, "[" * 3000, "&a [*a]", "a: &a [*a, *a]",
    "primitives: [{name: a, shape: sphere, size: [0.1], base: free, mass: 1}]", "primitives: [{name: a}]",
    "package://mb_contact/config/ramp.yaml", "package://mb_contact/urdf/peg.urdf", "models: [{urdf: /etc/passwd}]",
)  # fmt: skip


def hostile(kind, chance, depth=0, sound=None):
    """A message of a type with hostile values, in all of its fields or in few; ``sound``: the share of the others."""
    from mb_contact.ros.embedded.messages import fields_of, message_class

    message = message_class(kind)()
    sound = chance.choice((0.0, 0.6, 0.95, 1.0)) if sound is None else sound
    for name, descriptor in fields_of(kind):
        setattr(message, name, value_of(descriptor, chance, depth, sound))
    if kind.endswith("SimulationState") and message.state == 3:
        message.state = 0  # quitting is what was asked for, and no fault
    return message


def value_of(descriptor, chance, depth, sound):
    """A value of a field, hostile or not."""
    from rosbags.interfaces import Nodetype

    kind, detail = descriptor
    if kind == Nodetype.NAME:
        return hostile(detail, chance, depth + 1, sound)
    if kind != Nodetype.BASE:
        element, length = detail
        count = length if kind == Nodetype.ARRAY else chance.choice((0, 1, 2, 3, 40 if depth < 2 else 4))
        return [value_of(element, chance, depth + 2, sound) for _ in range(count)]
    name, good = detail[0], chance.random() < sound
    if name == "string":
        return chance.choice(SOUND if good else TEXTS)
    if name == "bool":
        return chance.random() < 0.5
    if name.startswith("float"):
        wide = FLOATS if name == "float64" else (0.0, 1.0, float("nan"))
        return chance.choice((0.0, 0.0, 0.0, 1.0) if good else wide)
    limits = _limits(name)
    return int(chance.choice((0, 1, 2) if good else (*limits, 0, 1, 2, chance.randint(*limits))))


@cache
def _limits(name):
    kind = np.iinfo(np.dtype({"byte": "uint8", "char": "uint8", "octet": "uint8"}.get(name, name)))
    return int(kind.min), int(kind.max)


class Attacker:
    """Sends requests of all kinds to one service after the other."""

    def __init__(self, environment, chance, minutes):
        from mb_contact.ros.embedded.backend import EmbeddedNode

        self._until = time.monotonic() + 60.0 * minutes
        self.node, self.chance = EmbeddedNode("attacker", environment=environment), chance
        self.answers, self.done, self.faults, self.sent, self.refused = 0, 0, [], 0, 0
        self._clients, self._stop = {}, False
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self):
        while not self._stop:
            self.node.spin_once(0.05)

    def goes_on(self):
        """Whether there is time left to send more."""
        return time.monotonic() < self._until

    def close(self):
        """Leave the graph."""
        self._stop = True
        self._thread.join()
        self.node.destroy_node()

    def client(self, name, kind):
        """A client that has found its service."""
        if name not in self._clients:
            self._clients[name] = self.node.create_client(kind, name)
            if not self._clients[name].wait_for_service(PATIENCE):
                raise SystemExit(f"no service {name}")
        return self._clients[name]

    def call(self, name, kind, **fields):
        """An answer, which has to come."""
        client = self.client(name, kind)
        return self.wait((name, kind), client.call_async(client.Request(**fields)))

    def changed(self, name, kind, count):
        """Write so many true requests with hostile values and some of their bytes changed, as far as they fit."""
        from mb_contact.errors import CommunicationError
        from mb_contact.ros.embedded.dds import raw as dds_raw
        from mb_contact.ros.embedded.dds.services import pack
        from mb_contact.ros.embedded.messages import serialize

        client, request, written = self.client(name, kind), f"{kind}_Request", 0
        question = PAUSE if "step" in name else STATE  # a pause ends steps that go on for ever
        there = self.is_there(question)
        while written < count and self.goes_on():
            data = bytearray(pack((7, written), serialize(hostile(request, self.chance), request)))
            for _ in range(self.chance.randint(1, 4)):
                data[self.chance.randrange(4, len(data))] = self.chance.randrange(256)
            if b"\x03" in data[20:] and kind.endswith("SetSimulationState"):
                continue  # quitting
            try:
                dds_raw.write(client.end.writer, bytes(data))
            except CommunicationError:  # it does not fit the type: our own side refuses to send it
                self.refused += 1
                continue
            written += 1
            if written % BATCH == 0:
                there, before = self.is_there(question), there
                self.wait(question, before)
        self.sent += written
        self.wait(question, there)

    def whole(self, name, kind, count):
        """Send so many requests with hostile values, and judge all answers."""
        client, request, waiting = self.client(name, kind), f"{kind}_Request", deque()
        for _ in range(count):
            if not self.goes_on():
                break
            message, self.sent = hostile(request, self.chance), self.sent + 1
            waiting.append((message, client.call_async(message)))
            if len(waiting) >= WINDOW:
                self.judge(name, *waiting.popleft())
        for message, future in waiting:
            self.judge(name, message, future)

    def judge(self, name, message, future):
        """Wait for an answer; one that tells of an exception is a fault."""
        for _ in range(int(PATIENCE) if name.endswith("step_simulation") else 0):
            self.call(*PAUSE, data=True)  # ends what would take for ever
            if future.wait(1.0):  # it may have begun after the pause
                break
        if not future.wait(PATIENCE):
            if not name.endswith("get_result"):  # of a goal that goes on
                self.faults.append(f"{name}: no answer to {str(message)[:200]}")
            return
        self.answers += 1
        text = str(future.result())
        self.done += "Result(result=1," in text
        if FAULT.search(text) and FAULT.search(OURS.sub("", text)):
            self.faults.append(f"{name}: {text[:300]} to {str(message)[:300]}")

    def is_there(self, question):
        """Ask the node for its state, or to pause; the answer to come."""
        client = self.client(*question)
        return client.call_async(client.Request(data=True) if question == PAUSE else client.Request())

    def wait(self, service, future):
        """An answer, which has to come."""
        if not future.wait(PATIENCE):
            raise SystemExit(f"no answer from {service[0]} within {PATIENCE:g} s")
        return future.result()


def services():
    """Name and type of all services of a node."""
    from mb_contact.ros.names import snake_case
    from mb_contact.ros.services.common import OFFERS
    from mb_contact.ros.services.simulation import SIMULATE

    own = {f"/mb_contact/{name}": f"std_srvs/srv/{kind}"
           for name, kind in (("reset", "Trigger"), ("pause", "SetBool"), ("step", "Trigger"))}  # fmt: skip
    parameters = ("DescribeParameters", "GetParameterTypes", "GetParameters", "ListParameters", "SetParameters",
                  "SetParametersAtomically")  # fmt: skip
    own |= {f"/mb_contact/{snake_case(name)}": f"rcl_interfaces/srv/{name}" for name in parameters}
    own["/mb_contact/get_type_description"] = "type_description_interfaces/srv/GetTypeDescription"
    own |= {f"/{snake_case(name)}": f"simulation_interfaces/srv/{name}" for name in OFFERS}
    action = "/simulate_steps/_action"
    own[f"{action}/send_goal"], own[f"{action}/get_result"] = f"{SIMULATE}_SendGoal", f"{SIMULATE}_GetResult"
    own[f"{action}/cancel_goal"] = "action_msgs/srv/CancelGoal"
    return own


def attack_services(attacker, arguments):
    """Send to all services, one after the other; each finds the scene, whatever became of it before."""
    for name, kind in services().items():
        if not re.search(arguments.service, name) or not attacker.goes_on():
            continue
        if why_not := load(attacker):
            attacker.faults.append(f"before {name}: {why_not}")
        begun, before = time.monotonic(), attacker.sent
        half = max(1, arguments.count // 2)
        attacker.changed(name, kind, half)
        attacker.whole(name, kind, half)
        attacker.wait(STATE, attacker.is_there(STATE))
        attacker.call(*PAUSE, data=True)  # ends steps that others wait for
        told(name, attacker.sent - before, time.monotonic() - begun, f", {len(attacker.faults)} faults so far")


def told(what, sent, seconds, more=""):
    """Print a line of the table."""
    print(f"{what:55s} {sent:8d} messages {seconds:8.1f} s {sent / seconds:8.0f} a second{more}", flush=True)


def load(attacker):
    """Load the scene again, stopped; why that cannot be done, or ''."""
    deadline = time.monotonic() + PATIENCE
    while True:
        result = attacker.call("/load_world", "simulation_interfaces/srv/LoadWorld", uri=f"file://{SCENE}").result
        if result.result == 1:
            return ""
        if time.monotonic() > deadline:  # until then another one may still be on its way
            return f"the scene cannot be loaded again: {result.error_message}"


def as_before(attacker):
    """Faults of the scene, loaded again: every number of its body after 100 steps is that of a simulation here."""
    import mb_contact as mb

    if why_not := load(attacker):
        return [why_not]
    attacker.call("/step_simulation", "simulation_interfaces/srv/StepSimulation", steps=100)
    state = attacker.call("/get_entity_state", "simulation_interfaces/srv/GetEntityState", entity="box").state
    simulator = mb.Simulator(SCENE)
    for _ in range(100):
        simulator.step()
    position, quaternion = simulator.link_pose("box")
    theirs = [getattr(state.pose.position, axis) for axis in "xyz"]
    theirs += [getattr(state.pose.orientation, axis) for axis in "xyzw"]
    same = np.array_equal(theirs, [*position, *quaternion])
    return [] if same else [f"the box stands at {theirs}, not at {[*position, *quaternion]}"]


def attack_node(arguments, chance):
    """Faults of a node under attack."""
    command = [sys.executable, "-u", "-m", "mb_contact.ros.main", "--backend", "embedded", str(SCENE), "--ros-args",
               "-p", "start_paused:=true", "-p", "spawn_limit:=20"]  # fmt: skip
    log, bugs = deque(maxlen=20), []
    with subprocess.Popen(command, env=os.environ, stderr=subprocess.PIPE, text=True, errors="replace") as node:
        up = threading.Event()
        reader = threading.Thread(target=_read, args=(node.stderr, log, bugs, up), daemon=True)
        reader.start()
        if not up.wait(300.0):
            raise SystemExit("the node does not come up: " + "".join(log))
        attacker = Attacker(dict(os.environ), chance, arguments.minutes)
        try:
            attack_services(attacker, arguments)
            faults = attacker.faults + as_before(attacker)
        finally:
            attacker.close()
            alive = node.poll() is None
            node.terminate()
            code = node.wait(60.0)
            reader.join(10.0)
    print(f"{attacker.sent} messages sent, {attacker.answers} answers judged, {attacker.done} things done", end="; ")
    print(f"{attacker.refused} more did not fit their type and were not sent", flush=True)
    return faults + bugs + ([] if alive and code == 0 else [f"the node has ended ({code}): {''.join(log)}"])


def attack_bytes(arguments, chance):
    """Faults of a node in this process, whose services are handed bytes that no decoder has seen."""
    import mb_contact as mb
    from mb_contact.ros.embedded.backend import EmbeddedNode
    from mb_contact.ros.embedded.services import Service
    from mb_contact.ros.node import SimulatorNode

    node, faults, sent = EmbeddedNode("bytes", args=["--ros-args", "-p", "start_paused:=true"]), [], 0
    victim = SimulatorNode(node, mb.Simulator(SCENE))
    node.get_logger().sink = lambda level, text, *_: faults.append(text) if FAULT.search(OURS.sub("", text)) else None
    runs = threading.Thread(target=victim.run, daemon=True)
    runs.start()
    for source in [source for source in node._waiter.sources if isinstance(source, Service)]:
        if not re.search(arguments.service, source.srv_name):
            continue
        begun, before = time.monotonic(), sent
        for i in range(arguments.count):
            data = b"\0\1\0\0" + _noise_for(source, chance)
            if source.srv_name.endswith("set_simulation_state") and data[20:21] == b"\3":
                continue  # quitting
            node._ready.append((0, 0, source, data, 0))
            sent += 1
            if i % 50 == 49 or i == arguments.count - 1:
                node.wake()
                deadline = time.monotonic() + PATIENCE
                while node._ready and time.monotonic() < deadline:
                    time.sleep(0.0005)
        victim.ask(lambda: victim.do_pause(True))
        told("bytes to " + source.srv_name, sent - before, time.monotonic() - begun)
    print(f"{sent} messages as bytes, of which {node.undecodable} did not fit their type", flush=True)
    alive = runs.is_alive()
    victim.stop()
    runs.join(30.0)
    node.destroy_node()
    return faults + ([] if alive and not runs.is_alive() else ["the node in this process has ended"])


def _noise_for(source, chance):
    """Random bytes, or a hostile request with its end cut off."""
    from mb_contact.ros.embedded.messages import serialize

    if chance.random() < 0.5:
        return chance.randbytes(chance.choice(SIZES))
    data = serialize(hostile(source._request, chance), source._request)[4:]
    return chance.randbytes(16) + data[: chance.randrange(len(data) + 1)]


def _read(stream, log, bugs, up):
    """Keep what looks like a bug, and the last lines."""
    for line in stream:
        if FAULT.search(line) and FAULT.search(OURS.sub("", line)):
            bugs.append(line.strip())
        log.append(line)
        if " is up" in line:
            up.set()


def attack_page(arguments, chance):
    """Faults of a page that is open to the network, under attack through its gate."""
    import websockets

    command = [sys.executable, "-u", "-m", "mb_contact", "view", str(SCENE), "--host", "0.0.0.0", "--paused"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as view:
        line = next(line for line in view.stderr if "web view at" in line)
        threading.Thread(target=lambda: [None for _ in view.stderr], daemon=True).start()
        port, token = re.search(r":(\d+)/\?token=(\w+)", line).groups()
        begun = time.monotonic()
        sent = asyncio.run(_noise(websockets, int(port), token, arguments.count, chance))
        told("the websocket of the view", sent, time.monotonic() - begun)
        answers = asyncio.run(_greeted(websockets, int(port), token))
        alive = view.poll() is None
        view.terminate()
        view.wait(30.0)
    return [] if alive and answers else ["the page has ended" if not alive else "the page greets nobody any more"]


def _socket(websockets, port, token):
    import viser

    return websockets.connect(
        f"ws://127.0.0.1:{port}", additional_headers={"Cookie": f"mb_contact_token={token}"}, max_size=None,
        close_timeout=0.1, ping_interval=None, max_queue=None,
        subprotocols=[f"viser-v{viser.__version__}"],
    )  # fmt: skip


async def _noise(websockets, port, token, count, chance):
    """Random frames over several connections at a time."""
    each = -(-count // BROWSERS)
    return sum(await asyncio.gather(*(_noisy(websockets, port, token, each, chance) for _ in range(BROWSERS))))


async def _noisy(websockets, port, token, count, chance):
    """Random frames; a connection that the page closes, as it does after a bad frame, is opened again."""
    sent = 0
    while sent < count:
        try:
            async with _socket(websockets, port, token) as page:
                for _ in range(min(1000, count - sent)):
                    size = chance.choice((0, 1, 7, 60, 1000))
                    noise = chance.randbytes(size)
                    await page.send(noise if chance.random() < 0.8 else noise.decode("latin-1"))
                    sent += 1
        except (OSError, websockets.WebSocketException):
            sent += 1
    return sent


async def _greeted(websockets, port, token):
    """Whether a new browser hears of the scene."""
    try:
        async with _socket(websockets, port, token) as page:
            return len(await asyncio.wait_for(page.recv(), PATIENCE)) > 0
    except (OSError, asyncio.TimeoutError, websockets.WebSocketException):
        return False


def main(argv=None):
    """Attack; 0 if nothing has broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000, help="messages to each service (default: 100000)")
    parser.add_argument("--service", default="", help="only services whose name this expression finds")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="of requests over DDS, all in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", default="bytes,services,page", help="which of them (default: all)")
    arguments = options_of(parser, argv, count=12, parts="bytes,services")
    need("cyclonedds")
    os.environ.setdefault("ROS_DOMAIN_ID", DOMAIN)
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    chance = random.Random(arguments.seed)
    faults = []
    for part, attack in (("bytes", attack_bytes), ("services", attack_node), ("page", attack_page)):
        if part in arguments.parts.split(","):
            need(*(("viser",) if part == "page" else ()))
            faults += attack(arguments, chance)
    for fault in faults[:20]:
        print(f"FAULT {fault}")
    print(f"{len(faults)} faults")
    return min(1, len(faults))


if __name__ == "__main__":
    sys.exit(main())
