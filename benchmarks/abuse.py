# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms lift a box while a hostile program floods every topic that the simulator subscribes to.

    python benchmarks/abuse.py [--count 100000] [--phase hold] [--end]

The attack (abuser.py) begins when the box hangs in the hands and must be over before the lift is; the lift must
still succeed by its own verdict, in lockstep.  Exit code 0 when it does and every message was sent.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from quick import need, options_of

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
DOMAIN = "94"
JOINT, PUSH = "left_arm_joint_1", "external_wrench/box"


def main(argv=None):
    """Lift under attack; 0 if the box was lifted, held and set down all the same."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000, help="messages of each kind (default: 100000)")
    parser.add_argument("--rate", type=float, default=0.0, help="of each kind a second; 0: as many as go (default)")
    parser.add_argument("--phase", default="hold", help="of the lift in which the attack begins (default: hold)")
    parser.add_argument("--end", action="store_true", help="end the lift with the attack; it must go on until then")
    arguments = options_of(parser, argv, count=50, phase="reach", end=True)
    need("cyclonedds")
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    environment = dict(os.environ, PYTHONPATH=path, PYTHONUNBUFFERED="1")
    environment.setdefault("ROS_DOMAIN_ID", DOMAIN)
    with tempfile.TemporaryDirectory() as out, tempfile.TemporaryFile("w+") as errors:
        lift = subprocess.Popen(
            [sys.executable, "-m", "mb_contact", "demo", "lift", "--out", out, "--backend", "embedded"],
            env=environment, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
        for line in lift.stdout:
            if line.endswith(f"controller: {arguments.phase}\n"):
                break
        attack = subprocess.Popen(
            [sys.executable, HERE / "abuser.py", str(arguments.count), "--joint", JOINT, "--push", PUSH,
             "--rate", str(arguments.rate)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True,
        )  # fmt: skip
        if arguments.end:
            attack.wait()
            held = lift.poll() is None
            lift.send_signal(signal.SIGINT)
        rest, _ = lift.communicate()
        held = held if arguments.end else lift.returncode == 0
        if attack.poll() is None:
            print("the lift was over before the attack: fewer messages were sent than asked for")
            attack.terminate()
        sent, _ = attack.communicate()
        errors.seek(0)
        complaints = [line.rstrip() for line in errors if "malformed packet" not in line]
    print("\n".join(line for line in rest.splitlines() if not line.startswith("  ") or "controller:" in line))
    print("\n".join(complaints[-3:]))
    reports = [json.loads(line) for line in sent.splitlines() if line.startswith("{")]
    for report in reports:
        kinds, seconds = report["kinds"], report["seconds"]
        rate = report["count"] * kinds / seconds
        print(f"attack: {report['count']} messages of each of {kinds} kinds in {seconds:.1f} s, {rate:.0f} a second")
    print("held all the same" if held else "THE LIFT FAILED")
    return 0 if held and reports else 1


if __name__ == "__main__":
    sys.exit(main())
