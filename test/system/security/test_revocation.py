"""A thousand streams and blocking queries of ten tokens wait; nine tokens lose their rights, each in
another way. Theirs end within five seconds (one, where there is nothing else to do), the tenth's go on."""
import datetime
import resource
import selectors
import socket
import time
import unittest

import harness
from guarded import GuardedAgent
from harness import wait_until

TOKENS = 10
EACH = 100  # requests of a token
RULES = """
namespace "default" {
  capabilities = ["list-jobs", "read-job", "read-logs", "read-fs"]
}
agent { policy = "read" }
"""
NOTHING = 'namespace "elsewhere" { policy = "read" }'
# Seconds, as docs/security.md promises.
BOUND = 5
# This is to end a run that hangs.
PATIENCE = 30
# Of the two tokens that expire: they are made when the others' requests wait, and theirs have to be open by then.
TTL = 30


class Waiting:
    """One request that waits for its answer, or for more of it."""

    def __init__(self, port, token, path, is_stream):
        self.token, self.path, self.is_stream = token, path, is_stream
        self.got = b""
        self.ended_at = None
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX-Nomad-Token: {token}\r\n\r\n".encode())
        self.socket.setblocking(False)

    def status(self):
        return int(self.got.split(b" ", 2)[1]) if self.got.startswith(b"HTTP/1.1 ") else None

    def read(self):
        """Takes what has come; whether it is over now."""
        try:
            more = self.socket.recv(1 << 16)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            more = b""
        self.got += more
        is_over = not more or self.got.endswith(b"0\r\n\r\n") or (not self.is_stream and self.status() is not None)
        if is_over and self.ended_at is None:
            self.ended_at = time.time()
        return is_over


class RevocationTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        cls.agent = GuardedAgent("limits {\n  http_max_conns_per_client = 2000\n}\n").start()

    @classmethod
    def tearDownClass(cls):
        cls.agent.destroy()

    def setUp(self):
        self.selector = selectors.DefaultSelector()
        self.waiting = []
        self.addCleanup(self.close)

    def close(self):
        for each in self.waiting:
            each.socket.close()
        self.selector.close()

    def tokens(self):
        """Accessors and secrets; the seventh's rights come by a role. The eighth and the ninth come later, for they expire."""
        for i in range(TOKENS):
            self.agent.make_policy(f"stream-{i}", RULES)
        self.role = self.agent.good("PUT", "/v1/acl/role", {"Name": "streams", "Policies": [{"Name": "stream-6"}]})["ID"]
        made = []
        for i in (*range(7), 9):
            rights = {"Roles": [{"ID": self.role}]} if i == 6 else {"Policies": [f"stream-{i}"]}
            made.append(self.agent.make_token(Name=f"t{i}", **rights))
        return made

    def paths(self, alloc, index):
        """A hundred ways to wait."""
        return ([("/v1/event/stream?topic=Job", True)] * 40
                + [(f"/v1/jobs?index={index}&wait=9m", False)] * 20
                + [(f"/v1/job/quiet?index={index}&wait=9m", False)] * 10
                + [("/v1/agent/monitor?log_level=error&plain=true", True)] * 15
                + [(f"/v1/client/fs/logs/{alloc}?task=task&type=stdout&follow=true&plain=true", True)] * 15)

    def pump(self, until, timeout=PATIENCE):
        """Reads whatever comes until `until()` holds; whether it does."""
        end = time.monotonic() + timeout
        while not until():
            if time.monotonic() > end:
                return False
            for key, _ in self.selector.select(0.1):
                if key.data.read():
                    self.selector.unregister(key.data.socket)
        return True

    def open_all(self, tokens, paths):
        for token in tokens:
            for path, is_stream in paths:
                each = Waiting(self.agent.port, token["SecretID"], path, is_stream)
                self.waiting.append(each)
                self.selector.register(each.socket, selectors.EVENT_READ, each)
        # A stream has begun when its head is there; of queries that wait the agent counts the requests.
        def have_begun():
            return all(each.status() == 200 for each in self.waiting if each.is_stream)
        self.assertTrue(self.pump(have_begun, 120), [(e.path, e.got[:200]) for e in self.waiting
                                                     if e.is_stream and e.status() != 200][:3])
        self.pump(lambda: False, 1)
        self.assertEqual([], [(e.path, e.got[:300]) for e in self.waiting if e.ended_at])

    def revoke(self, tokens):
        """Takes the rights of the first nine; when of each, in seconds of the calendar."""
        def delete(i):
            self.agent.good("DELETE", f"/v1/acl/token/{tokens[i]['AccessorID']}")
        ways = [delete, delete, delete,
                lambda i: self.agent.make_policy(f"stream-{i}", NOTHING),
                lambda i: self.agent.good("DELETE", f"/v1/acl/policy/stream-{i}"),
                lambda i: self.agent.good("PUT", f"/v1/acl/token/{tokens[i]['AccessorID']}",
                                          {"AccessorID": tokens[i]["AccessorID"], "Type": "client",
                                           "Policies": ["none-there"]}),
                lambda _: self.agent.good("PUT", f"/v1/acl/role/{self.role}",
                                          {"ID": self.role, "Name": "streams", "Policies": [{"Name": "little"}]})]
        return [(way(i), time.time())[1] for i, way in enumerate(ways)]

    def test_all_of_the_revoked_end_and_nothing_else(self):
        self.agent.register(harness.shell_job("quiet", "echo here; exec sleep 600", kind="batch"))
        alloc = self.agent.wait_for_allocs("quiet", "running")[0]["ID"]
        wait_until(lambda: self.agent.get(f"/v1/evaluations").json[-1]["Status"] == "complete", what="the evaluation")
        tokens = self.tokens()
        self.agent.make_policy("little", NOTHING)
        index = self.agent.get("/v1/jobs").index
        begun = time.time()
        self.open_all(tokens, self.paths(alloc, index))
        expiring = [self.agent.make_token(Name=f"t{i}", Policies=[f"stream-{i}"], ExpirationTTL=TTL * 10**9) for i in (7, 8)]
        tokens[7:7] = expiring
        self.open_all(expiring, self.paths(alloc, index))
        print(f"{len(self.waiting)} requests wait after {time.time() - begun:.1f} s", flush=True)

        since = self.revoke(tokens)
        for token in expiring:
            when = datetime.datetime.fromisoformat(token["ExpirationTime"].replace("Z", "")[:26] + "+00:00")
            since.append(when.timestamp())
        revoked = {token["SecretID"]: at for token, at in zip(tokens[:9], since)}
        names = {token["SecretID"]: token["Name"] for token in tokens}
        theirs = [each for each in self.waiting if each.token in revoked]
        others = [each for each in self.waiting if each.token not in revoked]
        self.assertEqual((9 * EACH, EACH), (len(theirs), len(others)))
        left = max(since) - time.time()
        self.pump(lambda: all(each.ended_at for each in theirs), max(left, 0) + PATIENCE)
        self.assertEqual([], [(names[e.token], e.path, e.got[-200:]) for e in theirs if not e.ended_at][:3])
        took = [max(e.ended_at - revoked[token["SecretID"]] for e in theirs if e.token == token["SecretID"])
                for token in tokens[:9]]
        print("the last of each token's ended after (s): " + ", ".join(f"{each:.2f}" for each in took), flush=True)
        self.assertLess(max(took), BOUND)
        self.assertEqual([], [(names[e.token], e.path, e.got[:600]) for e in theirs if not e.is_stream and e.status() != 403][:3])

        self.assertEqual([], [(e.path, e.got[-200:]) for e in others if e.ended_at])
        self.agent.register(harness.job("news"))
        def have_heard():
            return all(b'"news"' in e.got for e in others if e.path.startswith(("/v1/event", "/v1/jobs")))
        self.assertTrue(self.pump(have_heard))
        self.assertEqual({200}, {e.status() for e in others if e.path.startswith("/v1/jobs")})
        self.assertFalse([e.path for e in others if e.is_stream and e.ended_at])
        self.assertFalse([e.path for e in theirs if b'"news"' in e.got])


if __name__ == "__main__":
    harness.main()
