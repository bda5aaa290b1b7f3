# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The real rclpy behind the calls that the package uses, of a sourced ROS 2 or from PyPI."""

import contextlib
import importlib
import inspect
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.cdr import Decoder
from mb_contact.ros.embedded.parts import Throttle
from mb_contact.ros.embedded.prepared import Prepared
from mb_contact.ros.parameters import Option
from mb_contact.ros.qos import MOST, as_qos, policies

try:
    import rclpy
    from rcl_interfaces.msg import FloatingPointRange, ParameterDescriptor, SetParametersResult
    from rclpy.action import ActionServer, CancelResponse, GoalResponse
    from rclpy.callback_groups import ReentrantCallbackGroup
    from rclpy.context import Context
    from rclpy.duration import Duration
    from rclpy.node import Node
    from rclpy.parameter import Parameter
    from rclpy.qos import DurabilityPolicy, QoSPolicyKind, QoSProfile, ReliabilityPolicy
    from rclpy.qos_overriding_options import QoSOverridingOptions
    from rclpy.serialization import deserialize_message, serialize_message
    from rclpy.signals import SignalHandlerOptions

    from mb_contact.ros.rclpy_turns import Port, Turns
except ImportError as _error:
    raise CommunicationError(
        f"the rclpy backend needs ROS 2 ({_error}): source /opt/ros/<distro>/setup.bash, or pip install "
        "'mb_contact[ros]', or use backend='embedded'"
    ) from None

RESULT_SECONDS = 10  #: how long the result of an action's goal can be asked for; older releases of rclpy have 900
LINGER = 0.5  #: seconds for which a node that leaves waits for who has not acknowledged its last messages
NO_VENDOR = b"\0\0"  #: what identifiers of rtps.Participant begin with


