"""
delay-packets.py <queue> <milliseconds>: holds the packets of a netfilter queue back, and lets them go in their order.

Says "ready" when the queue is its own. For kernels without netem.
"""

import collections
import select
import socket
import struct
import sys
import time

NETLINK_NETFILTER, QUEUES = 12, 3
PACKET, VERDICT, CONFIG = 0, 1, 2
BIND, COPY_METADATA, ACCEPT = 1, 1, 1
REQUEST = 1
# Attributes of the kernel's messages, and of ours.
PACKET_HEADER, VERDICT_HEADER, COMMAND, COPY_MODE = 1, 2, 1, 2

queue, delay_seconds = int(sys.argv[1]), int(sys.argv[2]) / 1000
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_NETFILTER)
netlink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
netlink.bind((0, 0))


def send(kind, attribute, value):
    padded = value + bytes(-len(value) % 4)
    body = struct.pack(">BBH", 0, 0, queue) + struct.pack("=HH", 4 + len(value), attribute) + padded
    netlink.send(struct.pack("=IHHII", 16 + len(body), QUEUES << 8 | kind, REQUEST, 0, 0) + body)


def packets_in(messages):
    """The ids of the packets that the kernel hands over."""
    while len(messages) >= 16:
        length, kind = struct.unpack_from("=IH", messages)
        at = 20
        while kind == QUEUES << 8 | PACKET and at < length:
            size, attribute = struct.unpack_from("=HH", messages, at)
            if attribute == PACKET_HEADER:
                yield struct.unpack_from(">I", messages, at + 4)[0]
            at += size + -size % 4
        messages = messages[length + -length % 4 :]


send(CONFIG, COMMAND, struct.pack(">BBH", BIND, 0, 0))
send(CONFIG, COPY_MODE, struct.pack(">IB", 0, COPY_METADATA))
print("ready", flush=True)
waiting = collections.deque()
while True:
    wait_seconds = max(0, waiting[0][0] - time.monotonic()) if waiting else None
    if select.select([netlink], [], [], wait_seconds)[0]:
        due = time.monotonic() + delay_seconds
        waiting.extend((due, packet) for packet in packets_in(netlink.recv(1 << 16)))
    while waiting and waiting[0][0] <= time.monotonic():
        send(VERDICT, VERDICT_HEADER, struct.pack(">II", ACCEPT, waiting.popleft()[1]))
