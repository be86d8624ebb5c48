"""Variables and the keyring in a cluster of three: every server can open what any leader sealed,
nothing in the clear is left anywhere, and saved states come back or are refused whole."""
import glob
import hashlib
import io
import json
import os
import signal
import tarfile
import unittest

import cluster
import harness
from harness import wait_until

SECRET = "tulip-and-quince"


def put(server, path, value, cas=None):
    query = "" if cas is None else f"?cas={cas}"
    return server.request("PUT", f"/v1/var/{path}{query}", {"Items": {"k": value}})


def value_of(server, path):
    found = server.try_get(f"/v1/var/{path}?stale=true")
    return found and found["Items"]["k"]


class VariablesTest(unittest.TestCase):
    def setUp(self):
        self.cluster = cluster.Cluster(3).start()
        self.addCleanup(self.cluster.destroy)
        self.servers = self.cluster.servers
        self.addCleanup(self.show_logs)
        leader = self.cluster.leader()
        wait_until(lambda: put(self.cluster.leader(), "first", "one").status == 200,
                   what="a variable")
        for server in self.servers:
            wait_until(lambda s=server: value_of(s, "first") == "one", timeout=40,
                       what=f"{server.name} opens what {leader.name} sealed")

    def show_logs(self):
        if self._outcome.result and (self._outcome.result.errors or self._outcome.result.failures):
            for server in self.servers:
                print(server.name, server.log()[-1500:])

    def test_variables_survive_the_leader(self):
        for number in range(30):
            self.assertEqual(200, put(self.cluster.leader(), f"app/{number}", f"v{number}").status)
        lost = self.cluster.leader()
        lost.kill9()
        leader = self.cluster.leader()
        for number in range(30):
            found = leader.request("GET", f"/v1/var/app/{number}").json
            self.assertEqual(f"v{number}", found["Items"]["k"])
        answer = put(leader, "app/7", "newer", cas=found["ModifyIndex"] - 22)
        self.assertEqual(200, answer.status, answer)
        self.assertEqual(409, put(leader, "app/7", "older", cas=1).status)
        lost.start()
        wait_until(lambda: value_of(lost, "app/7") == "newer", timeout=40, what="the return")

    def test_all_restart_and_keep_their_keys(self):
        before = self.cluster.leader().try_get("/v1/operator/keyring/keys")
        for server in self.servers:
            server.stop(signal.SIGTERM)
        for server in self.servers:
            server.start()
        wait_until(lambda: value_of(self.cluster.leader(), "first") == "one", what="the variable")
        after = self.cluster.leader().try_get("/v1/operator/keyring/keys")
        self.assertEqual([key["KeyID"] for key in before], [key["KeyID"] for key in after])

    def test_a_full_rotation_ends_and_all_servers_follow(self):
        leader = self.cluster.leader()
        old = leader.try_get("/v1/operator/keyring/keys")[0]["KeyID"]
        rotated = leader.run("operator", "root", "keyring", "rotate", "-full")
        self.assertEqual(0, rotated.returncode, rotated.stderr)

        def states():
            return {key["KeyID"]: key["State"]
                    for key in leader.try_get("/v1/operator/keyring/keys") or []}
        wait_until(lambda: states().get(old) == "inactive", what="the old key's rest")
        self.assertEqual(["active", "inactive"], sorted(states().values()))
        for server in self.servers:
            wait_until(lambda s=server: value_of(s, "first") == "one", what=server.name)
        short = old[:8]  # as the list shows it
        removed = leader.run("operator", "root", "keyring", "remove", short)
        self.assertEqual((0, f"Removed encryption key {old}\n"), (removed.returncode, removed.stdout), removed.stderr)
        self.assertNotIn(old, states())
        again = leader.run("operator", "root", "keyring", "remove", old)
        self.assertEqual((1, f'No encryption key(s) with prefix or ID "{old}" found\n'), (again.returncode, again.stderr))
        self.assertEqual("one", value_of(leader, "first"))

    def test_a_key_in_use_is_removed_by_force_alone(self):
        leader = self.cluster.leader()
        old = next(key["KeyID"] for key in leader.try_get("/v1/operator/keyring/keys") if key["State"] == "active")
        self.assertEqual(0, leader.run("var", "put", "doomed", "k=v").returncode)
        self.assertEqual(0, leader.run("operator", "root", "keyring", "rotate").returncode)
        refused = leader.run("operator", "root", "keyring", "remove", old)
        self.assertEqual(1, refused.returncode)
        self.assertRegex(refused.stderr, r"root key in use, cannot delete: it has sealed \d+ variables?")
        removed = leader.run("operator", "root", "keyring", "remove", "-force", old)
        self.assertEqual((0, f"Removed encryption key {old}\n"), (removed.returncode, removed.stdout), removed.stderr)
        for server in self.servers:
            shown = server.run("var", "get", "doomed")
            self.assertIn(f"root key {old}, which has sealed it, has been removed", shown.stderr)

    def test_nothing_in_the_clear_is_left(self):
        leader = self.cluster.leader()
        with open(os.path.join(self.cluster.root, "spec.json"), "w") as f:
            json.dump({"Items": {"k": SECRET}}, f)
        done = leader.run("var", "put", "secret/place", f"@{f.name}")
        self.assertEqual(0, done.returncode, done.stderr)
        os.remove(f.name)
        for server in self.servers:
            wait_until(lambda s=server: value_of(s, "secret/place") == SECRET, what="the secret")
        saved = os.path.join(self.cluster.root, "saved.snap")
        self.assertEqual(0, leader.run("operator", "snapshot", "save", saved).returncode)
        state = leader.run("operator", "snapshot", "state", saved).stdout
        self.assertIn("secret/place", state)
        shown = [state]
        for path in ("/v1/vars", "/v1/operator/keyring/keys", "/v1/agent/self", "/v1/metrics"):
            shown.append(leader.request("GET", path).body)
        holders = [open(path, "rb").read().strip() for server in self.servers
                   for path in glob.glob(f"{server.dir}/data/server/keystore/*.key")]
        self.assertEqual(3, len(holders))
        for text in shown:
            self.assertNotIn(SECRET, text)
            for key in holders:
                self.assertNotIn(key.decode(), text)
        for server in self.servers:
            server.stop(signal.SIGTERM)
        for folder, _, files in os.walk(self.cluster.root):
            for name in files:
                with open(os.path.join(folder, name), "rb") as f:
                    content = f.read()
                self.assertNotIn(SECRET.encode(), content, name)
                if not name.endswith(".key"):
                    for key in holders:
                        self.assertNotIn(key, content, name)
                        self.assertNotIn(bytes.fromhex(key.decode()), content, name)

    def test_a_saved_state_comes_back_on_all(self):
        leader = self.cluster.leader()
        cluster.register(self.servers, "kept", self.servers.index(leader))
        saved = os.path.join(self.cluster.root, "saved.snap")
        self.assertEqual(0, leader.run("operator", "snapshot", "save", saved).returncode)
        self.assertEqual(200, put(leader, "first", "changed").status)
        self.assertEqual(200, put(leader, "later", "x").status)
        cluster.register(self.servers, "later", self.servers.index(leader))
        before = int(leader.request("GET", "/v1/vars").headers["X-Nomad-Index"])
        done = leader.run("operator", "snapshot", "restore", saved)
        self.assertEqual((0, "Snapshot Restored\n"), (done.returncode, done.stdout), done.stderr)
        self.assertGreater(int(leader.request("GET", "/v1/vars").headers["X-Nomad-Index"]), before)
        for server in self.servers:
            wait_until(lambda s=server: value_of(s, "first") == "one", what=server.name)
            self.assertEqual(["kept"], [j["ID"] for j in server.try_get("/v1/jobs?stale=true")])
            self.assertIsNone(server.try_get("/v1/var/later?stale=true"))
        self.assertEqual(200, put(leader, "later", "y").status)
        lost = self.cluster.leader()
        lost.kill9()
        leads = self.cluster.leader()  # it may still have to apply what the lost one had acknowledged
        wait_until(lambda: value_of(leads, "later") == "y", what="the write of the lost leader")

    def test_what_is_no_saved_state_disturbs_nobody(self):
        leader = self.cluster.leader()
        saved = os.path.join(self.cluster.root, "saved.snap")
        self.assertEqual(0, leader.run("operator", "snapshot", "save", saved).returncode)
        with open(saved, "rb") as f:
            whole = f.read()
        broken = os.path.join(self.cluster.root, "broken.snap")
        middle = len(whole) // 2
        for content in (b"", whole[:middle], whole[:-1], b"garbage" * 1000,
                        whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1:]):
            with open(broken, "wb") as f:
                f.write(content)
            done = leader.run("operator", "snapshot", "restore", broken)
            self.assertEqual(1, done.returncode, done.stdout)
            self.assertIn("failed to restore from snapshot", done.stderr)
        newer = self.repacked(saved, Version=2)
        done = leader.run("operator", "snapshot", "restore", newer)
        self.assertEqual(1, done.returncode, done.stdout)
        self.assertIn("it was made by a newer version", done.stderr)
        self.assertEqual(leader, self.cluster.leader())
        self.assertEqual("one", value_of(leader, "first"))
        self.assertIn("refused to restore a snapshot", leader.log())

    def repacked(self, archive, **changes):
        """The same saved state under other metadata, with checksums that fit."""
        with tarfile.open(archive) as tar:
            files = {name: tar.extractfile(name).read() for name in ("meta.json", "state.bin")}
        files["meta.json"] = json.dumps({**json.loads(files["meta.json"]), **changes}).encode()
        sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n"
                       for name, content in files.items())
        path = os.path.join(self.cluster.root, "repacked.snap")
        with tarfile.open(path, "w:gz") as tar:
            for name, content in {**files, "SHA256SUMS": sums.encode()}.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        return path

    def test_autopilot_settings_are_everyones(self):
        leader = self.cluster.leader()
        done = leader.run("operator", "autopilot", "set-config", "-max-trailing-logs=300")
        self.assertEqual((0, "Configuration updated!\n"), (done.returncode, done.stdout))
        for server in self.servers:
            wait_until(lambda s=server: (s.try_get("/v1/operator/autopilot/configuration?stale=true")
                                         or {}).get("MaxTrailingLogs") == 300, what=server.name)
        leader.kill9()
        shown = self.cluster.leader().run("operator", "autopilot", "get-config").stdout
        self.assertIn("MaxTrailingLogs = 300\n", shown)
        self.assertIn("LastContactThreshold = 200ms\n", shown)


