"""What the commands for stopped agents say of their data, and `check` of running ones, beside what was done before."""
import json
import os
import unittest

import cluster
import harness
from harness import shell_job, wait_until


def names_of(rows, name="ID"):
    return sorted(row[name] for row in rows)


class StoppedTest(unittest.TestCase):
    """An agent, server and client, that has run two jobs, was saved between them, and is stopped."""

    @classmethod
    def setUpClass(cls):
        cls.agent = agent = harness.Agent()
        cls.addClassCleanup(agent.destroy)
        agent.start()
        cls.saved = os.path.join(agent.dir, "saved.snap")
        agent.register(shell_job("early", "exec sleep 1000", count=2))
        agent.wait_for_allocs("early", "running", 2)
        agent.run("var", "put", "app/config", "password=hunter2", check=True)
        agent.run("operator", "snapshot", "save", cls.saved, check=True)
        cls.between = agent.get("/v1/jobs").index
        agent.register(shell_job("late", "exec sleep 1000"))
        agent.wait_for_allocs("late", "running")
        cls.last_write = agent.get("/v1/job/late").json["CreateIndex"]
        cls.allocs = agent.get("/v1/allocations").json
        cls.nodes = agent.get("/v1/nodes").json
        cls.evals = agent.get("/v1/evaluations").json
        cls.refused = {words: agent.run("operator", *words, agent.data_dir) for words in (
            ("raft", "info"), ("raft", "logs"), ("raft", "state"), ("client-state",))}
        agent.kill9()

    def run_on(self, *words, where=""):
        """What a command prints of a directory below the agent's data."""
        return self.agent.run("operator", *words, self.agent.data_dir + where, check=True).stdout

    def info(self, where=""):
        return dict(line.split(": ", 1) for line in self.run_on("raft", "info", where=where).splitlines())

    def test_data_that_an_agent_uses_is_left_alone(self):
        for words, done in self.refused.items():
            self.assertEqual((1, ""), (done.returncode, done.stdout), words)
            self.assertIn("in use", done.stderr)

    def test_raft_info_tells_what_the_log_spans(self):
        info = {name: text.strip() for name, text in self.info().items()}
        self.assertEqual(os.path.join(self.agent.data_dir, "server/raft/raft.db"), info["path"])
        first, last = int(info["first index"]), int(info["last index"])
        self.assertEqual((1, last - first + 1), (first, int(info["length"])))
        self.assertGreater(last, self.last_write)
        for where in ("/server", "/server/raft"):
            self.assertEqual(info["last index"], self.info(where)["last index"].strip())

    def test_raft_logs_prints_each_entry(self):
        entries = [json.loads(line) for line in self.run_on("raft", "logs").splitlines()]
        self.assertEqual(list(range(1, int(self.info()["last index"]) + 1)), [entry["Index"] for entry in entries])
        kinds = [value for entry in entries for value in entry.values() if str(value).startswith("Log")]
        self.assertEqual({"LogCommand", "LogBarrier", "LogConfiguration"}, set(kinds))
        self.assertEqual(len(entries), len(kinds))
        registrations = [entry["Index"] for entry in entries if "jobRegister" in entry.values()]
        self.assertEqual((2, self.last_write), (len(registrations), registrations[-1]))
        self.assertTrue(any("nodeRegister" in entry.values() for entry in entries))
        self.assertNotIn("hunter2", json.dumps(entries))

    def test_raft_logs_lays_entries_out(self):
        pretty = self.run_on("raft", "logs", "-pretty")
        self.assertIn('\n    "Index": 1,\n', pretty)
        decoder, texts, indexes = json.JSONDecoder(), pretty.strip(), []
        while texts:
            entry, end = decoder.raw_decode(texts)
            indexes.append(entry["Index"])
            texts = texts[end:].lstrip()
        self.assertEqual(list(range(1, int(self.info()["last index"]) + 1)), indexes)

    def test_raft_state_is_what_the_servers_had(self):
        state = json.loads(self.run_on("raft", "state"))
        self.assertEqual(["early", "late"], names_of(state["Jobs"]))
        self.assertEqual(names_of(self.allocs), names_of(state["Allocs"]))
        self.assertEqual(names_of(self.nodes), names_of(state["Nodes"]))
        self.assertLessEqual(set(names_of(self.evals)), set(names_of(state["Evals"])))
        self.assertEqual(["app/config"], names_of(state["Variables"], "Path"))
        self.assertNotIn("hunter2", json.dumps(state))
        self.assertEqual(int(self.info()["last index"]), state["SnapshotMeta"][0]["Index"])

    def test_raft_state_of_an_earlier_entry(self):
        def state(last):
            return json.loads(self.run_on("raft", "state", f"-last-index={last}"))
        before = state(self.last_write - 1)
        self.assertEqual((["early"], self.last_write - 1), (names_of(before["Jobs"]), before["SnapshotMeta"][0]["Index"]))
        self.assertEqual(["early", "late"], names_of(state(self.last_write)["Jobs"]))
        back = self.last_write - 1 - int(self.info()["last index"])  # counted from the end
        self.assertEqual(before, state(back))

    def test_a_snapshot_file_is_of_the_time_it_was_saved_at(self):
        state = json.loads(self.agent.run("operator", "snapshot", "state", self.saved, check=True).stdout)
        self.assertEqual(["early"], names_of(state["Jobs"]))
        self.assertEqual(["app/config"], names_of(state["Variables"], "Path"))
        self.assertNotIn("hunter2", json.dumps(state))
        index = state["SnapshotMeta"][0]["Index"]
        self.assertTrue(self.between <= index < self.last_write, (self.between, index, self.last_write))
        shown = dict(line.split(None, 1) for line in self.agent.run(
            "operator", "snapshot", "inspect", self.saved, check=True).stdout.split("\n\n")[0].splitlines())
        self.assertEqual((str(index), str(state["SnapshotMeta"][0]["Term"])), (shown["Index"], shown["Term"]))

    def test_client_state_is_what_the_node_ran(self):
        shown = self.run_on("client-state")
        self.assertEqual(shown, self.run_on("client-state", where="/client"))
        remembered = json.loads(shown)["Allocations"]
        self.assertEqual(names_of(self.allocs), sorted(remembered))
        jobs = {alloc["ID"]: alloc["JobID"] for alloc in self.allocs}
        for alloc, of_it in remembered.items():
            self.assertEqual((alloc, jobs[alloc], "run"),
                             tuple(of_it["Alloc"][name] for name in ("ID", "JobID", "DesiredStatus")))
            self.assertEqual(["task"], list(of_it["Tasks"]))


