"""`nomadctl migrate`: from a Nomad that answers as in test/data/migrate to an agent, and what is left there."""
import http.server
import json
import os
import threading
import unittest

import harness
from harness import Agent

ANSWERS = os.path.join(harness.ROOT, "test", "data", "migrate", "nomad.json")
TOKEN = "11111111-2222-3333-4444-555555555555"
SECRETS = ("hidden-in-env", "hidden-in-variable", "hidden-statsd", TOKEN)


class Nomad(http.server.BaseHTTPRequestHandler):
    """Answers reads, to those with the token; whatever else it is asked is remembered."""
    answers = {}
    writes = []

    def do_GET(self):
        # Everybody may ask for the leader.
        if self.headers.get("X-Nomad-Token") != TOKEN and self.path != "/v1/status/leader":
            return self.reply(403, b"Permission denied")
        found = self.answers.get(self.path.replace("%2A", "*"))
        return self.reply(404, b"not found") if found is None else self.reply(200, json.dumps(found).encode())

    def do_PUT(self):
        self.writes.append(self.path)
        self.reply(500, b"")

    do_POST = do_DELETE = do_PUT

    def reply(self, status, body):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class MigrateTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(ANSWERS) as f:
            Nomad.answers = json.load(f)
        cls.nomad = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Nomad)
        threading.Thread(target=cls.nomad.serve_forever, daemon=True).start()
        cls.addClassCleanup(cls.nomad.server_close)
        cls.addClassCleanup(cls.nomad.shutdown)
        cls.source = f"http://127.0.0.1:{cls.nomad.server_port}"

    def setUp(self):
        with open(ANSWERS) as f:
            Nomad.answers = json.load(f)
        self.agent = Agent()
        self.addCleanup(self.agent.destroy)

    def migrate(self, *words, token=TOKEN):
        done = self.agent.run("migrate", words[0], f"-from={self.source}", f"-from-token={token}", *words[1:])
        for secret in SECRETS:
            self.assertNotIn(secret, done.stdout + done.stderr)
        self.assertEqual([], Nomad.writes)
        return done

    def test_check_tells_what_works_and_what_does_not(self):
        done = self.migrate("check")
        self.assertEqual((1, ""), (done.returncode, done.stderr))
        table = {line.split("  ")[0]: line.split()[-4:] for line in done.stdout.splitlines()[:8]}
        self.assertEqual(["Works", "Partly", "Warning", "Error"], table["Kind"])
        self.assertEqual(["3", "0", "1", "1"], table["job"])
        self.assertEqual(["2", "0", "0", "0"], table["namespace"])
        self.assertEqual(["1", "0", "0", "0"], table["settings"])
        self.assertEqual(["2", "0", "0", "1"], table["variable"])
        self.assertEqual(["1", "0", "0", "0"], table["ACL policy"])
        for line in ('job default/vaulted\n  error: group "group", task "task": vault is not supported yet: there is no Vault; keep secrets as Nomad variables\n',
                     'variable gone/left/behind\n  error: namespace "gone" does not exist, and variables need one here\n',
                     'job dev/containers\n  warning: driver "podman" is not built in: nodes need a plugin that brings it\n',
                     "\nagent s1.global\n  warning: vault has no effect yet: there is no Vault: keep secrets as Nomad variables\n"
                     "  warning: telemetry.statsd_address has no effect yet: metrics are not sent: ask /v1/metrics\n"):
            self.assertIn(line, done.stdout)

    def test_check_in_json_has_each_object(self):
        done = self.migrate("check", "-json")
        self.assertEqual(1, done.returncode)
        told = json.loads(done.stdout)
        verdicts = {(one["Kind"], one["Namespace"], one["Name"]): one["Verdict"] for one in told["Objects"]}
        self.assertEqual("error", verdicts["job", "default", "vaulted"])
        self.assertEqual("warning", verdicts["job", "dev", "containers"])
        self.assertEqual("works", verdicts["variable", "default", "nomad/jobs/web"])
        self.assertEqual([], told["NotRead"])
        self.assertNotIn(("job", "default", "batch/periodic-1700000000"), verdicts)

    def test_check_of_what_works_ends_well(self):
        for path, count in (("/v1/jobs?namespace=*", 1), ("/v1/vars?namespace=*", 2)):
            Nomad.answers[path] = Nomad.answers[path][:count]
        self.assertEqual(0, self.migrate("check").returncode)

    def test_what_may_not_be_read_is_told(self):
        done = self.migrate("check", token="other")
        self.assertEqual(1, done.returncode)
        hint = "Set NOMAD_FROM_TOKEN or -from-token to a management token of the cluster that is moved from."
        self.assertEqual(["Error reading: Unexpected response code: 403 (Permission denied)", hint], done.stderr.splitlines())
        self.agent.start()
        done = self.migrate("copy", token="other")
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertEqual(["Error reading -from: Unexpected response code: 403 (Permission denied)", hint], done.stderr.splitlines())
        del Nomad.answers["/v1/agent/self"]
        done = self.migrate("check")
        self.assertIn("\nNot read: agent: Unexpected response code: 404 (not found)\n", done.stdout)

    def test_a_token_that_is_not_shown_everything_is_told_of(self):
        Nomad.answers["/v1/acl/token/self"]["Type"] = "client"
        Nomad.answers["/v1/acl/policies"] = []  # so the real one answers, without a word
        for path in ("/v1/jobs?namespace=*", "/v1/vars?namespace=*"):
            Nomad.answers[path] = []
        done = self.migrate("check")
        self.assertEqual(1, done.returncode)
        self.assertIn("\nNot read: what the token may not read: it is no management token, and lists come without what it may not read\n",
                      done.stdout)
        self.agent.start()
        self.assertEqual(1, self.migrate("copy").returncode)

    def test_settings_of_the_scheduler_come_when_asked_for(self):
        agent = self.agent.start()
        self.assertRegex(self.migrate("copy").stdout, "settings +scheduler +left alone +is here, and differs;")
        self.assertRegex(self.migrate("copy", "-overwrite").stdout, "settings +scheduler +changed")
        configuration = agent.get("/v1/operator/scheduler/configuration").json["SchedulerConfig"]
        self.assertEqual((True, False), (configuration["MemoryOversubscriptionEnabled"], configuration["RejectJobRegistration"]))

    def test_a_dry_run_changes_nothing(self):
        self.agent.start()
        done = self.migrate("copy", "-dry-run")
        self.assertEqual(1, done.returncode, done)  # for what would be refused
        self.assertIn("would be created", done.stdout)
        self.assertIn("7 to write, 3 here already, 3 left alone, 2 would fail.\n", done.stdout)
        self.assertEqual([], self.agent.get("/v1/jobs?namespace=*").json)
        self.assertEqual([], self.agent.get("/v1/vars?namespace=*").json)
        self.assertEqual(["default"], [one["Name"] for one in self.agent.get("/v1/namespaces").json])

    def test_copies_come_stopped_and_can_be_started(self):
        agent = self.agent.start()
        done = self.migrate("copy")
        self.assertEqual((1, ""), (done.returncode, done.stderr))
        self.assertIn("7 written, 3 here already, 3 left alone, 2 failed.\n", done.stdout)
        self.assertIn("\nThe jobs are registered here and stopped. To move them one by one:\n", done.stdout)
        self.assertIn("nomadctl why -namespace=<namespace> <job>\n", done.stdout)
        self.assertEqual("team", agent.get("/v1/namespace/dev").json["Meta"]["owner"])
        self.assertEqual({"cards": "2"}, agent.get("/v1/node/pool/gpu").json["Meta"])
        self.assertEqual({"password": "hidden-in-variable"}, agent.get("/v1/var/nomad/jobs/web").json["Items"])
        self.assertEqual({"a": "1", "b": "2"}, agent.get("/v1/var/shared/other_one?namespace=dev").json["Items"])
        self.assertEqual([("batch", True), ("containers", True), ("web", True)], sorted(
            (one["ID"], one["Stop"]) for one in agent.get("/v1/jobs?namespace=*").json))
        self.assertEqual([], agent.get("/v1/allocations?namespace=*").json)
        self.assertEqual('job "web" {}', agent.get("/v1/job/web/submission?version=0").json["Source"])

        again = self.migrate("copy")
        self.assertIn("0 written, 10 here already, 3 left alone, 2 failed.\n", again.stdout)
        self.assertNotIn("one by one", again.stdout)

        agent.run("job", "start", "-detach", "web", check=True)
        agent.wait_for_allocs("web", "running")
        self.assertIn("0 written, 10 here already,", self.migrate("copy").stdout)

    def test_a_newer_version_comes_while_the_job_is_stopped(self):
        agent = self.agent.start()
        self.migrate("copy")
        task = Nomad.answers["/v1/job/web?namespace=default"]["TaskGroups"][0]["Tasks"][0]
        task["Config"]["args"] = ["2000"]
        self.assertIn("1 written, 9 here already,", self.migrate("copy").stdout)
        self.assertEqual(["2000"], agent.get("/v1/job/web").json["TaskGroups"][0]["Tasks"][0]["Config"]["args"])
        agent.run("job", "start", "-detach", "web", check=True)
        task["Config"]["args"] = ["3000"]
        done = self.migrate("copy")
        self.assertIn("0 written, 9 here already, 4 left alone,", done.stdout)
        self.assertIn("runs here, as another version", done.stdout)
        self.assertEqual(["2000"], agent.get("/v1/job/web").json["TaskGroups"][0]["Tasks"][0]["Config"]["args"])


if __name__ == "__main__":
    harness.main()
