"""Plugins: the samples, built against an installed SDK as an author would; what they do in an agent; and
what becomes of plugins that crash, hang, lie or talk too much."""
import glob
import http.server
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

import harness
from harness import Agent, job, shell_job, wait_until

BUILD = os.environ["NOMADCTL_BUILD"]
BAD = os.path.join(BUILD, "test/system/plugins")
KINDS = {"task-hook": "stamp", "actor": "webhook", "driver": "naps", "fingerprinter": "tools"}


def run(*words, cwd=None, env=None):
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


class Samples:
    """An SDK that is installed, and the samples that were built against it."""
    directory = None

    @classmethod
    def library(cls, name):
        if cls.directory is None:
            cls.directory = tempfile.mkdtemp(prefix="nomadctl-plugins-")
            run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--tags", "devel,plugin",
                "--destdir", cls.directory)
            package = glob.glob(f"{cls.directory}/**/nomadctl-plugin.pc", recursive=True)[0]
            cls.pkgconfig = os.path.dirname(package)
            with open(package) as f:  # It was installed elsewhere than it says.
                text = re.sub(r"^prefix=(.*)", lambda m: f"prefix={cls.directory}{m[1]}", f.read(), flags=re.M)
            with open(package, "w") as f:
                f.write(text)
        built = f"{cls.directory}/{name}/build/{name}.so"
        if not os.path.exists(built):
            kind = {sample: kind for kind, sample in KINDS.items()}[name]
            run(harness.BINARY, "plugin", "init", kind, name, cwd=cls.directory)
            env = dict(os.environ, PKG_CONFIG_PATH=cls.pkgconfig, LD_LIBRARY_PATH=os.path.dirname(cls.pkgconfig))
            run("meson", "setup", "build", cwd=f"{cls.directory}/{name}", env=env)
            run("meson", "test", "-C", "build", cwd=f"{cls.directory}/{name}", env=env)
        return built

    @classmethod
    def clear(cls):
        if cls.directory:
            shutil.rmtree(cls.directory, ignore_errors=True)


def tearDownModule():
    Samples.clear()


class Case(unittest.TestCase):
    def start(self, *libraries, config=""):
        """An agent that has these plugins."""
        agent = Agent(log_level="DEBUG")
        self.addCleanup(agent.destroy)
        agent.plugin_dir = os.path.join(agent.dir, "plugins")
        os.mkdir(agent.plugin_dir)
        for library in libraries:
            shutil.copy(library, agent.plugin_dir)
        with open(agent.config_path, "a") as f:
            f.write(f'plugin_dir = "{agent.plugin_dir}"\n{config}')
        return agent.start()

    def plugin(self, agent, name):
        return next(p for p in agent.get("/v1/agent/plugins").json if p["Name"] == name)

    def wait_for(self, agent, name, status):
        return wait_until(lambda: (p := self.plugin(agent, name))["Status"] == status and p,
                          what=f"plugin {name} being {status}")

    def events(self, agent, alloc, task="task"):
        states = agent.get(f"/v1/allocation/{alloc['ID']}").json.get("TaskStates") or {}
        return [(e["Type"], e["DisplayMessage"]) for e in states.get(task, {}).get("Events") or []]


    @staticmethod
    def content(path):
        if not os.path.exists(path):
            return ""
        with open(path) as f:
            return f.read().strip()


