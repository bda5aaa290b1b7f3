# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The exceptions of mb_contact: one tree, so that a caller can catch all of it at once."""

from __future__ import annotations


class MbContactError(Exception):
    """Base of every error raised by this package; its text names the place and the remedy."""


def one_line(message, most=400):
    """A message without line breaks and endless quotes: what a file holds may be a whole other file."""
    message = " ".join(message.split())
    return message if len(message) <= most else f"{message[: most - 60]} ... {message[-50:]}"


class InputError(MbContactError, ValueError):
    """An argument has the wrong shape, type or value."""


class ModelError(MbContactError):
    """A URDF cannot become a model; names the file, the line and the element."""


class SceneError(MbContactError):
    """A scene file is malformed; names the file, the line and the key."""


class CollisionError(MbContactError):
    """A collision geometry or engine cannot do what was asked."""


class DynamicsError(MbContactError):
    """A sweep met a hinge without inertia or a state that is not finite; names the joint."""


class SolverError(MbContactError):
    """A complementarity problem was not solved; carries the problem and the best result."""

    def __init__(self, message, problem=None, result=None):
        super().__init__(message)
        self.problem = problem
        self.result = result


class CommunicationError(MbContactError):
    """The ROS 2 side could not be set up or reached."""
