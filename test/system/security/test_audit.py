"""The audit log: what it has of calls, what verifies it, and what becomes of calls on a full disk."""
import glob
import json
import os
import struct
import subprocess
import unittest

import harness
from guarded import GuardedAgent
from harness import wait_until
from websocket import CLOSE, WebSocket

AUDIT = """
audit {{
  enabled = true
  sink "main" {{
    type               = "file"
    delivery_guarantee = "enforced"
    format             = "json"
    path               = "{path}"
    rotate_bytes       = {rotate}
  }}
}}
limits {{
  rpc_rate {{
    write_rate  = 0.01
    write_burst = 50
  }}
}}
"""


class AuditTest(unittest.TestCase):
    def start(self, rotate=0, small_disk=False):
        self.agent = GuardedAgent()
        self.addCleanup(self.destroy)
        self.folder = os.path.join(self.agent.dir, "audit")
        if small_disk:
            self.mount(self.folder)
        self.path = os.path.join(self.folder, "audit.log")
        with open(self.agent.config_path, "a") as f:
            f.write(AUDIT.format(path=self.path, rotate=rotate))
        self.agent.start(wait=False)
        self.token, self.accessor = self.agent.token, self.agent.accessor

    def destroy(self):
        self.agent.stop()
        harness.clear(self.agent.dir)
        harness.living.discard(self.agent.dir)

    def mount(self, directory):
        os.makedirs(directory)
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", directory],
                               capture_output=True, check=False)
        if mount.returncode != 0:
            self.skipTest("no disk of its own can be mounted")
        self.addCleanup(subprocess.run, ["umount", "-l", directory], check=False)

    def ask(self, method, path, body=None, token=None):
        headers = {"X-Nomad-Token": token or self.token}
        return self.agent.request(method, path, body, headers=headers)

    def files(self):
        return sorted(glob.glob(self.folder + "/*.log"))

    def lines(self):
        lines = []
        for path in self.files():
            with open(path) as f:
                lines += [json.loads(line) for line in f]
        return sorted(lines, key=lambda line: line["seq"])

    def verify(self, *more):
        return self.agent.run("operator", "audit", "verify", *more, *self.files())

    def test_lines_survive_rotation_and_crashes_and_tell_no_secret(self):
        self.start(rotate=4000)
        self.assertEqual(200, self.ask("PUT", "/v1/var/app/db", {"Items": {"password": "canary-1"}}).status)
        self.assertEqual(403, self.ask("GET", "/v1/jobs", token="canary-2-is-no-token").status)
        self.agent.kill9()
        with open(self.path, "a") as f:
            f.write('{"created_at":"torn')
        self.agent.start(wait=False)
        wait_until(lambda: self.try_status() == 200, what="the agent")

        self.assertGreater(len(self.files()), 1)
        done = self.verify()
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        text = "".join(open(path).read() for path in self.files())
        for secret in ("canary", self.token):
            self.assertNotIn(secret, text)
        self.assertIn('"torn_bytes":19', text)
        put = [line["payload"] for line in self.lines() if line["payload"].get("route") == "PUT /v1/var/*"]
        self.assertEqual(["OperationReceived", "OperationComplete"], [p["stage"] for p in put])
        self.assertEqual(self.accessor, put[1]["auth"]["accessor_id"])
        self.assertEqual({"allowed": True, "capability": "variables-write", "policies": [],
                          "namespace": "default", "path": "app/db"}, put[1]["verdict"])
        refused = [line["payload"] for line in self.lines() if line["payload"].get("route") == "GET /v1/jobs"]
        self.assertEqual({"status_code": 403, "error": "Permission denied"}, refused[1]["response"])

    def try_status(self):
        try:
            return self.ask("GET", "/v1/jobs").status
        except OSError:
            return None

    def test_what_was_done_to_a_log_is_found(self):
        self.start()
        for _ in range(3):
            self.ask("GET", "/v1/nodes")
        newest = self.verify().stdout.split("Newest hash: ")[1].strip()
        self.agent.stop()
        with open(self.path) as f:
            lines = f.readlines()

        def verified(changed, *more):
            with open(self.path, "w") as f:
                f.writelines(changed)
            return self.verify(*more)

        self.assertEqual(0, verified(lines, f"-known-hash={newest}").returncode)
        done = verified(lines[:-2], f"-known-hash={newest}")
        self.assertEqual(1, done.returncode)
        self.assertIn("No line has the hash", done.stdout)
        done = verified(lines[:2] + lines[3:])
        self.assertEqual(1, done.returncode)
        self.assertIn("audit.log:3: is number 4: the line before it is missing", done.stdout)
        done = verified([lines[0], lines[1].replace("GET", "PUT").replace("PUT /v1", "GET /v1"), *lines[2:]])
        self.assertIn("audit.log:2: is number 2 and was changed", done.stdout)

    def test_nothing_is_done_on_a_full_disk(self):
        self.start(small_disk=True)
        with open(os.path.join(self.folder, "filler"), "wb", buffering=0) as f:
            try:
                while f.write(b"x" * 64):
                    pass
            except OSError:
                pass

        # Until not even the shorter of the two lines fits into what the last page has left.
        answers = [self.ask("PUT", f"/v1/var/v{i}", {"Items": {"k": "v"}}) for i in range(20)]
        self.assertEqual((500, "event not written"), (answers[-1].status, answers[-1].body))

        os.remove(os.path.join(self.folder, "filler"))
        self.assertEqual(404, self.ask("GET", "/v1/var/v19").status)
        self.assertEqual(0, self.verify().returncode)
        self.assertTrue(any(line["payload"]["stage"] == "EventsLost" for line in self.lines()))

    def test_who_writes_too_often_is_told_when_to_come_back_and_all_are_counted(self):
        self.start()
        answers = [self.ask("PUT", f"/v1/var/v{i}", {"Items": {"k": "v"}}) for i in range(51)]
        self.assertEqual({200}, {a.status for a in answers[:49]})
        self.assertEqual(429, answers[-1].status)
        self.assertGreater(int(answers[-1].headers["Retry-After"]), 0)
        self.assertEqual(200, self.ask("GET", "/v1/jobs").status)
        counters = self.ask("GET", "/v1/metrics").json["Counters"]
        labels = {(c["Name"], c["Labels"].get("identity")) for c in counters}
        self.assertIn(("nomad.nomad.rpc.variables.write", f"token:{self.accessor}"), labels)


    def test_a_refused_websocket_is_told_as_refused(self):
        self.start()
        self.agent.make_policy("jobs", 'namespace "default" { policy = "read" }')
        token = self.agent.make_token(Policies=["jobs"])["SecretID"]
        for topic, code in (("Node", 1008), ("Job", None)):
            stream = WebSocket(self.agent.port, f"/v1/event/stream?topic={topic}", headers={"X-Nomad-Token": token})
            if code:
                kind, payload = stream.receive()
                self.assertEqual((CLOSE, code), (kind, struct.unpack(">H", payload[:2])[0]))
            stream.close()

        def told(stage):
            return [line["payload"] for line in self.lines() if "/v1/event/stream" in str(line["payload"].get("request"))
                    and line["payload"]["stage"] == stage]
        done = wait_until(lambda: len(told("OperationComplete")) == 2 and told("OperationComplete"), what="both ends")
        self.assertEqual([403, 101], [payload["response"]["status_code"] for payload in done])
        self.assertEqual(1, len(told("SessionStarted")))


if __name__ == "__main__":
    harness.main()
