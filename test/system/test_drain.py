"""Drains of real nodes: a server and three client nodes in processes of their own. Services move as
their migrate block allows, batch jobs run out, system jobs go last, deadlines end it, operators
cancel it; and a node that leaves for good drains itself."""
import signal

import cluster
import harness
from harness import job, wait_until

QUICK = {"HealthCheck": "task_states", "MinHealthyTime": 300_000_000, "HealthyDeadline": 60_000_000_000}
SECOND = 1_000_000_000


def service(name, count, parallel=1, **group):
    return job(name, config={"run_for": "1h"}, count=count, Migrate=dict(QUICK, MaxParallel=parallel),
               Update=dict(QUICK, MaxParallel=count, ProgressDeadline=600 * SECOND), **group)


class DrainTest(cluster.Case):
    def setUp(self):
        super().setUp()
        self.cluster.add_client()
        self.wait_for_nodes("c0", "c1", "c2")

    def run_job(self, body, count):
        self.put(body)
        self.wait_for(body["ID"], "running", count)

    def live(self, **wanted):
        return [a for a in self.server.try_get("/v1/allocations")
                if a["ClientStatus"] in ("pending", "running") and a["DesiredStatus"] == "run"
                and all(a[key] == value for key, value in wanted.items())]

    def healthy(self, name):
        return [a for a in self.live(JobID=name) if (a["DeploymentStatus"] or {}).get("Healthy")]

    def node(self, node_id):
        return self.server.try_get(f"/v1/node/{node_id}")

    def shut_others(self, node_id):
        """Until the drain nothing is placed but on that node."""
        for node in self.server.try_get("/v1/nodes"):
            self.eligible(node["ID"], node["ID"] == node_id)

    def eligible(self, node_id, yes=True):
        self.server.request("PUT", f"/v1/node/{node_id}/eligibility",
                            {"Eligibility": "eligible" if yes else "ineligible"})

    def first_node(self):
        return min(n["ID"] for n in self.server.try_get("/v1/nodes"))

    def all_on(self, node_id, body, count):
        """Runs a job whose allocations are all on one node; the others may take more afterwards."""
        self.shut_others(node_id)
        self.run_job(body, count)
        for node in self.server.try_get("/v1/nodes"):
            self.eligible(node["ID"])

    def drain(self, node_id, spec, **more):
        answer = self.server.request("PUT", f"/v1/node/{node_id}/drain",
                                     dict({"DrainSpec": spec, "MarkEligible": True}, **more))
        self.assertEqual(200, answer.status, answer)
        return answer.json

    def drained(self, node_id, timeout=60):
        return wait_until(lambda: self.node(node_id)["DrainStrategy"] is None, timeout=timeout,
                          what="the end of the drain")

    def events(self, node_id):
        return [e["Message"] for e in self.node(node_id)["Events"] if e["Subsystem"] == "Drain"]

    def test_a_service_moves_no_faster_than_it_may(self):
        node = self.first_node()
        self.all_on(node, service("steps", 4), 4)
        wait_until(lambda: len(self.healthy("steps")) == 4, what="health")
        self.drain(node, {"Deadline": 0})
        fewest = 4
        while self.node(node)["DrainStrategy"] is not None:
            fewest = min(fewest, len(self.healthy("steps")))
        self.assertEqual(3, fewest)
        last = self.node(node)
        self.assertEqual(("ineligible", "complete"),
                         (last["SchedulingEligibility"], last["LastDrain"]["Status"]))
        self.assertEqual(["Node drain strategy set", "Node drain complete"], self.events(node)[-2:])
        wait_until(lambda: len(self.healthy("steps")) == 4, what="all of it elsewhere")
        self.assertNotIn(node, {a["NodeID"] for a in self.live(JobID="steps")})
        evals = self.server.try_get("/v1/job/steps/evaluations")
        self.assertIn("node-drain", {e["TriggeredBy"] for e in evals})

    def test_a_service_without_a_deployment_moves_by_its_health(self):
        node = self.first_node()
        body = job("plain", count=2, Migrate=dict(QUICK, MaxParallel=1))
        body["Update"] = {"MaxParallel": 0}
        self.all_on(node, body, 2)
        self.drain(node, {"Deadline": 0})
        self.drained(node)
        self.assertEqual(2, len(self.live(JobID="plain")))

    def test_batch_jobs_run_out_and_the_deadline_ends_others(self):
        node = self.first_node()
        self.all_on(node, job("short", config={"run_for": "3s"}, kind="batch"), 1)
        self.drain(node, {"Deadline": 600 * SECOND})
        self.drained(node)
        self.wait_for("short", "complete", 1)
        self.drain(node, None)

        self.all_on(node, job("long", config={"run_for": "1h"}, kind="batch"), 1)
        self.drain(node, {"Deadline": 2 * SECOND})
        self.drained(node)
        self.assertEqual({"deadline_reached": "true"}, self.node(node)["Events"][-1]["Details"])
        wait_until(lambda: {a["NodeID"] for a in self.live(JobID="long")} - {node},
                   what="a replacement elsewhere")

    def test_batch_work_that_a_drain_ended_comes_back(self):
        node = self.first_node()
        self.shut_others(node)
        for name, kind in (("work", "batch"), ("each", "sysbatch")):
            self.run_job(job(name, config={"run_for": "1h"}, kind=kind), 1)
        self.drain(node, {"Deadline": SECOND})
        self.drained(node)
        for name in ("work", "each"):
            self.wait_for(name, "complete", 1)
        self.assertEqual("pending", self.server.try_get("/v1/job/work")["Status"])
        self.eligible(node)
        for name in ("work", "each"):
            self.wait_for(name, "running", 1)

    def test_system_jobs_go_last_or_stay(self):
        node = self.first_node()
        self.run_job(job("everywhere", kind="system"), 3)
        self.drain(node, {"Deadline": 0, "IgnoreSystemJobs": True})
        self.drained(node)
        self.assertEqual(3, len(self.live(JobID="everywhere")))
        self.all_on(node, service("web", 2, 2), 2)
        wait_until(lambda: len(self.healthy("web")) == 2, what="health")
        self.drain(node, {"Deadline": 0})
        while any(a["NodeID"] == node for a in self.live(JobID="web")):
            self.assertEqual(3, len(self.live(JobID="everywhere")))
        self.drained(node)
        wait_until(lambda: len(self.live(JobID="everywhere")) == 2, what="the end of the system job")

    def test_force_and_cancel_by_the_command(self):
        node = self.first_node()
        self.all_on(node, service("web", 3), 3)
        wait_until(lambda: len(self.healthy("web")) == 3, what="health")
        for other in self.server.try_get("/v1/nodes"):
            self.eligible(other["ID"], False)  # no room: it waits
        done = self.server.run("node", "drain", "-enable", "-detach", "-yes", "-m", "why", "-meta", "k=v",
                               node[:8])
        self.assertEqual((0, f'Node "{node}" drain strategy set\n', ""),
                         (done.returncode, done.stdout, done.stderr))
        wait_until(lambda: "Node drain waits for capacity elsewhere" in self.events(node),
                   what="word of the missing room")
        self.assertEqual({"message": "why", "k": "v"}, self.node(node)["LastDrain"]["Meta"])
        shown = self.server.run("node", "status", node).stdout
        self.assertRegex(shown, r"Drain += true; \S+ deadline")
        done = self.server.run("node", "drain", "-disable", "-keep-ineligible", "-m", "enough", node)
        self.assertEqual((0, f'Node "{node}" drain strategy unset\n'), (done.returncode, done.stdout))
        last = self.node(node)
        self.assertEqual(("canceled", "ineligible", "enough"),
                         (last["LastDrain"]["Status"], last["SchedulingEligibility"],
                          last["LastDrain"]["Meta"]["cancel_message"]))
        self.assertEqual(2, len(self.live(JobID="web")))

        for other in self.server.try_get("/v1/nodes"):
            self.eligible(other["ID"], other["ID"] != node)
        done = self.server.run("node", "drain", "-enable", "-force", node)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn(f"Drain complete for node {node}", done.stdout)
        self.assertIn(f'All allocations on node "{node}" have stopped', done.stdout)
        self.assertRegex(done.stdout, r'Alloc "[0-9a-f-]+" status running -> complete')

    def test_an_empty_node_is_done_at_once(self):
        client = self.cluster.clients[1]
        done = client.run("node", "drain", "-enable", "-self")
        self.assertEqual(0, done.returncode, done.stderr)
        node = client.try_get("/v1/agent/self")["stats"]["client"]["node_id"]
        self.assertIn(f"Drain complete for node {node}", done.stdout)

    def test_a_node_that_leaves_for_good_drains_itself(self):
        client = self.cluster.add_client(
            extra='drain_on_shutdown {\n  deadline = "1m"\n}', blocks="leave_on_terminate = true")
        self.wait_for_nodes("c0", "c1", "c2", client.name)
        node = wait_until(lambda: client.try_get("/v1/agent/self"))["stats"]["client"]["node_id"]
        self.all_on(node, service("leaver", 2), 2)
        wait_until(lambda: len(self.healthy("leaver")) == 2, what="health")
        client.stop(signal.SIGTERM, timeout=60)
        self.assertEqual(0, client.process.returncode)
        self.assertIn("the node is drained", client.log())
        last = self.node(node)
        self.assertEqual(("complete", "shutting down", node, "ineligible"),
                         (last["LastDrain"]["Status"], last["LastDrain"]["Meta"]["message"],
                          last["LastDrain"]["AccessorID"], last["SchedulingEligibility"]))
        wait_until(lambda: len(self.healthy("leaver")) == 2, what="all of it elsewhere")


if __name__ == "__main__":
    harness.main()