@cache
def message_class(type_name: str) -> Any:
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
        made = "" if os.environ.get("AMENT_PREFIX_PATH") else " (python -m mb_contact.ros.message_packages makes some)"
        raise CommunicationError(
            f"no type '{type_name}' in this ROS 2 installation; install the package {parts[0]}{made}"
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


def _encoded(message):
    return bytes(serialize_message(message))


def _silent(role):
    """No callbacks for events of the middleware: each would be one more thing that the executor waits for."""
    try:
        from rclpy import event_handler as events
    except ImportError:  # Humble
        from rclpy import qos_event as events
    return getattr(events, f"{role}EventCallbacks")(use_default_callbacks=False)


def _descriptor(about, value):
    """rclpy's descriptor of a Option."""
    descriptor = ParameterDescriptor(description=about.told, read_only=not about.live)
    descriptor.additional_constraints = about.constraints
    if about.low is not None and isinstance(value, float):
        high = sys.float_info.max if about.high is None else float(about.high)
        descriptor.floating_point_range = [FloatingPointRange(from_value=float(about.low), to_value=high)]
    return descriptor


def create_rclpy_node(name: str, namespace: str = "", args: Sequence[str] | None = None) -> Any:
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

    def __init__(self, name: str, namespace: str, context: Any) -> None:
        self._log = None
        super().__init__(name, namespace=namespace or None, context=context)
        self._log, self._subscribed = RclpyLogger(super().get_logger()), set()
        self._turns, self._ports = Turns(self), []
        self.undecodable = 0  # messages that did not fit their type
        self._closed = False

    def get_logger(self) -> Any:
        """Return the logger; what is throttled does not reach rclpy's, which walks the stack first."""
        return self._log or super().get_logger()

    def announced_once(self) -> contextlib.AbstractContextManager[None]:
        """Nothing: the middleware announces each end as it is made."""
        return contextlib.nullcontext()

    def _overridable(self, topic, role):
        """Those of ROS's ``qos_overrides`` parameters that were given: the others would only fill the list."""
        prefix = f"qos_overrides.{self.resolve(topic)}.{role}"
        names = [name for name in policies(as_qos(1)) if f"{prefix}.{name}" in self._parameter_overrides]
        return QoSOverridingOptions([getattr(QoSPolicyKind, name.upper()) for name in names])

    @staticmethod
    def message_type(type_name: str) -> Any:
        """Return the class of ``package/msg/Name``."""
        return message_class(type_name)

    def declare_parameter(
        self, name: str, value: Any = None, descriptor: Any = None, ignore_override: bool = False
    ) -> Any:
        """Declare a parameter; ``descriptor`` is rclpy's or our Option, without one it is read only."""
        if descriptor is None and name != "use_sim_time":
            descriptor = ParameterDescriptor(read_only=True)
        if isinstance(descriptor, Option):
            descriptor = _descriptor(descriptor, value)
        if isinstance(value, float) and name in self._parameter_overrides:
            self._parameter_overrides[name] = _as_double(self._parameter_overrides[name])
        return super().declare_parameter(name, value, descriptor or ParameterDescriptor(), ignore_override)

    def undeclared_parameters(self) -> list[str]:
        """Names of parameters that the command line gives and nobody has declared."""
        return [name for name in self._parameter_overrides if not self.has_parameter(name)]

    def add_on_set_parameters_callback(self, callback: Callable[..., Any]) -> None:
        """Ask ``callback`` before parameters change; ours takes a dict and returns the reason against it, or ''."""

        def asked(parameters):
            answer = callback({parameter.name: parameter.value for parameter in parameters})
            return SetParametersResult(successful=not answer, reason=answer) if isinstance(answer, str) else answer

        # what rclpy registers itself (its time source) takes rclpy's own arguments
        own = callback.__module__.startswith("rclpy")
        super().add_on_set_parameters_callback(callback if own else asked)

    def set_parameters_atomically(self, parameter_list: Any) -> Any:
        """Change parameters together; an integer may stand for a double."""
        doubles = {
            p.name for p in parameter_list
            if self.has_parameter(p.name) and self.get_parameter(p.name).type_ == Parameter.Type.DOUBLE
        }  # fmt: skip
        return super().set_parameters_atomically([_as_double(p) if p.name in doubles else p for p in parameter_list])

    def put_parameters(self, values: Any) -> None:
        """Change parameters (dict)."""
        self.set_parameters([Parameter(name, value=value) for name, value in values.items()])

    def resolve(self, name: str) -> Any:
        """Return the absolute name of a topic."""
        return self.resolve_topic_name(name)

    def create_publisher(self, msg_type: Any, topic: str, qos_profile: Any, **more: Any) -> Any:
        """Return a publisher with ``prepare`` and ``tap``, or rclpy's own for rclpy's internal calls."""
        if isinstance(msg_type, str):
            more.setdefault("qos_overriding_options", self._overridable(topic, "publisher"))
            more.setdefault("event_callbacks", _silent("Publisher"))
        publisher = super().create_publisher(_type(msg_type), topic, _profile(qos_profile), **more)
        return RclpyPublisher(publisher, msg_type) if isinstance(msg_type, str) else publisher

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Callable[..., Any], qos_profile: Any, **more: Any
    ) -> Any:
        """Subscribe; ``msg_type`` may be a type name."""
        if isinstance(msg_type, str):
            first = self.resolve(topic) not in self._subscribed
            self._subscribed.add(self.resolve(topic))
            if first:  # parameters of a second one would have the same names
                more.setdefault("qos_overriding_options", self._overridable(topic, "subscription"))
            more = {"event_callbacks": _silent("Subscription"), "callback_group": self._turns.group} | more
        subscription = super().create_subscription(_type(msg_type), topic, callback, _profile(qos_profile), **more)
        if isinstance(msg_type, str):
            subscription.tap = None  # called with the CDR bytes of every message, for recording
            kind = _type(msg_type)  # with a decoder it is looked at
            subscription.decode = Decoder(msg_type, lambda data: deserialize_message(data, kind), _encoded)
        return subscription

    def create_port(self) -> Any:
        """Return a :class:`Port`."""
        self._ports.append(Port(self))
        return self._ports[-1]

    def destroy_publisher(self, publisher: Any) -> Any:
        """Take a publisher off the graph."""
        return super().destroy_publisher(publisher.of_rclpy if isinstance(publisher, RclpyPublisher) else publisher)

    def create_service(self, srv_type: Any, srv_name: str, callback: Callable[..., Any], **more: Any) -> Any:
        """Serve; ``srv_type`` may be a type name, ``callback`` a coroutine that lets the others work meanwhile."""
        if inspect.iscoroutinefunction(callback):
            more.setdefault("callback_group", ReentrantCallbackGroup())
            callback = self._counted(callback)
        return super().create_service(_type(srv_type), srv_name, callback, **more)

    def create_action_server(
        self, action_type: str, name: str, execute: Callable[..., Any], wanted: Callable[[Any], bool] | None = None
    ) -> Any:
        """Serve an action: ``execute(goal)`` is a coroutine, ``wanted(goal message)`` says which goals are accepted."""

        def decide(request):
            return GoalResponse.ACCEPT if wanted is None or wanted(request) else GoalResponse.REJECT

        return ActionServer(
            self, _type(action_type), name, self._counted(execute), goal_callback=decide,
            cancel_callback=lambda _: CancelResponse.ACCEPT, callback_group=ReentrantCallbackGroup(),
            result_timeout=RESULT_SECONDS,
        )  # fmt: skip

    def _counted(self, callback):
        """The coroutine ``callback``; while it runs, turns do not wait."""

        async def counted(*arguments):
            self._turns.coroutines += 1
            try:
                return await callback(*arguments)
            finally:
                self._turns.coroutines -= 1

        return counted

    def create_client(self, srv_type: Any, srv_name: str, **more: Any) -> Any:
        """Return a client; ``srv_type`` may be a type name."""
        return super().create_client(_type(srv_type), srv_name, **more)

    def foreign_clients(self) -> list[str]:
        """Services that clients of another DDS vendor call in vain: an endpoint's identifier begins with its vendor."""
        own = {bytes(info.endpoint_gid[:2]) for info in self.get_publishers_info_by_topic("/parameter_events")
               if info.node_name == self.get_name() and info.node_namespace == self.get_namespace()}  # fmt: skip
        found = []
        for name in (self.resolve_service_name(service.srv_name) for service in self.services):
            clients = self.get_publishers_info_by_topic(f"rq{name}Request", no_mangle=True)
            vendors = [bytes(client.endpoint_gid[:2]) for client in clients]
            # a client of the embedded backend has one end on Cyclone DDS and one that speaks as Fast DDS does
            if sum(vendor not in own for vendor in vendors) > 2 * vendors.count(NO_VENDOR):
                found.append(name)
        return found

    def publishers_of(self, topic: str) -> tuple[int, int]:
        """How many publish on a topic (its absolute name), and how many of them are best effort."""
        found = [info.qos_profile.reliability for info in self.get_publishers_info_by_topic(topic)]
        return len(found), found.count(ReliabilityPolicy.BEST_EFFORT)

    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Wait for work at most ``timeout_sec`` seconds and do it."""
        if not self._closed and self.context.ok():
            self._turns.turn(timeout_sec)

    def wake(self) -> None:
        """Make a waiting :meth:`spin_once` return."""
        if not self._closed:
            self._turns.wake()

    def destroy_node(self) -> None:
        """Leave the graph and end the context."""
        if self._closed:
            return
        self._closed = True
        self._linger()
        self._turns.shutdown()
        for port in self._ports:
            port.close()
        super().destroy_node()
        if self.context.ok():
            rclpy.shutdown(context=self.context)

    def _linger(self):
        """Wait until what was sent last has arrived, but not long: readers that were killed never say so."""
        end = time.monotonic() + LINGER
        for publisher in list(self.publishers) if self.context.ok() else ():
            with contextlib.suppress(RuntimeError):  # of rcl: another thread has taken it down meanwhile
                publisher.wait_for_all_acked(Duration(seconds=max(0.0, end - time.monotonic())))


class RclpyPublisher:
    """rclpy's publisher with the two extras of the embedded one: ``prepare`` and ``tap``."""

    def __init__(self, publisher: Any, type_name: str) -> None:
        self._publisher = publisher
        self.type_name = type_name
        self.tap = None
        self.look_at, self.heard = 0.0, False  # as of the embedded one

    @property
    def of_rclpy(self) -> Any:
        """rclpy's own publisher."""
        return self._publisher

    @property
    def topic_name(self) -> Any:
        """Absolute topic name."""
        return self._publisher.topic_name

    def publish(self, message: Any) -> None:
        """Send a message."""
        self._publisher.publish(message)
        if self.tap is not None and isinstance(message, bytes):
            self.tap(message)
        elif self.tap is not None:
            self.tap(_encoded(message))

    def get_subscription_count(self) -> Any:
        """Return how many subscriptions are matched."""
        return self._publisher.get_subscription_count()

    def prepare(self, message: Any) -> Any:
        """Return a message of this shape that is kept and filled in place."""
        return RclpyPrepared(self, message, _encoded(message))


