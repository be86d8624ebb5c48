"""Jobs from file to end: the examples, restarts, failures, stops; what the commands and API say."""
import json
import os
import urllib.request

import harness
from harness import AgentTest, ROOT, job, shell_job, wait_until


class Examples(AgentTest):
    def example(self, name):
        return os.path.join(ROOT, "examples", name)

    def test_hello_answers_on_its_dynamic_port(self):
        self.agent.run("job", "run", "-detach", self.example("hello.nomad.hcl"), check=True)
        alloc = self.agent.wait_for_allocs("hello", "running")[0]
        full = self.agent.get(f"/v1/allocation/{alloc['ID']}").json
        port = full["AllocatedResources"]["Shared"]["Ports"][0]
        self.assertTrue(20000 <= port["Value"] <= 32000)

        def answers():
            try:
                return urllib.request.urlopen(f"http://{port['HostIP']}:{port['Value']}/").status
            except OSError:
                return None
        self.assertEqual(wait_until(answers), 200)
        status = self.agent.run("job", "status", "hello", check=True).stdout
        self.assertIn("Status        = running", status)
        self.assertIn(alloc["ID"][:8], status)
        self.agent.run("job", "stop", "-purge", "-detach", "hello", check=True)
        wait_until(lambda: self.agent.get("/v1/job/hello").status == 404)

    def test_batch_completes_and_its_result_is_readable(self):
        self.agent.run("job", "run", "-detach", self.example("batch.nomad.hcl"), check=True)
        alloc = self.agent.wait_for_allocs("batch", "complete")[0]
        logs = self.agent.run("alloc", "logs", alloc["ID"], check=True).stdout
        self.assertEqual(logs, "1\n2\n3\n")
        result = self.agent.run("alloc", "fs", alloc["ID"], "count/local/result", check=True).stdout
        self.assertEqual(result, "1\n2\n3\n")
        self.assertEqual(wait_until(
            lambda: self.agent.get("/v1/job/batch").json["Status"] == "dead"), True)

    def test_failing_is_restarted_by_its_policy_and_then_fails(self):
        self.agent.run("job", "run", "-detach", self.example("failing.nomad.hcl"), check=True)
        alloc = self.agent.wait_for_allocs("failing", "failed", timeout=30)[0]
        state = self.agent.get(f"/v1/allocation/{alloc['ID']}").json["TaskStates"]["fail"]
        self.assertEqual(state["Restarts"], 2)
        self.assertTrue(state["Failed"])
        self.assertEqual(state["State"], "dead")
        kinds = [event["Type"] for event in state["Events"]]
        self.assertEqual(kinds.count("Terminated"), 3)
        self.assertEqual(kinds.count("Restarting"), 2)
        self.assertEqual(kinds[-1], "Not Restarting")
        last = [e for e in state["Events"] if e["Type"] == "Terminated"][-1]
        self.assertEqual(last["ExitCode"], 3)
        errors = self.agent.run("alloc", "logs", "-stderr", alloc["ID"], check=True).stdout
        self.assertIn("about to fail", errors + self.agent.run(
            "alloc", "logs", "-stderr", alloc["ID"]).stderr)
        status = self.agent.run("alloc", "status", alloc["ID"], check=True).stdout
        self.assertIn("Exit Code: 3", status)
        self.assertEqual(len(self.agent.allocs("failing")), 1)  # not placed again


