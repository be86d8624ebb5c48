"""Tasks with a schedule: they run from their start to their end, and by order; what becomes of that when agents die."""
import json
import time
import unittest

import harness
from harness import shell_job, wait_until


def at(seconds):
    """The minute and hour of the time that is so far away, in UTC, as a cron expression has them."""
    return time.strftime("%-M %-H", time.gmtime(time.time() + seconds))


ALWAYS = ("0 0 * * * *", "59 23")  # but for the last minute of a day
NEVER = ("0 9 1 1 * 2020", "0 16")


def is_near_midnight():
    now = time.gmtime()
    return not 5 < now.tm_hour * 60 + now.tm_min < 24 * 60 - 5


def scheduled(name, start, end):
    made = shell_job(name, "trap 'exit 0' TERM INT; while :; do sleep 0.1; done")
    group = made["TaskGroups"][0]
    group["RestartPolicy"] = {"Attempts": 0, "Mode": "fail", "Interval": 5_000_000_000, "Delay": 1}
    group["ReschedulePolicy"] = {"Attempts": 0, "Unlimited": False}
    group["Tasks"][0]["Schedule"] = {"Cron": {"Start": start, "End": end, "Timezone": "UTC"}}
    return made


class ScheduleTest(harness.AgentTest):
    def state(self, alloc):
        """Of its task, or nothing while its node has not told of it."""
        return (self.agent.get(f"/v1/allocation/{alloc}").json.get("TaskStates") or {}).get("task", {})

    def types(self, alloc):
        return [event["Type"] for event in self.state(alloc)["Events"]]

    def pause_state(self, alloc):
        return self.agent.get(f"/v1/client/allocation/{alloc}/pause?task=task").json["ScheduleState"]

    def order(self, alloc, state):
        return self.agent.put(f"/v1/client/allocation/{alloc}/pause", {"Task": "task", "ScheduleState": state})

    def wait_for(self, alloc, state, paused):
        return wait_until(lambda: (lambda s: s.get("State") == state and s.get("Paused", "") == paused)(self.state(alloc)),
                          what=f"{state}, {paused}")

    def test_a_task_outside_of_its_schedule_waits_and_runs_by_order(self):
        self.agent.register(scheduled("later", *NEVER))
        alloc = self.agent.wait_for_allocs("later", "pending")[0]["ID"]
        self.wait_for(alloc, "pending", "scheduled_pause")
        self.assertEqual("scheduled_pause", self.pause_state(alloc))
        self.assertEqual(["Received", "Task Setup", "Pausing"], self.types(alloc))
        for _ in range(3):
            self.assertEqual({"Index": 0}, self.order(alloc, "run").json)
            self.wait_for(alloc, "running", "force_run")
            self.assertEqual(200, self.order(alloc, "pause").status)
            self.wait_for(alloc, "pending", "force_pause")
        self.assertEqual(["Running", "Started", "Pausing", "Terminated", "Restarting"] * 2, self.types(alloc))
        state = self.state(alloc)
        self.assertEqual((0, False), (state["Restarts"], state["Failed"]))
        status = self.agent.get("/v1/jobs/statuses").json
        job = next(one for one in status if one["ID"] == "later")
        self.assertTrue(job["Allocs"][0]["HasPausedTask"])

    @unittest.skipIf(is_near_midnight(), "an end is on the day of its start")
    def test_a_task_runs_until_its_end(self):
        # Ends are on full minutes: 15 to 75 s away.
        self.agent.register(scheduled("ending", at(-120) + " * * * *", at(75)))
        alloc = self.agent.wait_for_allocs("ending", "running")[0]["ID"]
        self.assertEqual("", self.pause_state(alloc))
        wait_until(lambda: self.state(alloc).get("Paused") == "scheduled_pause", timeout=180, what="its end")
        self.wait_for(alloc, "pending", "scheduled_pause")
        self.assertEqual(["Received", "Task Setup", "Started", "Pausing", "Terminated", "Restarting"], self.types(alloc))

    def test_an_order_survives_the_agent_and_so_does_the_schedule(self):
        agent = harness.Agent()
        self.addCleanup(agent.destroy)
        agent.start()
        self.__dict__["agent"] = agent
        self.addCleanup(lambda: self.__dict__.pop("agent"))
        agent.register(scheduled("held", *ALWAYS))
        alloc = agent.wait_for_allocs("held", "running")[0]["ID"]
        self.assertEqual(200, self.order(alloc, "pause").status)
        agent.kill9()
        agent.start()
        self.wait_for(alloc, "pending", "force_pause")
        self.assertEqual("force_pause", self.pause_state(alloc))
        self.assertEqual(200, self.order(alloc, "scheduled").status)
        self.wait_for(alloc, "running", "")

    def test_a_deployment_does_not_fail_because_of_a_pause(self):
        made = scheduled("deployed", *NEVER)
        made["TaskGroups"][0]["Update"] = {"MaxParallel": 1, "MinHealthyTime": 100_000_000, "HealthyDeadline": 20_000_000_000,
                                           "ProgressDeadline": 30_000_000_000, "HealthCheck": "checks"}
        self.agent.register(made)
        wait_until(lambda: (self.agent.get("/v1/job/deployed/deployment").json or {}).get("Status") == "successful",
                   what="the deployment")

    def test_the_command(self):
        self.agent.register(scheduled("command", *ALWAYS))
        alloc = self.agent.wait_for_allocs("command", "running")[0]["ID"]
        self.assertEqual('Pause state: ""\n', self.agent.run("alloc", "pause", "-status", alloc[:8], check=True).stdout)
        self.agent.run("alloc", "pause", alloc[:8], "task", check=True)
        self.wait_for(alloc, "pending", "force_pause")
        shown = self.agent.run("alloc", "status", alloc[:8], check=True).stdout
        self.assertIn('Task "task" is "pending", paused by order', shown)
        self.assertIn("Pausing due to override", shown)
        self.agent.run("alloc", "pause", "-state=scheduled", alloc[:8], check=True)
        self.wait_for(alloc, "running", "")

    def test_a_new_schedule_needs_no_new_allocation(self):
        made = scheduled("moved", *ALWAYS)
        self.agent.register(made)
        alloc = self.agent.wait_for_allocs("moved", "running")[0]["ID"]
        changed = scheduled("moved", *NEVER)
        plan = self.agent.put("/v1/job/moved/plan", {"Job": changed, "Diff": True}).json
        task = plan["Diff"]["TaskGroups"][0]["Tasks"][0]
        self.assertEqual(["Schedule"], [one["Name"] for one in task["Objects"]])
        self.assertEqual(["forces in-place update"], task["Annotations"])
        self.agent.register(changed)
        self.wait_for(alloc, "pending", "scheduled_pause")
        self.assertEqual([alloc], [a["ID"] for a in self.agent.allocs("moved")])

    def test_what_is_no_schedule_is_refused(self):
        answer = self.agent.request("PUT", "/v1/jobs", {"Job": scheduled("bad", "0 9 * * * *", "0 8")})
        self.assertEqual(400, answer.status)
        self.assertIn("Schedule validation failed: end cannot be sooner than start", answer.body)


