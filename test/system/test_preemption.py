"""More important jobs make room on a full node: who has to end is told before by `job plan`, ends, is told
of it, and runs again once there is room."""
import unittest

import harness
from harness import job, shell_job, wait_until
from security.guarded import GuardedAgent

# Ends slowly, and says when.
SLOW = "trap 'sleep 1; date +%s.%N > $NOMAD_ALLOC_DIR/ended; exit 0' INT TERM; while true; do sleep 0.1; done"
QUICK = "date +%s.%N > $NOMAD_ALLOC_DIR/began; sleep 1000"


def of_size(made, priority, memory):
    made["Priority"] = priority
    made["TaskGroups"][0]["Tasks"][0]["Resources"] = {"CPU": 5, "MemoryMB": memory}
    return made


class PreemptionTest(harness.AgentTest):
    config = "client {\n  memory_total_mb = 1000\n}\n"

    def setUp(self):
        self.allow(service=True)

    def tearDown(self):
        for each in self.agent.get("/v1/jobs").json:
            self.agent.request("DELETE", f"/v1/job/{each['ID']}?purge=true")
        wait_until(lambda: all(a["ClientStatus"] in ("complete", "failed", "lost")
                               for a in self.agent.get("/v1/allocations").json))

    def allow(self, service):
        answer = self.agent.put("/v1/operator/scheduler/configuration", {
            "SchedulerAlgorithm": "binpack",
            "PreemptionConfig": {"SystemSchedulerEnabled": True, "ServiceSchedulerEnabled": service}})
        self.assertEqual(200, answer.status, answer)

    def alloc(self, name):
        return self.agent.get(f"/v1/allocation/{self.agent.allocs(name)[0]['ID']}").json

    def read(self, alloc, path):
        """The number in a file of the allocation, once its task has written it: it may be running before."""
        url = f"/v1/client/fs/cat/{alloc['ID']}?path={path}"
        wait_until(lambda: self.agent.request("GET", url).body.endswith("\n"), what=f"{path} to be written")
        return float(self.agent.get(url).body)

    def plan(self, made):
        answer = self.agent.put(f"/v1/job/{made['ID']}/plan", {"Job": made, "Diff": False})
        self.assertEqual(200, answer.status, answer)
        return answer.json["Annotations"]

    def test_the_loser_ends_before_the_winner_begins_and_comes_back_later(self):
        self.agent.register(of_size(shell_job("low", SLOW), 20, 600))
        loser = self.agent.wait_for_allocs("low", "running")[0]
        high = of_size(shell_job("high", QUICK), 90, 600)

        annotations = self.plan(high)
        self.assertEqual(1, annotations["DesiredTGUpdates"]["group"]["Preemptions"])
        self.assertEqual([("low", loser["ID"], "service", "run")],
                         [(a["JobID"], a["ID"], a["JobType"], a["DesiredStatus"])
                          for a in annotations["PreemptedAllocs"]])

        self.agent.register(high)
        winner = self.agent.wait_for_allocs("high", "running")[0]
        loser = self.agent.get(f"/v1/allocation/{loser['ID']}").json
        self.assertEqual("evict", loser["DesiredStatus"])
        self.assertEqual(winner["ID"], loser["PreemptedByAllocation"])
        self.assertEqual(f"Preempted by alloc ID {winner['ID']}", loser["DesiredDescription"])
        self.assertEqual([loser["ID"]], self.alloc("high")["PreemptedAllocations"])
        self.assertLess(self.read(loser, "alloc/ended"), self.read(winner, "alloc/began"))
        triggers = [e["TriggeredBy"] for e in self.agent.get("/v1/job/low/evaluations").json]
        self.assertIn("preemption", triggers)
        shown = self.agent.run("alloc", "status", loser["ID"], check=True).stdout
        self.assertRegex(shown, rf"Preempted By Alloc ID += {winner['ID'][:8]}")
        shown = self.agent.run("alloc", "status", "-verbose", winner["ID"], check=True).stdout
        self.assertRegex(shown, rf"Preempted Alloc IDs += {loser['ID']}")

        self.agent.request("DELETE", "/v1/job/high")
        self.agent.wait_for_allocs("low", "running")

    def test_the_command_lists_who_would_go(self):
        self.agent.register(of_size(job("low"), 20, 600))
        self.agent.wait_for_allocs("low", "running")
        spec = """job "high" {
  datacenters = ["*"]
  priority    = 90
  group "group" {
    task "task" {
      driver = "mock_driver"
      config { run_for = "1h" }
      resources {
        cpu    = 5
        memory = 600
      }
    }
  }
}"""
        shown = self.agent.run("job", "plan", "-", stdin=spec).stdout
        self.assertIn("Preemptions:", shown)
        self.assertRegex(shown, r"Alloc ID +Job ID +Task Group\n[0-9a-f-]{36} +low +group")
        self.assertEqual(["run"], [a["DesiredStatus"] for a in self.agent.allocs("low")])

    def test_nobody_goes_where_it_is_not_allowed(self):
        self.allow(service=False)
        self.agent.register(of_size(job("low"), 20, 600))
        self.agent.wait_for_allocs("low", "running")
        self.assertIsNone(self.plan(of_size(job("high"), 90, 600))["PreemptedAllocs"])
        self.agent.register(of_size(job("high"), 90, 600))
        blocked = wait_until(lambda: [e for e in self.agent.get("/v1/job/high/evaluations").json
                                      if e["Status"] == "blocked"], what="a blocked evaluation")
        failed = blocked[0]["FailedTGAllocs"]["group"]
        self.assertEqual({"memory": 1}, failed["DimensionExhausted"])
        self.assertEqual(600, failed["ResourcesExhausted"]["task"]["MemoryMB"])
        self.assertEqual("running", self.agent.allocs("low")[0]["ClientStatus"])

    def test_a_system_job_makes_room_by_default(self):
        self.allow(service=False)
        self.agent.register(of_size(job("low"), 20, 600))
        self.agent.wait_for_allocs("low", "running")
        self.agent.register(of_size(job("sys", kind="system"), 90, 600))
        self.agent.wait_for_allocs("sys", "running")
        self.assertEqual("evict", self.agent.allocs("low")[0]["DesiredStatus"])