class SampleTest(Case):
    def test_a_task_hook_that_stamps_a_file_and_reports_an_event(self):
        agent = self.start(Samples.library("stamp"), config='plugin "stamp" {\n  config {\n    file = "here"\n  }\n}\n')
        self.assertEqual(self.plugin(agent, "stamp")["Provides"]["TaskHooks"], ["stamp"])
        agent.register(shell_job("web", 'echo "$STAMP_FILE" > local/seen; sleep 1000'))
        alloc = agent.wait_for_allocs("web", "running")[0]
        self.assertIn(("Stamp", "wrote local/here"), self.events(agent, alloc))
        local = os.path.join(agent.data_dir, "alloc", alloc["ID"], "task", "local")
        with open(f"{local}/here") as f:
            self.assertEqual(f.read().strip(), alloc["ID"])
        self.assertTrue(wait_until(lambda: self.content(f"{local}/seen")).endswith("/local/here"))
        shown = agent.run("alloc", "status", alloc["ID"], check=True).stdout
        self.assertIn("wrote local/here", shown)
        self.assertRegex(agent.run("plugin", "list", check=True).stdout, r"stamp\s+1\.0\.0\s+running\s+0\s+Task Hooks: stamp")
        self.assertRegex(agent.run("plugin", "status", "stamp", check=True).stdout, r"Mode\s+= isolated")
        self.assertIn("plugin_link", agent.run("operator", "actors", check=True).stdout)
        self.assertEqual(agent.run("plugin", "status", "nobody").returncode, 1)

    def test_a_background_actor_that_posts_events(self):
        bodies = []

        class Receiver(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        agent = self.start(Samples.library("webhook"), config=f'''plugin "webhook" {{
  config {{
    url    = "http://127.0.0.1:{server.server_address[1]}/in"
    topics = ["Job"]
  }}
}}
telemetry {{
  prometheus_metrics = true
}}
''')
        agent.register(shell_job("announced", "sleep 1000"))
        wait_until(lambda: any('"announced"' in body for body in bodies), what="the event at the receiver")
        metrics = agent.get("/v1/metrics?format=prometheus").body
        self.assertRegex(metrics, r'nomad_plugin_delivered\{[^}]*plugin="webhook"')

    def test_a_fingerprinter_and_a_constraint_on_what_it_found(self):
        agent = self.start(Samples.library("tools"), config='plugin "tools" {\n  config {\n    programs = ["sh", "nothing-such"]\n  }\n}\n')
        node = agent.get("/v1/nodes").json[0]["ID"]
        attributes = wait_until(lambda: (a := agent.get(f"/v1/node/{node}").json["Attributes"]).get("tools.sh") and a,
                                what="the attribute")
        self.assertEqual((attributes["tools.sh"], attributes["tools.nothing-such"]), ("true", "false"))

    def test_validate_runs_a_plugin(self):
        for name, config in (("stamp", "{}"), ("webhook", '{"url":"http://127.0.0.1:1/"}'), ("tools", "{}")):
            done = subprocess.run([harness.BINARY, "plugin", "validate", "-run", "-config", config, Samples.library(name)],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("passed  it ends when it is told to", done.stdout)


class PythonTest(Case):
    def test_an_actor_in_python_speaks_the_protocol(self):
        python = shutil.which("python3", path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        if python is None or subprocess.run([python, "-c", "import capnp"], capture_output=True).returncode != 0:
            self.skipTest("the system's python3 has no pycapnp (pip install pycapnp)")
        agent = self.start(f"{harness.ROOT}/subprojects/plugin-python/count.py", config=f'''plugin "count" {{
  args = ["{harness.ROOT}/schema"]
  config {{
    interval = "1s"
  }}
}}
''')
        self.assertEqual(self.plugin(agent, "count")["Provides"]["Actors"], ["count"])
        wait_until(lambda: "count: there are 0 jobs" in agent.log(), what="the first count")
        agent.register(shell_job("one", "sleep 1000"))
        wait_until(lambda: "count: there are 1 jobs" in agent.log(), what="the next count")


class DriverTest(Case):
    def nap(self, agent, name, length, count=1):
        one = job(name, count=count)
        one["TaskGroups"][0]["Tasks"][0].update(Driver="naps", Config={"length": length})
        agent.register(one)

    def test_a_nap_ends_and_a_wrong_config_is_refused(self):
        agent = self.start(Samples.library("naps"))
        node = agent.get("/v1/nodes").json[0]["ID"]
        wait_until(lambda: agent.get(f"/v1/node/{node}").json["Drivers"].get("naps", {}).get("Healthy"), what="the driver's health")
        one = job("short", kind="batch")
        one["TaskGroups"][0]["Tasks"][0].update(Driver="naps", Config={"length": "1s"})
        agent.register(one)
        agent.wait_for_allocs("short", "complete")
        self.nap(agent, "wrong", "long")
        wait_until(lambda: any("expected a duration" in e[1] for a in agent.allocs("wrong") for e in self.events(agent, a)),
                   what="the refusal")

    def test_tasks_outlive_the_plugin_s_process_and_the_agent(self):
        agent = self.start(Samples.library("naps"))
        self.nap(agent, "long", "1000s", count=5)
        allocs = agent.wait_for_allocs("long", "running", 5)
        before = self.sleepers(agent)
        self.assertEqual(len(before), 5)
        os.kill(self.plugin(agent, "naps")["PID"], signal.SIGKILL)
        self.wait_for(agent, "naps", "restarting")
        self.assertIn("killed by signal 9", self.plugin(agent, "naps")["StatusDescription"])
        self.wait_for(agent, "naps", "running")
        self.assertEqual(self.sleepers(agent), before)
        agent.kill9()
        agent.start()
        self.wait_for(agent, "naps", "running")
        self.assertEqual(self.sleepers(agent), before)
        self.assertEqual({a["ID"] for a in agent.allocs("long") if a["ClientStatus"] == "running"}, {a["ID"] for a in allocs})
        for alloc in agent.allocs("long"):
            self.assertEqual(agent.get(f"/v1/allocation/{alloc['ID']}").json["TaskStates"]["task"]["Restarts"], 0)
        agent.request("DELETE", "/v1/job/long")
        wait_until(lambda: not self.sleepers(agent), what="the naps' ends")
        agent.wait_for_allocs("long", "complete", 5)

    def sleepers(self, agent):
        """The shells of naps, which name the plugin's directory."""
        found = set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read()
            except OSError:
                continue
            if words.startswith(b"sh\0-c\0sleep") and agent.data_dir.encode() in words:
                found.add(int(pid))
        return found


class BadPluginTest(Case):
    def test_what_can_t_be_used_is_refused_and_the_agent_runs(self):
        agent = Agent(log_level="DEBUG")
        self.addCleanup(agent.destroy)
        agent.plugin_dir = os.path.join(agent.dir, "plugins")
        os.mkdir(agent.plugin_dir)
        for name in ("hangs", "throws", "nonsense", "replaces", "unready"):
            shutil.copy(f"{BAD}/{name}.so", agent.plugin_dir)
        with open(f"{BAD}/probe.so", "rb") as f:
            good = f.read()
        files = {"text.so": b"no library", "empty.so": b"", "elsewhere.so": good[:18] + b"\xb7\0" + good[20:],
                 "older.so": re.sub(rb"(NOMADCTL-PLUGIN\0....).", lambda m: m[1] + b"\7", good, count=1, flags=re.S),
                 "another.so": good, "notes.txt": b"about"}
        for name, content in files.items():
            with open(f"{agent.plugin_dir}/{name}", "wb") as f:
                f.write(content)
        with open(agent.config_path, "a") as f:
            f.write(f'plugin_dir = "{agent.plugin_dir}"\nplugin "absent" {{\n}}\n')
        agent.start()
        expected = {
            "hangs": "it did not say what it is within 3s", "throws": "describing itself it threw: it has a bad day",
            "nonsense": '"../../etc" can\'t be the name of a hook', "replaces": 'there is a driver "raw_exec" already',
            "text": "it is no library", "empty": "the file is empty", "elsewhere": "it was built for aarch64",
            "older": "version 7 of the SDK", "another": 'it calls itself "probe"', "absent": "no file of",
        }
        for name, why in expected.items():
            plugin = self.wait_for(agent, name, "refused")
            self.assertIn(why, plugin["StatusDescription"], name)
            self.assertIn(why, agent.log())
            self.assertEqual(plugin["PID"], 0)
        agent.register(shell_job("web", "sleep 1000"))
        agent.wait_for_allocs("web", "running")
        problem = wait_until(lambda: self.plugin(agent, "unready")["StatusDescription"], timeout=60, what="the end of its patience")
        self.assertIn("it did not take its configuration within 10s", problem)

    def probe(self, agent, order):
        name = f"probe-{order}"
        one = shell_job(name, "sleep 1000")
        one["TaskGroups"][0]["Tasks"][0]["Meta"] = {"probe": order}
        one["TaskGroups"][0]["RestartPolicy"] = {"Attempts": 0, "Mode": "fail", "Interval": 60 * 10**9, "Delay": 10**9}
        one["TaskGroups"][0]["ReschedulePolicy"] = {"Attempts": 0, "Unlimited": False}
        agent.register(one)
        return name

    def failure(self, agent, name):
        alloc = agent.wait_for_allocs(name, "failed")[0]
        return " ".join(message for _, message in self.events(agent, alloc))

    def test_what_goes_wrong_in_a_hook_is_its_task_s(self):
        agent = self.start(f"{BAD}/probe.so")
        bystander = shell_job("bystander", "sleep 1000")
        agent.register(bystander)
        agent.wait_for_allocs("bystander", "running")
        self.assertIn("the probe refuses it", self.failure(agent, self.probe(agent, "refuse")))
        self.assertIn("it threw: as ordered", self.failure(agent, self.probe(agent, "throw")))
        self.assertEqual(self.plugin(agent, "probe")["Restarts"], 0)
        self.assertIn("plugin probe has ended", self.failure(agent, self.probe(agent, "crash")))
        self.wait_for(agent, "probe", "running")
        self.assertEqual(self.plugin(agent, "probe")["Restarts"], 1)
        alloc = agent.wait_for_allocs(self.probe(agent, "answer"), "running")[0]
        self.assertIn(("Probe", "probed task"), self.events(agent, alloc))
        agent.wait_for_allocs(self.probe(agent, "flood"), "running")
        self.assertGreater(self.plugin(agent, "probe")["LogLinesDropped"], 20_000)
        self.assertRegex(self.failure(agent, self.probe(agent, "leak")), "std::bad_alloc|plugin probe has ended")
        self.assertEqual(len(agent.wait_for_allocs("bystander", "running")), 1)

    def test_one_that_blocks_is_ended_and_its_task_fails_in_time(self):
        agent = self.start(f"{BAD}/probe.so")
        self.assertIn("did not answer in time", self.failure(agent, self.probe(agent, "block")))
        self.wait_for(agent, "probe", "restarting")
        self.assertIn("it answered nothing for 30s", self.plugin(agent, "probe")["StatusDescription"])

    def test_a_mistake_in_the_configuration_is_told_with_its_line(self):
        agent = self.start(f"{BAD}/probe.so", config='plugin "probe" {\n  config {\n    wait = "soon"\n  }\n}\n')
        with open(agent.config_path) as f:
            line = f.read().split("\n").index('    wait = "soon"') + 1
        self.assertEqual(self.plugin(agent, "probe")["StatusDescription"],
                         f'{agent.config_path}:{line}: plugin.probe.config: wait: expected a duration such as "10s"')

    def test_a_block_of_a_plugin_needs_a_directory(self):
        with tempfile.TemporaryDirectory() as directory:
            with open(f"{directory}/a.hcl", "w") as f:
                f.write('plugin "stamp" {\n}\n')
            done = subprocess.run([harness.BINARY, "agent", "-dev", "-config", f"{directory}/a.hcl"],
                                  capture_output=True, text=True, timeout=30)
        self.assertEqual(done.returncode, 1)
        self.assertIn("a.hcl:1: plugin.stamp: unknown key", done.stderr)

    def test_kill_9_leaves_no_process_of_a_plugin(self):
        agent = self.start(f"{BAD}/probe.so")
        pid = self.plugin(agent, "probe")["PID"]
        agent.kill9()
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), what="the plugin's end")

    def test_an_idle_plugin_is_small(self):
        agent = self.start(f"{BAD}/probe.so")
        harness.skip_with_sanitizer(self, agent.process.pid)
        with open(f"/proc/{self.plugin(agent, 'probe')['PID']}/smaps_rollup") as f:
            private = sum(int(n) for n in re.findall(r"^Private_\w+: +(\d+) kB", f.read(), re.M))
        print(f"an idle plugin host has {private} kB of its own")
        self.assertLess(private, 4096)


if __name__ == "__main__":
    harness.main()
