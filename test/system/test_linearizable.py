"""Variables of three real servers are linearizable while leaders are killed, stopped and, where the
machine lets us, cut off the network: twelve clients write, compare and set, delete, read and list a
few of them through all servers."""
import http.client
import random
import signal
import subprocess
import threading
import time
import unittest

import cluster
import harness
import separated
from harness import wait_until
from history import ABSENT, ANY, Operation, find_disorder, find_violation

KEYS = [f"register/{n}" for n in range(4)]
CLIENTS = 12
SECONDS = 30
STEP = 0.01  # between a client's operations
NOT_ASKED = object()


def op(kind, called, answered=None, **more):
    return Operation("k", kind, called, answered, **more)


class CheckerTest(unittest.TestCase):
    """The judge itself."""

    def test_what_one_variable_says_is_fine(self):
        self.assertIsNone(find_violation([
            op("get", 0, 1), op("put", 2, 3, value="a"), op("get", 4, 5, seen="a"),
            op("put", 6, 9, value="b"), op("get", 7, 8, seen="b"), op("get", 7, 8, seen="a"),
            op("put", 10, 11, value="c", expected="a", conflict=True, seen="b"),
            op("put", 12, 13, value="d", expected="b"), op("delete", 14, 15, expected="d"),
            op("put", 16, 17, value="e", expected=ABSENT), op("delete", 18, 19), op("get", 20, 21)]))

    def test_what_nobody_was_answered_about_may_have_happened_or_not(self):
        lost = op("put", 1, value="a")
        self.assertIsNone(find_violation([lost, op("get", 2, 3), op("get", 4, 5, seen="a")]))
        self.assertIsNone(find_violation([lost, op("get", 2, 3), op("get", 4, 5)]))
        self.assertIsNotNone(find_violation([lost, op("get", 2, 3, seen="a"), op("get", 4, 5)]))
        self.assertIsNone(find_violation([lost, op("delete", 1), op("get", 2, 3, seen="a"),
                                          op("get", 4, 5)]))

    def test_lies_are_found(self):
        written = op("put", 0, 1, value="a")
        for name, history in {
            "a lost write": [written, op("get", 2, 3)],
            "a stale read": [written, op("put", 2, 3, value="b"), op("get", 4, 5, seen="a")],
            "a read that goes back": [written, op("put", 2, 9, value="b"),
                                      op("get", 3, 4, seen="b"), op("get", 5, 6, seen="a")],
            "a value from nowhere": [written, op("get", 2, 3, seen="x")],
            "two winners": [written, op("put", 2, 9, value="b", expected="a"),
                            op("put", 2, 9, value="c", expected="a")],
            "a conflict without one": [written, op("put", 2, 3, value="b", expected="a",
                                                   conflict=True, seen="a")],
            "a deleted variable": [written, op("delete", 2, 3), op("get", 4, 5, seen="a")],
        }.items():
            self.assertIsNotNone(find_violation(history), name)

    def test_indexes_go_up_with_time(self):
        first = op("put", 0, 1, value="a", index=7)
        self.assertIsNone(find_disorder([first, op("delete", 2, 3, index=8)]))
        self.assertIsNotNone(find_disorder([first, op("delete", 2, 3, index=6)]))
        self.assertIsNone(find_disorder([first, op("delete", 0.5, 3, index=6)]))


