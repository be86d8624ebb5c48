"""Streams for browsers: events and logs as websockets, by the same filters and rights, and their ends."""
import json
import struct
import unittest

import cluster
import harness
import websocket
from harness import shell_job, wait_until
from security.guarded import GuardedAgent
from websocket import CLOSE, PING, PONG, TEXT, WebSocket


class Stream(WebSocket):
    """Yields the JSON of lines; after its end `code` and `reason` say how it ended."""

    code, reason = None, ""

    def lines(self):
        while True:
            try:
                kind, payload = self.receive()
            except websocket.Ended:
                return
            if kind == PING:
                self.send(payload, first=PONG)
            if kind == CLOSE:
                self.code, self.reason = struct.unpack(">H", payload[:2])[0], payload[2:].decode()
                return
            if kind == TEXT:
                for line in payload.splitlines():
                    yield json.loads(line)

    def end(self):
        """How it ends, whatever comes before."""
        for _ in self.lines():
            pass
        return self.code, self.reason


def first_event(stream, **wanted):
    for batch in stream.lines():
        for event in batch.get("Events", []):
            if all(event[name] == value for name, value in wanted.items()):
                return event
    raise AssertionError(f"the stream ended: {stream.code} {stream.reason}")


class GuardedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = GuardedAgent().start()
        cls.agent.make_policy("reader", 'namespace "default" { capabilities = ["read-job", "read-logs"] }')

    @classmethod
    def tearDownClass(cls):
        cls.agent.destroy()

    def open(self, path, token=None, **more):
        headers = {"X-Nomad-Token": token} if token else {}
        stream = Stream(self.agent.port, path, headers, **more)
        self.addCleanup(stream.close)
        return stream

    def with_first_message(self, path, token):
        stream = self.open(path + ("&" if "?" in path else "?") + "ws_handshake=true")
        stream.send({"version": 1, "auth_token": token})
        return stream

    def test_events_by_their_filters(self):
        for opened in (self.open, self.with_first_message):
            stream = opened("/v1/event/stream?topic=Job:seen", self.agent.token)
            self.assertEqual(101, stream.status)
            self.assertEqual({}, next(stream.lines()))
            self.agent.register(harness.job("unseen"))
            self.agent.register(harness.job("seen"))
            event = first_event(stream, Type="JobRegistered")
            self.assertEqual(("Job", "seen"), (event["Topic"], event["Key"]))
            self.agent.good("DELETE", "/v1/job/seen?purge=true")

    def test_who_may_follow(self):
        reader = self.agent.make_token(Policies=["reader"])["SecretID"]
        for opened in (self.open, self.with_first_message):
            self.assertEqual((1008, "Permission denied"), opened("/v1/event/stream?topic=Node", reader).end())
            allowed = opened("/v1/event/stream?topic=Job", reader)
            self.assertEqual({}, next(allowed.lines()))
        self.assertEqual((1008, "Permission denied"), self.open("/v1/event/stream?topic=Job").end())
        unknown = self.with_first_message("/v1/event/stream?topic=Job", "b" * 8 + "-0000-0000-0000-" + "0" * 12)
        self.assertEqual(1008, unknown.end()[0])

    def test_a_token_that_ends_ends_its_streams(self):
        self.agent.register(shell_job("quiet", "echo here; exec sleep 1000"))
        self.agent.wait_for_allocs("quiet", "running")
        reader = self.agent.make_token(Policies=["reader"])
        streams = [self.open(path, reader["SecretID"])
                   for path in ("/v1/event/stream?topic=Job", "/v1/job/quiet/logs?follow=true")]
        self.assertEqual({}, next(streams[0].lines()))
        self.assertEqual("here", next(streams[1].lines())["Line"])
        self.agent.good("DELETE", f"/v1/acl/token/{reader['AccessorID']}")
        for stream in streams:
            last = list(stream.lines())[-1]
            self.assertEqual((1008, {"Error": stream.reason}), (stream.code, last))

    def test_logs(self):
        self.agent.register(shell_job("lines", "seq 1 5000", kind="batch"))
        self.agent.wait_for_allocs("lines", "complete")
        stream = self.open("/v1/job/lines/logs", self.agent.token)
        lines = [frame["Line"] for frame in stream.lines() if "Line" in frame]
        self.assertEqual([str(n) for n in range(1, 5001)], lines)
        self.assertEqual((1000, ""), (stream.code, stream.reason))
        wrong = self.open("/v1/job/lines/logs?grep=(", self.agent.token).end()
        self.assertEqual(1008, wrong[0])
        self.assertTrue(wrong[1].startswith("grep: "), wrong)

    def test_pings_are_answered_and_messages_passed_over(self):
        stream = self.open("/v1/event/stream?topic=Job:none", self.agent.token)
        self.assertEqual({}, next(stream.lines()))
        stream.send({"what": "ever"})
        stream.send(b"hello", first=PING)
        self.assertEqual((PONG, b"hello"), stream.receive())
        stream.send(struct.pack(">H", 1000), first=CLOSE)
        self.assertEqual(1000, stream.end()[0])

    def test_what_is_no_handshake_is_refused(self):
        for headers, status in (({"Sec-WebSocket-Version": "8"}, 400), ({"Sec-WebSocket-Key": "short"}, 400),
                                ({"Origin": "http://elsewhere.example"}, 403)):
            stream = Stream(self.agent.port, "/v1/event/stream", {"X-Nomad-Token": self.agent.token, **headers})
            self.assertEqual(status, stream.status)
            stream.close()
        broken = self.open("/v1/event/stream?topic=Job", self.agent.token)
        self.assertEqual({}, next(broken.lines()))
        broken.send(b"not masked", masked=False)
        self.assertEqual(1002, broken.end()[0])


class ByClientTest(cluster.Case):
    def test_an_agent_without_a_server_passes_them_on(self):
        client = self.cluster.clients[0]
        events = Stream(client.http, "/v1/event/stream?topic=Job")
        self.addCleanup(events.close)
        self.assertEqual(101, events.status)
        self.assertEqual({}, next(events.lines()))
        self.put(shell_job("told", "echo here; exec sleep 1000"))
        self.assertEqual("told", first_event(events, Type="JobRegistered")["Key"])
        self.wait_for("told", "running", 1)
        logs = Stream(client.http, "/v1/job/told/logs?follow=true")
        self.addCleanup(logs.close)
        self.assertEqual("here", next(frame["Line"] for frame in logs.lines() if "Line" in frame))


if __name__ == "__main__":
    harness.main()
