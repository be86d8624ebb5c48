"""What tasks and nodes have used: kept by the node, shown to whom it concerns, gone with the allocation."""
import unittest

import cluster
import harness
from harness import shell_job, wait_until
from security.guarded import GuardedAgent

HISTORY = "/v1/client/metrics/history"
MIB = 1 << 20


def known(series, member):
    return [value for value in series[member] if value is not None]


class UsageHistoryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = GuardedAgent().start()
        # A shell that holds 60 MB, reserves 10 MB (the harness's jobs do), and works all the time.
        cls.agent.register(shell_job("busy", "x=$(head -c 30000000 /dev/zero | tr '\\0' x); while :; do :; done"))
        cls.alloc = cls.agent.wait_for_allocs("busy", "running")[0]["ID"]

    @classmethod
    def tearDownClass(cls):
        cls.agent.destroy()

    def of_alloc(self, alloc, **more):
        query = "".join(f"&{name}={value}" for name, value in more.items())
        return self.agent.get(f"{HISTORY}?alloc_id={alloc}{query}")

    def test_samples_come_every_ten_seconds_though_nobody_asks_for_usage(self):
        def two_slots():
            task = self.of_alloc(self.alloc).json[0]
            if not task["Series"] or len(known(task["Series"][0], "CPU")) < 2:
                return None
            # The first two may lie on both sides of a slot's border, before the shell has done anything.
            hour = task["Series"][0]
            return task if max(known(hour, "CPU")) > 5 and max(known(hour, "Memory")) > 25 * MIB else None
        task = wait_until(two_slots, 120, what="two slots of the task")
        self.assertEqual(("task", {"CPU": 5, "MemoryMB": 10}), (task["Task"], task["Reserved"]))
        hour, day = task["Series"]
        self.assertEqual((10, 300), (hour["Interval"], day["Interval"]))
        self.assertEqual({len(hour["CPU"])}, {len(hour["Memory"]), len(hour["Network"])})
        self.assertEqual([], known(hour, "Network"), "the task is in the host's network")
        self.assertGreater(task["P95"]["Memory"], 25 * MIB)
        self.assertEqual([], task["Advice"], "nothing is said before an hour")

        node = self.agent.get(HISTORY).json[0]
        self.assertEqual("", node["Task"])
        self.assertGreaterEqual(len(known(node["Series"][0], "Memory")), 1)
        self.assertGreater(max(known(node["Series"][0], "Memory")), 25 * MIB)

    def test_a_restart_is_counted(self):
        self.agent.register(shell_job("again", "exec sleep 1000"))
        alloc = self.agent.wait_for_allocs("again", "running")[0]["ID"]
        wait_until(lambda: self.of_alloc(alloc).json[0]["Series"], what="a first reading")
        self.agent.good("PUT", f"/v1/client/allocation/{alloc}/restart", {"TaskName": "task"})
        task = wait_until(lambda: [t for t in self.of_alloc(alloc).json if t["Restarts"] == 1], what="the restart")[0]
        self.assertEqual(1, len(task["RestartTimes"]))

    def test_it_goes_with_the_allocation(self):
        self.agent.register(shell_job("short", "exec sleep 1000"))
        alloc = self.agent.wait_for_allocs("short", "running")[0]["ID"]
        wait_until(lambda: self.of_alloc(alloc).json[0]["Series"], what="a first reading")
        self.agent.good("DELETE", "/v1/job/short")
        self.agent.wait_for_allocs("short", "complete")
        self.assertTrue(self.of_alloc(alloc, task="task").json[0]["Series"], "kept after the end")
        self.assertEqual(404, self.of_alloc(alloc, task="other").status)
        self.assertEqual(200, self.agent.get(f"/v1/client/allocation/{alloc}/gc").status)
        gone = self.of_alloc(alloc)
        self.assertEqual((404, f'Unknown allocation "{alloc}"'), (gone.status, gone.body))

    def test_who_may_see_it(self):
        self.agent.make_policy("jobs", 'namespace "default" { capabilities = ["read-job"] }')
        self.agent.make_policy("nodes", 'node { policy = "read" }')
        def statuses(policy):
            token = self.agent.make_token(Policies=[policy])["SecretID"]
            shown = {"X-Nomad-Token": token}
            return [self.agent.get(path, headers=shown).status for path in (f"{HISTORY}?alloc_id={self.alloc}", HISTORY)]
        self.assertEqual([200, 403], statuses("jobs"))
        self.assertEqual([403, 200], statuses("nodes"))

    def test_mistakes(self):
        for query, status, text in (("?alloc_id=zz", 400, "UUID"),
                                    (f"?alloc_id={self.alloc}&node_id={self.alloc}", 400, "give node_id or alloc_id"),
                                    (f"?node_id={self.alloc}", 404, "Unknown node")):
            answer = self.agent.get(HISTORY + query)
            self.assertEqual(status, answer.status, answer)
            self.assertIn(text, answer.body)


class FarNodeTest(cluster.Case):
    def test_a_server_asks_the_node(self):
        self.put(shell_job("far", "exec sleep 1000"))
        alloc = self.wait_for("far", "running", 1)[0]
        def asked(query):
            answer = self.server.request("GET", HISTORY + query)
            return answer.json[0] if answer.status == 200 and answer.json[0]["Series"] else None
        task = wait_until(lambda: asked(f"?alloc_id={alloc['ID']}"), what="the task's history")
        self.assertEqual("task", task["Task"])
        node = wait_until(lambda: asked(f"?node_id={alloc['NodeID']}"), what="the node's history")
        self.assertEqual("", node["Task"])


if __name__ == "__main__":
    harness.main()