def processes_with(*words):
    """How many processes were started with these words in their command line."""
    wanted = "\0".join(words).encode()
    found = 0
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as f:
                found += wanted in f.read()
        except OSError:
            continue
    return found


class RestoreTest(harness.AgentTest):
    """The tasks did not go back in time with the state: both have to agree again."""
    config = 'server {\n  min_heartbeat_ttl = "1s"\n}\n'

    def test_writes_after_a_restore_say_the_index_that_reads_have(self):
        for number in range(40):
            self.assertEqual(200, self.agent.put(f"/v1/var/many/{number}", {"Items": {"k": "v"}}).status)
        saved = os.path.join(self.agent.dir, "many.snap")
        self.agent.run("operator", "snapshot", "save", saved, check=True)
        fresh = harness.Agent("").start()
        self.addCleanup(harness.living.discard, fresh.dir)
        self.addCleanup(harness.clear, fresh.dir)
        self.addCleanup(fresh.stop)  # what it has restored is another's
        done = fresh.run("operator", "snapshot", "restore", saved)
        self.assertEqual(0, done.returncode, done.stderr)
        written = fresh.put("/v1/namespace/after", {"Name": "after"})
        self.assertEqual(200, written.status, written.body)
        self.assertGreater(int(written.headers["X-Nomad-Index"]), 40)
        made = next(n for n in fresh.get("/v1/namespaces").json if n["Name"] == "after")
        self.assertEqual(made["CreateIndex"], int(written.headers["X-Nomad-Index"]))

    def test_clients_follow_a_restored_state(self):
        seconds = str(100_000 + os.getpid())

        def kept(count):
            return harness.shell_job("kept", f"exec sleep {seconds}", count=count)

        def states():
            return sorted(f"{a['DesiredStatus']} {a['ClientStatus']}" for a in self.agent.allocs("kept"))

        self.agent.register(kept(2))
        self.agent.wait_for_allocs("kept", "running", 2)
        saved = os.path.join(self.agent.dir, "saved.snap")
        self.agent.run("operator", "snapshot", "save", saved, check=True)
        self.agent.register(kept(1))
        self.agent.register(harness.shell_job("later", f"exec sleep {seconds}.5"))
        wait_until(lambda: "stop complete" in states() and processes_with("sleep", seconds + ".5") == 1,
                   what="the end of one of the two, and the later task")
        self.agent.run("operator", "snapshot", "restore", saved, check=True)
        self.assertEqual(["kept"], [job["ID"] for job in self.agent.get("/v1/jobs").json])
        wait_until(lambda: states().count("run running") == 2 and processes_with("sleep", seconds) == 2
                   and processes_with("sleep", seconds + ".5") == 0
                   and self.agent.get("/v1/nodes").json[0]["Status"] == "ready", timeout=60,
                   what="a ready node with two tasks that run, and no other")
        self.assertEqual([], [s for s in states() if s.startswith("run") and s != "run running"
                              and s != "run complete"])


