# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The real rclpy behind the calls that the package uses, for a sourced ROS 2."""

import importlib
import inspect
import sys
from functools import cache

import numpy as np

from mb_contact.errors import CommunicationError
from mb_contact.ros.parameters import Description
from mb_contact.ros.qos import MOST, as_qos

try:
    import rclpy
    from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
    from rclpy.callback_groups import ReentrantCallbackGroup
    from rclpy.context import Context
    from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor
    from rclpy.node import Node
    from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
    from rclpy.qos_overriding_options import QoSOverridingOptions
    from rclpy.signals import SignalHandlerOptions
except ImportError as _error:
    raise CommunicationError(
        f"the rclpy backend needs a sourced ROS 2 ({_error}): source /opt/ros/<distro>/setup.bash, "
        "or use backend='embedded'"
    ) from None


@cache
def message_class(type_name):
    """Return rclpy's class of ``package/msg/Name`` (or srv).

    Raises
    ------
    CommunicationError
        The package is not installed, or has no such type.
    """
    parts = type_name.split("/")
    try:
        package, kind, name = parts
        return getattr(importlib.import_module(f"{package}.{kind}"), name)
    except (ValueError, ImportError, AttributeError):
        raise CommunicationError(
            f"no type '{type_name}' in this ROS 2 installation; install the package {parts[0]}"
        ) from None


def _type(value):
    return message_class(value) if isinstance(value, str) else value


def _profile(qos):
    qos = as_qos(qos)
    if isinstance(qos, QoSProfile):
        return qos
    return QoSProfile(
        depth=MOST if qos.keep_all else qos.depth,  # rmw would set no limit for KEEP_ALL
        reliability=ReliabilityPolicy.RELIABLE if qos.reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if qos.latched else DurabilityPolicy.VOLATILE,
    )


def _overridable():
    """Let ROS's ``qos_overrides`` parameters change a topic's quality of service."""
    kinds = (QoSPolicyKind.DEPTH, QoSPolicyKind.DURABILITY, QoSPolicyKind.HISTORY, QoSPolicyKind.RELIABILITY)
    return QoSOverridingOptions(kinds)


def _descriptor(about, value):
    """rclpy's descriptor of a Description."""
    descriptor = ParameterDescriptor(description=about.text, read_only=not about.live)
    descriptor.additional_constraints = about.constraints
    if about.low is not None and isinstance(value, float):
        high = sys.float_info.max if about.high is None else float(about.high)
        descriptor.floating_point_range = [FloatingPointRange(from_value=float(about.low), to_value=high)]
    return descriptor


def create_rclpy_node(name, namespace="", args=None):
    """Return an :class:`RclpyNode` in a context of its own.

    Raises
    ------
    CommunicationError
        Bad names or arguments, or the middleware cannot start.
    """
    context = Context()
    try:
        # no signal handlers of its own: the program decides what Ctrl-C means
        rclpy.init(args=list(args or ()), context=context, signal_handler_options=SignalHandlerOptions.NO)
        return RclpyNode(name, namespace, context)
    except CommunicationError:
        raise
    except Exception as error:
        if context.ok():
            rclpy.shutdown(context=context)
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise CommunicationError(f"rclpy cannot create the node '{name}': {first}") from None


