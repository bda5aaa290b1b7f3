# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The node as its command starts it, which writes where its threads are when SIGUSR2 comes."""

import faulthandler
import runpy
import signal

faulthandler.register(signal.SIGUSR2)  # by its own handler in C: it writes even where no thread gets Python's lock
runpy.run_module("mb_contact.ros.main", run_name="__main__", alter_sys=True)