class RclpyPrepared(Prepared):
    """A message encoded once; its numbers are patched in place before each ``publish()``."""

    def publish(self) -> None:
        """Send it."""
        self._publisher.publish(bytes(memoryview(self._template.data)[: self._template.size]))


class RclpyLogger:
    """rclpy's logger; ``throttle_duration_sec`` counts per call site, before rclpy is asked."""

    def __init__(self, logger: Any) -> None:
        self._logger, self._throttle = logger, Throttle()

    def __getattr__(self, name):
        return getattr(self._logger, name)

    def _passes(self, throttle):
        return throttle is None or self._throttle.passes(sys._getframe(2), throttle)

    def info(self, text: str, throttle_duration_sec: float | None = None, **more: Any) -> Any:
        """Log progress."""
        return self._passes(throttle_duration_sec) and self._logger.info(text, **more)

    def warning(self, text: str, throttle_duration_sec: float | None = None, **more: Any) -> Any:
        """Log something the user should know."""
        return self._passes(throttle_duration_sec) and self._logger.warning(text, **more)

    def error(self, text: str, throttle_duration_sec: float | None = None, **more: Any) -> Any:
        """Log a failure."""
        return self._passes(throttle_duration_sec) and self._logger.error(text, **more)


def _as_double(parameter):
    """The parameter itself, or as a double where it is an integer."""
    if parameter.type_ != Parameter.Type.INTEGER:
        return parameter
    return Parameter(parameter.name, Parameter.Type.DOUBLE, float(parameter.value))