class HiddenPreemptionTest(unittest.TestCase):
    """Who has to end may be another namespace's."""

    def test_a_plan_counts_what_its_token_may_not_read(self):
        agent = GuardedAgent(PreemptionTest.config).start()
        self.addCleanup(agent.destroy)
        agent.good("PUT", "/v1/operator/scheduler/configuration", {"PreemptionConfig": {"ServiceSchedulerEnabled": True}})
        for name in ("prod", "dev"):
            agent.good("PUT", f"/v1/namespace/{name}", {"Name": name})
        low = of_size(shell_job("secret-work", "sleep 1000"), 20, 600) | {"Namespace": "prod"}
        agent.good("PUT", "/v1/jobs?namespace=prod", {"Job": low})
        wait_until(lambda: [a["ClientStatus"] for a in agent.get("/v1/allocations?namespace=prod").json] == ["running"],
                   what="the job of another namespace")
        high = of_size(shell_job("high", QUICK), 90, 600) | {"Namespace": "dev"}
        agent.make_policy("dev", 'namespace "dev" { policy = "write" }')
        agent.make_policy("both", 'namespace "*" { policy = "write" }')
        for policy, shown in (("dev", []), ("both", ["secret-work"])):
            token = agent.make_token(Policies=[policy])["SecretID"]
            answer = agent.request("PUT", "/v1/job/high/plan?namespace=dev", {"Job": high},
                                   headers={"X-Nomad-Token": token})
            self.assertEqual(200, answer.status, answer)
            plan = answer.json
            self.assertEqual(1, plan["Annotations"]["DesiredTGUpdates"]["group"]["Preemptions"])
            self.assertEqual(shown, [a["JobID"] for a in plan["Annotations"]["PreemptedAllocs"] or []])
            self.assertEqual(not shown, "secret-work" not in answer.body)
            self.assertEqual(not shown, "1 allocation of namespaces that this token may not read would be preempted, too"
                             in plan["Warnings"])


if __name__ == "__main__":
    harness.main()
