"""Locks of variables in a cluster of three, `var lock`, and root keys that a key in a file wraps."""
import base64
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import cluster
import harness
from harness import wait_until


def lock(server, operation, body=None, path="app"):
    return server.request("PUT", f"/v1/var/{path}?lock-{operation}", body or {})


def held(lock_id):
    return {"Lock": {"ID": lock_id}}


class LocksTest(unittest.TestCase):
    def setUp(self):
        self.cluster = cluster.Cluster(3).start()
        self.addCleanup(self.cluster.destroy)
        wait_until(lambda: self.put("first", "one").status == 200, what="a variable")
        for server in self.cluster.servers:  # or one that leads before it has its keys could seal nothing
            wait_until(lambda s=server: s.try_get("/v1/var/first?stale=true"), timeout=40,
                       what=f"{server.name} has the root key")

    def put(self, path, value, lock_id=None):
        body = {"Items": {"k": value}}
        if lock_id:
            body["Lock"] = {"ID": lock_id}
        return self.cluster.leader().request("PUT", f"/v1/var/{path}", body)

    def test_a_lock_survives_the_leader(self):
        servers = self.cluster.servers
        taken = lock(self.cluster.leader(), "acquire", {"Items": {"k": "v"}, "Lock": {"TTL": "30s"}})
        self.assertEqual(200, taken.status, taken)
        lock_id = taken.json["Lock"]["ID"]
        for server in servers:  # a follower passes the call on
            self.assertEqual(200, lock(server, "renew", held(lock_id)).status)
            self.assertEqual(409, lock(server, "acquire").status)
        lost = self.cluster.leader()
        lost.kill9()
        leader = self.cluster.leader()
        refused = lock(leader, "acquire")
        self.assertEqual(409, refused.status, refused)
        self.assertEqual(409, self.put("app", "other").status)
        self.assertEqual(409, leader.request("DELETE", "/v1/var/app").status)
        self.assertEqual(200, lock(leader, "renew", held(lock_id)).status)
        self.assertEqual(200, self.put("app", "mine", lock_id).status)
        self.assertEqual(200, lock(leader, "release", held(lock_id)).status)
        self.assertEqual("mine", leader.request("GET", "/v1/var/app").json["Items"]["k"])
        self.assertEqual(200, lock(leader, "acquire").status)
        lost.start()

    def test_a_lock_that_is_not_renewed_is_lifted(self):
        began = time.monotonic()
        first = lock(self.cluster.leader(), "acquire", {"Lock": {"TTL": "10s", "LockDelay": "1s"}})
        self.assertEqual(200, first.status, first)
        wait_until(lambda: lock(self.cluster.leader(), "acquire").status == 200, timeout=120,
                   what="the end of the first lock")
        self.assertGreater(time.monotonic() - began, 20)
        renewed = lock(self.cluster.leader(), "renew", held(first.json["Lock"]["ID"]))
        self.assertEqual(409, renewed.status, renewed)

    def run_locked(self, *words):
        leader = self.cluster.leader()
        return subprocess.Popen(
            [harness.BINARY, "var", "lock", "-address", f"http://{leader.host}:{leader.http}", *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_a_command_runs_while_it_holds_the_lock(self):
        running = self.run_locked("-shell=false", "app", "sh", "-c", "echo begun; read x < /dev/null; sleep 1000")
        self.assertEqual("begun\n", running.stdout.readline())
        leader = self.cluster.leader()
        self.assertEqual(409, lock(leader, "acquire").status)
        for words in (("put", "-force", "app", "k=v"), ("purge", "app")):
            refused = leader.run("var", *words)
            self.assertEqual(1, refused.returncode)
            self.assertIn("Variable is locked", refused.stderr)
        early = self.run_locked("-early-return", "app", "echo never")
        self.assertEqual(("", ""), early.communicate(timeout=60))
        self.assertEqual(0, early.returncode)
        running.send_signal(signal.SIGTERM)  # the child gets it
        out, err = running.communicate(timeout=60)
        self.assertEqual(1, running.returncode)
        self.assertEqual("Lock error: error executing protected function: signal: Terminated\n", err)
        done = self.run_locked("app", "echo", "one", "two")
        self.assertEqual(("one two\n", ""), done.communicate(timeout=60))
        self.assertEqual(0, done.returncode)
        self.assertEqual(200, lock(self.cluster.leader(), "acquire").status)

    def test_a_command_ends_with_its_lock(self):
        running = self.run_locked("-ttl", "10s", "app", "echo begun; trap '' TERM; sleep 1000 & wait; wait")
        self.assertEqual("begun\n", running.stdout.readline())
        for server in self.cluster.servers:
            server.kill9()
        out, err = running.communicate(timeout=120)
        self.assertEqual(1, running.returncode)
        self.assertIn("Lock error: ", err)
        for server in self.cluster.servers:
            server.start()


class WrappingKeyTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="nomadctl-keys-")
        self.addCleanup(shutil.rmtree, self.folder)

    def key(self, name):
        path = os.path.join(self.folder, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
            f.write(base64.b64encode(secrets.token_bytes(32)).decode() + "\n")
        return path

    @staticmethod
    def block(path, older=(), active="true"):
        olds = ", ".join(f'"{one}"' for one in older)
        return f'keyring "file" {{\n  active = {active}\n  path = "{path}"\n  older = [{olds}]\n}}\n'

    def with_variable(self, blocks):
        """The leader of a new cluster of one server."""
        started = cluster.Cluster(1, blocks=blocks).start()
        self.addCleanup(started.destroy)
        leader = started.leader()
        wait_until(lambda: leader.request("PUT", "/v1/var/app", {"Items": {"k": "v"}}).status == 200,
                   what="a variable")
        return leader

    def read(self, server):
        return server.request("GET", "/v1/var/app")

    def test_a_snapshot_opens_where_the_key_is(self):
        key = self.key("key")
        server = self.with_variable(self.block(key))
        saved = os.path.join(self.folder, "saved.snap")
        self.assertEqual(0, server.run("operator", "snapshot", "save", saved).returncode)
        for blocks, status in ((self.block(key), 200), (self.block(self.key("other")), 500), ("", 500)):
            other = self.with_variable(blocks)
            restored = other.run("operator", "snapshot", "restore", saved)
            self.assertEqual(0, restored.returncode, restored.stderr)
            wait_until(lambda s=other, n=status: self.read(s).status == n, what=f"status {status}")

    def test_the_key_is_changed_one_server_after_the_other(self):
        old, new = self.key("old"), self.key("new")
        server = self.with_variable(self.block(old))

        def restart(blocks, wraps_anew=False):
            before = self.changed_at(server)
            self.assertGreater(before, 0)
            server.stop(signal.SIGTERM)
            self.configure(server, blocks)
            server.start()
            wait_until(lambda: server.try_get("/v1/var/app") is not None, what="the variable")
            if wraps_anew:
                wait_until(lambda: self.changed_at(server) > before, what="new wraps of the root keys")

        restart(self.block(new, [old]), wraps_anew=True)
        restart(self.block(new))
        restart(self.block(new, active="false"), wraps_anew=True)
        restart("")

    @staticmethod
    def changed_at(server):
        """The least index at which a root key's row has become what it is: wraps are part of it."""
        return min((key["ModifyIndex"] for key in server.try_get("/v1/operator/keyring/keys") or []), default=0)

    @staticmethod
    def configure(server, blocks):
        with open(server.config_path) as f:
            text = f.read()
        with open(server.config_path, "w") as f:
            f.write(text[:text.find("keyring ")] + blocks)

    def test_a_key_that_cannot_be_used_is_said_at_the_start(self):
        path = self.key("key")
        os.chmod(path, 0o644)
        for block, text in (
                (self.block(path), f'keyring "file": {path}: a wrapping key must be readable by its owner only'),
                (self.block(path + ".none"), path + ".none"),
                ('keyring "awskms" {\n  active = true\n}\n', 'keyring "awskms": no such provider')):
            with open(os.path.join(self.folder, "agent.hcl"), "w") as f:
                f.write(f'data_dir = "{self.folder}/data"\nserver {{\n  enabled = true\n  bootstrap_expect = 1\n}}\n' + block)
            done = subprocess.run([harness.BINARY, "agent", "-config", f.name], capture_output=True, text=True, timeout=60)
            self.assertNotEqual(0, done.returncode)
            self.assertIn(text, done.stdout + done.stderr)


if __name__ == "__main__":
    harness.main()