class RclpyNode(Node):
    """A real rclpy node that also takes type names and :class:`~mb_contact.ros.QoS`, and spins itself."""

    backend = "rclpy"

    def __init__(self, name, namespace, context):
        super().__init__(name, namespace=namespace or None, context=context)
        self._executor_ = SingleThreadedExecutor(context=context)
        self._executor_.add_node(self)
        self._closed = False

    @property
    def _subscribed(self):
        return self.__dict__.setdefault("_subscribed_topics", set())

    @staticmethod
    def message_type(type_name):
        """Return the class of ``package/msg/Name``."""
        return message_class(type_name)

    def declare_parameter(self, name, value=None, descriptor=None, ignore_override=False):
        """Declare a parameter; ``descriptor`` is rclpy's or our Description, without one it is read only."""
        if descriptor is None and name != "use_sim_time":
            descriptor = ParameterDescriptor(read_only=True)
        if isinstance(descriptor, Description):
            descriptor = _descriptor(descriptor, value)
        return super().declare_parameter(name, value, descriptor or ParameterDescriptor(), ignore_override)

    def add_on_set_parameters_callback(self, callback):
        """Ask ``callback`` before parameters change; ours takes a dict and returns the reason against it, or ''."""

        def asked(parameters):
            answer = callback({parameter.name: parameter.value for parameter in parameters})
            return SetParametersResult(successful=not answer, reason=answer) if isinstance(answer, str) else answer

        # what rclpy registers itself (its time source) takes rclpy's own arguments
        own = callback.__module__.startswith("rclpy")
        super().add_on_set_parameters_callback(callback if own else asked)

    def resolve(self, name):
        """Return the absolute name of a topic."""
        return self.resolve_topic_name(name)

    def create_publisher(self, msg_type, topic, qos_profile, **more):
        """Return a publisher with ``prepare`` and ``tap``, or rclpy's own for rclpy's internal calls."""
        if isinstance(msg_type, str):
            more.setdefault("qos_overriding_options", _overridable())
        publisher = super().create_publisher(_type(msg_type), topic, _profile(qos_profile), **more)
        return RclpyPublisher(publisher, msg_type) if isinstance(msg_type, str) else publisher

    def create_subscription(self, msg_type, topic, callback, qos_profile, **more):
        """Subscribe; ``msg_type`` may be a type name."""
        if isinstance(msg_type, str):
            first = self.resolve(topic) not in self._subscribed
            self._subscribed.add(self.resolve(topic))
            if first:  # parameters of a second one would have the same names
                more.setdefault("qos_overriding_options", _overridable())
        return super().create_subscription(_type(msg_type), topic, callback, _profile(qos_profile), **more)

    def create_service(self, srv_type, srv_name, callback, **more):
        """Serve; ``srv_type`` may be a type name, ``callback`` a coroutine that lets the others work meanwhile."""
        if inspect.iscoroutinefunction(callback):
            more.setdefault("callback_group", ReentrantCallbackGroup())
        return super().create_service(_type(srv_type), srv_name, callback, **more)

    def create_client(self, srv_type, srv_name, **more):
        """Return a client; ``srv_type`` may be a type name."""
        return super().create_client(_type(srv_type), srv_name, **more)

    def spin_once(self, timeout_sec=None):
        """Wait for work at most ``timeout_sec`` seconds and do it."""
        try:
            self._executor_.spin_once(timeout_sec=timeout_sec)
        except (ExternalShutdownException, ShutdownException):
            pass

    def wake(self):
        """Make a waiting :meth:`spin_once` return."""
        if not self._closed:
            self._executor_.wake()

    def destroy_node(self):
        """Leave the graph and end the context."""
        if self._closed:
            return
        self._closed = True
        self._executor_.shutdown(timeout_sec=1.0)
        super().destroy_node()
        if self.context.ok():
            rclpy.shutdown(context=self.context)


class RclpyPublisher:
    """rclpy's publisher with the two extras of the embedded one: ``prepare`` and ``tap``."""

    def __init__(self, publisher, type_name):
        self._publisher = publisher
        self.type_name = type_name
        self.tap = None

    @property
    def topic_name(self):
        """Absolute topic name."""
        return self._publisher.topic_name

    def publish(self, message):
        """Send a message."""
        self._publisher.publish(message)
        if self.tap is not None:
            from rclpy.serialization import serialize_message

            self.tap(bytes(serialize_message(message)))

    def get_subscription_count(self):
        """Return how many subscriptions are matched."""
        return self._publisher.get_subscription_count()

    def prepare(self, message):
        """Return a message of this shape that is kept and filled in place."""
        return RclpyPrepared(self, message)


class RclpyPrepared:
    """A message object that is filled in place before each ``publish()``."""

    def __init__(self, publisher, message):
        self._publisher = publisher
        self._message = message
        self._places = {}

    def _place(self, path):
        if path not in self._places:
            *parents, last = path.split(".")
            target = self._message
            for part in parents:
                target = target[int(part)] if part.isdigit() else getattr(target, part)
            self._places[path] = (target, last)
        return self._places[path]

    def array(self, path):
        """Return a writable view of an array or sequence of numbers."""
        target, last = self._place(path)
        return np.frombuffer(getattr(target, last), dtype=getattr(target, last).typecode)

    def set(self, path, value):
        """Set a single number."""
        target, last = self._place(path)
        setattr(target, last, value)

    def stamp(self, path, nanoseconds):
        """Set a time stamp."""
        seconds, rest = divmod(nanoseconds, 1_000_000_000)
        self.set(f"{path}.sec", seconds)
        self.set(f"{path}.nanosec", rest)

    def publish(self):
        """Send it."""
        self._publisher.publish(self._message)
