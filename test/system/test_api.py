"""The HTTP API as existing clients know it: shapes, headers, errors, and what writes come to."""
import gzip
import http.client
import json
import threading
import time

from harness import AgentTest, job, main, shell_job, wait_until

NOBODY = "00000000-0000-0000-0000-000000000000"


def settled(agent, name):
    """The only allocation of a service job once its deployment has ended."""
    wait_until(lambda: (agent.get(f"/v1/job/{name}/deployment").json or {}).get("Status")
               == "successful", what=f"{name}'s deployment")
    return agent.allocs(name)[0]


class Conventions(AgentTest):
    def test_headers_of_reads_and_writes(self):
        for path in ("/v1/jobs", "/v1/allocations", "/v1/evaluations", "/v1/deployments",
                     "/v1/nodes", "/v1/namespaces", "/v1/services", "/v1/job/nope",
                     "/v1/job/nope/summary"):
            answer = self.agent.get(path)
            self.assertGreaterEqual(answer.index, 1, path)
            self.assertEqual(answer.headers["X-Nomad-KnownLeader"], "true", path)
            self.assertEqual(answer.headers["X-Nomad-LastContact"], "0", path)
        written = self.agent.put("/v1/jobs", {"Job": job("headers")})
        self.assertEqual(int(written.headers["X-Nomad-Index"]), written.json["JobModifyIndex"])
        self.assertIsNone(written.headers["X-Nomad-KnownLeader"])

    def test_errors_are_plain_texts(self):
        for path, status, text in (
                ("/v1/job/nope", 404, "job not found"),
                ("/v1/job/nope/summary", 404, "job not found"),
                ("/v1/job/nope/versions", 404, "job versions not found"),
                ("/v1/job/nope/scale", 404, "job not found"),
                ("/v1/job/nope/submission", 400,
                 "Unable to parse job submission version parameter"),
                (f"/v1/allocation/{NOBODY}", 404, "alloc not found"),
                ("/v1/allocation/nope", 400,
                 "alloc lookup failed: index error: UUID must be 36 characters"),
                (f"/v1/evaluation/{NOBODY}", 404, "eval not found"),
                (f"/v1/deployment/{NOBODY}", 404, "deployment not found"),
                (f"/v1/node/{NOBODY}", 404, "node not found"),
                ("/v1/namespace/nope", 404, "Namespace not found"),
                (f"/v1/client/fs/ls/{NOBODY}", 404, f'Unknown allocation "{NOBODY}"'),
                ("/v1/jobs?index=x", 400, "Invalid index"),
                ("/v1/jobs?wait=x", 400, "Invalid wait time"),
                ("/v1/jobs?region=mars", 400, "No path to region"),
                ("/v1/allocations?prefix=zz", 400,
                 "alloc lookup failed: index error: Invalid UUID: encoding/hex: "
                 "invalid byte: U+007A 'z'"),
                ("/v1/deployments?prefix=zz", 400,
                 "index error: Invalid UUID: encoding/hex: invalid byte: U+007A 'z'"),
                ("/v1/acl/tokens", 400, "ACL support disabled"),
                ("/v1/recommendations", 501, "Nomad Enterprise only endpoint")):
            answer = self.agent.get(path)
            self.assertEqual((answer.status, answer.body), (status, text), path)
            self.assertEqual(answer.headers["Content-Type"], "text/plain; charset=utf-8", path)
        unknown = self.agent.get("/v1/nope")
        self.assertEqual((unknown.status, unknown.body), (404, ""))

    def test_wrong_methods(self):
        for method, path in (("DELETE", "/v1/jobs"), ("PUT", "/v1/nodes"), ("POST", "/v1/metrics"),
                             ("GET", "/v1/job/x/plan"), ("PUT", "/v1/status/leader")):
            answer = self.agent.request(method, path)
            self.assertEqual((answer.status, answer.body), (405, "Invalid method"), path)

    def test_bodies_that_are_wrong(self):
        for path, body, text in (
                ("/v1/jobs", "", "Request body is empty"),
                ("/v1/jobs", "{", "unexpected EOF"),
                ("/v1/jobs", "{}", "Job must be specified"),
                ("/v1/jobs", '{"Job":{}}', "Job ID hasn't been provided"),
                ("/v1/job/a", '{"Job":{"ID":"b"}}', "Job ID does not match name"),
                ("/v1/job/a/plan", "{}", "Job must be specified"),
                ("/v1/job/a/revert", "{}", "JobID must be specified"),
                ("/v1/job/a/evaluate", '{"JobID":"b"}', "JobID not same as job name"),
                ("/v1/jobs/parse", "{}", "Job spec is empty")):
            answer = self.agent.put(path, body)
            self.assertEqual((answer.status, answer.body), (400, text), (path, body))

    def test_gzip_and_pretty(self):
        self.agent.register(job("pressed"))
        plain = self.agent.get("/v1/job/pressed")
        connection = http.client.HTTPConnection("127.0.0.1", self.agent.port)
        connection.request("GET", "/v1/job/pressed", headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        self.assertEqual(answer.headers["Content-Encoding"], "gzip")
        self.assertEqual(json.loads(gzip.decompress(answer.read()))["ID"], plain.json["ID"])
        connection.close()
        pretty = self.agent.get("/v1/job/pressed?pretty").body
        self.assertTrue(pretty.startswith('{\n    "Affinities"'))
        self.assertNotIn("\n", self.agent.get("/v1/job/pressed?pretty=0").body)

    def test_a_blocking_query_waits_for_its_own_change(self):
        self.agent.register(job("watched"))
        index = self.agent.get("/v1/job/watched").index

        def outlasts_its_wait():  # once no job changes on its own any more
            newest = self.agent.get("/v1/jobs").index
            started = time.monotonic()
            self.assertEqual(404, self.agent.get(f"/v1/job/nothing?index={newest}&wait=200ms").status)
            return time.monotonic() - started >= 0.2
        wait_until(outlasts_its_wait, what="a query's waiting for a job that does not change")
        seen = []
        waiting = threading.Thread(target=lambda: seen.append(
            self.agent.get(f"/v1/job/watched?index={index}&wait=20s")))
        waiting.start()
        changed = job("watched")
        changed["Priority"] = 70
        while not seen:  # its status may still change on its own
            self.agent.register(changed)
            waiting.join(0.2)
        self.assertGreater(seen[0].index, index)

    def test_pages_filters_and_prefixes(self):
        for name in ("page-a", "page-b", "page-c"):
            self.agent.register(job(name))
        first = self.agent.get("/v1/jobs?prefix=page-&per_page=2")
        self.assertEqual([j["ID"] for j in first.json], ["page-a", "page-b"])
        self.assertEqual(first.headers["X-Nomad-NextToken"], "default.page-c")
        rest = self.agent.get("/v1/jobs?prefix=page-&per_page=2&next_token=default.page-c")
        self.assertEqual([j["ID"] for j in rest.json], ["page-c"])
        self.assertIsNone(rest.headers["X-Nomad-NextToken"])
        found = self.agent.get('/v1/jobs?filter=ID+matches+"^page-[bc]$"').json
        self.assertEqual([j["ID"] for j in found], ["page-b", "page-c"])
        oldest = self.agent.get("/v1/evaluations?per_page=1").json[0]
        newest = self.agent.get("/v1/evaluations?per_page=1&reverse=true").json[0]
        self.assertLess(oldest["CreateIndex"], newest["CreateIndex"])
        self.assertEqual(self.agent.get("/v1/jobs?namespace=other").json, [])
        self.assertGreaterEqual(len(self.agent.get("/v1/jobs?namespace=*").json), 3)


class Jobs(AgentTest):
    def test_a_job_put_back_as_it_was_answered_is_no_new_version(self):
        def without(tree, nothing):
            if isinstance(tree, list):
                return [without(element, nothing) for element in tree]
            if isinstance(tree, dict):
                return {key: without(value, nothing) for key, value in tree.items() if value not in nothing}
            return tree

        for kind in ("service", "batch", "system", "sysbatch"):
            name = f"back-{kind}"
            self.agent.register(job(name, kind=kind, networks=[{"Mode": "host", "DynamicPorts": [{"Label": "http"}]}]))
            answered = self.agent.get(f"/v1/job/{name}").json
            for nothing in ([], [""], [None], [None, "", [], {}]):
                with self.subTest(kind=kind, left_out=nothing):
                    body = {"Job": without(answered, nothing), "Diff": True}
                    plan = self.agent.put(f"/v1/job/{name}/plan", body).json
                    self.assertEqual("None", plan["Diff"]["Type"])
                    self.agent.register(body["Job"])
                    self.assertEqual(0, self.agent.get(f"/v1/job/{name}").json["Version"])

    def test_the_same_job_again_is_no_new_version(self):
        first = self.agent.register(job("again"))
        second = self.agent.register(job("again"))
        self.assertNotEqual(first["EvalID"], second["EvalID"])
        self.assertEqual(self.agent.get("/v1/job/again").json["Version"], 0)
        self.agent.wait_for_allocs("again", "running", 1)
        plan = self.agent.put("/v1/job/again/plan", {"Job": job("again"), "Diff": True}).json
        updates = plan["Annotations"]["DesiredTGUpdates"]["group"]
        self.assertEqual((updates["Ignore"], updates["InPlaceUpdate"]), (1, 0))
        self.assertEqual(plan["Diff"]["Type"], "None")

        self.agent.register(job("again", count=2))
        self.assertEqual(self.agent.get("/v1/job/again").json["Version"], 1)
        versions = self.agent.get("/v1/job/again/versions?diffs=true").json
        self.assertEqual([v["Version"] for v in versions["Versions"]], [1, 0])
        self.assertEqual(len(versions["Diffs"]), 1)

    def test_check_index(self):
        refused = self.agent.put("/v1/jobs", {"Job": job("checked"), "EnforceIndex": True,
                                              "JobModifyIndex": 7})
        self.assertEqual((refused.status, refused.body),
                         (409, "Enforcing job modify index 7: job does not exist"))
        index = self.agent.register(job("checked"))["JobModifyIndex"]
        refused = self.agent.put("/v1/jobs", {"Job": job("checked", count=2), "EnforceIndex": True,
                                              "JobModifyIndex": index + 1})
        self.assertEqual(refused.body, f"Enforcing job modify index {index + 1}: job exists with "
                                       f"conflicting job modify index: {index}")
        self.assertEqual(self.agent.get("/v1/job/checked").json["Version"], 0)
        run = self.agent.run("job", "run", "-check-index", str(index + 1), "-", stdin="""
job "checked" {
  group "group" {
    task "task" { driver = "mock_driver" }
  }
}""")
        self.assertEqual((run.returncode, run.stderr), (1, refused.body + "\nJob not updated\n"))

    def test_plan_of_jobs_that_place_nothing_yet(self):
        periodic = job("cron", kind="batch")
        periodic["Periodic"] = {"Spec": "0 0 1 1 *", "SpecType": "cron", "Enabled": True}
        plan = self.agent.put("/v1/job/cron/plan", {"Job": periodic}).json
        self.assertEqual(plan["Annotations"]["DesiredTGUpdates"]["group"]["Place"], 1)
        self.assertIsNotNone(plan["NextPeriodicLaunch"])
        self.assertEqual(self.agent.get("/v1/job/cron").status, 404)

    def test_an_evaluation_names_what_it_looked_at(self):
        answer = self.agent.register(job("named", **{"Update": {
            "MaxParallel": 1, "MinHealthyTime": 0, "HealthyDeadline": 10 ** 10,
            "ProgressDeadline": 2 * 10 ** 10}}))
        settled(self.agent, "named")
        evaluation = self.agent.get(f"/v1/evaluation/{answer['EvalID']}").json
        deployment = self.agent.get("/v1/job/named/deployment").json
        self.assertEqual(evaluation["DeploymentID"], deployment["ID"])
        self.assertGreaterEqual(evaluation["SnapshotIndex"], evaluation["JobModifyIndex"])
        version = self.agent.get("/v1/job/named/versions").json["Versions"][0]
        self.assertEqual((version["Stable"], version["Status"]), (True, "running"))

    def test_scale(self):
        self.agent.register(job("scaled"))
        settled(self.agent, "scaled")
        status = self.agent.get("/v1/job/scaled/scale").json
        self.assertEqual(status["JobStopped"], False)
        group = status["TaskGroups"]["group"]
        self.assertEqual((group["Desired"], group["Placed"], group["Running"]), (1, 1, 1))
        answer = self.agent.put("/v1/job/scaled/scale",
                                {"Count": 2, "Target": {"Group": "group"}})
        self.assertEqual(answer.status, 200, answer)
        self.agent.wait_for_allocs("scaled", "running", 2)
        self.assertEqual(self.agent.put("/v1/job/scaled/scale",
                                        {"Count": 2, "Target": {"Group": "nope"}}).status, 400)

    def test_refusals_of_actions(self):
        self.agent.register(job("plain"))
        for path, body, status, text in (
                ("/v1/job/nope/evaluate", {"JobID": "nope"}, 404, "job not found"),
                ("/v1/job/nope/periodic/force", "", 404, "job not found"),
                ("/v1/job/plain/periodic/force", "", 400, "can't force launch non-periodic job"),
                ("/v1/job/plain/stable", {"JobID": "plain", "JobVersion": 9, "Stable": True}, 404,
                 'job "plain" in namespace "default" at version 9 not found'),
                ("/v1/job/plain/revert", {"JobID": "plain", "JobVersion": 0}, 400,
                 "can't revert to current version"),
                ("/v1/job/nope/dispatch", {}, 404, "parameterized job not found"),
                ("/v1/allocation/nope/stop", "", 400,
                 "alloc lookup failed: index error: UUID must be 36 characters"),
                (f"/v1/allocation/{NOBODY}/stop", "", 404, "allocation not found")):
            answer = self.agent.put(path, body)
            self.assertEqual((answer.status, answer.body), (status, text), path)

    def test_validate_says_everything_at_once(self):
        answer = self.agent.put("/v1/validate/job", {"Job": {}})
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.json["ValidationErrors"],
                         ["Missing job ID", "Missing job name", "Missing job task groups"])

    def test_an_unknown_job_is_deregistered_without_a_word(self):
        answer = self.agent.request("DELETE", "/v1/job/never")
        self.assertEqual((answer.status, answer.json["EvalID"]), (200, ""))

    def test_deregister_without_delay(self):
        self.agent.register(job("slow", **{"ShutdownDelay": 60 * 10 ** 9}))
        self.agent.wait_for_allocs("slow", "running")
        self.agent.request("DELETE", "/v1/job/slow?no_shutdown_delay=true")
        self.agent.wait_for_allocs("slow", "complete", timeout=10)
        transition = self.agent.allocs("slow")[0]["DesiredTransition"]
        self.assertEqual(transition["NoShutdownDelay"], True)


