# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A ROS 2 node without ROS 2: rclpy's calls on Eclipse Cyclone DDS or Eclipse Zenoh from PyPI wheels.

Any ROS 2 machine in reach sees an ordinary node.  Messages move as encoded bytes;
waiting is event-driven, after a moment of looking (``waiting.py``); a wire (``wires.py``) is discovery and transport.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.actions import ActionServer
from mb_contact.ros.embedded.introspection import RosOut, TypeDescriptions
from mb_contact.ros.embedded.messages import interface_class, stamp_ns, type_name_of
from mb_contact.ros.embedded.parameters import Parameters, ParameterServices
from mb_contact.ros.embedded.parts import Clock, Logger, Timer
from mb_contact.ros.embedded.services import Client, Service
from mb_contact.ros.embedded.topics import Publisher, Subscription
from mb_contact.ros.embedded.waiting import Waiter
from mb_contact.ros.embedded.wires import link
from mb_contact.ros.names import NodeNames, parse_ros_arguments
from mb_contact.ros.parameters import Option
from mb_contact.ros.qos import QoS, as_qos, overridden, policies

_SLICE = 0.1  #: longest uninterrupted wait [s]: Python runs signal handlers only in between
_GREETING = 1.0  #: seconds between two looks for readers that latched topics have to be repeated for


