"""Plugins: the samples, built against an installed SDK as an author would; what they do in an agent; and
what becomes of plugins that crash, hang, lie or talk too much."""
import contextlib
import fcntl
import glob
import hashlib
import http.server
import itertools
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest
import unittest.mock

import harness
from harness import Agent, job, shell_job, wait_until

BUILD = os.environ["NOMADCTL_BUILD"]
BAD = os.path.join(BUILD, "test/system/plugins")
KINDS = {"task-hook": "stamp", "alloc-hook": "ledger", "actor": "webhook", "driver": "naps", "fingerprinter": "tools",
         "device": "ttys", "scheduler": "labels", "service-provider": "filesd"}


def run(*words, cwd=None, env=None):
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def sanitizers():
    """Of the SDK library; what links it has to be made with them, too."""
    options = json.loads(run("meson", "introspect", "--buildoptions", BUILD))
    return next(option["value"] for option in options if option["name"] == "b_sanitize")


class Samples:
    """An SDK that is installed, and the samples that were built against it: once for the programs that they
    were built with, by whichever share of these tests needs one first."""
    directory = os.path.join(BAD, "samples")
    agent = harness.BINARY  # Whatever a test takes in its place.

    @classmethod
    def made_with(cls):
        found = [cls.agent, *glob.glob(f"{BUILD}/runtime/plugin/*/*nomadctl-plugin*")]
        return "\n".join(f"{path} {os.stat(path).st_size} {os.stat(path).st_mtime_ns}"
                         for path in sorted(found) if os.path.isfile(path))

    @classmethod
    @contextlib.contextmanager
    def alone(cls, what):
        with open(f"{cls.directory}.{what}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @classmethod
    def install(cls):
        """Where the SDK's description for pkg-config is."""
        stamp = f"{cls.directory}/made_with"
        with cls.alone("sdk"):
            if not os.path.exists(stamp) or open(stamp).read() != cls.made_with():
                shutil.rmtree(cls.directory, ignore_errors=True)
                run("meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--tags", "devel,plugin",
                    "--destdir", cls.directory)
                package = glob.glob(f"{cls.directory}/**/nomadctl-plugin.pc", recursive=True)[0]
                with open(package) as f:  # It was installed elsewhere than it says.
                    text = re.sub(r"^prefix=(.*)", lambda m: f"prefix={cls.directory}{m[1]}", f.read(), flags=re.M)
                with open(f"{cls.directory}/sdk.hpp", "w") as f:
                    f.write("#include <nomadctl/plugin/plugin.hpp>\n")
                with open(package, "w") as f:
                    f.write(re.sub(r"^Cflags:.*", rf"\g<0> -include {cls.directory}/sdk.hpp", text, flags=re.M))
                with open(stamp, "w") as f:
                    f.write(cls.made_with())
        return os.path.dirname(glob.glob(f"{cls.directory}/**/nomadctl-plugin.pc", recursive=True)[0])

    @staticmethod
    def compiler():
        """The agent's: what it is to load into its own process must be built by that."""
        with open(f"{BUILD}/compile_commands.json") as f:
            words = shlex.split(json.load(f)[0]["command"])
        return shlex.join(itertools.takewhile(lambda word: not word.startswith("-"), words))

    @classmethod
    def precompile(cls, project):
        """The SDK's header, for each set of flags that a target of `project` is compiled by: what all samples include costs
        more than all that they are."""
        with open(f"{project}/build/compile_commands.json") as f:
            commands = [shlex.split(entry["command"]) for entry in json.load(f)]
        for words in commands:
            flags = [word for word in words[:words.index("-MD")] if not re.match(r"-I[^/]", word)]
            included = flags.index("-include")
            del flags[included:included + 2]
            made = f"{cls.directory}/sdk.hpp.gch/{hashlib.sha256(shlex.join(flags).encode()).hexdigest()[:16]}"
            with cls.alone("header"):
                if not os.path.exists(made):
                    os.makedirs(os.path.dirname(made), exist_ok=True)
                    run(*flags, "-x", "c++-header", f"{cls.directory}/sdk.hpp", "-o", f"{cls.directory}/sdk.new")
                    os.rename(f"{cls.directory}/sdk.new", made)

    @classmethod
    def library(cls, name):
        pkgconfig = cls.install()
        project = f"{cls.directory}/{name}"
        with cls.alone(name):
            if not os.path.exists(f"{project}/tested"):
                shutil.rmtree(project, ignore_errors=True)
                kind = {sample: kind for kind, sample in KINDS.items()}[name]
                run(cls.agent, "plugin", "init", kind, name, cwd=cls.directory)
                env = dict(os.environ, PKG_CONFIG_PATH=pkgconfig, LD_LIBRARY_PATH=os.path.dirname(pkgconfig), CXX=cls.compiler())
                run("meson", "setup", "build", f"-Db_sanitize={sanitizers()}", "-Db_lundef=false", cwd=project, env=env)
                cls.precompile(project)
                run("meson", "test", "-C", "build", cwd=project, env=env)
                open(f"{project}/tested", "w").close()
        return f"{project}/build/{name}.so"


class InitTest(unittest.TestCase):
    def test_a_name_that_is_no_word_of_c_stands_in_texts_and_comments_only(self):
        name = "for-each"
        with tempfile.TemporaryDirectory(prefix="nomadctl-init-") as place:
            for kind, sample in KINDS.items():
                run(harness.BINARY, "plugin", "init", kind, name, cwd=place)
                for path in glob.glob(f"{place}/{name}/*.cpp"):
                    with open(path) as f:
                        code = re.sub(r'R"\((?s:.*?)\)"|"(?:\\.|[^"\\\n])*"|//[^\n]*', "", f.read())
                    self.assertNotIn(name, code, f"{kind}: {path}")
                    self.assertNotRegex(code, rf"\b{sample}\b", f"{kind}: {path}")
                shutil.rmtree(f"{place}/{name}")


class Case(unittest.TestCase):
    def start(self, *libraries, config=""):
        """An agent that has these plugins."""
        agent = Agent(log_level="DEBUG")
        self.addCleanup(agent.destroy)
        os.chmod(agent.dir, 0o711)  # plugins of other users pass it
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

    def test_an_alloc_hook_that_keeps_a_ledger(self):
        agent = self.start(Samples.library("ledger"))
        agent.register(shell_job("noted", "sleep 1000"))
        alloc = agent.wait_for_allocs("noted", "running")[0]
        self.assertIn(("Ledger", "wrote its begin"), self.events(agent, alloc))
        os.kill(self.plugin(agent, "ledger")["PID"], signal.SIGKILL)
        agent.kill9()
        agent.start()
        agent.request("DELETE", "/v1/job/noted")
        agent.wait_for_allocs("noted", "complete")
        path = os.path.join(agent.data_dir, "plugins", "ledger", "ledger.txt")
        lines = wait_until(lambda: (l := self.content(path).splitlines()) and "end" in l[-1] and l, what="the end in the ledger")
        self.assertEqual([line.split()[1:] for line in lines],
                         [[what, alloc["ID"], "default/noted", "group"] for what in ("begin", "end")])

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
  api {{
    allow = ["read-job"]
  }}
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
        for name, config in (("stamp", "{}"), ("webhook", '{"url":"http://127.0.0.1:1/"}'), ("tools", "{}"), ("labels", "{}"),
                             ("ledger", "{}"), ("ttys", "{}"), ("filesd", '{"file":"/tmp/nomadctl-validated.json"}')):
            done = subprocess.run([harness.BINARY, "plugin", "validate", "-run", "-config", config, Samples.library(name)],
                                  capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("passed  it ends when it is told to", done.stdout)
        for file, words, why in ((Samples.library("webhook"), ["-run", "-config", "not json"], "its configuration is no JSON"),
                                 (Samples.library("webhook"), ["-run"], 'missing required argument "url"'),
                                 (Samples.library("webhook"), ["-run", "-config", '{"url":"a","ulr":"b"}'], 'is named "ulr"'),
                                 ("/bin/ls", [], "it is no plugin"), ("/bin/ls", ["-run"], "it is no plugin"), ("/bin", [], "neither a library")):
            done = subprocess.run([harness.BINARY, "plugin", "validate", *words, file], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn(why, done.stderr)


class SchedulerTest(Case):
    def labelled(self, label, count=2):
        one = shell_job("placed", "sleep 1000", kind="labels", count=count)
        one["Meta"] = {"label": label}
        return one

    def test_a_scheduler_places_by_a_label_and_its_end_stops_no_job(self):
        agent = self.start(Samples.library("labels"), config='client {\n  meta {\n    label = "ssd"\n  }\n}\n')
        self.wait_for(agent, "labels", "running")
        agent.register(self.labelled("ssd"))
        allocs = agent.wait_for_allocs("placed", "running", 2)
        self.assertEqual({a["Name"] for a in allocs}, {"placed.group[0]", "placed.group[1]"})
        self.assertIn("labels", agent.run("job", "status", "placed", check=True).stdout)
        shown = agent.run("plugin", "status", "labels", check=True).stdout
        self.assertRegex(shown, r"Schedulers\s+= labels")

        plan = agent.put("/v1/job/placed/plan", {"Job": self.labelled("ssd", 3), "Diff": True}).json
        updates = plan["Annotations"]["DesiredTGUpdates"]["group"]
        self.assertEqual((updates["Place"], updates["InPlaceUpdate"]), (1, 2))
        self.assertEqual(len(agent.allocs("placed")), 2, "nothing is placed")
        plan = agent.put("/v1/job/placed/plan", {"Job": self.labelled("hdd"), "Diff": False}).json
        self.assertEqual(plan["Annotations"]["DesiredTGUpdates"]["group"]["Stop"], 2)
        self.assertIn('no node has the label "hdd"', plan["FailedTGAllocs"]["group"]["ConstraintFiltered"])
        agent.register(self.labelled("hdd"))
        wait_until(lambda: not [a for a in agent.allocs("placed") if a["ClientStatus"] == "running"], what="the ends of those on the wrong node")
        blocked = wait_until(lambda: next((e for e in agent.get("/v1/job/placed/evaluations").json if e["Status"] == "blocked"), None),
                             what="the blocked evaluation")
        self.assertIn('no node has the label "hdd"', agent.run("eval", "status", blocked["ID"], check=True).stdout)

        os.kill(self.plugin(agent, "labels")["PID"], signal.SIGKILL)
        agent.register(self.labelled("ssd"))
        agent.wait_for_allocs("placed", "running", 2)
        self.assertEqual(self.plugin(agent, "labels")["Restarts"], 1)

        os.remove(f"{agent.plugin_dir}/labels.so")
        agent.process.send_signal(signal.SIGHUP)
        wait_until(lambda: not agent.get("/v1/agent/plugins").json, what="the plugin's end")
        refused = agent.put("/v1/jobs", {"Job": self.labelled("hdd")})
        self.assertNotEqual(refused.status, 200)
        self.assertIn('Invalid job type: "labels"', refused.body)
        agent.request("DELETE", "/v1/job/placed")
        wait_until(lambda: not [a for a in agent.allocs("placed") if a["ClientStatus"] == "running"],
                   what="the job's end, for which nobody is needed")

    def test_a_plan_waits_for_a_scheduler_for_so_long(self):
        agent = self.start(Samples.library("labels"))
        pid = self.wait_for(agent, "labels", "running")["PID"]
        os.kill(pid, signal.SIGSTOP)
        self.addCleanup(lambda: os.path.exists(f"/proc/{pid}") and os.kill(pid, signal.SIGCONT))
        answers = []

        def plan():
            answers.append(agent.put("/v1/job/placed/plan", {"Job": self.labelled("ssd")}))
        waiting = [threading.Thread(target=plan) for _ in range(20)]
        for each in waiting:
            each.start()
        wait_until(lambda: len(answers) >= 4, timeout=10, what="the refusal of those that are too many")
        self.assertEqual({a.status for a in answers}, {429}, answers)
        self.assertIn("16 plans wait for plugins already", answers[0].body)
        self.assertEqual(agent.get("/v1/jobs").status, 200, "others are served meanwhile")
        os.kill(pid, signal.SIGCONT)
        for each in waiting:
            each.join(timeout=60)
        self.assertEqual([a.status for a in answers[4:]], [200] * 16, answers)
        os.kill(pid, signal.SIGSTOP)
        late = agent.put("/v1/job/placed/plan", {"Job": self.labelled("ssd")}, timeout=60)
        self.assertNotEqual(late.status, 200)
        self.assertRegex(late.body, 'plugin labels, which schedules jobs of type "labels"(, has not decided within 30 s|: plugin labels has ended)')

    def test_a_job_whose_scheduler_is_gone_says_so(self):
        agent = self.start(Samples.library("labels"), config='client {\n  meta {\n    label = "ssd"\n  }\n}\n')
        self.wait_for(agent, "labels", "running")
        agent.register(self.labelled("ssd"))
        allocs = agent.wait_for_allocs("placed", "running", 2)
        os.remove(f"{agent.plugin_dir}/labels.so")
        agent.process.send_signal(signal.SIGHUP)
        wait_until(lambda: not agent.get("/v1/agent/plugins").json, what="the plugin's end")
        agent.put(f"/v1/allocation/{allocs[0]['ID']}/stop")
        failed = wait_until(lambda: next((e for e in agent.get("/v1/job/placed/evaluations").json if e["Status"] == "failed"), None),
                            timeout=90, what="the failed evaluation")
        self.assertIn('no plugin of this server schedules jobs of type "labels"', failed["StatusDescription"])
        self.assertEqual(len([a for a in agent.allocs("placed") if a["ClientStatus"] == "running"]), 2)


class ProviderTest(Case):
    """Services of a provider that a plugin brings: a file that Prometheus would read."""

    def start_provider(self):
        directory = tempfile.mkdtemp(prefix="nomadctl-targets-")
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        self.targets = os.path.join(directory, "targets.json")
        agent = self.start(Samples.library("filesd"), config=f'plugin "filesd" {{\n  config {{\n    file = "{self.targets}"\n  }}\n}}\n')
        self.wait_for(agent, "filesd", "running")
        return agent

    def served(self, tag="first", provider="filesd"):
        one = shell_job("served", "trap '' TERM; sleep 1000", Services=[
            {"Name": "front", "Provider": provider, "Tags": [tag], "PortLabel": "8080", "Checks": [
                {"Name": "up", "Type": "script", "Command": "/bin/sh", "Args": ["-c", "test -e $NOMAD_TASK_DIR/up"],
                 "TaskName": "task", "Interval": 10**9, "Timeout": 10**9}]}], ShutdownDelay=3 * 10**9)
        one["TaskGroups"][0]["Tasks"][0]["Services"] = [{"Name": "back", "Provider": provider, "Tags": ["first"]}]
        return one

    def registered(self):
        """(service, health, tags) of each, as the file has them."""
        if not os.path.exists(self.targets):
            return []
        with open(self.targets) as f:
            return sorted((t["labels"]["service"], t["labels"]["health"], t["labels"]["tags"]) for t in json.load(f))

    def until(self, wanted, what):
        seen = []

        def is_so():
            seen[:] = self.registered()
            return seen == wanted
        try:
            wait_until(is_so, what=what)
        except AssertionError:
            self.fail(f"{what}: {seen}")

    def test_services_are_registered_over_kills_and_go_before_their_tasks(self):
        agent = self.start_provider()
        agent.register(self.served())
        alloc = agent.wait_for_allocs("served", "running")[0]
        self.until([("back", "unchecked", ",first,"), ("front", "failing", ",first,")], "the registrations")
        up = os.path.join(agent.data_dir, "alloc", alloc["ID"], "task", "local", "up")
        with open(up, "w"):
            pass
        self.until([("back", "unchecked", ",first,"), ("front", "passing", ",first,")], "the passing check")
        self.assertEqual(agent.get("/v1/services").json, [])

        agent.register(self.served(tag="second"))
        second = [("back", "unchecked", ",first,"), ("front", "passing", ",second,")]
        self.until(second, "the update")
        self.assertEqual(agent.allocs("served")[0]["ID"], alloc["ID"])

        os.remove(self.targets)
        os.kill(self.plugin(agent, "filesd")["PID"], signal.SIGKILL)
        self.until(second, "what the next process is told")
        os.remove(self.targets)
        agent.kill9()
        agent.start()
        self.until(second, "what the next agent tells")

        os.kill(self.plugin(agent, "filesd")["PID"], signal.SIGKILL)
        agent.request("DELETE", "/v1/job/served")
        self.until([], "the deregistration, by the process that follows")
        wait_until(lambda: agent.allocs("served")[0]["ClientStatus"] == "complete", what="its end")
        self.assertEqual(self.registered(), [])

    def test_what_ends_is_deregistered_before_its_shutdown_delay(self):
        agent = self.start_provider()
        agent.register(self.served())
        agent.wait_for_allocs("served", "running")
        wait_until(lambda: len(self.registered()) == 2, what="the registrations")
        agent.request("DELETE", "/v1/job/served")
        self.until([], "the deregistration")
        self.assertEqual(agent.allocs("served")[0]["ClientStatus"], "running")
        agent.wait_for_allocs("served", "complete")

    def test_what_a_provider_owes_of_an_allocation_that_is_gone_the_next_agent_asks(self):
        agent = self.start_provider()
        agent.register(self.served())
        alloc = agent.wait_for_allocs("served", "running")[0]
        wait_until(lambda: len(self.registered()) == 2, what="the registrations")
        os.kill(self.plugin(agent, "filesd")["PID"], signal.SIGSTOP)
        agent.request("DELETE", "/v1/job/served")
        agent.wait_for_allocs("served", "complete", timeout=60)
        agent.put("/v1/system/gc", {})
        remains = os.path.join(agent.data_dir, "alloc", alloc["ID"])
        wait_until(lambda: not os.path.exists(remains), what="the end of what is left of it")
        self.assertEqual(len(self.registered()), 2, "it is asked and does not answer")
        agent.kill9()
        agent.start()
        self.until([], "the deregistration, by the next agent")
        wait_until(lambda: re.search("a provider has deregistered services: .* count=2$", agent.log(), re.M), what="its line in the log")

    def test_a_provider_that_nobody_brings_is_refused(self):
        agent = self.start_provider()
        refused = agent.put("/v1/jobs", {"Job": self.served(provider="filsd")})
        self.assertEqual(refused.status, 400, refused.body)
        self.assertIn('must be "consul", "filesd", or "nomad"; not "filsd"; did you mean "filesd"?', refused.body)
        checked = agent.put("/v1/validate/job", {"Job": self.served(provider="filsd")}).json
        self.assertIn("did you mean", checked["Error"])
        node = agent.get("/v1/nodes").json[0]["ID"]
        self.assertEqual(agent.get(f"/v1/node/{node}").json["Attributes"]["service_provider.filesd"], "true")
        self.assertRegex(agent.run("plugin", "status", "filesd", check=True).stdout, r"Service Providers\s+= filesd")
        os.remove(f"{agent.plugin_dir}/filesd.so")
        agent.process.send_signal(signal.SIGHUP)
        wait_until(lambda: not agent.get("/v1/agent/plugins").json, what="the plugin's end")
        refused = agent.put("/v1/jobs", {"Job": self.served()})
        self.assertEqual(refused.status, 400, refused.body)


class DevicesTest(Case):
    def gadget_job(self, name, memory):
        one = shell_job(name, 'echo "$GADGET" > local/gadget; sleep 1000')
        one["TaskGroups"][0]["Tasks"][0]["Resources"] = {"CPU": 10, "MemoryMB": 10, "Devices": [
            {"Name": "acme/gadget", "Count": 1,
             "Constraints": [{"LTarget": "${device.attr.memory}", "Operand": ">=", "RTarget": memory}]}]}
        return one

    def test_devices_are_found_given_out_once_and_reserved(self):
        agent = self.start(f"{BAD}/gadgets.so")
        node = agent.get("/v1/nodes").json[0]["ID"]
        devices = wait_until(lambda: agent.get(f"/v1/node/{node}").json["NodeResources"]["Devices"], what="the node's devices")
        self.assertEqual([(d["Vendor"], d["Type"], d["Name"], [(i["ID"], i["Healthy"]) for i in d["Instances"]]) for d in devices],
                         [("acme", "gadget", "small", [("a", True), ("b", False)])])
        agent.register(self.gadget_job("first", "10 GiB"))
        alloc = agent.wait_for_allocs("first", "running")[0]
        local = os.path.join(agent.data_dir, "alloc", alloc["ID"], "task", "local")
        self.assertEqual(wait_until(lambda: self.content(f"{local}/gadget")), "a")
        self.assertIn(("Gadgets", "small a"), self.events(agent, alloc))
        for name, memory in (("second", "10 GiB"), ("large", "12 GiB")):
            agent.register(self.gadget_job(name, memory))
            wait_until(lambda: any(e["Status"] == "blocked" for e in agent.get(f"/v1/job/{name}/evaluations").json), what="what waits")
            self.assertEqual(agent.allocs(name), [])
        agent.request("DELETE", "/v1/job/first")
        self.assertEqual(len(agent.wait_for_allocs("second", "running")), 1)


    def test_the_sample_gives_a_task_its_port(self):
        agent = self.start(Samples.library("ttys"), config='plugin "ttys" {\n  config {\n    pattern = "/dev/zer[o]"\n  }\n}\n')
        node = agent.get("/v1/nodes").json[0]["ID"]
        devices = wait_until(lambda: agent.get(f"/v1/node/{node}").json["NodeResources"]["Devices"], what="the node's devices")
        self.assertEqual([(d["Vendor"], d["Type"], d["Name"], [i["ID"] for i in d["Instances"]]) for d in devices],
                         [("port", "serial", "port", ["zero"])])
        one = job("reads", "exec", {"command": "/bin/sh", "args": ["-c", 'echo "$SERIAL_PORTS" > local/ports; sleep 1000']})
        one["TaskGroups"][0]["Tasks"][0]["Resources"] = {"CPU": 10, "MemoryMB": 20, "Devices": [{"Name": "port/serial", "Count": 1}]}
        agent.register(one)
        alloc = agent.wait_for_allocs("reads", "running")[0]
        ports = os.path.join(agent.data_dir, "alloc", alloc["ID"], "task", "local", "ports")
        self.assertEqual(wait_until(lambda: self.content(ports)), "/dev/zero")


class InProcessTest(Case):
    """isolated = false: on a thread of the agent."""

    def test_the_samples_run_in_the_agent(self):
        block = '  isolated = false\n'
        agent = self.start(Samples.library("stamp"), Samples.library("labels"), Samples.library("naps"),
                           config=f'plugin "stamp" {{\n{block}  config {{\n    file = "here"\n  }}\n}}\nplugin "labels" {{\n{block}}}\n'
                                  f'plugin "naps" {{\n{block}}}\nclient {{\n  meta {{\n    label = "ssd"\n  }}\n}}\n')
        for name in ("stamp", "labels", "naps"):
            plugin = self.wait_for(agent, name, "running")
            self.assertEqual((plugin["PID"], plugin["Isolated"]), (0, False))
        self.assertRegex(agent.run("plugin", "status", "stamp", check=True).stdout, r"Mode\s+= in process")
        one = shell_job("placed", "sleep 1000", kind="labels")
        one["Meta"] = {"label": "ssd"}
        agent.register(one)
        alloc = agent.wait_for_allocs("placed", "running")[0]
        self.assertIn(("Stamp", "wrote local/here"), self.events(agent, alloc))
        nap = job("nap")
        nap["TaskGroups"][0]["Tasks"][0].update(Driver="naps", Config={"length": "1000s"})
        agent.register(nap)
        nap = agent.wait_for_allocs("nap", "running")[0]["ID"]
        done = agent.run("alloc", "exec", "-i=false", "-t=false", nap, "sh", "-c", "echo $NAP; exit 3")
        self.assertEqual((done.returncode, done.stdout.strip().isdigit()), (3, True), done.stderr)
        done = agent.run("alloc", "exec", "-i=false", "-t=false", nap, "grep", "SigIgn", "/proc/self/status")
        self.assertEqual(done.stdout.split(), ["SigIgn:", "0" * 16], "what the agent ignores is none of the command's")
        agent.request("DELETE", "/v1/job/nap")
        agent.wait_for_allocs("nap", "complete")

        with open(agent.config_path) as f:
            text = f.read()
        with open(agent.config_path, "w") as f:
            f.write(text.replace('"here"', '"there"'))
        agent.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "another version has taken over: plugin=stamp version=1.0.0" in agent.log(), what="the next thread")
        self.wait_for(agent, "stamp", "running")
        again = shell_job("again", "sleep 1000")
        agent.register(again)
        self.assertIn(("Stamp", "wrote local/there"), self.events(agent, agent.wait_for_allocs("again", "running")[0]))
        os.remove(f"{agent.plugin_dir}/stamp.so")
        agent.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(agent.get("/v1/agent/plugins").json) == 2, what="the plugin's end")
        agent.stop()

    def test_what_throws_begins_anew_and_what_needs_a_process_is_refused(self):
        agent = self.start(f"{BAD}/throws.so", f"{BAD}/probe.so", f"{harness.ROOT}/subprojects/plugin-python/count.py",
                           config='plugin "throws" {\n  isolated = false\n}\nplugin "count" {\n  isolated = false\n}\n'
                                  'plugin "probe" {\n  isolated = false\n  user = "nobody"\n}\n')
        for name, why in (("throws", "it has a bad day"), ("count", "isolated = false: a program runs in a process of its own only"),
                          ("probe", "isolated = false: a user and what confines it need a process of its own")):
            self.assertIn(why, self.wait_for(agent, name, "refused")["StatusDescription"])
        agent.register(shell_job("web", "sleep 1000"))
        agent.wait_for_allocs("web", "running")


class PythonTest(Case):
    def test_an_actor_in_python_speaks_the_protocol(self):
        python = shutil.which("python3", path="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
        if python is None or subprocess.run([python, "-c", "import capnp"], capture_output=True).returncode != 0:
            self.skipTest("the system's python3 has no pycapnp (pip install pycapnp)")
        agent = self.start(f"{harness.ROOT}/subprojects/plugin-python/count.py", config=f'''plugin "count" {{
  args = ["{harness.ROOT}/schema"]
  api {{
    allow = ["list-jobs"]
  }}
  config {{
    interval = "1s"
  }}
}}
''')
        self.assertEqual(self.plugin(agent, "count")["Provides"]["Actors"], ["count"])
        wait_until(lambda: "plugin=count message=\"there are 0 jobs\"" in agent.log(), what="the first count")
        agent.register(shell_job("one", "sleep 1000"))
        wait_until(lambda: "plugin=count message=\"there are 1 jobs\"" in agent.log(), what="the next count")


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
        alloc = agent.wait_for_allocs("short", "complete")[0]["ID"]
        wait_until(lambda: agent.run("alloc", "logs", alloc).stdout == "slept for 1 s\n", what="its logs")
        self.nap(agent, "wrong", "long")
        wait_until(lambda: any("expected a duration" in e[1] for a in agent.allocs("wrong") for e in self.events(agent, a)),
                   what="the refusal")

    def test_commands_beside_a_nap(self):
        agent = self.start(Samples.library("naps"))
        self.nap(agent, "long", "1000s")
        alloc = agent.wait_for_allocs("long", "running")[0]["ID"]

        def execute(*words, stdin=None):
            return agent.run("alloc", "exec", *words, stdin=stdin, timeout=60)

        done = execute("-i=true", "-t=false", alloc, "sh", "-c", "cat; echo $NAP >&2; exit 5", stdin="hello")
        self.assertEqual((done.returncode, done.stdout), (5, "hello"), done.stderr)
        self.assertEqual({int(done.stderr)}, self.sleepers(agent))
        done = execute("-i=false", "-t=false", alloc, "head", "-c", "5000000", "/dev/zero")
        self.assertEqual((done.returncode, len(done.stdout)), (0, 5_000_000))
        done = execute("-i=false", "-t=false", alloc, "no-such-program")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no-such-program", done.stderr)
        asked = subprocess.Popen([harness.BINARY, "alloc", "exec", "-i=false", "-t=false", alloc, "sh", "-c", "echo $$; exec sleep 4243.19"],
                                 env=dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{agent.port}"), stdout=subprocess.PIPE, text=True)
        pid = int(asked.stdout.readline())
        asked.kill()
        asked.wait()
        asked.stdout.close()
        wait_until(lambda: not os.path.exists(f"/proc/{pid}"), what="the end of a command that nobody waits for")
        self.assertEqual(self.plugin(agent, "naps")["Restarts"], 0)

    def test_tasks_outlive_the_plugin_s_process_and_the_agent(self):
        agent = self.start(Samples.library("naps"))
        self.nap(agent, "long", "1000s", count=5)
        allocs = agent.wait_for_allocs("long", "running", 5)
        before = self.awaited_sleepers(agent, 5)
        for pid in before:
            with open(f"/proc/{pid}/status") as f:
                ignored = int(re.search(r"^SigIgn:\s+(\w+)", f.read(), re.M)[1], 16)
            self.assertEqual(ignored & (1 << (signal.SIGPIPE - 1)), 0, "tasks inherit no ignored signal")
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

    def awaited_sleepers(self, agent, count):
        """A task runs when it has been forked, and may not have executed its shell yet."""
        wait_until(lambda: len(self.sleepers(agent)) == count, what=f"{count} naps")
        return self.sleepers(agent)

    def sleepers(self, agent):
        """The shells of naps, which name the plugin's directory. Not their children, which are copies until they execute sleep."""
        found, parents = set(), {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read()
                with open(f"/proc/{pid}/stat") as f:
                    parents[int(pid)] = int(f.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            if words.startswith(b"sh\0-c\0sleep") and agent.data_dir.encode() in words:
                found.add(int(pid))
        return {pid for pid in found if parents[pid] not in found}


class KilledAgainTest(DriverTest):
    """Numbers of the whole run: PLUGIN_KILLS=20 PLUGIN_TASKS=50."""
    test_a_nap_ends_and_a_wrong_config_is_refused = test_tasks_outlive_the_plugin_s_process_and_the_agent = None
    test_commands_beside_a_nap = None

    def test_kills_of_the_plugin_s_process_of_the_agent_and_of_both(self):
        kills, tasks = int(os.environ.get("PLUGIN_KILLS", 2)), int(os.environ.get("PLUGIN_TASKS", 8))
        agent = self.start(Samples.library("naps"))
        self.nap(agent, "many", "10000s", count=tasks)
        allocs = {a["ID"] for a in agent.wait_for_allocs("many", "running", tasks, timeout=300)}
        before = self.awaited_sleepers(agent, tasks)

        def still_true(what):
            self.wait_for(agent, "naps", "running")
            wait_until(lambda: self.driver_is_healthy(agent), timeout=120, what="the driver's health")
            self.assertEqual(self.sleepers(agent), before, what)
            self.assertEqual({a["ID"] for a in agent.allocs("many") if a["ClientStatus"] == "running"}, allocs, what)

        for round in range(kills):
            pid = self.plugin(agent, "naps")["PID"]
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: self.plugin(agent, "naps")["PID"] not in (0, pid), what="the next process")
            still_true(f"kill {round} of the plugin's process")
            agent.kill9()
            agent.start()
            still_true(f"kill {round} of the agent")
            os.kill(self.plugin(agent, "naps")["PID"], signal.SIGKILL)
            agent.kill9()
            agent.start()
            still_true(f"kill {round} of both")
        for alloc in allocs:
            self.assertEqual(agent.get(f"/v1/allocation/{alloc}").json["TaskStates"]["task"]["Restarts"], 0)
        # What ends while nobody looks is heard of afterwards.
        os.kill(self.plugin(agent, "naps")["PID"], signal.SIGKILL)
        os.killpg(min(before), signal.SIGKILL)
        wait_until(lambda: sum(agent.get(f"/v1/allocation/{a}").json["TaskStates"]["task"]["Restarts"] for a in allocs) == 1,
                   timeout=120, what="one task's restart")
        wait_until(lambda: len(self.sleepers(agent)) == tasks, what="its next nap")
        agent.request("DELETE", "/v1/job/many")
        wait_until(lambda: not self.sleepers(agent), what="the naps' ends")

    def driver_is_healthy(self, agent):
        node = agent.get("/v1/nodes").json[0]["ID"]
        return agent.get(f"/v1/node/{node}").json["Drivers"].get("naps", {}).get("Healthy")


class ReloadTest(DriverTest):
    test_a_nap_ends_and_a_wrong_config_is_refused = test_tasks_outlive_the_plugin_s_process_and_the_agent = None
    test_commands_beside_a_nap = None

    def reload(self, agent):
        count = agent.log().count("the configuration is in effect")
        agent.process.send_signal(signal.SIGHUP)
        wait_until(lambda: agent.log().count("the configuration is in effect") > count, what="the end of the reload")

    def configure(self, agent, old, new):
        with open(agent.config_path) as f:
            text = f.read()
        self.assertIn(old, text)
        with open(agent.config_path, "w") as f:
            f.write(text.replace(old, new))

    def stamped(self, agent, job_name):
        agent.register(shell_job(job_name, "sleep 1000"))
        alloc = agent.wait_for_allocs(job_name, "running")[0]
        return [message for kind, message in self.events(agent, alloc) if kind == "Stamp"]

    def test_a_changed_configuration_is_another_process(self):
        agent = self.start(Samples.library("stamp"), config='plugin "stamp" {\n  config {\n    file = "first"\n  }\n}\n')
        self.assertEqual(self.stamped(agent, "a"), ["wrote local/first"])
        pid = self.plugin(agent, "stamp")["PID"]
        self.reload(agent)
        self.assertEqual(self.plugin(agent, "stamp")["PID"], pid, "nothing has changed")
        self.configure(agent, "first", "second")
        self.reload(agent)
        wait_until(lambda: self.plugin(agent, "stamp")["PID"] not in (0, pid), what="the next process")
        self.wait_for(agent, "stamp", "running")
        self.assertEqual(self.plugin(agent, "stamp")["Restarts"], 0)
        self.assertIn("the configuration has changed: settings=plugin.stamp", agent.log())
        self.assertEqual(self.stamped(agent, "b"), ["wrote local/second"])
        self.configure(agent, '"second"', '"a/b"')
        self.reload(agent)
        self.assertIn("the plugin keeps its configuration: plugin=stamp", agent.log())
        self.wait_for(agent, "stamp", "running")
        self.assertEqual(self.stamped(agent, "e"), ["wrote local/second"])
        self.configure(agent, '"a/b"', '"third"')
        self.reload(agent)
        self.wait_for(agent, "stamp", "running")
        self.assertEqual(self.stamped(agent, "c"), ["wrote local/third"])
        self.configure(agent, "file = ", "flie = ")
        self.reload(agent)
        self.assertIn("flie", agent.log().split("the plugin keeps its configuration: plugin=stamp")[-1])
        self.assertEqual(self.stamped(agent, "d"), ["wrote local/third"])

    def test_new_plugins_come_and_removed_ones_end(self):
        agent = self.start(Samples.library("stamp"))
        self.stamped(agent, "before")
        for name in ("naps", "tools"):
            shutil.copy(Samples.library(name), agent.plugin_dir)
        with open(f"{agent.plugin_dir}/text.so", "w") as f:
            f.write("no library")
        self.reload(agent)
        self.wait_for(agent, "naps", "running")
        self.assertEqual(self.plugin(agent, "text")["Status"], "refused")
        node = agent.get("/v1/nodes").json[0]["ID"]
        wait_until(lambda: agent.get(f"/v1/node/{node}").json["Drivers"].get("naps", {}).get("Healthy"), what="the driver's health")
        wait_until(lambda: "tools.make" in agent.get(f"/v1/node/{node}").json["Attributes"], what="the attribute")
        self.nap(agent, "nap", "1000s", count=2)
        agent.wait_for_allocs("nap", "running", 2)
        before = self.awaited_sleepers(agent, 2)
        pids = {name: self.plugin(agent, name)["PID"] for name in ("stamp", "naps")}

        for name in ("stamp", "naps", "text"):
            os.remove(f"{agent.plugin_dir}/{name}.so")
        self.reload(agent)

        self.assertEqual([p["Name"] for p in agent.get("/v1/agent/plugins").json], ["tools"])
        for pid in pids.values():
            self.assertFalse(os.path.exists(f"/proc/{pid}/exe"))
        self.assertEqual(self.sleepers(agent), before, "tasks of drivers go on")
        wait_until(lambda: "naps" not in agent.get(f"/v1/node/{node}").json["Drivers"], what="the driver's end")
        self.assertEqual(self.stamped(agent, "after"), [])

        shutil.copy(Samples.library("naps"), agent.plugin_dir)
        self.reload(agent)
        wait_until(lambda: agent.get(f"/v1/node/{node}").json["Drivers"].get("naps", {}).get("Healthy"), what="the driver's health")
        self.assertEqual(self.sleepers(agent), before)
        agent.request("DELETE", "/v1/job/nap")
        wait_until(lambda: not self.sleepers(agent), what="the naps' ends, which the driver that came back has brought about")


@unittest.skipUnless(os.geteuid() == 0, "needs root")
class ConfinedTest(Case):
    def status(self, pid):
        with open(f"/proc/{pid}/status") as f:
            return dict(line.split(":\t", 1) for line in f.read().splitlines() if ":\t" in line)

    def start_as(self, settings):
        return self.start(Samples.library("tools"),
                          config=f'plugin "tools" {{\n{settings}  config {{\n    programs = ["sh"]\n  }}\n}}\n')

    def test_a_process_of_another_user(self):
        agent = self.start_as('  user = "nobody"\n')
        plugin = self.wait_for(agent, "tools", "running")
        status = self.status(plugin["PID"])
        self.assertEqual(status["Uid"].split(), ["65534"] * 4)
        self.assertEqual(int(status["CapEff"], 16), 0)
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual(os.stat(os.path.join(agent.data_dir, "plugins", "tools")).st_uid, 65534)
        # As of the unit that is shipped: there the user has no way to what runs.
        os.chmod(agent.data_dir, 0o700)
        first = plugin["PID"]
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: self.plugin(agent, "tools").get("PID", 0) not in (0, first), what="the next process")
        plugin = self.wait_for(agent, "tools", "running")
        agent.kill9()
        wait_until(lambda: not os.path.exists(f"/proc/{plugin['PID']}/exe"), what="the plugin's end")

    def test_the_ports_give_a_plugin_s_user_what_its_block_says(self):
        def status(agent, method, path, body="", user="nobody"):
            return subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "-X", method, "-d", body,
                                   f"http://127.0.0.1:{agent.port}{path}"], user=user, capture_output=True, text=True).stdout

        one = json.dumps({"Job": shell_job("evil", "id")})
        for words, read, write in (("", "403", "403"), ('  api {\n    allow = ["list-jobs"]\n  }\n', "200", "403"),
                                   ('  api {\n    allow = ["submit-job"]\n  }\n', "403", "200")):
            agent = self.start_as('  user = "nobody"\n' + words)
            self.wait_for(agent, "tools", "running")
            self.assertEqual((status(agent, "GET", "/v1/jobs"), status(agent, "PUT", "/v1/jobs", one)), (read, write))
            self.assertEqual(status(agent, "GET", "/v1/jobs", user="root"), "200")
            self.assertEqual(status(agent, "GET", "/v1/jobs", user="daemon"), "200", "others are nobody's business")

    @staticmethod
    def memory(pid):
        """The bounds of a process's memory: what it has, and what it may give itself."""
        with open(f"/proc/{pid}/limits") as f:
            return next(line for line in f if line.startswith("Max data size")).split()[3:5]

    def test_the_memory_of_another_user_s_process_is_bounded_for_good(self):
        agent = self.start_as('  user = "nobody"\n')
        harness.skip_with_sanitizer(self, agent.process.pid)  # nothing is bounded then
        self.assertEqual(self.memory(self.wait_for(agent, "tools", "running")["PID"]), [str(512 << 20)] * 2)
        agent = self.start(Samples.library("naps"), config='plugin "naps" {\n  user = "nobody"\n}\n')
        self.assertEqual(self.memory(self.wait_for(agent, "naps", "running")["PID"]), ["unlimited"] * 2, "its tasks would be bounded, too")

    def test_an_agent_that_may_do_less_than_root_bounds_it_too(self):
        """CAP_SYS_RESOURCE is what root in a container does not have."""
        with unittest.mock.patch.object(harness, "BINARY", self.without("sys_resource")):
            self.test_the_memory_of_another_user_s_process_is_bounded_for_good()

    def without(self, capability):
        """A program that is nomadctl, without the capability."""
        place = tempfile.mkdtemp(prefix="less-")
        self.addCleanup(shutil.rmtree, place)
        path = os.path.join(place, "nomadctl")
        with open(path, "w") as f:
            f.write(f'#!/bin/sh\nexec setpriv --bounding-set=-{capability} {harness.BINARY} "$@"\n')
        os.chmod(path, 0o755)
        return path

    def test_a_confined_process(self):
        agent = self.start_as("  confined = true\n")
        node = agent.get("/v1/nodes").json[0]["ID"]
        if "kernel.landlock" not in agent.get(f"/v1/node/{node}").json["Attributes"]:
            self.assertIn("the kernel has no Landlock", self.wait_for(agent, "tools", "refused")["StatusDescription"])
            self.skipTest("this kernel has no Landlock: confined plugins are refused")
        plugin = self.wait_for(agent, "tools", "running")
        status = self.status(plugin["PID"])
        self.assertEqual(status["Seccomp"], "2")
        self.assertEqual(int(status["CapBnd"], 16), 0)
        for settings, status in (("", "failed"), ("  confined = true\n", "running")):
            agent = self.start(f"{BAD}/probe.so", config=f'plugin "probe" {{\n{settings}}}\n')
            one = shell_job("peek", "sleep 1000", RestartPolicy={"Attempts": 0, "Mode": "fail", "Interval": 60 * 10**9, "Delay": 10**9})
            one["TaskGroups"][0]["Tasks"][0]["Meta"] = {"probe": "peek"}
            agent.register(one)
            agent.wait_for_allocs("peek", status)

    def test_an_unknown_user_is_told(self):
        agent = self.start_as('  user = "nobody-such"\n')
        self.assertIn('unknown user "nobody-such"', self.plugin(agent, "tools")["StatusDescription"])


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
            "hangs": "it did not say what it is within", "throws": "describing itself it threw: it has a bad day",
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
        # Its task may hear of the end before the state of the plugin does.
        wait_until(lambda: self.plugin(agent, "probe")["Restarts"] == 1, what="the plugin's restart")
        self.wait_for(agent, "probe", "running")
        alloc = agent.wait_for_allocs(self.probe(agent, "answer"), "running")[0]
        self.assertIn(("Probe", "probed task"), self.events(agent, alloc))
        agent.wait_for_allocs(self.probe(agent, "flood"), "running")
        self.assertGreater(self.plugin(agent, "probe")["LogLinesDropped"], 20_000)
        agent.wait_for_allocs(self.probe(agent, "chatter"), "running")
        self.assertGreater(self.plugin(agent, "probe")["LogLinesDropped"], 500_000)
        self.assertRegex(self.failure(agent, self.probe(agent, "leak")), "std::bad_alloc|plugin probe has ended|did not answer in time")
        self.assertEqual(len(agent.wait_for_allocs("bystander", "running")), 1)

    def test_what_it_has_started_ends_with_it(self):
        agent = self.start(f"{BAD}/probe.so")
        self.assertIn("plugin probe has ended", self.failure(agent, self.probe(agent, "orphan")))
        self.wait_for(agent, "probe", "running")
        self.assertIn("plugin probe has ended", self.failure(agent, self.probe(agent, "fork")))
        self.assertEqual(subprocess.run(["pgrep", "-f", "sleep 4242.17"], capture_output=True, text=True).stdout, "")

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