class Traffic:
    """What one client does, and what it was told."""

    def __init__(self, number, servers, end):
        self.random = random.Random(number)
        self.number, self.servers, self.end = number, servers, end
        self.history = []
        self.lists = []  # (called, answered, {key: index})
        self.known = {key: (0, ABSENT) for key in KEYS}  # the newest version that it heard of
        self.written = 0
        self.unexpected = []

    def run(self):
        while time.monotonic() < self.end:
            kind = self.random.choices(("get", "put", "cas", "delete", "remove", "list"),
                                       (30, 20, 30, 5, 5, 10))[0]
            self.act(kind, self.random.choice(KEYS))
            time.sleep(STEP)

    def act(self, kind, key):
        index, expected = self.known[key]
        if kind == "list":
            self.list()
            return
        operation = Operation(key, {"cas": "put", "remove": "delete"}.get(kind, kind), 0)
        if kind in ("cas", "remove"):
            operation.expected = expected
        body = None
        if operation.kind == "put":
            self.written += 1
            operation.value = f"{self.number}.{self.written}"
            body = {"Items": {"v": operation.value}}
        query = f"?cas={index}" if kind in ("cas", "remove") else ""
        operation.called = time.monotonic()
        reply = self.ask(operation.kind.upper(), f"/v1/var/{key}{query}", body)
        answered = time.monotonic()
        if reply is NOT_ASKED:
            return
        if reply is None:
            if operation.kind != "get":
                self.history.append(operation)
            return
        operation.answered = answered
        self.take(operation, reply)
        self.history.append(operation)

    def take(self, operation, reply):
        key = operation.key
        if reply.status == 404:
            self.known[key] = (0, ABSENT)
        elif reply.status == 204:
            operation.index = reply.index
            self.known[key] = (0, ABSENT)
        else:
            stored = reply.json
            exists = stored["ModifyIndex"] != 0
            value = stored["Items"]["v"] if exists else ABSENT
            self.known[key] = (stored["ModifyIndex"], value)
            operation.conflict = reply.status == 409
            operation.index = stored["ModifyIndex"]
            if operation.kind == "get" or operation.conflict:
                operation.seen = value

    def list(self):
        called = time.monotonic()
        reply = self.ask("GET", "/v1/vars?prefix=register/", None)
        if reply not in (None, NOT_ASKED):
            self.lists.append((called, time.monotonic(),
                               {stub["Path"]: stub["ModifyIndex"] for stub in reply.json}))

    def ask(self, method, path, body):
        """The reply; None when there is none to go by, NOT_ASKED when surely nobody served it."""
        try:
            reply = self.random.choice(self.servers).request(method, path, body, timeout=4)
        except ConnectionRefusedError:
            return NOT_ASKED
        except (OSError, http.client.HTTPException):
            return None
        if reply.status >= 500:
            return None
        if reply.status not in {"GET": (200, 404), "PUT": (200, 409), "DELETE": (204, 409)}[method]:
            self.unexpected.append(f"{method} {path}: {reply}")
            return None
        return reply


def reads_of(lists, operations):
    """What lists have shown, as reads of each variable."""
    values = {(o.key, o.index): o.seen if o.kind == "get" or o.conflict else o.value
              for o in operations if o.answered is not None and o.kind != "delete" and o.index}
    for called, answered, shown in lists:
        for key in KEYS:
            index = shown.get(key, 0)
            if index == 0 or (key, index) in values:  # else a write whose writer never heard
                yield Operation(key, "get", called, answered, index=index,
                                seen=values[key, index] if index else ABSENT)


class LinearizableTest(unittest.TestCase):
    def setUp(self):
        self.kinds = ["kill", "stop", "partition"]
        try:
            self.cluster = separated.SeparatedCluster(3)
        except (OSError, subprocess.CalledProcessError) as why:
            print(f"no partitions: {why}")
            self.kinds.remove("partition")
            self.cluster = cluster.Cluster(3)
        self.addCleanup(self.cluster.destroy)
        self.cluster.start()
        wait_until(lambda: self.cluster.leader().request(
            "PUT", "/v1/var/first", {"Items": {"v": "x"}}).status == 200, what="a variable")

    def strike(self, leader, kind):
        """One fault, and its end."""
        if kind == "kill":
            leader.kill9()
            time.sleep(1.5)
            leader.start()
        elif kind == "stop":
            leader.process.send_signal(signal.SIGSTOP)
            time.sleep(3)
            leader.process.send_signal(signal.SIGCONT)
        else:
            self.cluster.connect(leader, False)
            time.sleep(3)
            self.cluster.connect(leader, True)

    def trouble(self, end):
        """The leader's troubles in turn; how many of each."""
        faults = {kind: 0 for kind in self.kinds}
        while time.monotonic() < end - 4:
            leader = self.cluster.leader_now()
            if leader is None:
                time.sleep(0.05)
                continue
            kind = self.kinds[sum(faults.values()) % len(self.kinds)]
            self.strike(leader, kind)
            faults[kind] += 1
            time.sleep(1.5)
        return faults

    def test_histories_under_faults_are_linearizable(self):
        end = time.monotonic() + SECONDS
        clients = [Traffic(number, self.cluster.servers, end) for number in range(CLIENTS)]
        threads = [threading.Thread(target=client.run) for client in clients]
        for thread in threads:
            thread.start()
        faults = self.trouble(end)
        for thread in threads:
            thread.join()
        operations = [o for client in clients for o in client.history]
        lists = [seen for client in clients for seen in client.lists]
        unanswered = sum(o.answered is None for o in operations)
        conflicts = sum(o.conflict for o in operations)
        print(f"{len(operations)} operations ({unanswered} unanswered writes, {conflicts} conflicts), "
              f"{len(lists)} lists, {faults}")
        self.assertEqual([], [u for client in clients for u in client.unexpected][:5])
        self.assertIsNone(find_disorder(operations))
        self.assertIsNone(find_violation(operations + list(reads_of(lists, operations))))
        # A run that met nothing has shown nothing.
        self.assertGreater(min(faults.values()), 1)
        self.assertGreater(unanswered, 0)
        self.assertGreater(conflicts, 10)
        self.assertGreater(len(lists), 10)
        self.assertGreater(len(operations), 500)


if __name__ == "__main__":
    harness.main()