class Life(AgentTest):
    def test_job_versions_and_update(self):
        self.agent.register(shell_job("updated", "sleep 1000"))
        first = self.agent.wait_for_allocs("updated", "running")[0]
        changed = shell_job("updated", "sleep 1001")
        self.agent.register(changed)
        wait_until(lambda: any(a["ID"] != first["ID"] and a["ClientStatus"] == "running"
                               for a in self.agent.allocs("updated")))
        wait_until(lambda: self.agent.get(f"/v1/allocation/{first['ID']}").json["ClientStatus"] == "complete")
        versions = self.agent.get("/v1/job/updated/versions").json["Versions"]
        self.assertEqual([v["Version"] for v in versions], [1, 0])

    def test_a_stopped_job_starts_again_without_its_file(self):
        path = os.path.join(self.agent.dir, "again.hcl")
        text = """job "again" {
  group "g" {
    scaling {
      max = 3
    }
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/sleep"
        args    = ["3131"]
      }
    }
  }
}
"""
        with open(path, "w") as f:
            f.write(text)
        self.agent.run("job", "run", "-detach", path, check=True)
        self.agent.wait_for_allocs("again", "running")
        refused = self.agent.run("job", "start", "again")
        self.assertEqual((1, 'Job "again" has not been stopped\n'), (refused.returncode, refused.stderr))
        self.agent.run("job", "stop", "-detach", "again", check=True)
        self.agent.wait_for_allocs("again", "complete")
        self.assertIn("nomadctl job start again", self.agent.run("why", "again").stdout)

        self.agent.run("start", "-detach", "again", check=True)
        self.agent.wait_for_allocs("again", "running")
        stored = self.agent.get("/v1/job/again").json
        self.assertFalse(stored["Stop"])
        self.assertEqual(text, self.agent.get(f"/v1/job/again/submission?version={stored['Version']}").json["Source"])
        self.assertEqual([True], [policy["Enabled"] for policy in self.agent.get("/v1/scaling/policies?job=again").json])

    def test_scaling_down_stops_the_highest_names(self):
        self.agent.register(job("scaled", count=3))
        self.agent.wait_for_allocs("scaled", "running", 3)
        self.agent.register(job("scaled", count=1))
        def one_left():
            running = [a for a in self.agent.allocs("scaled") if a["ClientStatus"] == "running"]
            return len(running) == 1 and running
        left = wait_until(one_left)
        self.assertEqual(left[0]["Name"], "scaled.group[0]")

    def test_restart_signal_and_stop_of_an_allocation(self):
        script = "trap 'echo got it; exit 0' HUP; echo started; while :; do sleep 0.05; done"
        self.agent.register(shell_job("acted", script, RestartPolicy={
            "Attempts": 5, "Interval": 600 * 10**9, "Delay": 10**8, "Mode": "delay"}))
        alloc = self.agent.wait_for_allocs("acted", "running")[0]["ID"]
        wait_until(lambda: "started" in self.agent.run("alloc", "logs", alloc).stdout)
        self.agent.run("alloc", "signal", "-s", "SIGHUP", alloc, check=True)
        wait_until(lambda: "got it" in self.agent.run("alloc", "logs", alloc).stdout)
        wait_until(lambda: self.agent.get(f"/v1/allocation/{alloc}").json
                   ["TaskStates"]["task"]["Restarts"] == 1)
        wait_until(lambda: self.agent.get(f"/v1/allocation/{alloc}").json
                   ["TaskStates"]["task"]["State"] == "running")
        self.agent.run("alloc", "restart", alloc, check=True)
        wait_until(lambda: self.agent.get(f"/v1/allocation/{alloc}").json
                   ["TaskStates"]["task"]["Restarts"] == 2)
        self.agent.run("alloc", "stop", "-detach", alloc, check=True)
        wait_until(lambda: any(a["ID"] != alloc and a["ClientStatus"] == "running"
                               for a in self.agent.allocs("acted")))

    def test_a_job_that_fits_nowhere_waits_and_says_why(self):
        big = job("big")
        big["TaskGroups"][0]["Tasks"][0]["Resources"] = {"CPU": 20, "MemoryMB": 100_000_000}
        eval_id = self.agent.register(big)["EvalID"]
        done = wait_until(lambda: (lambda e: e if e["Status"] == "complete" else None)(
            self.agent.get(f"/v1/evaluation/{eval_id}").json))
        self.assertEqual(done["FailedTGAllocs"]["group"]["DimensionExhausted"], {"memory": 1})
        self.assertTrue(done["BlockedEval"])
        run = self.agent.run("eval", "status", eval_id, check=True).stdout
        self.assertIn('Dimension "memory" exhausted on 1 nodes', run)

    def test_job_files_in_hcl1(self):
        text = """job "older" { datacenters = ["*"], type = "batch"
          group "g" { task "t" { driver = "raw_exec" meta { "a.b" = true, "c" = 2 }
            config { command = "/bin/sh", args = ["-c", "echo ${NOMAD_META_c}"] } } } }"""
        path = os.path.join(self.agent.dir, "older.nomad")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        refused = self.agent.run("job", "validate", path)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("Use the HCL 1 parser with `nomadctl job run -hcl1`", refused.stderr)
        self.agent.run("job", "validate", "-hcl1", path, check=True)
        self.assertEqual(self.agent.run("job", "plan", "-hcl1", path).returncode, 1)
        self.agent.run("job", "run", "-hcl1", "-detach", path, check=True)
        alloc = self.agent.wait_for_allocs("older", "complete")[0]["ID"]
        self.assertEqual(self.agent.run("alloc", "logs", alloc, check=True).stdout, "2\n")
        source = self.agent.get("/v1/job/older/submission?version=0").json
        self.assertEqual((source["Format"], source["Source"]), ("hcl1", text))
        parsed = self.agent.put("/v1/jobs/parse", {"JobHCL": text, "HCLv1": True}).json
        self.assertEqual(parsed["TaskGroups"][0]["Tasks"][0]["Meta"], {"a.b": "1", "c": "2"})
        self.assertEqual(self.agent.put("/v1/jobs/parse", {"JobHCL": text}).status, 400)

    def followed(self, *arguments):
        """What `alloc logs -f` shows until it ends, which it does by itself and well."""
        done = self.agent.run("alloc", "logs", "-f", *arguments, check=True)
        return done.stdout

    def started(self, name):
        def found():
            allocs = [a for a in self.agent.allocs(name) if a["ClientStatus"] != "pending"]
            return allocs[0]["ID"] if allocs else None
        return wait_until(found)

    def test_logs_are_followed_to_the_end_of_the_allocation(self):
        lines = "".join(f"line {i}\n" for i in range(1, 6))
        self.agent.register(shell_job("talking", "for i in $(seq 1 5); do echo line $i; echo err $i >&2; sleep 0.2; done",
                                      kind="batch"))
        alloc = self.started("talking")
        self.assertEqual(self.followed("-stdout", alloc), lines)
        self.agent.wait_for_allocs("talking", "complete")
        self.assertEqual(self.followed("-stdout", alloc), lines)
        self.assertEqual(self.followed("-stderr", alloc), lines.replace("line", "err"))
        self.assertEqual(self.followed("-tail", "-n", "2", alloc), "line 4\nline 5\n")
        self.assertEqual(self.followed("-job", "talking"), lines)
        file = self.agent.run("alloc", "fs", "-f", alloc, "alloc/logs/task.stdout.0", check=True)
        self.assertEqual(file.stdout, lines)
        plain = self.agent.get(f"/v1/client/fs/logs/{alloc}?task=task&type=stdout&follow=true&plain=true")
        self.assertEqual(plain.body, lines)

    def test_logs_of_a_task_that_restarts_are_followed_on(self):
        script = "if [ -e local/again ]; then echo second; else touch local/again; echo first; exit 1; fi"
        self.agent.register(shell_job("again", script, kind="batch", RestartPolicy={
            "Attempts": 1, "Interval": 600 * 10**9, "Delay": 25 * 10**8, "Mode": "fail"}))
        alloc = self.started("again")
        self.assertEqual(self.followed("-stdout", alloc), "first\nsecond\n")

    def test_events_are_streamed(self):
        import http.client
        connection = http.client.HTTPConnection("127.0.0.1", self.agent.port, timeout=20)
        connection.request("GET", "/v1/event/stream?topic=Job:streamed")
        answer = connection.getresponse()
        self.agent.register(job("streamed"))
        for _ in range(20):
            line = json.loads(answer.readline())
            if line.get("Events"):
                break
        event = line["Events"][0]
        self.assertEqual((event["Topic"], event["Type"], event["Key"]),
                         ("Job", "JobRegistered", "streamed"))
        connection.close()

    def test_a_blocking_query_wakes_for_its_own_change_only(self):
        self.agent.register(job("watched"))
        self.agent.wait_for_allocs("watched", "running")
        first = self.agent.get("/v1/job/watched")
        import threading
        import time
        result = {}
        def wait():
            result["reply"] = self.agent.get(f"/v1/job/watched?index={first.index}&wait=5m", timeout=120)
        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(0.3)
        self.agent.register(job("unrelated"))
        time.sleep(0.3)
        self.assertNotIn("reply", result)
        changed = job("watched")
        changed["Meta"] = {"a": "b"}
        self.agent.register(changed)
        waiting.join()
        self.assertGreater(result["reply"].index, first.index)
        self.assertEqual(result["reply"].json["Meta"], {"a": "b"})


if __name__ == "__main__":
    harness.main()