class DebugTest(harness.AgentTest):
    """What `operator debug` collects may be handed to strangers."""
    config = 'enable_debug = true\n'
    config += 'server {\n  encrypt = "cg8StVXbQJ0gPvMd9o7yrg=="\n  allow_unsupported_blocks = true\n}\n'

    def test_the_archive_has_no_secrets(self):
        job = harness.job("secretive")
        job["TaskGroups"][0]["Tasks"][0].update(
            Env={"PASSWORD": SECRET}, Meta={"m": SECRET},
            Templates=[{"EmbeddedTmpl": SECRET, "DestPath": "local/x"}])
        self.agent.register(job)
        self.agent.wait_for_allocs("secretive", "running")
        wait_until(lambda: self.agent.put("/v1/var/place", {"Items": {"k": SECRET}}).status == 200,
                   what="a variable")
        self.agent.run("operator", "debug", "-duration", "10s", "-interval", "5s", "-event-topic", "all",
                       "-event-index", "1", "-output", self.agent.dir, check=True)
        found = {}
        for folder, _, files in os.walk(glob.glob(f"{self.agent.dir}/nomad-debug-*")[0]):
            for name in files:
                with open(os.path.join(folder, name), errors="replace") as f:
                    found[os.path.relpath(f.name, self.agent.dir)] = f.read()
        self.assertGreater(len(found), 15, found.keys())
        self.assertTrue(any("secretive" in text for text in found.values()))
        self.assertFalse([name for name in found if name.endswith(".error")])
        self.assertEqual(2, len([name for name in found if name.endswith("profile_0000.prof")]), found.keys())
        events = [json.loads(line) for name, text in found.items() if name.endswith("eventstream.json") for line in text.splitlines()]
        self.assertIn("secretive", [event["Key"] for event in events if event["Topic"] == "Job"])
        for name, text in found.items():
            for secret in (SECRET, "cg8StVXbQJ0gPvMd9o7yrg"):
                self.assertNotIn(secret, text, name)


if __name__ == "__main__":
    harness.main()
