"""Whatever is wrong with what comes in: one clear message, nothing half-done, nothing lost."""
import json
import os
import resource
import shutil
import socket
import tempfile
import time
import unittest

import harness
from harness import Agent, AgentTest, job, shell_job, wait_until


def peak_memory(pid):
    """In bytes."""
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmHWM:"))


class Requests(AgentTest):
    config = "limits {\n  http_read_timeout = \"2s\"\n  http_max_body_mb = 2\n}\n"

    def still_answers(self):
        self.assertEqual(self.agent.get("/v1/jobs").status, 200)

    def refused(self, body, status, text):
        reply = self.agent.put("/v1/jobs", body)
        self.assertEqual(reply.status, status, reply)
        self.assertIn(text, reply.body)
        self.still_answers()

    def test_malformed_json_and_wrong_types(self):
        self.refused("{", 400, "")
        self.refused("", 400, "Request body is empty")
        self.refused('{"Job": 7}', 400, "")
        self.refused('{"Job": {"ID": "x", "Priority": "high"}}', 400, "Priority")
        self.refused('{"Job": {"ID": "x", "TaskGroups": [{"Count": {}}]}}', 400, "Count")
        self.refused("[" * 100_000, 400, "")
        self.refused('{"Job": null}', 400, "Job must be specified")
        self.assertEqual([j["ID"] for j in self.agent.get("/v1/jobs?prefix=x").json], [])

    def test_an_invalid_job_is_refused_with_every_mistake(self):
        bad = job("bad name")
        bad["TaskGroups"][0]["Tasks"][0]["Driver"] = ""
        reply = self.agent.put("/v1/jobs", {"Job": bad})
        self.assertEqual(reply.status, 400, reply)
        self.assertIn("contains a space", reply.body)
        self.assertIn("Missing task driver", reply.body)
        self.still_answers()

    def test_unknown_things_are_not_found(self):
        for path, text in [("/v1/job/nope", "job not found"),
                           ("/v1/allocation/" + "0" * 8 + "-0000-0000-0000-000000000000", "alloc not found"),
                           ("/v1/evaluation/" + "0" * 8 + "-0000-0000-0000-000000000000", "eval not found"),
                           ("/v1/node/" + "0" * 8 + "-0000-0000-0000-000000000000", "node not found"),
                           ("/v1/nonsense", "")]:
            reply = self.agent.get(path)
            self.assertEqual((reply.status, reply.body), (404, text), path)
        self.assertEqual(self.agent.get("/v1/allocation/xyz").status, 400)
        self.assertEqual(self.agent.request("PATCH", "/v1/jobs").status, 405)
        run = self.agent.run("job", "status", "nope")
        self.assertEqual(run.returncode, 1)
        self.assertIn('No job(s) with prefix or ID "nope" found', run.stderr)

    def test_a_count_beyond_reason(self):
        for count in (2**40, 10**6, -1, 2**63 - 1):
            reply = self.agent.put("/v1/jobs", {"Job": job("huge", count=count)})
            self.assertEqual(reply.status, 400, reply)
            self.assertIn("ount", reply.body)
        self.assertEqual(self.agent.get("/v1/job/huge").status, 404)
        self.still_answers()

    def test_a_filter_of_thirty_parentheses(self):
        from urllib.parse import quote
        started = time.monotonic()
        for text in ["(" * 30, "(" * 30 + 'ID == "x"' + ")" * 30, "(" * 100_000]:
            try:
                status = self.agent.get("/v1/jobs?filter=" + quote(text), timeout=5).status
            except OSError:
                status = 0  # cut off while it was still sending its header
            self.assertIn(status, (0, 200, 400, 414, 431), text[:40])
        self.assertLess(time.monotonic() - started, 2)
        self.still_answers()

    def test_a_body_beyond_the_limit(self):
        reply = self.agent.put("/v1/jobs", "x" * (3 << 20))
        self.assertEqual(reply.status, 413, reply)
        self.still_answers()

    def test_a_job_of_very_many_blocks(self):
        harness.skip_with_sanitizer(self, self.agent.process.pid)
        before = peak_memory(self.agent.process.pid)
        for group in ("{}", "null"):
            body = '{"Job":{"ID":"many","Datacenters":["dc1"],"TaskGroups":[%s]}}' % ",".join([group] * 60_000)
            for path in ("/v1/jobs", "/v1/job/many/plan", "/v1/validate/job"):
                self.assertEqual(413, self.agent.put(path, body).status, path)
        self.assertLess(peak_memory(self.agent.process.pid) - before, 50 << 20)
        self.still_answers()

    def test_pages_in_browsers_get_nothing_done(self):
        job = json.dumps({"Job": harness.job("page")})
        here = {"Host": f"127.0.0.1:{self.agent.port}"}
        evil = {"Origin": "http://evil.example"}
        for headers in ({**here, **evil, "Content-Type": "text/plain"},
                        {**here, "Origin": "null"}, {**here, "Origin": "http://127.0.0.1:1"},
                        {**here, "Sec-Fetch-Site": "cross-site"},
                        {**here, "Origin": f"http://127.0.0.1:{self.agent.port}", "Sec-Fetch-Site": "cross-site"},
                        {"Host": "127.0.0.1:1@evil.example"}, {"Host": "127.0.0.1:evil.example"}, {"Host": "[::1"},
                        {"Host": "evil.example"}, {"Host": f"evil.example:{self.agent.port}"}):
            self.assertEqual(403, self.agent.put("/v1/jobs", job, headers=headers).status, headers)
            self.assertEqual(403, self.agent.get("/v1/client/gc", headers=headers).status, headers)
        self.assertEqual(403, self.agent.get("/v1/jobs", headers={"Host": "evil.example"}).status)
        self.assertEqual(200, self.agent.get("/v1/jobs", headers={**here, **evil}).status)
        self.assertEqual(404, self.agent.get("/v1/job/page").status)
        for host in ("localhost", f"LOCALHOST:{self.agent.port}", f"[::1]:{self.agent.port}"):
            self.assertEqual(200, self.agent.get("/v1/jobs", headers={"Host": host}).status)
        own = {**here, "Origin": f"http://127.0.0.1:{self.agent.port}", "Sec-Fetch-Site": "same-origin"}
        self.assertEqual(200, self.agent.put("/v1/jobs", job, headers=own).status)

    def test_scaling_and_reverting_keep_to_job_max_count(self):
        self.agent.register(harness.job("counted", count=1, kind="batch"))  # no deployment in the way
        reply = self.agent.put("/v1/job/counted/scale", {"Count": 50_001, "Target": {"Group": "group"}})
        self.assertEqual(400, reply.status)
        self.assertIn("job_max_count", reply.body)

    def test_what_requests_leave_in_the_state_is_bounded(self):
        def refusal(path, body):
            reply = self.agent.put(path, body)
            self.assertEqual(400, reply.status, reply)
            self.assertLess(len(reply.body), 100_000)
            return reply.body

        large = "x" * 1_500_000
        heavy = job("heavy")
        heavy["TaskGroups"][0]["Tasks"][0]["Env"] = {"A": large}
        self.assertIn("limits.job_env_max_kb", refusal("/v1/jobs", {"Job": heavy}))
        self.assertIn("limits.job_env_max_kb", refusal("/v1/jobs", {"Job": dict(job("heavy"), Meta={"a": large})}))
        self.assertIn("1024 bytes", refusal("/v1/jobs", {"Job": job("n" * 1_000_000)}))
        self.assertIn("limits.text_max_kb", refusal("/v1/namespace", {"Name": "n" * 1_000_000}))
        self.assertIn("(60003 bytes)", refusal("/v1/namespace", {"Name": "n" * 60_000}))
        self.agent.register(job("light", kind="batch"))
        scale = {"Error": True, "Message": large, "Target": {"Group": "group"}}
        self.assertIn("limits.text_max_kb", refusal("/v1/job/light/scale", scale))
        self.still_answers()

    def test_texts_that_are_escape_sequences_reach_no_terminal(self):
        text = "a\033[2Jb\nforged  service"
        refused = self.agent.request("PUT", "/v1/jobs", {"Job": dict(job("named"), Name=text)})
        self.assertEqual(400, refused.status)
        self.assertIn("control character", refused.body)
        self.agent.register(job("named", kind="batch"))
        self.agent.put("/v1/job/named/scale", {"Error": True, "Message": text, "Target": {"Group": "group"}})
        for words in (["job", "scaling-events", "-verbose", "named"], ["job", "run", "-detach", "/nowhere\033[2J"]):
            shown = self.agent.run(*words)
            self.assertNotIn("\033", shown.stdout + shown.stderr, words)
            self.assertNotIn("\nforged", shown.stdout, words)
        self.assertIn("a\\x1b[2Jb\\nforged", self.agent.run("job", "scaling-events", "-verbose", "named").stdout)
        events = self.agent.get("/v1/job/named/scale").json["TaskGroups"]["group"]["Events"]
        self.assertEqual(text, events[0]["Message"])

    def test_an_agent_leaves_no_core_file_and_tasks_keep_their_limit(self):
        def core_limit(limits):
            return next(line.split()[4] for line in limits.splitlines() if line.startswith("Max core file size"))

        def limits_of(pid):
            with open(f"/proc/{pid}/limits") as f:
                return core_limit(f.read())

        before = resource.getrlimit(resource.RLIMIT_CORE)
        if 0 <= before[1] < 1 << 20:
            self.skipTest("needs a limit of core files that can be raised")
        for config, expected in (("", "1"), ("allow_core_files = true\n", str(1 << 20))):
            agent = Agent(config)
            self.addCleanup(agent.destroy)
            resource.setrlimit(resource.RLIMIT_CORE, (1 << 20, before[1]))
            try:
                agent.start()
            finally:
                resource.setrlimit(resource.RLIMIT_CORE, before)
            self.assertEqual(expected, limits_of(agent.process.pid))
            agent.register(shell_job("limited", "cat /proc/self/limits; sleep 100"))
            alloc = agent.wait_for_allocs("limited", "running")[0]
            shown = wait_until(lambda: agent.run("alloc", "logs", alloc["ID"]).stdout)
            self.assertEqual(str(1 << 20), core_limit(shown))

    def test_headers_without_end(self):
        with socket.create_connection(("127.0.0.1", self.agent.port)) as s:
            s.sendall(b"GET /v1/jobs HTTP/1.1\r\n")
            s.settimeout(10)
            try:
                for n in range(100_000):
                    s.sendall(b"X-%d: %s\r\n" % (n, b"y" * 100))
                answer = s.recv(1000)
            except OSError:
                answer = b""
            self.assertFalse(answer.startswith(b"HTTP/1.1 200"))
        self.still_answers()

    def test_slow_and_half_open_connections_are_ended(self):
        sockets = [socket.create_connection(("127.0.0.1", self.agent.port)) for _ in range(50)]
        for s in sockets:
            s.sendall(b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\n")  # and no more
        self.still_answers()
        deadline = time.monotonic() + 60
        for s in sockets:
            s.settimeout(max(0.1, deadline - time.monotonic()))
            while s.recv(1000):
                pass
            s.close()
        self.assertLess(time.monotonic(), deadline)

    def test_abandoned_blocking_queries_lock_nobody_out(self):
        for _ in range(3):
            sockets = [socket.create_connection(("127.0.0.1", self.agent.port)) for _ in range(80)]
            for s in sockets:
                s.sendall(b"GET /v1/jobs?index=100000000&wait=5m HTTP/1.1\r\nHost: localhost\r\n\r\n")
            for s in sockets:
                s.close()
            time.sleep(0.2)
        self.still_answers()

    def test_random_bytes(self):
        for garbage in (b"\x00" * 1000, os.urandom(5000), b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n",
                        b"POST /v1/jobs HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
                        b"POST /v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"):
            with socket.create_connection(("127.0.0.1", self.agent.port)) as s:
                s.sendall(garbage)
                s.shutdown(socket.SHUT_WR)
                s.settimeout(10)
                try:
                    while s.recv(10_000):
                        pass
                except OSError:
                    pass
        self.still_answers()


class Files(AgentTest):
    """A task fills its directory with traps; the API must not step into them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        script = ("cd local; echo fine > good; ln -s /etc/passwd link; ln -s / root; mkfifo pipe; "
                  "ln -s pipe to_pipe; ln -s good inner; ln -s loop loop; echo made > done; sleep 1000")
        cls.agent.register(shell_job("traps", script))
        cls.alloc = cls.agent.wait_for_allocs("traps", "running")[0]["ID"]
        wait_until(lambda: cls.read("task/local/done").status == 200)

    @classmethod
    def read(cls, path):
        return cls.agent.get(f"/v1/client/fs/cat/{cls.alloc}?path={path}", timeout=5)

    def test_ordinary_files_and_inner_links_are_read(self):
        self.assertEqual(self.read("task/local/good").body, "fine\n")
        self.assertEqual(self.read("task/local/inner").body, "fine\n")

    def test_links_that_lead_outside_are_refused(self):
        for path in ("task/local/link", "task/local/root/etc/passwd", "../../../etc/passwd",
                     "task/local/../../../../etc/passwd", "/etc/passwd"):
            for operation in ("cat", "stat", "readat", "stream", "ls"):
                reply = self.agent.get(f"/v1/client/fs/{operation}/{self.alloc}?path={path}"
                                       "&offset=0&limit=10&follow=false", timeout=5)
                self.assertNotEqual(reply.status, 200, (operation, path, reply))
                self.assertNotIn("root:", reply.body)

    def test_fifos_and_loops_do_not_hang(self):
        for path in ("task/local/pipe", "task/local/to_pipe", "task/local/loop"):
            for operation in ("cat", "readat", "stream"):
                started = time.monotonic()
                reply = self.agent.get(f"/v1/client/fs/{operation}/{self.alloc}?path={path}"
                                       "&offset=0&limit=10&follow=false", timeout=5)
                self.assertNotEqual(reply.status, 200, (operation, path))
                self.assertLess(time.monotonic() - started, 2)


class JobFiles(AgentTest):
    def test_an_invalid_job_file_is_named_with_its_position(self):
        with tempfile.NamedTemporaryFile("w", suffix=".nomad.hcl") as f:
            f.write('job "x" {\n  group "g" {\n    taks "t" {}\n  }\n}\n')
            f.flush()
            run = self.agent.run("job", "run", f.name)
            self.assertEqual(run.returncode, 1)
            self.assertIn(os.path.basename(f.name) + ":3,", run.stderr)
        reply = self.agent.put("/v1/jobs/parse", {"JobHCL": "job {"})
        self.assertEqual(reply.status, 400, reply)
        self.assertIn("input.hcl:1,", reply.body)


class Starting(unittest.TestCase):
    """What keeps an agent from starting is one line and exit code 1."""

    def setUp(self):
        self.agents = []

    def tearDown(self):
        for agent in self.agents:
            agent.stop()
            shutil.rmtree(agent.dir, ignore_errors=True)

    def new(self, **kwargs):
        agent = Agent(**kwargs)
        self.agents.append(agent)
        return agent

    def fails(self, agent, text):
        agent.start(wait=False)
        code = agent.process.wait(20)
        lines = [line for line in agent.log().strip().split("\n") if line.startswith("==> ") or "rror" in line]
        self.assertEqual(code, 1, agent.log())
        self.assertIn(text, agent.log())
        self.assertNotIn("terminate called", agent.log())
        return lines

    def test_port_in_use(self):
        agent = self.new()
        with socket.socket() as s:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the port is claimed
            s.bind(("127.0.0.1", agent.port))
            s.listen()
            self.fails(agent, "address already in use")

    def test_a_configuration_in_the_old_syntax_starts(self):
        agent = self.new()
        with open(agent.config_path, "w") as f:
            f.write(f"""
data_dir = "{agent.data_dir}" bind_addr = "127.0.0.1"
ports {{ http = {agent.port} rpc = {harness.free_port()} serf = {harness.free_port()} }}
server {{ enabled = true
  bootstrap_expect = 1 }}
client {{
  enabled = true
  network_interface = "lo"
  options {{ "driver.raw_exec.enable" = "1" }}
}}""")
        agent.start()
        agent.register(harness.shell_job("old", "exit 0", kind="batch"))
        agent.wait_for_allocs("old", "complete")

    def test_a_second_agent_on_the_same_data(self):
        first = self.new().start()
        second = self.new(data_dir=first.data_dir)
        self.fails(second, "is in use by another agent")
        self.assertEqual(first.get("/v1/jobs").status, 200)

    def test_a_data_dir_that_cannot_be_used(self):
        blocked = tempfile.NamedTemporaryFile()
        agent = self.new(data_dir=blocked.name + "/data")
        self.fails(agent, blocked.name)

    def test_wrong_configuration(self):
        self.fails(self.new(config="datacentr = \"x\"\n"), "datacentr: unknown key; did you mean \"datacenter\"?")
        self.fails(self.new(config="server {"), "agent.hcl")

    def test_a_corrupted_log_stops_the_start_and_names_the_file(self):
        agent = self.new().start()
        agent.register(job("precious", count=0))
        agent.stop()
        files = [os.path.join(at, name) for at, _, names in os.walk(os.path.join(agent.data_dir, "server"))
                 for name in names if name.endswith((".db", ".db-wal"))]
        self.assertTrue(files)
        log = max(files, key=os.path.getsize)
        with open(log, "r+b") as f:
            size = os.path.getsize(log)
            for at in range(4096, size, 4096):
                f.seek(at + 2048)
                f.write(os.urandom(2048))
        self.fails(agent, os.path.basename(log))


if __name__ == "__main__":
    harness.main()