class EmbeddedNode:
    """The calls of ``rclpy.node.Node`` that the package uses, and ``spin_once``.

    Parameters
    ----------
    name : str
    namespace : str
    args : sequence of str, optional
        Command line with ``--ros-args`` (-r, -p, --params-file).
    environment : mapping, optional
        Instead of ``os.environ`` (ROS_DOMAIN_ID and so on).
    wire : str
        auto, dds or zenoh: see :func:`~mb_contact.ros.embedded.wires.chosen_wire`.

    Raises
    ------
    CommunicationError
        Bad names or arguments, or the domain cannot be joined.
    """

    backend = "embedded"

    def __init__(
        self,
        name: str,
        namespace: str = "",
        args: Sequence[str] | None = None,
        environment: Mapping[str, str] | None = None,
        wire: str = "auto",
    ) -> None:
        arguments = parse_ros_arguments(args)
        self._names = NodeNames(name, namespace, arguments)
        self._parameters = Parameters(self._names, arguments)
        self._logger = Logger(self._names.full.strip("/").replace("/", "."))
        self._clock = Clock()
        self._publishers, self._timers = [], []
        self._retired = []  #: subscriptions to be closed by the thread that spins
        self._ready = deque()
        self._ports = []
        self._coroutines = []  #: of services, with what takes their answers
        self._closed = False
        self.undecodable = 0  #: messages that did not fit their type
        self._clock_source = None
        self._greeted = 0.0
        self.link: Any = link(self, wire, environment)
        self.context, self.wire = self.link.context, self.link.wire
        self._waiter = Waiter(self.link.waitset())
        self._silent = True  # announced once, when all is there
        self._rosout = RosOut(self, self._logger)
        self._parameter_services = ParameterServices(self, self._parameters)
        about = Option("serve ~/get_type_description")
        if self.declare_parameter("start_type_description_service", True, about).value:
            self._types = TypeDescriptions(self)
        about = Option("take the time of get_clock() from /clock", live=True)
        self._follow_clock(self.declare_parameter("use_sim_time", False, about).value)
        self.add_on_set_parameters_callback(self._on_use_sim_time)
        self._silent = False
        self.link.announce()

    # --- names, parameters, clock, log ------------------------------------------------------
    def get_name(self) -> Any:
        """Return the node's name after remapping."""
        return self._names.name

    def get_namespace(self) -> Any:
        """Return the namespace, '/' at least."""
        return self._names.namespace

    def get_fully_qualified_name(self) -> Any:
        """Return namespace and name."""
        return self._names.full

    def resolve(self, name: str) -> Any:
        """Return the absolute name of a topic or service."""
        return self._names.resolve(name)

    def declare_parameter(self, name: str, value: Any = None, descriptor: Any = None) -> Any:
        """Declare a parameter; overrides from the command line win.  Returns it (``.value``).

        ``descriptor`` is a :class:`~mb_contact.ros.parameters.Option`; without one it is read only.
        """
        return self._parameters.declare(name, value, descriptor)

    def undeclared_parameters(self) -> list[str]:
        """Names of parameters that the command line gives and nobody has declared."""
        return self._parameters.undeclared()

    def add_on_set_parameters_callback(self, callback: Callable[..., Any]) -> None:
        """Ask ``callback(dict)`` before parameters change; it returns the reason against it, or ''."""
        self._parameters.on_set(callback)

    def set_parameters(self, values: Any) -> Any:
        """Change parameters (dict) together; returns why not, or ''."""
        return self._parameters.set(values)

    put_parameters = set_parameters  #: as the rclpy backend has it

    def _on_use_sim_time(self, values):
        if "use_sim_time" in values:
            self._follow_clock(values["use_sim_time"])
        return ""

    def _follow_clock(self, follow):
        self._clock.follow = follow
        if follow and self._clock_source is None:
            self._clock_source = self.create_subscription(
                "rosgraph_msgs/msg/Clock", "/clock", self._on_clock, QoS(1, reliable=False)
            )

    def _on_clock(self, message):
        self._clock.simulated = stamp_ns(message.clock)

    def get_parameter(self, name: str) -> Any:
        """Return a declared parameter (``.value``)."""
        return self._parameters.get(name)

    def get_clock(self) -> Any:
        """Return the node's clock: wall time, or with ``use_sim_time`` that of /clock; timers go by it too."""
        return self._clock

    def get_logger(self) -> Any:
        """Return the logger (standard error in ROS's format, and /rosout)."""
        return self._logger

    @staticmethod
    def message_type(type_name: str) -> Any:
        """Return the class of ``package/msg/Name``, or what stands for a service or an action."""
        return interface_class(type_name)

    # --- entities ---------------------------------------------------------------------------
    def create_publisher(self, msg_type: Any, topic: str, qos_profile: Any, *, overridable: bool = True) -> Any:
        """Return a :class:`Publisher`; ``msg_type`` is a class or ``package/msg/Name``.

        ``overridable``: ROS's ``qos_overrides.TOPIC.publisher.*`` parameters may change its quality of service.
        """
        topic = self.resolve(topic)
        qos = self._qos(topic, "publisher", as_qos(qos_profile), overridable)
        publisher = Publisher(self, type_name_of(msg_type), topic, qos)
        self._publishers.append(publisher)
        self._announce()
        return publisher

    def _qos(self, topic, kind, qos, overridable):
        """The quality of service of one end of a topic after the command line's overrides."""
        if not overridable:
            return qos
        prefix = f"qos_overrides.{topic}.{kind}"
        values = {}
        for policy, default in policies(qos).items():
            name = f"{prefix}.{policy}"
            value = self._parameters.override(name)
            if value is None:
                continue  # a parameter that nobody has given would only hide the others in a list
            values[policy] = value
            if self._parameters.find(name) is None:
                about = Option(f"quality of service: {policy} of the {kind} of {topic}")
                self._parameters.declare(name, default, about)
        return overridden(qos, values, prefix)

    @contextmanager
    def announced_once(self) -> Iterator[None]:
        """Announce what is made within at its end: an announcement names all ends of the node."""
        before, self._silent = self._silent, True
        try:
            yield
        finally:
            self._silent = before
            self._announce()

    def _announce(self):
        if not self._silent:
            self.link.announce()

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Callable[..., Any], qos_profile: Any, *, raw: bool = False
    ) -> Any:
        """Return a :class:`Subscription`; ``raw`` hands over the CDR bytes."""
        return self._add(self.subscription(msg_type, topic, callback, qos_profile, raw))

    def subscription(
        self, msg_type: Any, topic: str, callback: Callable[..., Any], qos_profile: Any, raw: bool = False
    ) -> Any:
        """Return a :class:`Subscription` for which nobody waits yet."""
        type_name, topic = type_name_of(msg_type), self.resolve(topic)
        qos = self._qos(topic, "subscription", as_qos(qos_profile), topic != "/clock")
        return Subscription(self, type_name, topic, callback, qos, raw)

    def create_port(self) -> Any:
        """Return a :class:`Port`."""
        self._ports.append(Port(self))
        return self._ports[-1]

    def create_service(self, srv_type: Any, srv_name: str, callback: Callable[..., Any]) -> Any:
        """Return a :class:`Service`; ``callback(request, response) -> response``, or a coroutine that gives it."""
        return self._add(Service(self, type_name_of(srv_type), srv_name, callback))

    def hand_over(self, source: Any, data: bytes, sender: Any) -> None:
        """Have a source's sample handled by the thread that spins, from any thread."""
        self._ready.append((0, 0, source, data, sender))
        self.wake()

    def create_action_server(
        self, action_type: str, name: str, execute: Callable[..., Any], wanted: Callable[[Any], bool] | None = None
    ) -> Any:
        """Return an :class:`ActionServer`."""
        return ActionServer(self, action_type, name, execute, wanted)

    def create_client(self, srv_type: Any, srv_name: str) -> Any:
        """Return a :class:`Client`."""
        return self._add(Client(self, type_name_of(srv_type), srv_name))

    def foreign_clients(self) -> list[str]:
        """Services that clients of another DDS vendor call in vain."""
        return [s.srv_name for s in self._waiter.sources if isinstance(s, Service) and s.end.waits_in_vain()]

    def publishers_of(self, topic: str) -> tuple[int, int]:
        """How many publish on a topic (its absolute name), and how many of them are best effort."""
        return self.link.publishers_of(topic)

    def create_timer(self, timer_period_sec: float, callback: Callable[..., Any]) -> Any:
        """Call ``callback()`` every so many seconds of the node's clock while the node is spun."""
        timer = Timer(timer_period_sec, callback, self._clock)
        self._timers.append(timer)
        self.wake()
        return timer

    def _add(self, source):
        self._waiter.attach(source)
        self._announce()
        self.wake()
        return source

    def destroy_publisher(self, publisher: Any) -> None:
        """Take a publisher off the graph; nobody may use it any more."""
        self._publishers = [other for other in self._publishers if other is not publisher]
        self.link.close(publisher.end)
        self._announce()

    def destroy_subscription(self, subscription: Any) -> None:
        """Unsubscribe, from any thread; done when the node is spun next."""
        self._retired.append(subscription)
        self.wake()

    def _retire(self):
        if not self._retired:
            return
        with self.announced_once():
            while self._retired:
                source = self._retired.pop(0)
                self._ready = deque(item for item in self._ready if item[2] is not source)
                self._waiter.detach(source)
                self.link.close(source.end)

    # --- execution --------------------------------------------------------------------------
    def spin_once(self, timeout_sec: float | None = None) -> None:
        """Wait for work at most ``timeout_sec`` seconds (None: until :meth:`wake`) and do all of it.

        Messages that are ready together are handed over in the order in which they were
        written, across topics: what a publisher sends first arrives first.
        """
        deadline = None if timeout_sec is None else time.monotonic() + timeout_sec
        self._retire()
        if time.monotonic() > self._greeted + _GREETING:
            self._greeted = time.monotonic()
            for publisher in list(self._publishers):
                publisher.greet()
        if self._coroutines:  # they are not kept waiting
            self._ready.extend(self._waiter.samples(0.0)[0])
        while not self._ready and not self._closed and not self._coroutines:
            if self._fire_timers():
                return
            remaining = _SLICE if deadline is None else min(_SLICE, deadline - time.monotonic())
            if self._timers:
                remaining = min(remaining, min(timer.seconds() for timer in self._timers))
            samples, woken = self._waiter.samples(remaining)
            self._ready.extend(samples)
            if woken or (deadline is not None and time.monotonic() >= deadline):
                break
        while self._ready:
            _, _, source, data, handle = self._ready.popleft()
            self.dispatch(source.handle, data, handle)
        self._resume()
        self._fire_timers()

    def await_later(self, coroutine: Any, done: Callable[[Any], Any]) -> None:
        """Go on with a coroutine whenever the node is spun; its value goes to ``done``."""
        self._coroutines.append((coroutine, done))

    def _resume(self):
        for _ in range(len(self._coroutines)):
            coroutine, done = self._coroutines.pop(0)
            try:
                coroutine.send(None)
            except StopIteration as end:
                self.dispatch(done, end.value)
            else:
                self._coroutines.append((coroutine, done))

    def wake(self) -> None:
        """Make a waiting :meth:`spin_once` return, from any thread."""
        if not self._closed:
            self._waiter.wake()

    def dispatch(self, handle: Callable[..., Any], *arguments: Any) -> None:
        """Call back; a message that does not fit its type is counted and told."""
        try:
            handle(*arguments)
        except CommunicationError as error:
            self.undecodable += 1
            self._logger.warning(str(error), throttle_duration_sec=1.0)

    def _fire_timers(self):
        fired = False
        for timer in self._timers:
            if timer.due():
                timer.callback()
                fired = True
        return fired

    def destroy_node(self) -> None:
        """Leave the graph; peers see it at once."""
        if self._closed:
            return
        self._closed = True
        self._waiter.wake()
        for waiter in (self._waiter, *self._ports):
            waiter.close()
        self._ports, self._waiter.sources, self._publishers, self._timers = [], [], [], []
        self.link.leave()


class Port(Waiter):
    """Subscriptions that one thread waits for by itself: from the network to it without the thread that spins the node.

    Parameters
    ----------
    node : EmbeddedNode
    """

    def __init__(self, node: EmbeddedNode) -> None:
        super().__init__(node.link.waitset())
        self._node = node

    def get_logger(self) -> Any:
        """Return the node's logger."""
        return self._node.get_logger()

    def create_subscription(self, msg_type: Any, topic: str, callback: Callable[..., Any], qos_profile: Any) -> Any:
        """As of the node; the callback is called by :meth:`spin_once`."""
        source = self._node.subscription(msg_type, topic, callback, qos_profile)
        self.attach(source)
        return source

    def spin_once(self, timeout_sec: float) -> None:
        """Wait for messages at most ``timeout_sec`` seconds, or until :meth:`wake`, and hand them over."""
        for _, _, source, data, handle in self.samples(timeout_sec)[0]:
            self._node.dispatch(source.handle, data, handle)
