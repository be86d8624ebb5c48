"""Namespaces, quotas, node pools, scaling and the sources of jobs, by command and HTTP, over a restart."""
import json
import os
import unittest

import harness
from harness import job, wait_until

POOL = """
node_pool "gpu" {
  description = "fast ones"
  meta {
    owner = "sre"
  }
  scheduler_config {
    scheduler_algorithm             = "spread"
    memory_oversubscription_enabled = true
  }
}
"""

NAMESPACE = """
name        = "trial"
description = "for trying things"
meta {
  owner = "sre"
}
capabilities {
  enabled_task_drivers  = ["mock_driver"]
}
node_pool_config {
  default = "default"
  denied  = ["gpu"]
}
"""

JOB = """
variable "secret" {
  default = "none"
}
job "sourced" {
  group "group" {
    count = 1
    scaling {
      enabled = true
      min     = 0
      max     = 3
      policy {
        cooldown = "1m"
      }
    }
    task "task" {
      driver = "mock_driver"
      config {
        run_for = "1h"
      }
      env {
        SECRET = var.secret
      }
      resources {
        cpu    = 5
        memory = 10
      }
    }
  }
}
"""


class PlacesCase(harness.AgentTest):
    def ok(self, *words, stdin=None):
        return self.agent.run(*words, check=True, stdin=stdin).stdout

    def refused(self, *words):
        done = self.agent.run(*words)
        self.assertEqual(1, done.returncode, f"{words}: {done.stdout}{done.stderr}")
        return done.stderr

    def file(self, name, text):
        path = os.path.join(self.agent.dir, name)
        with open(path, "w") as f:
            f.write(text)
        return path