class CheckTest(unittest.TestCase):
    def test_exit_codes_tell_how_an_agent_is(self):
        servers = cluster.Cluster(1)
        self.addCleanup(servers.destroy)
        server = servers.start().leader()
        client = servers.add_client()
        wait_until(lambda: servers.nodes() == {"c0"}, what="the node")

        def checked(agent, *flags):
            done = agent.run("check", *flags)
            self.assertEqual("", done.stderr)
            return done.returncode, done.stdout

        self.assertEqual((0, ""), checked(server))
        self.assertEqual((2, "known peers: 0, is less than expected number of peers: 2\n"), checked(server, "-min-peers=2"))
        self.assertEqual((0, ""), checked(client))
        self.assertEqual((2, "known servers: 1, is less than expected number of servers: 2\n"),
                         checked(client, "-min-servers=2"))
        server.kill9()
        silent = wait_until(lambda: (lambda told: told if told[0] else None)(checked(client)), timeout=120,
                            what="a check that misses the server")
        self.assertEqual(2, silent[0])
        self.assertRegex(silent[1], r'^last heartbeat was "[^"]+" time ago, expected heartbeat ttl: "[^"]+"\n$')
        client.kill9()
        code, told = checked(client)
        self.assertEqual(2, code)
        self.assertTrue(told.startswith("unable to query agent info: "), told)


if __name__ == "__main__":
    harness.main()