class AllocsAndNodes(AgentTest):
    config = "telemetry {\n  prometheus_metrics = true\n}\n"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.agent.register(shell_job("web", "for i in 1 2 3; do echo out $i; echo err $i >&2; done; "
                                            "exec sleep 1000"))
        cls.alloc = cls.agent.wait_for_allocs("web", "running")[0]["ID"]
        wait_until(lambda: "out 3" in cls.agent.get(
            f"/v1/client/fs/cat/{cls.alloc}?path=alloc/logs/task.stdout.0").body)

    def test_the_node(self):
        stub = self.agent.get("/v1/nodes").json[0]
        self.assertEqual(stub["Address"], "127.0.0.1")
        node = self.agent.get(f"/v1/node/{stub['ID']}").json
        self.assertEqual(node["HTTPAddr"], f"127.0.0.1:{self.agent.port}")
        self.assertEqual(node["Drivers"]["raw_exec"]["Attributes"], {"driver.raw_exec": "true"})
        self.assertEqual(node["Attributes"]["driver.raw_exec"], "1")
        self.assertEqual(node["CSINodePlugins"], {})
        self.assertIsNone(node["HostVolumes"])
        self.assertEqual(node["SecretID"], "")
        wait_until(lambda: self.agent.get(f"/v1/node/{stub['ID']}").json["LastAllocUpdateIndex"] > 0)

    def test_logs_whole_and_followed(self):
        base = f"/v1/client/fs/logs/{self.alloc}?task=task&type=stdout"
        self.assertEqual(self.agent.get(base + "&plain=true").body, "out 1\nout 2\nout 3\n")
        self.assertEqual(self.agent.get(base + "&plain=true&origin=end&offset=6").body, "out 3\n")
        # Clients that follow from the end get the newest file from its beginning.
        self.assertEqual(self.agent.get(base + "&plain=true&origin=end&offset=0").body,
                         "out 1\nout 2\nout 3\n")
        frame = self.agent.get(base).json
        self.assertEqual((frame["File"], frame["Offset"]), ("alloc/logs/task.stdout.0", 18))
        for query, text in (("task=nope&type=stdout", 'unknown task name "nope"'),
                            ("task=task", "must provide log type (stdout/stderr)"),
                            ("type=stdout", "must provide task name"),
                            ("task=task&type=stdout&origin=x", "origin must be start or end")):
            answer = self.agent.get(f"/v1/client/fs/logs/{self.alloc}?{query}")
            self.assertEqual((answer.status, answer.body), (400, text))

    def test_files(self):
        base = f"/v1/client/fs/{{}}/{self.alloc}?path=alloc/logs/task.stdout.0"
        self.assertEqual(self.agent.get(base.format("readat") + "&offset=6").body, "out 2\nout 3\n")
        self.assertEqual(self.agent.get(base.format("readat") + "&offset=6&limit=5").body, "out 2")
        self.assertEqual(self.agent.get(base.format("readat") + "&offset=6&limit=-1").body,
                         "out 2\nout 3\n")
        stat = self.agent.get(base.format("stat")).json
        self.assertEqual((stat["Size"], stat["IsDir"], stat["ContentType"]),
                         (18, False, "text/plain; charset=utf-8"))
        names = [f["Name"] for f in self.agent.get(f"/v1/client/fs/ls/{self.alloc}").json]
        self.assertEqual(names, ["alloc", "task"])
        escape = self.agent.get(f"/v1/client/fs/ls/{self.alloc}?path=../..")
        self.assertEqual((escape.status, escape.body), (400, "Path escapes the alloc directory"))

    def test_actions_on_tasks(self):
        base = f"/v1/client/allocation/{self.alloc}"
        answer = self.agent.put(base + "/restart", {"TaskName": "task", "AllTasks": True})
        self.assertEqual(answer.body, "task name cannot be set when restarting all tasks")
        self.assertEqual(self.agent.put(base + "/signal", {"Signal": "SIGCONT"}).json, {"Index": 0})
        self.assertEqual(self.agent.put(base + "/signal", "").body,
                         "Failed to decode body: Request body is empty")
        for path in (base + "/checks", f"/v1/allocation/{self.alloc}/checks"):
            self.assertIsNone(self.agent.get(path).json)
        usage = self.agent.get(base + "/stats").json
        self.assertGreater(usage["Tasks"]["task"]["ResourceUsage"]["MemoryStats"]["RSS"], 0)

    def test_usage_stays_live(self):
        path = f"/v1/client/allocation/{self.alloc}/stats"
        seen = set()
        for _ in range(16):
            usage = self.agent.get(path).json
            self.assertLess(time.time() - usage["Timestamp"] / 1e9, 5)
            seen.add(usage["Timestamp"])
            time.sleep(0.25)
        # Two were read for the first two questions, and about one a second since.
        self.assertTrue(3 <= len(seen) <= 8, seen)

    def test_eligibility(self):
        node = self.agent.get("/v1/nodes").json[0]["ID"]
        path = f"/v1/node/{node}/eligibility"
        refused = self.agent.put(path, {"Eligibility": "x"})
        self.assertEqual((refused.status, refused.body), (400, 'invalid scheduling eligibility "x"'))
        for eligibility in ("ineligible", "eligible"):
            self.assertEqual(self.agent.put(path, {"Eligibility": eligibility}).status, 200)
            self.assertEqual(self.agent.get("/v1/nodes").json[0]["SchedulingEligibility"],
                             eligibility)

    def test_search_and_metrics(self):
        found = self.agent.put("/v1/search", {"Prefix": "we", "Context": "jobs"}).json
        self.assertEqual(found["Matches"], {"jobs": ["web"]})
        refused = self.agent.put("/v1/search", {"Prefix": "we", "Context": "nope"})
        self.assertEqual(refused.status, 400)
        metrics = self.agent.get("/v1/metrics").json
        self.assertTrue({"Timestamp", "Gauges", "Points", "Counters", "Samples"} <= set(metrics))
        for line in self.agent.get("/v1/metrics?format=prometheus").body.splitlines():
            if not line.startswith("#"):
                float(line.rsplit(" ", 1)[1])

    def test_events_as_lines(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.agent.port, timeout=10)
        connection.request("GET", "/v1/event/stream?topic=Job:evented")
        answer = connection.getresponse()
        self.assertEqual(answer.readline(), b"{}\n")
        self.agent.register(job("evented"))
        batch = json.loads(answer.readline())
        connection.close()
        event = batch["Events"][0]
        self.assertEqual((event["Topic"], event["Key"], event["Namespace"], event["Index"]),
                         ("Job", "evented", "default", batch["Index"]))
        self.assertEqual(event["Payload"]["Job"]["ID"], "evented")


class Machine(AgentTest):
    config = "enable_debug = true\n"

    def test_the_machine_is_shown_without_secrets(self):
        here = self.agent.get("/v1/agent/host").json
        self.assertIn("PATH", here["Environment"])
        self.assertTrue(here["OS"] and here["Hosts"])
        self.assertIn("127.0.0.1", [facts["address"] for facts in here["Network"]])
        node = self.agent.get("/v1/nodes").json[0]["ID"]
        named = self.agent.get(f"/v1/agent/host?node_id={node}").json
        self.assertEqual(named["AgentID"], node)
        self.assertEqual(named["HostData"]["OS"], here["OS"])

    def test_lists_of_volumes_and_plugins_are_empty(self):
        for kind in ("volumes", "plugins"):
            self.assertEqual(self.agent.get(f"/v1/{kind}?type=csi").json, [])
            self.assertEqual(self.agent.get(f"/v1/{kind}").json, [])
            self.assertEqual(self.agent.get(f"/v1/{kind}?type=other").body, "")


if __name__ == "__main__":
    main()