class RightsTest(unittest.TestCase):
    def test_an_order_needs_submit_job_and_a_look_read_job(self):
        agent = harness.Agent(config="acl {\n  enabled = true\n}\n")
        self.addCleanup(agent.destroy)
        agent.start(wait=False)
        agent.token = wait_until(agent.bootstrap, what="the first token")["SecretID"]
        wait_until(agent.is_ready, what="the node")
        agent.register(scheduled("host", *NEVER))
        alloc = wait_until(lambda: agent.allocs("host"), what="the allocation")[0]["ID"]
        wait_until(lambda: agent.get(f"/v1/client/allocation/{alloc}/pause?task=task").status == 200, what="its runner")
        path = f"/v1/client/allocation/{alloc}/pause"
        for capabilities, statuses in ((["read-job"], (200, 403)), (["read-job", "submit-job"], (200, 200)),
                                       (["alloc-lifecycle"], (403, 403))):
            name = capabilities[-1]
            rules = f'namespace "default" {{ capabilities = {json.dumps(capabilities)} }}'
            agent.put(f"/v1/acl/policy/{name}", {"Name": name, "Rules": rules})
            token = agent.put("/v1/acl/token", {"Type": "client", "Policies": [name]}).json["SecretID"]
            headers = {"X-Nomad-Token": token}
            self.assertEqual(statuses, (agent.request("GET", path + "?task=task", headers=headers).status,
                                        agent.request("PUT", path, {"Task": "task", "ScheduleState": "run"},
                                                      headers=headers).status), capabilities)


if __name__ == "__main__":
    harness.main()
