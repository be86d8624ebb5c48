"""Deployments of system jobs on real nodes: canaries on a share of them, a promotion by the command,
then one node after the other, and back again when the new version is bad."""
import cluster
import harness
from harness import shell_job, wait_until

SECOND = 1_000_000_000
QUICK = {"HealthCheck": "task_states", "MinHealthyTime": SECOND // 5, "HealthyDeadline": 20 * SECOND,
         "ProgressDeadline": 60 * SECOND, "MaxParallel": 1, "AutoRevert": True}


class SystemDeploymentTest(cluster.Case):
    def setUp(self):
        super().setUp()
        self.cluster.add_client()
        self.wait_for_nodes("c0", "c1", "c2")

    def bring_out(self, script, **update):
        body = shell_job("agent", script, kind="system")
        group = body["TaskGroups"][0]
        group["Update"] = {**QUICK, **update}
        group["RestartPolicy"] = {"Attempts": 0, "Interval": 60 * SECOND, "Delay": 0, "Mode": "fail"}
        group.pop("ReschedulePolicy", None)
        self.put(body)
        return wait_until(lambda: self.newest(script), what="the deployment of the new version")

    def newest(self, script):
        """The job's newest deployment, if it is of the version with that script."""
        job = self.server.try_get("/v1/job/agent")
        found = self.server.try_get("/v1/job/agent/deployment")
        is_it = found and job and found["JobVersion"] == job["Version"] \
            and script in str(job["TaskGroups"][0]["Tasks"][0]["Config"])
        return found["ID"] if is_it else None

    def deployment(self, deployment_id):
        return self.server.try_get(f"/v1/deployment/{deployment_id}")

    def wait_for_deployment(self, deployment_id, status):
        wait_until(lambda: self.deployment(deployment_id)["Status"] == status, 60,
                   what=f"the deployment being {status}")

    def versions(self):
        """Of what runs, or is to."""
        return sorted(self.server.try_get(f"/v1/allocation/{a['ID']}")["Job"]["Version"]
                      for a in self.cluster.allocs("agent")
                      if a["DesiredStatus"] == "run" and a["ClientStatus"] == "running")

    def test_canaries_are_promoted_and_the_others_follow(self):
        first = self.bring_out("sleep 1000 # first")
        self.wait_for_deployment(first, "successful")
        self.assertEqual(self.versions(), [0, 0, 0])

        second = self.bring_out("sleep 1000 # second", Canary=30)
        group = wait_until(lambda: next((g for g in self.deployment(second)["TaskGroups"].values()
                                         if g["HealthyAllocs"] == 1), None), what="a healthy canary")
        self.assertEqual((group["DesiredCanaries"], len(group["PlacedCanaries"])), (1, 1))
        self.assertEqual(group["DesiredTotal"], 3)
        wait_until(lambda: self.versions() == [0, 0, 1], what="one canary among three")

        said = self.server.run("deployment", "promote", "-detach", second)
        self.assertEqual(said.returncode, 0, said)
        self.wait_for_deployment(second, "successful")
        self.assertEqual(self.versions(), [1, 1, 1])

    def test_a_version_that_fails_goes_back(self):
        first = self.bring_out("sleep 1000")
        self.wait_for_deployment(first, "successful")
        second = self.bring_out("exit 7", AutoRevert=True)
        self.wait_for_deployment(second, "failed")
        self.assertIn("rolling back to job version 0", self.deployment(second)["StatusDescription"])
        wait_until(lambda: self.versions() == [2, 2, 2], what="the old version on all nodes")
        third = self.server.try_get("/v1/job/agent/deployment")["ID"]
        self.assertNotEqual(third, second)
        self.wait_for_deployment(third, "successful")


if __name__ == "__main__":
    harness.main()