class PlacesTest(PlacesCase):
    def settled(self, name, ns="default"):
        """Waits until no deployment of the job is under way."""
        def done():
            last = self.agent.get(f"/v1/job/{name}/deployment?namespace={ns}").json
            return last is None or last["Status"] in ("successful", "failed", "cancelled")
        wait_until(done, what=f"the end of the deployment of {name}")

    def test_node_pools(self):
        self.assertEqual('Successfully applied node pool "gpu"!\n',
                         self.ok("node", "pool", "apply", self.file("pool.hcl", POOL)))
        self.assertRegex(self.ok("node", "pool", "list"), r"(?m)^gpu +fast ones$")
        shown = self.ok("node", "pool", "info", "gpu")
        for line in (r"Name +  = gpu", r"owner = sre", r"Scheduler Algorithm +  = spread",
                     r"Memory Oversubscription Enabled += true"):
            self.assertRegex(shown, line.replace(" +  =", " *="))
        self.assertEqual("No nodes\n", self.ok("node", "pool", "nodes", "gpu"))
        self.assertRegex(self.ok("node", "pool", "nodes", "default"), r"ready")
        self.assertEqual("No jobs\n", self.ok("node", "pool", "jobs", "gpu"))

        waiting = dict(job("waits-for-gpu"), NodePool="gpu")
        self.agent.register(waiting)
        self.assertIn("waits-for-gpu", self.ok("node", "pool", "jobs", "gpu"))
        self.assertIn("has non-terminal jobs in regions: [global]",
                      self.refused("node", "pool", "delete", "gpu"))
        self.ok("job", "stop", "-detach", "-purge", "waits-for-gpu")
        wait_until(lambda: self.agent.run("node", "pool", "delete", "gpu").returncode == 0,
                   what="the pool's end")
        self.assertIn("is not allowed", self.refused("node", "pool", "delete", "all"))

        example = os.path.join(self.agent.dir, "example.hcl")
        self.ok("node", "pool", "init", example)
        self.assertEqual('Successfully applied node pool "example"!\n',
                         self.ok("node", "pool", "apply", example))
        self.assertIn("already exists", self.refused("node", "pool", "init", example))

    def test_namespaces(self):
        self.assertEqual('Successfully applied namespace "trial"!\n',
                         self.ok("namespace", "apply", "-", stdin=NAMESPACE))
        shown = self.ok("namespace", "status", "trial")
        for line in (r"(?m)^Name +=? *= trial$", r"EnabledDrivers += mock_driver",
                     r"DisabledDrivers += <none>", r"owner = sre", r"Denied += gpu"):
            self.assertRegex(shown, line.replace("+=? *", "*"))
        self.assertEqual("for trying things",
                         json.loads(self.ok("namespace", "inspect", "trial"))["Description"])
        self.ok("namespace", "apply", "-description", "changed", "trial")
        changed = json.loads(self.ok("namespace", "inspect", "trial"))
        self.assertEqual("changed", changed["Description"])
        self.assertEqual(["mock_driver"], changed["Capabilities"]["EnabledTaskDrivers"])

        answer = self.agent.put("/v1/jobs?namespace=trial", {"Job": job("raw", "raw_exec", {"command": "/bin/true"})})
        self.assertEqual(400, answer.status)
        self.assertIn('used task driver "raw_exec" is not allowed in namespace "trial"', answer.body)
        answer = self.agent.put("/v1/jobs?namespace=trial", {"Job": job("mocked")})
        self.assertEqual(200, answer.status, answer)
        self.assertIn('namespace "trial" has non-terminal jobs in regions: [global]',
                      self.refused("namespace", "delete", "trial"))
        self.ok("job", "stop", "-namespace", "trial", "-detach", "-purge", "mocked")
        wait_until(lambda: self.agent.run("namespace", "delete", "trial").returncode == 0,
                   what="the namespace's end")
        self.assertIn("can not delete default namespace", self.refused("namespace", "delete", "default"))

    def test_scaling_and_sources(self):
        path = self.file("sourced.nomad.hcl", JOB)
        self.ok("job", "run", "-detach", "-var", "secret=hidden-word", path)
        submission = self.agent.get("/v1/job/sourced/submission?version=0").json
        self.assertEqual(JOB, submission["Source"])
        self.assertEqual("hcl2", submission["Format"])
        self.assertEqual({"secret": "hidden-word"}, submission["VariableFlags"])

        listed = self.agent.get("/v1/scaling/policies").json
        policy = next(p for p in listed if p["Target"]["Job"] == "sourced")
        self.assertRegex(self.ok("scaling", "policy", "list", "-job", "sourced"),
                         f"{policy['ID'][:8]} +true +horizontal +Namespace:default,Job:sourced,Group:group")
        info = self.ok("scaling", "policy", "info", policy["ID"][:8])
        self.assertRegex(info, r"Max += 3")
        self.assertIn('"cooldown": "1m"', info)

        self.assertEqual("No events found\n", self.ok("job", "scaling-events", "sourced"))
        self.settled("sourced")
        self.ok("job", "scale", "-detach", "sourced", "2")
        self.agent.wait_for_allocs("sourced", "running", 2)
        self.assertIn("group count was greater than scaling policy maximum: 9 > 3",
                      self.refused("job", "scale", "-detach", "sourced", "9"))
        told = self.agent.put("/v1/job/sourced/scale",
                              {"Message": "nothing to do", "Target": {"Group": "group"}})
        self.assertEqual(200, told.status, told)
        events = self.ok("job", "scaling-events", "-verbose", "sourced").splitlines()
        self.assertRegex(events[0], "Task Group +Count +PrevCount +Error +Message +Eval ID +Date")
        self.assertRegex(events[1], "nothing to do")
        self.assertRegex(events[2], r"group +2 +1 +false +submitted using")

        self.agent.kill9()
        self.agent.start()
        self.assertIn(policy["ID"], [p["ID"] for p in self.agent.get("/v1/scaling/policies").json])
        self.assertEqual(2, len(self.ok("job", "scaling-events", "sourced").splitlines()) - 1)
        self.assertEqual(JOB, self.agent.get("/v1/job/sourced/submission?version=1").json["Source"])
        self.assertNotIn("hidden-word", self.agent.log())

    def test_regions(self):
        answer = self.agent.put("/v1/jobs", {"Job": dict(job("regions"), Multiregion={
            "Regions": [{"Name": "global"}, {"Name": "b"}]})})
        self.assertEqual(400, answer.status)
        self.assertIn("Multiregion jobs are unlicensed.", answer.body)
        self.agent.register(job("single", Update={"MaxParallel": 1, "MinHealthyTime": 10 ** 10}))
        deployment = wait_until(lambda: self.agent.get("/v1/job/single/deployment").json,
                                what="a deployment")
        # Nomad takes it for one that is not blocked, too.
        done = self.agent.run("deployment", "unblock", "-detach", deployment["ID"])
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("running", self.agent.get("/v1/deployment/" + deployment["ID"]).json["Status"])


