"""What users of Nomad bring and this release does not carry out is told: by an error or a warning, never by silence."""
import os
import re
import subprocess
import tempfile
import threading

import harness
from harness import Agent, job, wait_until

VAULT = "group \"group\", task \"task\": vault is not supported yet: "
JOB_FILE = """
job "moved" {
  group "web" {
    network {
      mode = "bridge"
      port "http" {}
    }
    service {
      name     = "front"
      provider = "nomad"
      connect {
        native = true
      }
    }
    task "server" {
      driver = "raw_exec"
      config {
        command = "/bin/true"
      }
      vault {
        policies = ["reader"]
      }
    }
  }
}
"""


class JobsTest(harness.AgentTest):
    def test_what_a_job_depends_on_is_an_error(self):
        wrong = job("secretive")
        wrong["TaskGroups"][0]["Tasks"][0]["Vault"] = {"Policies": ["reader"]}
        for answer in (self.agent.put("/v1/jobs", {"Job": wrong}),
                       self.agent.put("/v1/job/secretive/plan", {"Job": wrong})):
            self.assertGreaterEqual(answer.status, 400, answer)
            self.assertIn(VAULT, answer.body.replace('\\"', '"'))
        judged = self.agent.put("/v1/validate/job", {"Job": wrong}).json
        self.assertEqual(1, len(judged["ValidationErrors"]), judged)
        self.assertIn(VAULT, judged["ValidationErrors"][0])
        self.assertEqual([], self.agent.get("/v1/jobs").json)

    def test_the_commands_name_every_block(self):
        path = os.path.join(self.agent.dir, "moved.nomad.hcl")
        with open(path, "w") as f:
            f.write(JOB_FILE)
        for words in (("job", "validate", path), ("job", "plan", path), ("job", "run", path)):
            done = self.agent.run(*words)
            self.assertNotEqual(0, done.returncode)
            for text in ('service "front": connect is not supported yet',
                         'task "server": vault is not supported yet'):
                self.assertIn(text, done.stdout + done.stderr)

    def test_what_a_job_runs_without_is_a_warning(self):
        served = job("served", Services=[{"Name": "front", "Provider": "nomad", "Meta": {"a": "b"}}])
        warning = self.agent.register(served)["Warnings"]
        self.assertTrue(warning.startswith("1 warning:\n\n* group \"group\", service \"front\": meta has no effect yet: "), warning)
        self.agent.wait_for_allocs("served", "running")

    def test_the_example_of_job_init_runs_here(self):
        for flags in ((), ("-short",)):
            path = os.path.join(self.agent.dir, f"example{len(flags)}.nomad.hcl")
            self.agent.run("job", "init", *flags, path, check=True)
            done = self.agent.run("job", "run", "-detach", path, check=True)
            self.assertNotIn("Warning", done.stdout)
            self.agent.wait_for_allocs("example", "running")
        self.assertEqual(1, self.agent.run("job", "init", "-connect", self.agent.dir + "/c.hcl").returncode)

    def test_the_nearest_name_is_told(self):
        for words, near in ((("job", "sttaus", "x"), 'did you mean "job status"?'),
                            (("verson",), 'did you mean "version"?'),
                            (("job", "run", "-detahc", "x"), "did you mean -detach?")):
            done = self.agent.run(*words)
            self.assertNotEqual(0, done.returncode)
            self.assertIn(near, done.stderr)


class ConfigurationTest(harness.AgentTest):
    config = """
server {
  redundancy_zone         = "a"
  deploy_query_rate_limit = 5
}
telemetry {
  statsd_address = "127.0.0.1:8125"
}
ui {
  enabled = false
}
log_rotate_bytes = 2000
log_rotate_max_files = 2
"""

    def test_keys_without_effect_are_told_at_the_start(self):
        said = re.findall(r"agent\.hcl:\d+: (\S+): has no effect yet: ", self.agent.log())
        self.assertEqual(["server.redundancy_zone", "server.deploy_query_rate_limit", "telemetry.statsd_address"], said)

    def test_a_server_that_founds_nothing_is_joined_by_hand_or_by_a_flag(self):
        """By the serf port of the other one, as Nomad's users do."""
        with open(self.agent.config_path) as f:
            serf = "127.0.0.1:" + re.search(r"serf = (\d+)", f.read()).group(1)
        for number, flags in enumerate(([], [f"-join={serf}"]), start=2):
            other = Agent()
            self.addCleanup(other.destroy)
            with open(other.config_path) as f:
                text = f.read()
            with open(other.config_path, "w") as f:
                f.write(text.replace("bootstrap_expect = 1", "bootstrap_expect = 0") + f'name = "other{number}"\n')
            other.start(wait=False, flags=flags)
            if not flags:
                wait_until(lambda: "this server neither founds a cluster nor joins one" in other.log(), what="a warning")
                wait_until(lambda: other.run("server", "join", serf).returncode == 0, what="the server joined")
            wait_until(lambda: [m["Status"] for m in self.agent.get("/v1/agent/members").json["Members"]] == ["alive"] * number,
                       what=f"{number} members")


class StartTest(harness.AgentTest):
    def agent_with(self, config, *flags):
        """The output of an agent that is given `config` alone, and ends by itself or is ended when it has started."""
        path = os.path.join(self.agent.dir, "start.hcl")
        with open(path, "w") as f:
            f.write(config)
        process = subprocess.Popen([harness.BINARY, "agent", *flags, "-config", path], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        limit = threading.Timer(60, process.kill)
        limit.start()
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "agent started!" in line:
                process.terminate()
        process.wait(30)
        limit.cancel()
        return "".join(lines)

    def ports(self):
        return "ports {\n" + "".join(f"  {name} = {harness.free_port()}\n" for name in ("http", "rpc", "serf")) + "}\n"

    def test_without_an_address_it_listens_on_loopback_and_says_so(self):
        with tempfile.TemporaryDirectory() as data:
            out = self.agent_with(f"""
data_dir = "{data}"
log_file = "{data}/logs/"
server {{
  enabled          = true
  bootstrap_expect = 1
}}
""" + self.ports())
            self.assertIn("listening on 127.0.0.1 alone", out)
            self.assertIn("agent started!", out)
            with open(os.path.join(data, "logs", "nomad.log")) as f:
                self.assertIn("listening on 127.0.0.1 alone", f.read())

    def test_a_file_does_not_turn_off_what_dev_turned_on(self):
        out = self.agent_with("server {\n  enabled = false\n}\n" + self.ports(), "-dev")
        self.assertIn("Server: true", out)

    def test_an_agent_less_safe_than_told_does_not_start(self):
        for key, text in (("acl {\n  enabld = true\n}\n", 'start.hcl:2: acl.enabld: unknown key; did you mean "enabled"?'),
                          ('tls {\n  tls_cipher_suites = "nonsense"\n}\n', "tls.tls_cipher_suites: not supported yet"),
                          ('plugin "raw_exec" {\n  config {\n    enabled = "tru"\n  }\n}\n',
                           "start.hcl:3: plugin.raw_exec.config.enabled: expected true or false"),
                          ('plugin "raw_exce" {\n}\n', 'unknown key; did you mean "raw_exec"?')):
            out = self.agent_with(key, "-dev")
            self.assertNotIn("agent started!", out)
            self.assertIn(text, out)


if __name__ == "__main__":
    harness.main()
