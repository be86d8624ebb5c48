"""What the scheduler decided, and from what, is kept by the server that decided it."""
import json
import os
import re
import unittest

import harness
from harness import Agent, shell_job, wait_until


class DecisionsTest(harness.AgentTest):
    def decisions(self, query=""):
        return self.agent.get("/v1/operator/decisions" + query).json

    def of(self, evaluation):
        return self.decisions(f"?eval={evaluation}")

    def register(self, made):
        return self.agent.put("/v1/jobs", {"Job": made}).json["EvalID"]

    def test_a_decision_is_shown_with_what_became_of_it(self):
        made = shell_job("web", "sleep 1000", count=2)
        made["TaskGroups"][0]["Tasks"][0]["Env"] = {"PASSWORD": "geheim-7261"}
        evaluation = self.register(made)
        self.agent.wait_for_allocs("web", "running", 2)
        one = self.of(evaluation)[-1]
        self.assertEqual((2, 0, True, "web"), (one["Placements"], one["Stops"], one["HasPlan"], one["Evaluation"]["JobID"]))
        index = self.agent.get(f"/v1/evaluation/{evaluation}").json["ModifyIndex"]
        self.assertEqual(index, one["PlanEnd"]["Index"])

        shown = self.agent.run("operator", "decisions", "-eval", evaluation, check=True).stdout
        self.assertRegex(shown, rf"(?m)^{one['Number']} .* {evaluation[:8]}  web  job-register .*2 placed +index {index}$")
        self.assertEqual(one, json.loads(
            self.agent.run("operator", "decisions", "-eval", evaluation, "-json", check=True).stdout)[-1])

        server = os.path.join(self.agent.data_dir, "server")
        for name in os.listdir(server):
            if name.startswith("decisions.db"):
                with open(os.path.join(server, name), "rb") as f:
                    self.assertNotIn(b"geheim", f.read(), name)
        self.assertEqual(0o600, os.stat(os.path.join(server, "decisions.db")).st_mode & 0o777)

    def test_one_that_finds_no_room_says_so(self):
        made = shell_job("big", "sleep 1000")
        made["TaskGroups"][0]["Tasks"][0]["Resources"] = {"CPU": 10, "MemoryMB": 10_000_000}
        evaluation = self.register(made)
        one = wait_until(lambda: self.of(evaluation))[-1]
        self.assertTrue(one["LacksRoom"])
        self.assertEqual(0, one["Placements"])
        self.assertIn("not all placed", self.agent.run("operator", "decisions", "-eval", evaluation, check=True).stdout)


class RestartTest(unittest.TestCase):
    def setUp(self):
        self.agent = Agent()
        self.addCleanup(self.agent.destroy)
        self.agent.start()

    def newest(self):
        found = self.agent.get("/v1/operator/decisions").json
        return found[0]["Number"] if found else 0

    def decide(self, name):
        self.agent.register(shell_job(name, "sleep 1000"))
        self.agent.wait_for_allocs(name, "running")

    def test_they_outlive_a_kill_and_what_is_no_database_is_replaced(self):
        self.decide("one")
        before = self.newest()
        self.assertGreater(before, 0)
        self.agent.kill9()
        self.agent.start()
        self.assertGreaterEqual(self.newest(), before)
        self.decide("two")
        self.assertGreater(self.newest(), before)

        self.agent.kill9()
        path = os.path.join(self.agent.data_dir, "server", "decisions.db")
        with open(path, "wb") as f:
            f.write(b"x" * 5000)
        for beside in ("-wal", "-shm"):
            os.remove(path + beside)
        self.agent.start()
        self.decide("three")
        self.assertGreater(self.newest(), 0)
        self.assertIsNotNone(re.search("begins anew.*decisions.db", self.agent.log()))


if __name__ == "__main__":
    harness.main()