QUOTA = """
name        = "small"
description = "three little ones"
limit {
  region = "global"
  region_limit {
    cpu = 170
  }
  variables_limit = 1
}
"""

QUOTA_JOB = """
job "%s" {
  namespace = "team"
  group "group" {
    count = %d
    task "task" {
      driver = "mock_driver"
      config {
        run_for = "1h"
      }
      resources {
        cpu    = 50
        memory = 10
      }
    }
  }
}
"""


class QuotaTest(PlacesCase):
    def live(self, job):
        allocs = self.agent.get(f"/v1/job/{job}/allocations?namespace=team").json
        return [one for one in allocs
                if one["DesiredStatus"] == "run" and one["ClientStatus"] in ("pending", "running")]

    def run_job(self, name, count):
        path = self.file(f"{name}.hcl", QUOTA_JOB % (name, count))
        self.agent.run("job", "run", "-detach", path, check=True)

    def used(self):
        usage = self.agent.get("/v1/quota/usage/small").json["Used"]
        return next(iter(usage.values()))["RegionLimit"]["CPU"]

    def test_a_namespace_takes_no_more_than_its_quota(self):
        quota = self.file("small.hcl", QUOTA)
        self.assertIn("Successfully applied quota specification \"small\"!",
                      self.ok("quota", "apply", quota))
        self.ok("namespace", "apply", "-quota", "small", "team")
        self.run_job("first", 2)
        wait_until(lambda: len(self.live("first")) == 2, what="the first job")

        plan = self.agent.run("job", "plan", self.file("plan.hcl", QUOTA_JOB % ("second", 3)))
        self.assertIn('Quota limit hit "cpu exhausted (200 needed > 170 limit)"', plan.stdout)
        self.run_job("second", 3)
        wait_until(lambda: len(self.live("second")) == 1, what="as many as there is room for")
        self.assertEqual(150, self.used())
        status = self.ok("job", "status", "-namespace", "team", "second")
        self.assertIn('Quota limit hit "cpu exhausted (200 needed > 170 limit)"', status)
        self.assertIn("150 / 170", self.ok("quota", "status", "small"))
        self.assertIn("150 / 170", self.ok("namespace", "status", "team"))
        waiting = [one for one in self.agent.get("/v1/evaluations?namespace=team").json
                   if one["Status"] == "blocked"]
        self.assertEqual(["small"], [one["QuotaLimitReached"] for one in waiting])
        self.assertIn('quota "small" is in use by namespaces',
                      self.refused("quota", "delete", "small"))

        self.ok("job", "stop", "-namespace", "team", "-detach", "first")
        wait_until(lambda: len(self.live("second")) == 3, what="the rest")
        self.assertEqual(150, self.used())

        # Wider limits wake who waits; narrower ones end nobody.
        self.run_job("third", 1)
        wait_until(lambda: any(one["Status"] == "blocked" for one in
                               self.agent.get("/v1/job/third/evaluations?namespace=team").json),
                   what="a blocked evaluation")
        self.assertEqual([], self.live("third"))
        self.ok("quota", "apply", self.file("wider.hcl", QUOTA.replace("170", "200")))
        wait_until(lambda: len(self.live("third")) == 1, what="the third job")
        self.ok("quota", "apply", self.file("narrow.hcl", QUOTA.replace("170", "50")))
        self.assertEqual(3, len(self.live("second")))

        # The same after a restart, which counts anew.
        self.agent.kill9()
        self.agent.start()
        wait_until(lambda: self.used() == 200, what="what is in use")
        self.ok("namespace", "apply", "-quota=", "team")
        self.ok("quota", "delete", "small")
        self.assertEqual([], self.agent.get("/v1/quotas").json)

    def test_variables_take_of_it(self):
        self.ok("quota", "apply", self.file("small.hcl", QUOTA))
        self.ok("namespace", "apply", "-quota", "small", "team")
        big = "x" * 65000
        put = None
        for i in range(20):
            put = self.agent.put(f"/v1/var/v{i}?namespace=team", {"Items": {"key": big}})
            if put.status != 200:
                break
        self.assertEqual(16, i)
        self.assertIn("quota exceeded", put.body)


if __name__ == "__main__":
    harness.main()
