#!/usr/bin/env python3
"""A plugin in Python: a background actor that counts the jobs of the cluster each ten seconds, as the
metric nomad.plugin.jobs, and logs when their number has changed. Its block has to say
api { allow = ["list-jobs"] }. It needs pycapnp (pip install pycapnp)
and the schemas that come with nomadctl; $NOMADCTL_SCHEMA, or the first argument, says where they are."""
import json
import os
import select
import socket
import struct
import sys
import time

import capnp

SCHEMA = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("NOMADCTL_SCHEMA", "/usr/local/share/nomadctl/schema")
capnp.remove_import_hook()
link = capnp.load(os.path.join(SCHEMA, "plugin_link.capnp"), imports=["/usr/include", "/usr/local/include"])


class Agent:
    """The socket that the agent has given us."""

    def __init__(self):
        self.socket, self.rest, self.last, self.waiting = socket.socket(fileno=3), b"", 0, {}

    def send(self, frame):
        data = frame.to_bytes()
        self.socket.sendall(struct.pack("<I", len(data)) + data)

    def ask(self, then, **members):
        self.last += 1
        self.waiting[self.last] = then
        self.send(link.Frame.new_message(number=self.last, **members))

    def frames(self, seconds):
        """What comes within so much time; None when the agent has hung up."""
        if not select.select([self.socket], [], [], max(0, seconds))[0]:
            return []
        data = self.socket.recv(65536)
        if not data:
            return None
        self.rest += data
        found = []
        while len(self.rest) >= 4 and len(self.rest) - 4 >= (size := struct.unpack("<I", self.rest[:4])[0]):
            with link.Frame.from_bytes(self.rest[4:4 + size]) as frame:
                found.append(frame.as_builder())
            self.rest = self.rest[4 + size:]
        return found


agent = Agent()
known = None
interval, due = 10, None


def counted(answer):
    global known
    if answer.which() != "apiAnswer" or answer.apiAnswer.status != 200:
        return
    number = len(json.loads(answer.apiAnswer.body))
    agent.send(link.Frame.new_message(metric={"name": "jobs", "value": number, "kind": "sample"}))
    if number != known:
        agent.send(link.Frame.new_message(log={"level": "info", "text": f"there are {number} jobs"}))
    known = number


agent.send(link.Frame.new_message(declaration={
    "linkVersion": 1, "name": "count", "version": "1.0.0", "sdk": "pycapnp", "actors": ["count"],
    "config": [{"name": "interval", "kind": "duration"}]}))
while (frames := agent.frames(60 if due is None else due - time.monotonic())) is not None:
    for frame in frames:
        kind = frame.which()
        if kind in ("done", "failed", "apiAnswer"):
            agent.waiting.pop(frame.number, lambda _: None)(frame)
        elif kind in ("configure", "startActors", "ping", "shutdown"):
            agent.send(link.Frame.new_message(number=frame.number, done=None))
            if kind == "configure":
                interval = json.loads(frame.configure.config).get("interval", 10 * 10**9) / 10**9
            if kind == "startActors":
                due = time.monotonic()
            if kind == "shutdown":
                sys.exit(0)
        elif frame.number:
            agent.send(link.Frame.new_message(number=frame.number, failed={"code": 1, "message": "unknown"}))
    if due is not None and time.monotonic() >= due:
        agent.ask(counted, request={"method": "GET", "path": "/v1/jobs?namespace=*"})
        due = time.monotonic() + interval
