"""Identities of tasks by the real program: where they show, whose they are, how they are renewed, and that nobody
else sees them."""
import base64
import http.client
import json
import os
import stat
import time
import unittest

import harness
from harness import Agent, AgentTest, shell_job, wait_until
from tasks import unix_http

SECOND = 10 ** 9


def identified(name, script, *blocks, default=None):
    made = shell_job(name, script)
    task = made["TaskGroups"][0]["Tasks"][0]
    if default:
        task["Identity"] = default
    task["Identities"] = list(blocks)
    return made


def claims_of(token):
    payload = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))


class Identities(AgentTest):
    def folder(self, job, agent=None):
        agent = agent or self.agent
        alloc = agent.wait_for_allocs(job, "running")[0]["ID"]
        return os.path.join(agent.data_dir, "alloc", alloc, "task")

    def test_the_default_one_is_in_environment_and_file(self):
        self.agent.register(identified("shown", "echo $NOMAD_TOKEN > local/env; exec sleep 1000",
                                       default={"Env": True, "File": True}))
        folder = self.folder("shown")
        wait_until(lambda: os.path.exists(folder + "/local/env") and open(folder + "/local/env").read())
        token = open(folder + "/secrets/nomad_token").read()
        self.assertEqual(token, open(folder + "/local/env").read().strip())
        found = os.stat(folder + "/secrets/nomad_token")
        self.assertEqual((0o600, os.geteuid()), (stat.S_IMODE(found.st_mode), found.st_uid))
        claims = claims_of(token)
        alloc = self.agent.allocs("shown")[0]["ID"]
        self.assertEqual(("default", "shown", alloc, "task"), tuple(claims[name] for name in (
            "nomad_namespace", "nomad_job_id", "nomad_allocation_id", "nomad_task")))
        self.assertNotIn("exp", claims)

        # Nobody else sees it, but in the environment of its process.
        for path in (f"/v1/allocation/{alloc}", "/v1/job/shown", f"/v1/client/allocation/{alloc}/stats", "/v1/operator/actors"):
            self.assertNotIn(token, self.agent.get(path).body)
        self.assertNotIn(token, self.agent.run("alloc", "status", "-verbose", alloc).stdout)
        self.assertNotIn(token, self.agent.log())
        for pid in harness.processes_of(self.agent.dir):
            with open(f"/proc/{pid}/cmdline") as f:
                self.assertNotIn(token, f.read())

    def test_without_a_block_nothing_shows(self):
        self.agent.register(shell_job("hidden", "env > local/env; exec sleep 1000"))
        folder = self.folder("hidden")
        wait_until(lambda: os.path.exists(folder + "/local/env") and open(folder + "/local/env").read())
        self.assertNotIn("NOMAD_TOKEN", open(folder + "/local/env").read())
        self.assertEqual(["api.sock"], os.listdir(folder + "/secrets"))

    def test_those_with_a_name_are_renewed_and_the_task_hears_of_it(self):
        self.agent.register(identified(
            "named", "trap 'echo heard >> local/heard' HUP; echo $NOMAD_TOKEN_db > local/env; "
                     "while :; do sleep 0.1; done",
            {"Name": "db", "Audience": ["db.example"], "Env": True, "File": True, "TTL": 20 * SECOND,
             "ChangeMode": "signal", "ChangeSignal": "SIGHUP"},
            {"Name": "vault", "Audience": ["vault.example"], "File": True, "Filepath": "secrets/deep/vault.jwt",
             "TTL": 3600 * SECOND}))
        folder = self.folder("named")
        wait_until(lambda: os.path.exists(folder + "/local/env") and open(folder + "/local/env").read())
        first = open(folder + "/local/env").read().strip()
        vault = open(folder + "/secrets/deep/vault.jwt").read()
        self.assertEqual(["vault.example"], [claims_of(vault)["aud"]] if isinstance(claims_of(vault)["aud"], str)
                         else claims_of(vault)["aud"])
        file = folder + "/secrets/nomad_db.jwt"
        self.assertEqual(20, claims_of(first)["exp"] - claims_of(first)["iat"])
        seen = set()

        def three_seen():
            token = open(file).read()
            self.assertGreater(claims_of(token)["exp"], time.time() - 0.5, "one that has ended")
            self.assertEqual((0o600, os.geteuid()), (stat.S_IMODE(os.stat(file).st_mode), os.stat(file).st_uid))
            seen.add(token)
            return len(seen) >= 3
        wait_until(three_seen, what="two renewals")
        wait_until(lambda: os.path.exists(folder + "/local/heard"), what="the signal")
        self.assertEqual(vault, open(folder + "/secrets/deep/vault.jwt").read())
        state = self.agent.allocs("named")[0]["TaskStates"]["task"]
        self.assertEqual(("running", 0), (state["State"], state["Restarts"]))

    def test_a_file_outside_the_tasks_secrets_is_refused(self):
        for path in ("local/db.jwt", "../alloc/db.jwt"):
            answer = self.agent.put("/v1/jobs", {"Job": identified(
                "seen", "exec sleep 1000", {"Name": "db", "Audience": ["x"], "File": True, "Filepath": path})})
            self.assertIn("filepath must be below secrets/", answer.body)
        self.agent.put("/v1/jobs", {"Job": dict(identified(
            "thief", "exec sleep 1000", {"Name": "db", "Audience": ["x"], "File": True, "Filepath": "../../stolen"}))})
        time.sleep(1)
        self.assertFalse([path for path in os.listdir(os.path.join(self.agent.data_dir, "alloc")) if path == "stolen"])


    def test_services_have_theirs_and_only_who_and_until_when_is_shown(self):
        made = identified("served", "exec sleep 1000", {"Name": "db", "Audience": ["db.example"], "File": True, "TTL": 3600 * SECOND},
                          default={"File": True})
        group = made["TaskGroups"][0]
        group["Services"] = [{"Name": "edge", "Provider": "nomad", "Identity": {
            "Name": "mesh", "Audience": ["consul.io"], "TTL": 1800 * SECOND}}]
        group["Tasks"][0]["Services"] = [{"Name": "front", "Provider": "nomad", "Identity": {
            "Name": "consul", "Audience": ["consul.io", "other.io"], "File": True}}]
        self.agent.register(made)
        folder = self.folder("served")
        alloc = self.agent.allocs("served")[0]["ID"]
        token = open(folder + "/secrets/nomad_service_front.jwt").read()
        self.assertEqual(("front", ["consul.io", "other.io"], "global:default:served:group:front:consul"),
                         tuple(claims_of(token)[name] for name in ("nomad_service", "aud", "sub")))
        self.assertEqual(["api.sock", "nomad_db.jwt", "nomad_service_front.jwt", "nomad_token"], sorted(os.listdir(folder + "/secrets")))

        known = self.agent.get(f"/v1/client/allocation/{alloc}/identities").json
        ends = claims_of(open(folder + "/secrets/nomad_db.jwt").read())["exp"]
        self.assertEqual([("", "edge", "mesh", ["consul.io"]), ("task", "", "default", []), ("task", "", "db", ["db.example"]),
                          ("task", "front", "consul", ["consul.io", "other.io"])],
                         [(one["Task"], one["Service"], one["Name"], one["Audience"]) for one in known])
        self.assertEqual([0, 0], [known[1]["ExpiresAt"], known[3]["ExpiresAt"]])
        self.assertLess(abs(known[2]["ExpiresAt"] / SECOND - ends), 10)
        self.assertLess(abs((known[0]["ExpiresAt"] - known[0]["IssuedAt"]) / SECOND - 1800), 2)

        shown = self.agent.run("alloc", "status", "-verbose", alloc).stdout
        self.assertRegex(shown, r"(?m)^mesh of service edge +consul\.io +\d{4}-\d\d-\d\dT.*, renewed before$")
        self.assertRegex(shown, r"(?m)^default +nomadproject\.io +with the allocation$")
        self.assertRegex(shown, r"(?m)^db +db\.example +\d{4}-\d\d-\d\dT.*, renewed before$")
        self.assertRegex(shown, r"(?m)^consul of service front +consul\.io, other\.io +with the allocation$")
        actors = self.agent.run("operator", "actors").stdout
        self.assertRegex(actors, r"identity_hook default \(with the allocation\), db \(db\.example, until \d{4}-\d\d-\d\dT[0-9:.]+Z\)")
        self.assertRegex(actors, r"identity_hook service:edge/mesh \(consul\.io, until ")
        for output in (shown, actors, json.dumps(known), self.agent.log()):
            self.assertNotIn("eyJ", output)

    def test_what_is_too_much_is_refused_where_it_comes_in(self):
        def answer(identity, of_service=False):
            made = identified("greedy", "exec sleep 1000", *([] if of_service else [dict({"Name": "db"}, **identity)]))
            if of_service:
                made["TaskGroups"][0]["Services"] = [{"Name": "edge", "Provider": "nomad", "Identity": dict({"Name": "m"}, **identity)}]
            return self.agent.put("/v1/jobs", {"Job": made})
        many = [f"audience-{i}" for i in range(10_000)]
        for of_service in (False, True):
            refused = answer({"Audience": many}, of_service)
            self.assertEqual(400, refused.status)
            self.assertIn("there may be at most 64 audiences", refused.body)
            self.assertLess(len(refused.body), 2000)
            self.assertIn("ttl must be at most 720h0m0s", answer({"Audience": ["x"], "TTL": 2 ** 63 - 1}, of_service).body)
            self.assertEqual(400, answer({"Audience": ["x"], "TTL": 2 ** 63}, of_service).status)
            self.assertIn("ttl must be >= 0", answer({"Audience": ["x"], "TTL": -1}, of_service).body)
        self.assertEqual(404, self.agent.get("/v1/job/greedy").status)

    def test_a_token_of_a_megabyte_is_no_request(self):
        self.agent.register(identified("quiet", "exec sleep 1000", default={"File": True}))
        socket = self.folder("quiet") + "/secrets/api.sock"
        own = open(self.folder("quiet") + "/secrets/nomad_token").read()
        huge = "eyJhbGciOiJFZERTQSJ9." + "x" * 1_000_000 + ".x"

        def outcome(ask):
            try:
                return ask().status
            except (OSError, http.client.HTTPException) as problem:
                return type(problem)
        for ask in (lambda: self.agent.get("/v1/jobs", headers={"X-Nomad-Token": huge}), lambda: unix_http.ask(socket, "/v1/jobs", huge)):
            found = outcome(ask)
            self.assertTrue(found in (400, 413, 431) or isinstance(found, type), found)
        self.assertEqual(200, unix_http.ask(socket, "/v1/vars", own).status)
        self.assertEqual(200, self.agent.get("/v1/jobs").status)


