// Copyright 2026 The mb_contact authors
// SPDX-License-Identifier: Apache-2.0

// An independent ROS 2 subscriber on loopback (Foxglove's own RTPS and CDR code):
//   node subscriber.js DOMAIN COUNT TOPIC=package/msg/Name[:latched] ...
// prints one JSON line per decoded message, COUNT per topic, then ends.  Told to end before (SIGTERM) it says what it
// still lacks.
"use strict";

const path = require("path");
const { RosNode } = require("@foxglove/ros2");
const { UdpSocketNode } = require("@foxglove/ros2/nodejs");
const { Durability, HistoryKind, Reliability } = require("@foxglove/rtps");
const { MessageReader } = require("@foxglove/rosmsg2-serialization");
const { parse } = require("@foxglove/rosmsg");
const { ros2jazzy } = require("@foxglove/rosmsg-msgs-common");

// The library (1.6.0, Participant.sendChangesTo) fills a packet with its discovery data up to 1400 bytes and only then
// adds the heartbeat that ends it: how many data wait at that moment decides whether it still fits.  Its datagrams hold
// 1480 bytes behind their header; with these there is always room.
const INSIDE = path.dirname(require.resolve("@foxglove/rtps"));
const { SubMessageGroup } = require(path.join(INSIDE, "messaging", "SubMessageGroup.js"));
const PACKET = 1480;
const write = SubMessageGroup.prototype.writeSubmessage;
SubMessageGroup.prototype.writeSubmessage = function (submessage) {
  if (this.buffer.byteLength < PACKET) {
    const larger = new Uint8Array(PACKET);
    larger.set(new Uint8Array(this.buffer));
    this.buffer = larger.buffer;
    this.view = new DataView(this.buffer);
  }
  write.call(this, submessage);
};

const LOOPBACK = "127.0.0.1";
const INFINITE = { sec: 0x7fffffff, nsec: 0xffffffff };

// Of packages that the library does not bring along.
const MORE = {
  "ros_gz_interfaces/msg/Entity": "uint64 id\nstring name\nuint8 type",
  "ros_gz_interfaces/msg/JointWrench":
    "std_msgs/Header header\nstd_msgs/String body_1_name\nstd_msgs/UInt32 body_1_id\n" +
    "std_msgs/String body_2_name\nstd_msgs/UInt32 body_2_id\n" +
    "geometry_msgs/Wrench body_1_wrench\ngeometry_msgs/Wrench body_2_wrench",
  "ros_gz_interfaces/msg/Contact":
    "ros_gz_interfaces/Entity collision1\nros_gz_interfaces/Entity collision2\n" +
    "geometry_msgs/Vector3[] positions\ngeometry_msgs/Vector3[] normals\nfloat64[] depths\n" +
    "ros_gz_interfaces/JointWrench[] wrenches",
  "ros_gz_interfaces/msg/Contacts": "std_msgs/Header header\nros_gz_interfaces/Contact[] contacts",
};

// The definition of one type; names of nested types may lack their "msg".
function definitionOf(type) {
  const full = type.includes("/msg/") ? type : type.replace("/", "/msg/");
  if (MORE[full] != undefined) {
    const [{ definitions: fields }] = parse(MORE[full], { ros2: true, skipTypeFixup: true });
    return { definitions: fields };
  }
  return ros2jazzy[full] ?? ros2jazzy[full.replace("/msg/", "/")];
}

// The library's own factory joins and sends multicast on the default interface.
async function loopbackSocket(options) {
  const socket = await UdpSocketNode.Create(options);
  const bind = socket.bind.bind(socket);
  const join = socket.addMembership.bind(socket);
  socket.bind = async (where) => {
    await bind(where.port != undefined ? where : { ...where, address: LOOPBACK });
    await socket.setMulticastInterface(LOOPBACK);
    await socket.setMulticastLoopback(true);
  };
  socket.addMembership = async (group) => await join(group, LOOPBACK);
  return socket;
}

// Definitions of a type and of everything it contains, the type itself first.
function definitions(name) {
  const found = new Map();
  const visit = (type) => {
    const definition = definitionOf(type);
    if (definition == undefined) {
      throw new Error(`no definition of ${type}`);
    }
    if (!found.has(type)) {
      found.set(type, { ...definition, name: type });
      definition.definitions.filter((field) => field.isComplex === true).forEach((field) => visit(field.type));
    }
  };
  visit(name);
  return [...found.values()];
}

function plain(_key, value) {
  if (ArrayBuffer.isView(value)) {
    return Array.from(value, Number);
  }
  return typeof value === "bigint" ? Number(value) : value;
}

async function main() {
  const [domain, count, ...topics] = process.argv.slice(2);
  const node = new RosNode({
    name: "independent_peer",
    domainId: Number(domain),
    addresses: [LOOPBACK],
    udpSocketCreate: loopbackSocket,
  });
  const wanted = new Map();
  for (const text of topics) {
    const [topic, rest] = text.split("=");
    const [type, latched] = rest.split(":");
    const reader = new MessageReader(definitions(type));
    wanted.set(`rt${topic}`, { topic, type, latched, reader, left: Number(count) });
  }
  process.on("SIGTERM", () => {
    const lacking = [...wanted.values()].filter((entry) => entry.left > 0);
    process.stderr.write(`still lacks ${lacking.map((entry) => `${entry.left} of ${entry.topic}`).join(", ")}\n`);
    process.exit(1);
  });
  await node.start();
  const participant = node._participant; // its public subscribe never matches volatile writers
  participant.on("userData", (data) => {
    const entry = wanted.get(data.subscription.topicName);
    if (entry == undefined || entry.left === 0) {
      return;
    }
    entry.left -= 1;
    const message = entry.reader.readMessage(data.serializedData);
    process.stdout.write(JSON.stringify({ topic: entry.topic, message }, plain) + "\n");
    if ([...wanted.values()].every((other) => other.left === 0)) {
      process.exit(0);
    }
  });
  for (const [topicName, entry] of wanted) {
    participant.subscribe({
      topicName,
      typeName: entry.type.replace(/\/(\w+)$/, "/dds_/$1_").replaceAll("/", "::"),
      durability: entry.latched != undefined ? Durability.TransientLocal : Durability.Volatile,
      reliability: { kind: Reliability.Reliable, maxBlockingTime: INFINITE },
      history: { kind: HistoryKind.KeepLast, depth: 10 },
    });
  }
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
