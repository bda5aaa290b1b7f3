# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The exceptions of mb_contact: one tree, so that a caller can catch all of it at once."""


class MbContactError(Exception):
    """Base of every error raised by this package; its text names the place and the remedy.

    Examples
    --------
    >>> try:
    ...     mb.load_urdf("<robot/>")
    ... except mb.MbContactError as error:
    ...     print(type(error).__name__)
    ModelError
    """


def one_line(message: str, most: int = 400) -> str:
    """A message without line breaks and endless quotes: what a file holds may be a whole other file."""
    message = " ".join(message.split())
    return message if len(message) <= most else f"{message[: most - 60]} ... {message[-50:]}"


class InputError(MbContactError, ValueError):
    """An argument has the wrong shape, type or value.

    Examples
    --------
    >>> mb.solve_lcp([[1.0, 0.0]], [1.0])
    Traceback (most recent call last):
    mb_contact.errors.InputError: M must be square, got 1 x 2
    """


class ModelError(MbContactError):
    """A URDF cannot become a model; names the file, the line and the element.

    Examples
    --------
    >>> mb.load_urdf("no_such_robot.urdf")
    Traceback (most recent call last):
    mb_contact.errors.ModelError: no URDF: 'no_such_robot.urdf' does not exist
    """


class SceneError(MbContactError):
    """A scene file is malformed; names the file, the line and the key.

    Examples
    --------
    >>> mb.build_world(mb.Scene(time_step=-1.0))
    Traceback (most recent call last):
    mb_contact.errors.SceneError: scene: time_step: must be greater than 0, got -1
    """


class CollisionError(MbContactError):
    """A collision geometry or engine cannot do what was asked.

    Examples
    --------
    >>> world = mb.build_world(mb.load_scene("package://mb_contact/config/box_on_table.yaml"))
    >>> mb.simulation.initial_penetrations(world, engine="none")
    Traceback (most recent call last):
    mb_contact.errors.CollisionError: collision engine 'none' is unknown; available: coal, fcl
    """


class DynamicsError(MbContactError):
    """A sweep met a hinge without inertia or a state that is not finite; names the joint.

    Examples
    --------
    >>> robot = mb.load_urdf(mb.pendulum(1).urdf())
    >>> try:
    ...     mb.energy(robot, [0.0], [1e200])
    ... except mb.DynamicsError as error:
    ...     print(str(error).split(":")[0])
    the result is not finite although all arguments are
    """


class SolverError(MbContactError):
    """A complementarity problem was not solved; carries the problem and the best result.

    Parameters
    ----------
    message : str
    problem : object
        What was to be solved.
    result : object
        The best that was found.

    Examples
    --------
    >>> error = mb.SolverError("not solved", problem=(np.eye(1), [1.0]), result=[0.0])
    >>> error.result
    [0.0]
    """

    def __init__(self, message: str, problem: object = None, result: object = None) -> None:
        super().__init__(message)
        self.problem = problem
        self.result = result


class CommunicationError(MbContactError):
    """The ROS 2 side could not be set up or reached.

    Examples
    --------
    >>> issubclass(mb.CommunicationError, mb.MbContactError)
    True
    """
