"""What operators do to the servers of a cluster, by command: join, leave, look, recover."""
import glob
import json
import os
import re
import shutil
import signal
import tempfile
import unittest

import cluster
import harness
from harness import wait_until


class OperatorCase(unittest.TestCase):
    count = 3
    blocks = ""

    def setUp(self):
        self.cluster = cluster.Cluster(self.count, blocks=self.blocks)
        self.addCleanup(self.cluster.destroy)
        self.servers = self.cluster.servers

    def start(self):
        self.cluster.start()
        return self.cluster.leader()

    def ok(self, server, *words):
        done = server.run(*words)
        self.assertEqual(0, done.returncode, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout

    def voters(self, server):
        """The voters."""
        answer = server.try_get("/v1/operator/raft/configuration?stale=true") or {"Servers": []}
        return sorted(peer["Node"] for peer in answer["Servers"] if peer["Voter"])

    def status_of(self, server, other):
        members = (server.try_get("/v1/agent/members") or {}).get("Members", [])
        return {m["Name"]: m["Status"] for m in members}.get(other.name + ".global")


class GossipKeyringTest(OperatorCase):
    """The key that servers share is replaced while they run; a restarted one knows the new one."""
    first = "cg8StVXbQJ0gPvMd9o7yrg=="
    count = 3

    def setUp(self):
        self.cluster = cluster.Cluster(self.count, extra=f'encrypt = "{self.first}"')
        self.addCleanup(self.cluster.destroy)
        self.servers = self.cluster.servers

    def keys(self, server):
        """What all have; while one does not answer, nothing."""
        return server.try_get("/v1/agent/keyring/list") or {"NumNodes": 0}

    def test_a_key_is_replaced_and_outlives_restarts(self):
        leader = self.start()
        wait_until(lambda: self.keys(leader)["NumNodes"] == 3, what="three servers that answer")
        second = self.ok(leader, "operator", "gossip", "keyring", "generate").strip()

        early = leader.run("operator", "gossip", "keyring", "use", second)
        self.assertEqual(early.returncode, 1)
        self.assertIn("3/3 nodes reported failure", early.stderr)
        self.assertIn("requested key is not in the keyring", early.stderr)
        self.assertIn("removing the primary key is not allowed",
                      leader.run("operator", "gossip", "keyring", "remove", self.first).stderr)
        for action, key, line, is_last in [("install", second, "Installing new gossip encryption key...", True),
                                           ("use", second, "Changing primary gossip encryption key...", False),
                                           ("remove", self.first, "Removing gossip encryption key...", False)]:
            shown = self.ok(self.servers[1], "operator", "gossip", "keyring", action, key).splitlines()
            self.assertEqual(line, shown[0])
            if is_last:
                self.assertEqual(1, len(shown), shown)
            else:  # root keys are wrapped by the configuration's key all the same
                self.assertIn("change server.encrypt on each server", shown[2])
                self.assertIn("operator root keyring rotate -full", shown[3])
        self.assertEqual(f"Gathering installed encryption keys...\nKey\n{second}\n",
                         self.ok(leader, "operator", "gossip", "keyring", "list"))
        answer = self.keys(leader)
        self.assertEqual((answer["Keys"], answer["PrimaryKeys"], answer["NumNodes"], answer["Messages"]),
                         ({second: 3}, {second: 3}, 3, {}))

        restarted = next(s for s in self.servers if s is not leader)
        kept = os.path.join(restarted.dir, "data", "server", "serf.keyring")
        self.assertEqual(0o600, os.stat(kept).st_mode & 0o777)
        restarted.kill9()
        restarted.start()
        wait_until(lambda: self.status_of(leader, restarted) == "alive"
                   and self.keys(leader)["NumNodes"] == 3, what="the restarted server among the others")
        self.assertEqual({second: 3}, self.keys(leader)["Keys"])
        self.assertIn("server.encrypt is not the primary key of the keyring", restarted.log())

        # Without encrypt in its configuration, it does not speak plain.
        with open(restarted.config_path) as f:
            text = f.read()
        with open(restarted.config_path, "w") as f:
            f.write(text.replace(f'encrypt = "{self.first}"', ""))
        restarted.kill9()
        restarted.start()
        wait_until(lambda: "server.encrypt is not set" in restarted.log(), what="the warning")
        wait_until(lambda: self.status_of(leader, restarted) == "alive"
                   and self.keys(leader)["NumNodes"] == 3, what="the server without encrypt among the others")
        for server in self.servers:
            self.assertNotIn(second, server.log())


class RestoredKeysTest(unittest.TestCase):
    """A snapshot of another cluster: its variables open only with a key file of that one."""

    def test_what_cannot_be_read_is_told_and_mended(self):
        old = harness.Agent()
        self.addCleanup(old.destroy)
        old.start()
        self.assertEqual(0, old.run("var", "put", "app/config", "user=ann").returncode)
        saved = os.path.join(old.dir, "saved.snap")
        done = old.run("operator", "snapshot", "save", saved)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("The file holds 1 variable, and not what opens", done.stderr)
        key_file = glob.glob(f"{old.dir}/data/server/keystore/*.key")[0]
        key_id = old.get("/v1/operator/keyring/keys").json[0]["KeyID"]
        shown = old.run("operator", "snapshot", "inspect", saved).stdout
        self.assertIn(key_id, shown)
        self.assertIn("holder.key", shown)

        new = harness.Agent()
        self.addCleanup(new.destroy)
        new.start()
        done = new.run("operator", "snapshot", "restore", saved)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("Snapshot Restored", done.stdout)
        for part in ("The file holds 1 variable", f"root key {key_id}: 1 variable", "server/keystore"):
            self.assertIn(part, done.stderr)
        read = new.run("var", "get", "app/config")
        self.assertEqual(1, read.returncode)
        for part in (key_id, "holder.key", "restart that agent"):
            self.assertIn(part, read.stderr)

        shutil.copy(key_file, f"{new.dir}/data/server/keystore/old.key")
        new.stop()
        new.start()
        wait_until(lambda: "ann" in new.run("var", "get", "app/config").stdout, what="the variable")
        done = new.run("operator", "snapshot", "restore", saved)
        self.assertNotIn("Warning", done.stderr)


class LookTest(OperatorCase):
    blocks = "enable_debug = true\n"

    def test_looking_on(self):
        leader = self.start()
        follower = next(s for s in self.servers if s is not leader)

        with self.subTest("autopilot health"):
            # On a busy machine a server is unhealthy now and then.
            wait_until(lambda: re.search(r"(?m)^Healthy += true$", follower.run("operator", "autopilot", "health").stdout),
                       timeout=30, what="health")
            shown = self.ok(follower, "operator", "autopilot", "health")
            for server in self.servers:
                self.assertIn(server.name + ".global", shown)

        with self.subTest("members are shown with their serf ports, also by others"):
            ports = {m["Name"]: m["Port"] for m in follower.try_get("/v1/agent/members")["Members"]}
            for server in self.servers:
                self.assertEqual(server.try_get("/v1/agent/self")["member"]["Port"],
                                 ports[server.name + ".global"])
                self.assertNotEqual(server.rpc, ports[server.name + ".global"])

        with self.subTest("the log's members are in the order of their names"):
            listed = self.ok(follower, "operator", "raft", "list-peers").splitlines()[1:]
            self.assertEqual(["s0.global", "s1.global", "s2.global"], [line.split()[0] for line in listed])

        with self.subTest("a server that answers does not leave by another's word"):
            done = follower.run("server", "force-leave", leader.name + ".global")
            self.assertEqual((1, f"Error force-leaving server {leader.name}.global: it answers, or did a moment ago, and stays: "
                              "try again when `server members` shows it as failed\n"), (done.returncode, done.stderr))
            self.assertEqual("alive", self.status_of(follower, leader))

        with self.subTest("a server that is called without its region"):
            done = follower.run("server", "force-leave", leader.name)
            self.assertEqual(1, done.returncode)
            self.assertIn(f'no member is named "{leader.name}": did you mean "{leader.name}.global"?', done.stderr)

        with self.subTest("snapshot save and inspect"):
            cluster.register(self.servers, "kept", 0)
            saved = os.path.join(self.cluster.root, "saved.snap")
            self.ok(follower, "operator", "snapshot", "save", saved)
            shown = self.ok(follower, "operator", "snapshot", "inspect", saved)
            self.assertRegex(shown, r"(?m)^Index +\d+$")
            self.assertIn('"kept"', self.ok(follower, "operator", "snapshot", "state", saved))
            filtered = json.loads(self.ok(follower, "operator", "snapshot", "state", "-filter", 'ID == "kept"', saved))
            self.assertEqual((["kept"], [], []), ([job["ID"] for job in filtered["Jobs"]], filtered["Nodes"], filtered["Evals"]))
            self.assertEqual(1, follower.run("operator", "snapshot", "inspect", saved + "x").returncode)

        with self.subTest("debug"):
            # Profiles are taken one after the other, of a second each.
            for asked, found, seconds in (("all", {"s0.global", "s1.global", "s2.global"}, "5s"),
                                          ("leader", {"leader"}, "3s"), ("s0,s2.global", {"s0.global", "s2.global"}, "4s")):
                with tempfile.TemporaryDirectory(dir=self.cluster.root) as output:
                    self.ok(follower, "operator", "debug", "-duration", seconds, "-interval", seconds,
                            "-pprof-interval", "1s", "-server-id", asked, "-output", output)
                    logs = glob.glob(output + "/*/servers/*.log")
                    self.assertEqual(found, {os.path.basename(path)[:-len(".log")] for path in logs})
                    self.assertEqual([], glob.glob(output + "/**/*.error", recursive=True))
                    profiles = glob.glob(output + "/*/servers/*/profile_0000.prof")
                    self.assertEqual(found, {os.path.basename(os.path.dirname(path)) for path in profiles})
                    for name in ("actors", "decisions", "agent-plugins"):
                        self.assertTrue(glob.glob(output + f"/*/intervals/0000/{name}.json"), name)


class LeaveTest(OperatorCase):
    blocks = "leave_on_interrupt = true\n"

    def test_leaving(self):
        leader = self.start()
        follower, other = [s for s in self.servers if s is not leader]
        wait_until(lambda: len(self.voters(leader)) == 3, what="three voters")

        with self.subTest("a server that leaves is told from one that failed"):
            follower.stop(signal.SIGINT)
            wait_until(lambda: self.status_of(leader, follower) in ("left", None), what="its leave")
            wait_until(lambda: len(self.voters(leader)) == 2, what="two voters")
            cluster.register(self.cluster.running(), "after-leave", 0)

        with self.subTest("it comes back"):
            follower.start()
            wait_until(lambda: self.status_of(leader, follower) == "alive", timeout=40,
                       what="its return")
            wait_until(lambda: len(self.voters(leader)) == 3, timeout=60, what="three voters")

        with self.subTest("without leave_on_terminate, SIGTERM is no leave"):
            other.stop(signal.SIGTERM)
            wait_until(lambda: self.status_of(leader, other) == "failed", timeout=30, what="failed")
            self.assertEqual(3, len(self.voters(leader)))

        with self.subTest("force-leave"):
            self.assertEqual(1, leader.run("server", "force-leave", "nobody.global").returncode)
            self.ok(follower, "server", "force-leave", other.name + ".global")
            wait_until(lambda: self.status_of(leader, other) in ("left", None), what="its leave")
            wait_until(lambda: len(self.voters(leader)) == 2, timeout=30, what="two voters")


class JoinTest(OperatorCase):
    count = 2

    def test_join_by_command(self):
        for server in self.servers:  # they are told of nobody
            with open(server.config_path) as f:
                text = f.read()
            with open(server.config_path, "w") as f:
                f.write(re.sub(r"server_join \{.*?\n  \}", "", text, flags=re.S))
        self.cluster.start()
        first, second = self.servers
        wait_until(lambda: self.status_of(second, second) == "alive", what="an agent")
        self.assertEqual(1, first.run("server", "join", "127.0.0.1:1").returncode)
        wait_until(lambda: first.run("server", "join", f"127.0.0.1:{second.rpc}").returncode == 0,
                   what="the join")
        leader = self.cluster.leader()
        wait_until(lambda: len(self.voters(leader)) == 2, what="two voters")
        self.assertIn("s1.global", self.ok(first, "server", "members"))


class RecoverTest(OperatorCase):
    def write_peers(self, server, servers, ids):
        with open(os.path.join(server.dir, "data", "server", "raft", "peers.json"), "w") as f:
            json.dump([{"id": ids[s.name + ".global"], "address": f"127.0.0.1:{s.rpc}",
                        "non_voter": False} for s in servers], f)

    def test_a_quorum_lost_for_ever(self):
        leader = self.start()
        wait_until(lambda: len(self.voters(leader)) == 3, what="three voters")
        ids = {p["Node"]: p["ID"]
               for p in leader.try_get("/v1/operator/raft/configuration")["Servers"]}
        cluster.register(self.servers, "kept", 0)
        kept, never, lost = self.servers
        wait_until(lambda: "kept" in {j["ID"] for j in kept.try_get("/v1/jobs?stale=true") or []},
                   what="the job on the server that is left")
        for server in self.servers:
            server.kill9()

        # The operator hopes for the second one in vain, and corrects the file.
        self.write_peers(kept, [kept, never], ids)
        kept.start()
        wait_until(lambda: "recovered by peers.json" in kept.log(), what="the recovery")
        wait_until(lambda: self.voters(kept) and len(self.voters(kept)) == 2, what="two voters")
        kept.kill9()
        self.write_peers(kept, [kept], ids)
        kept.start()

        self.assertIs(kept, self.cluster.leader())
        self.assertIn("kept", {job["ID"] for job in kept.try_get("/v1/jobs")})
        cluster.register([kept], "goes-on", 0)
        self.assertFalse(os.path.exists(
            os.path.join(kept.dir, "data", "server", "raft", "peers.json")))


class FilesTest(unittest.TestCase):
    def test_what_a_stopped_agent_leaves_is_shown(self):
        agent = harness.Agent()
        self.addCleanup(agent.destroy)
        agent.start()
        agent.register(harness.job("web"))
        alloc = agent.wait_for_allocs("web", "running")[0]["ID"]
        refused = agent.run("operator", "raft", "info", agent.data_dir)
        self.assertEqual(1, refused.returncode)
        self.assertIn("is in use by another agent", refused.stderr)
        agent.stop()

        info = agent.run("operator", "raft", "info", agent.data_dir, check=True).stdout
        self.assertRegex(info, r"path: .*/server/raft/raft.db\nlength: +\d+\nfirst index: 1\nlast index: +\d+\n")
        logs = [json.loads(line) for line in
                agent.run("operator", "raft", "logs", agent.data_dir, check=True).stdout.splitlines()]
        self.assertEqual(list(range(1, len(logs) + 1)), [entry["Index"] for entry in logs])
        self.assertEqual("LogConfiguration", logs[0]["LogType"])
        commands = [entry for entry in logs if entry["LogType"] == "LogCommand"]
        registered = next(entry["Index"] for entry in commands if entry["CommandType"] == "jobRegister")
        for last, ids in ((0, ["web"]), (registered, ["web"]), (registered - 1, [])):
            state = json.loads(agent.run("operator", "raft", "state", "-last-index", str(last), agent.data_dir,
                                         check=True).stdout)
            self.assertEqual(ids, [job["ID"] for job in state["Jobs"] or []], last)
        shown = json.loads(agent.run("operator", "client-state", agent.data_dir, check=True).stdout)
        task = shown["Allocations"][alloc]["Tasks"]
        self.assertEqual(["running"], [each["RemoteState"]["State"] for each in task.values()])
        agent.start()  # its files are as they were
        self.assertEqual(alloc, agent.wait_for_allocs("web", "running")[0]["ID"])


if __name__ == "__main__":
    harness.main()