class Killed(unittest.TestCase):
    def test_renewal_goes_on_after_the_agent_was_killed(self):
        agent = Agent()
        self.addCleanup(agent.destroy)
        agent.start()
        agent.register(identified("named", "exec sleep 1000", {
            "Name": "db", "Audience": ["db.example"], "File": True, "TTL": 8 * SECOND}))
        alloc = agent.wait_for_allocs("named", "running")[0]["ID"]
        file = os.path.join(agent.data_dir, "alloc", alloc, "task/secrets/nomad_db.jwt")
        first = open(file).read()
        agent.kill9()
        self.assertEqual(first, open(file).read())
        agent.start()
        wait_until(lambda: open(file).read() != first, what="a renewal by the next agent")
        self.assertGreater(claims_of(open(file).read())["exp"], time.time())
        self.assertEqual(0, agent.allocs("named")[0]["TaskStates"]["task"]["Restarts"])


class AtTheSocket(unittest.TestCase):
    """Needs servers that believe the identities which they have signed."""

    def test_a_task_reads_its_own_variables_and_nothing_else(self):
        agent = Agent("acl {\n  enabled = true\n}\n")
        self.addCleanup(agent.stop)
        agent.start(wait=False)
        wait_until(agent.answers, what="the agent")
        token = wait_until(agent.bootstrap, what="a management token")["SecretID"]
        headers = {"X-Nomad-Token": token}
        for path in ("nomad/jobs/asks", "nomad/jobs/other"):
            wait_until(lambda p=path: agent.put(f"/v1/var/{p}", {"Items": {"k": "v"}}, headers=headers).status == 200)
        made = identified("asks", f"unset NOMAD_ADDR; {harness.BINARY} var get -out json nomad/jobs/asks > local/own 2>&1;"
                          f" {harness.BINARY} var get nomad/jobs/other > local/other 2>&1; touch local/done; exec sleep 1000",
                          default={"Env": True, "File": True})
        self.assertEqual(200, agent.put("/v1/jobs", {"Job": made}, headers=headers).status)

        def running():
            found = agent.get("/v1/job/asks/allocations", headers=headers)
            return found.status == 200 and [a for a in found.json if a["ClientStatus"] == "running"]
        folder = os.path.join(agent.data_dir, "alloc", wait_until(running, what="the task")[0]["ID"], "task")
        path = folder + "/secrets/api.sock"
        own = open(folder + "/secrets/nomad_token").read()
        self.assertEqual(200, unix_http.ask(path, "/v1/var/nomad/jobs/asks", own).status)
        self.assertEqual(403, unix_http.ask(path, "/v1/var/nomad/jobs/other", own).status)
        self.assertEqual(500, unix_http.ask(path, "/v1/var/nomad/jobs/asks", own[:-4] + "AAAA").status)
        wait_until(lambda: os.path.exists(folder + "/local/done"), what="the task's commands")
        self.assertEqual({"k": "v"}, json.load(open(folder + "/local/own"))["Items"])
        self.assertIn("403", open(folder + "/local/other").read())
        agent.kill9()
        agent.start(wait=False)

        def answers_again():
            try:
                return unix_http.ask(path, "/v1/var/nomad/jobs/asks", own).status == 200
            except OSError:
                return False
        wait_until(answers_again, what="the socket of the task that was found running")
        agent.request("DELETE", "/v1/job/asks?purge=true", headers=headers)
        wait_until(lambda: not os.path.exists(path), what="the end of the socket")


if __name__ == "__main__":
    harness.main()
