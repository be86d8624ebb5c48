"""Archives of snapshots that are too large for one request's memory: sent to a follower, stored and
passed on by it, restored by the leader; and what becomes of those that do not arrive whole."""
import base64
import os
import socket
import threading
import unittest

import cluster
import harness
from harness import wait_until

MIB = 1 << 20


def uploads(server):
    folder = f"{server.dir}/data/uploads"
    return [os.path.join(folder, name) for name in os.listdir(folder)]


def peak_memory(server):
    """Of the process so far, in bytes."""
    with open(f"/proc/{server.process.pid}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))


class SnapshotTest(unittest.TestCase):
    def setUp(self):
        self.cluster = cluster.Cluster(3).start()
        self.addCleanup(self.cluster.destroy)
        self.servers = self.cluster.servers
        wait_until(lambda: self.put("first", "one") == 200, what="a variable")
        self.leader = self.cluster.leader()
        self.follower = next(s for s in self.servers if s is not self.leader)
        wait_until(lambda: self.value_of(self.follower, "first") == "one", what="the follower")

    def put(self, path, value):
        return self.cluster.leader().request("PUT", f"/v1/var/{path}", {"Items": {"k": value}}).status

    def value_of(self, server, path):
        found = server.try_get(f"/v1/var/{path}?stale=true")
        return found and found["Items"]["k"]

    def file(self, name):
        return os.path.join(self.cluster.root, name)

    def expect_no_uploads(self):
        for server in self.servers:
            wait_until(lambda s=server: uploads(s) == [], what=f"{server.name} without files")

    def fill(self, mib):
        """What is sealed cannot be compressed, so the archive becomes as large."""
        size = 45_000
        self.values = {f"large/{n}": base64.b64encode(os.urandom(size)).decode()
                       for n in range(mib * MIB // size + 1)}
        for path, value in self.values.items():
            self.assertEqual(200, self.put(path, value))

    def test_a_large_archive_is_restored_through_a_follower(self):
        self.fill(18)
        saved = self.file("saved.snap")
        self.assertEqual(0, self.follower.run("operator", "snapshot", "save", saved).returncode)
        self.assertGreater(os.path.getsize(saved), 17 * MIB)
        self.assertEqual(200, self.put("first", "changed"))
        self.assertEqual(200, self.put("later", "x"))

        with open(saved, "rb") as f:
            whole = f.read()
        broken = self.file("broken.snap")
        for content in (whole[:-1], whole[:len(whole) // 2]):
            with open(broken, "wb") as f:
                f.write(content)
            done = self.follower.run("operator", "snapshot", "restore", broken)
            self.assertEqual(1, done.returncode, done.stdout)
            self.assertIn("failed to restore from snapshot", done.stderr)
            self.assertEqual("changed", self.value_of(self.leader, "first"))
        self.expect_no_uploads()

        done = self.follower.run("operator", "snapshot", "restore", saved)
        self.assertEqual((0, "Snapshot Restored\n"), (done.returncode, done.stdout), done.stderr)
        for server in self.servers:
            wait_until(lambda s=server: self.value_of(s, "first") == "one", what=server.name)
            self.assertIsNone(server.try_get("/v1/var/later?stale=true"))
            for path, value in list(self.values.items())[::50]:
                self.assertEqual(value, self.value_of(server, path))
        self.expect_no_uploads()

    def test_memory_does_not_grow_with_an_archive(self):
        harness.skip_with_sanitizer(self, self.leader.process.pid)
        garbage = self.file("garbage.snap")
        with open(garbage, "wb") as f:
            for _ in range(200):
                f.write(os.urandom(MIB))
        before = [peak_memory(server) for server in (self.follower, self.leader)]
        done = self.follower.run("operator", "snapshot", "restore", garbage)
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn("failed to restore from snapshot", done.stderr)
        after = [peak_memory(server) for server in (self.follower, self.leader)]
        for was, now in zip(before, after):
            self.assertLess(now - was, 50 * MIB)
        self.assertEqual(self.leader, self.cluster.leader(), self.raft_lines())
        self.expect_no_uploads()

    def raft_lines(self):
        """What the servers' logs have of elections and stalls, for who reads why a leader changed."""
        return "\n".join(f"{server.name}: {line}" for server in self.servers for line in server.log().splitlines()
                         if " raft" in line)

    def begin_upload(self, size):
        upload = socket.create_connection((self.follower.host, self.follower.http))
        self.addCleanup(upload.close)
        upload.sendall(f"PUT /v1/operator/snapshot HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n"
                       .encode())
        return upload

    def test_an_upload_that_breaks_off_leaves_nothing(self):
        upload = self.begin_upload(50 * MIB)
        upload.sendall(bytes(5 * MIB))
        wait_until(lambda: [os.path.getsize(f) for f in uploads(self.follower)] == [5 * MIB],
                   what="the begin of the archive")
        self.assertEqual(0o600, os.stat(uploads(self.follower)[0]).st_mode & 0o777)
        upload.close()
        self.expect_no_uploads()
        self.assertEqual("one", self.value_of(self.leader, "first"))

    def test_an_agent_that_dies_while_it_passes_one_on_leaves_nothing(self):
        upload = self.begin_upload(300 * MIB)

        def send():
            try:
                for _ in range(300):
                    upload.sendall(bytes(MIB))
            except OSError:
                pass  # the follower was killed while it still read

        sender = threading.Thread(target=send)
        sender.start()
        wait_until(lambda: uploads(self.leader), timeout=60, interval=0.001,
                   what="the archive on its way to the leader")
        self.follower.kill9()
        sender.join()
        wait_until(lambda: uploads(self.leader) == [], what="the leader without the file")
        self.follower.start()
        wait_until(lambda: self.value_of(self.follower, "first") == "one", what="the follower")
        self.expect_no_uploads()
        self.assertEqual("one", self.value_of(self.leader, "first"))


if __name__ == "__main__":
    harness.main()
