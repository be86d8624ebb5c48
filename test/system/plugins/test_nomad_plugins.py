"""Nomad's own plugins: task drivers that are programs of go-plugin's, run through nomadctl-go-plugin. The
driver here is built with Go, by modules of its module proxy; without these the cases that need it are skipped."""
import fcntl
import hashlib
import json
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import time
import unittest

import harness
from harness import Agent, job, wait_until
from plugins.go_modules import excuse, go_program, probe

BUILD = os.environ["NOMADCTL_BUILD"]
SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "go_driver")
PROTOS = os.path.join(harness.ROOT, "runtime/plugin/bridge/proto")
NAME = "nomad-driver-gonaps"


class GoDriver:
    """The driver's program, built once for a state of its sources."""

    @classmethod
    def program(cls):
        go = go_program()
        if go is None:
            raise unittest.SkipTest("there is no Go (golang-go) to build the driver with")
        if shutil.which("protoc") is None:
            raise unittest.SkipTest("there is no protoc (protobuf-compiler)")
        files = [os.path.join(folder, name) for folder in (SOURCES, PROTOS) for name in sorted(os.listdir(folder))]
        digest = hashlib.sha256()
        for path in files:
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    digest.update(f.read())
        place = os.path.join(BUILD, "test/system/plugins/go_driver-" + digest.hexdigest()[:16])
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, "lock"), "w") as lock:  # several processes of this file run side by side
            fcntl.flock(lock, fcntl.LOCK_EX)
            made = os.path.join(place, NAME)
            if not os.path.exists(made):
                cls.build(go, os.path.join(place, "src"), made)
        return made

    @classmethod
    def build(cls, go, source, made):
        shutil.rmtree(source, ignore_errors=True)
        shutil.copytree(SOURCES, source)
        env = dict(os.environ, GOFLAGS="-mod=mod", CGO_ENABLED="0", GOWORK="off", GOTOOLCHAIN="local")
        version = subprocess.run([go, "env", "GOVERSION"], env=env, cwd="/", capture_output=True, text=True, timeout=60).stdout.strip()
        with open(os.path.join(SOURCES, "go.mod")) as f:
            wanted = re.search(r"^go (\S+)", f.read(), re.M).group(1)

        def run(*words):
            done = subprocess.run(["nice", "-n", "5", *words], cwd=source, env=env, capture_output=True, text=True, timeout=1000)
            said = done.stdout + done.stderr
            if done.returncode == 0:
                return
            if words[0] == go and (why := excuse(said, wanted, version, lambda: probe(go, env))):
                raise unittest.SkipTest(why)
            raise AssertionError(f"{words}: {said[-3000:]}")

        run(go, "build", "-p", "1", "-o", os.path.join(source, "protoc-gen-go"), "google.golang.org/protobuf/cmd/protoc-gen-go")
        os.mkdir(os.path.join(source, "wire"))
        names = ["hclspec.proto", "base.proto", "driver.proto"]
        package = "example.org/nomad-driver-gonaps/wire"
        run("protoc", f"--plugin=protoc-gen-go={source}/protoc-gen-go", f"-I{PROTOS}", f"--go_out={source}/wire",
            "--go_opt=paths=source_relative", *[f"--go_opt=M{name}={package}" for name in names], *names)
        run(go, "mod", "tidy")
        run(go, "build", "-p", "1", "-trimpath", "-o", made + ".new", ".")
        os.rename(made + ".new", made)


class ExcuseTest(unittest.TestCase):
    """When the cases that need the driver are skipped, and when they fail."""

    def excuse(self, said, probe=None, go="go1.26.8"):
        return excuse(said, "1.24", go, lambda: probe)

    def test_what_is_wrong_with_its_own_sources_is_no_excuse(self):
        for said in ("go: google.golang.org/grpc@v1.999.0: reading https://proxy.golang.org/google.golang.org/grpc/@v/v1.999.0.mod: 404 Not Found",
                     "go: errors parsing go.mod:\ngo.mod:5: unknown directive: requrie",
                     "go: example.org/nothing@v1.0.0: reading https://proxy.golang.org/example.org/nothing/@v/v1.0.0.mod: 410 Gone",
                     "task.go:3:2: no required module provides package github.com/hashicorp/go-hclog: module lookup disabled by -mod=vendor",
                     "task.go:60: undefined: exec.Comand", "go: module x requires go >= 1.99 (running go 1.26.8; GOTOOLCHAIN=local)"):
            with self.subTest(said):
                self.assertIsNone(self.excuse(said))

    def test_a_proxy_that_is_away_or_refuses_is_one(self):
        self.assertIn("no such host", self.excuse("whatever it was", "dial tcp: lookup proxy.golang.org: no such host"))
        self.assertIn("403 Forbidden", self.excuse("go: x@v1.0.0: reading https://proxy.golang.org/x/@v/v1.0.0.zip: 403 Forbidden"))
        self.assertIn("503", self.excuse("go: x@v1.0.0: reading https://proxy.golang.org/x/@v/v1.0.0.zip: 503 Service Unavailable"))

    def test_a_go_that_is_too_old_is_one(self):
        self.assertEqual(self.excuse("syntax error", go="go1.19.8"), "Go is go1.19.8, the program wants 1.24")


class Case(unittest.TestCase):
    def agent(self, config="", programs=None):
        """An agent whose plugin_dir has these programs: texts of scripts, or paths; by their names."""
        agent = Agent(log_level="DEBUG")
        self.addCleanup(agent.destroy)
        os.chmod(agent.dir, 0o711)
        agent.plugin_dir = os.path.join(agent.dir, "plugins")
        os.mkdir(agent.plugin_dir)
        for name, what in (programs or {}).items():
            path = os.path.join(agent.plugin_dir, name)
            if os.path.isabs(what):
                shutil.copy(what, path)
            else:
                with open(path, "w") as f:
                    f.write(what)
                os.chmod(path, 0o755)
        with open(agent.config_path, "a") as f:
            f.write(f'plugin_dir = "{agent.plugin_dir}"\n{config}')
        return agent.start()

    def with_driver(self, config="", args=""):
        words = f"  args = [{args}]\n" if args else ""
        return self.agent(f'plugin "{NAME}" {{\n{words}  config {{\n{config}  }}\n}}\n', {NAME: GoDriver.program()})

    def plugin(self, agent, name=NAME):
        return next(p for p in agent.get("/v1/agent/plugins").json if p["Name"] == name)

    def wait_for(self, agent, status, name=NAME, timeout=60):
        return wait_until(lambda: (p := self.plugin(agent, name))["Status"] == status and p, timeout=timeout,
                          what=f"plugin {name} being {status}")

    def driver(self, agent):
        node = agent.get("/v1/nodes").json[0]["ID"]
        return agent.get(f"/v1/node/{node}").json["Drivers"].get("gonaps", {})

    def wait_for_health(self, agent, healthy=True):
        return wait_until(lambda: (d := self.driver(agent)).get("Healthy") == healthy and d, what=f"health being {healthy}")

    def task(self, name, command, kind="service", count=1, **config):
        one = job(name, "gonaps", dict(config, command=command), count=count, kind=kind)
        return one

    def run_task(self, agent, name, command, status="running", **more):
        agent.register(self.task(name, command, **more))
        return agent.wait_for_allocs(name, status)[0]["ID"]

    def local(self, agent, alloc, name):
        path = os.path.join(agent.data_dir, "alloc", alloc, "task", "local", name)
        if not os.path.exists(path):
            return ""
        with open(path) as f:
            return f.read()

    def events(self, agent, alloc):
        states = agent.get(f"/v1/allocation/{alloc}").json.get("TaskStates") or {}
        return [(e["Type"], e["DisplayMessage"]) for e in states.get("task", {}).get("Events") or []]

    def restarts(self, agent, alloc):
        return agent.get(f"/v1/allocation/{alloc}").json["TaskStates"]["task"]["Restarts"]

    def children(self, pid):
        """Programs that a process has started, by their names."""
        found = {}
        for each in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{each}/stat") as f:
                    text = f.read()
            except OSError:
                continue
            if int(text.rsplit(")", 1)[1].split()[1]) == pid:
                found[text[text.index("(") + 1:text.rindex(")")]] = int(each)
        return found

    def go_program(self, agent):
        return next(pid for name, pid in self.children(self.plugin(agent)["PID"]).items() if name.startswith("nomad-driver"))


SCRIPT = "#!/bin/sh\n"


class BadProgramTest(Case):
    """Programs that call themselves drivers of Nomad's. None needs Go."""

    WHY = {
        "nomad-driver-text": (SCRIPT + "echo 'This binary is a plugin.' >&2\nexit 1\n", "exited with status 1 before it printed a handshake: This binary is a plugin."),
        "nomad-driver-words": (SCRIPT + "echo hello world\nexec sleep 1000\n", 'its first line is no handshake, but "hello world"'),
        "nomad-driver-version": (SCRIPT + "echo '1|1|unix|/tmp/nothing|grpc|'\nexec sleep 1000\n", 'it speaks version "1" of the protocol of Nomad\'s plugins, this agent 2'),
        "nomad-driver-core": (SCRIPT + "echo '3|2|unix|/tmp/nothing|grpc|'\nexec sleep 1000\n", 'it speaks version "3" of go-plugin, this agent 1'),
        "nomad-driver-netrpc": (SCRIPT + "echo '1|2|unix|/tmp/nothing|netrpc|'\nexec sleep 1000\n", 'it speaks "netrpc", this agent gRPC'),
        "nomad-driver-remote": (SCRIPT + "echo '1|2|tcp|10.1.2.3:4000|grpc|'\nexec sleep 1000\n", "expected a Unix socket, or a port of 127.0.0.1"),
        "nomad-driver-flood": (SCRIPT + "exec yes | tr -d '\\n'\n", "no plugin of Nomad's"),
        "nomad-driver-hangs": (SCRIPT + "exec sleep 1000\n", "it has printed no handshake within 6 s"),
        "nomad-driver-silent": (SCRIPT + "exec 2>&- sleep 1000\n", "it has printed no handshake within 6 s"),
        "nomad-driver-nobody": (SCRIPT + "echo '1|2|unix|/tmp/nobody-listens-there|grpc|'\nexec sleep 1000\n", "it has not answered PluginInfo in time"),
        "nomad-driver-crashes": (SCRIPT + "kill -SEGV $$\n", "was killed by signal 11 before it printed a handshake"),
        "nomad-driver-empty": ("", "plugins/nomad-driver-empty: Exec format error"),
    }

    def test_what_is_none_is_refused_with_a_clear_line(self):
        agent = self.agent('plugin "nomad-driver-words" {\n  config {\n    a = 1\n  }\n}\n',
                           {name: text for name, (text, _) in self.WHY.items()})
        for name, (_, why) in self.WHY.items():
            with self.subTest(name):
                self.assertIn(why, self.wait_for(agent, "refused", name)["StatusDescription"])
                self.assertRegex(agent.log(), rf"the plugin is refused.*: plugin={name} .*{re.escape(why)}")
        self.assertIn("no handshake", agent.run("plugin", "status", "nomad-driver-words", check=True).stdout)
        agent.register(harness.shell_job("web", "sleep 1000"))
        agent.wait_for_allocs("web", "running")
        wait_until(lambda: not [p for p in harness.processes_of(agent.plugin_dir)], what="the ends of their processes")

    def test_a_socket_that_speaks_nonsense(self):
        place = tempfile.mkdtemp(prefix="nonsense-")
        self.addCleanup(shutil.rmtree, place)
        server = socket.socket(socket.AF_UNIX)
        server.bind(f"{place}/socket")
        server.listen()
        self.addCleanup(server.close)

        def speak():
            while True:
                try:
                    caller, _ = server.accept()
                except OSError:
                    return
                with caller:
                    caller.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + bytes(range(256)) * 100)

        threading.Thread(target=speak, daemon=True).start()
        agent = self.agent(programs={"nomad-driver-nonsense": SCRIPT + f"echo '1|2|unix|{place}/socket|grpc|'\nexec sleep 1000\n"})
        self.assertRegex(self.wait_for(agent, "refused", "nomad-driver-nonsense")["StatusDescription"], "PluginInfo|sense|protocol|connect")

    def test_confined_and_in_the_agent_it_is_refused(self):
        agent = self.agent(f'plugin "nomad-driver-a" {{\n  confined = true\n}}\nplugin "nomad-driver-b" {{\n  isolated = false\n}}\n',
                           {name: SCRIPT + "exec sleep 1000\n" for name in ("nomad-driver-a", "nomad-driver-b")})
        self.assertIn("confined = true: plugins of Nomad's can't be confined", self.wait_for(agent, "refused", "nomad-driver-a")["StatusDescription"])
        self.assertIn("isolated = false: a program runs in a process of its own only", self.wait_for(agent, "refused", "nomad-driver-b")["StatusDescription"])


class WrongDriverTest(Case):
    def test_what_is_wrong_with_a_driver_is_said(self):
        for what, why in (("type", "it is a device plugin of Nomad's"), ("api", "does not speak version v0.1.0"),
                          ("schema", 'the schema of its configuration makes no sense: "list(" is no type'),
                          ("dies", "I have a bad day"), ("protocol", 'it speaks version "7"')):
            with self.subTest(what):
                agent = self.with_driver(args=f'"-wrong={what}"')
                self.assertIn(why, self.wait_for(agent, "refused")["StatusDescription"])
                agent.stop()

    def test_a_wrong_configuration_is_told_with_its_place(self):
        for config, why in (("    greeting = [1]\n", r"agent.hcl:\d+: plugin.nomad-driver-gonaps.config: greeting: expected a text"),
                            ("    gretting = \"a\"\n", r'did you mean "greeting"'),
                            ("    most = \"many\"\n", r"agent.hcl:\d+: plugin.nomad-driver-gonaps.config: most: a number is required"),
                            ("    limits {\n    }\n", r'missing required argument "limits.tasks"'),
                            ("    refuse = \"not today\"\n", r"its configuration is wrong: SetConfig failed: not today")):
            with self.subTest(config):
                agent = self.with_driver(config)
                self.assertRegex(self.wait_for(agent, "refused")["StatusDescription"], why)
                agent.stop()

    def test_a_start_without_a_handle_fails_its_task(self):
        agent = self.with_driver(args='"-wrong=handle"')
        self.wait_for_health(agent)
        agent.register(self.task("odd", "sleep 1000"))
        wait_until(lambda: any("without a handle" in e[1] for a in agent.allocs("odd") for e in self.events(agent, a["ID"])),
                   what="the failure")
        self.assertEqual(self.plugin(agent)["Restarts"], 0)


class DriverTest(Case):
    def test_what_it_is_and_how_it_feels(self):
        sick = os.path.join(tempfile.gettempdir(), f"gonaps-sick-{os.getpid()}")
        agent = self.with_driver(f'    greeting = "hi"\n    sick = "{sick}"\n    most = 2.5\n    labels {{\n      a = "b"\n    }}\n'
                                 '    limits {\n      tasks = 3\n    }\n')
        plugin = self.wait_for(agent, "running")
        self.assertEqual((plugin["Version"], plugin["Provides"]["Drivers"]), ("1.2.3 (Nomad)", ["gonaps"]))
        shown = agent.run("plugin", "status", NAME, check=True).stdout
        self.assertRegex(shown, r"Drivers\s+= gonaps")
        self.assertEqual(self.wait_for_health(agent)["HealthDescription"], "naps well")
        node = agent.get("/v1/nodes").json[0]["ID"]
        attributes = wait_until(lambda: (a := agent.get(f"/v1/node/{node}").json["Attributes"]).get("driver.gonaps.version") and a,
                                what="its attributes")
        self.assertEqual((attributes["driver.gonaps.version"], attributes["driver.gonaps.memory"]), ("1.2.3", "7GiB"))
        wait_until(lambda: "configured: " in agent.log(), what="its line in the log")
        line = next(line for line in agent.log().splitlines() if "configured: " in line)
        self.assertIn('"Greeting":"hi"', line)
        self.assertIn('"Most":2.5', line)
        self.assertIn('"Limits":{"tasks":3}', line)
        self.assertIn('"Labels":{"a":"b"}', line)
        self.assertIn("api=v0.1.0", line)
        with open(sick, "w"):
            pass
        self.addCleanup(lambda: os.path.exists(sick) and os.remove(sick))
        self.assertEqual(self.wait_for_health(agent, False)["HealthDescription"], "it is sick")
        os.remove(sick)
        self.wait_for_health(agent)
        left = [name for name in os.listdir(os.path.join(agent.data_dir, "plugins", NAME)) if name.startswith("plugin")]
        self.assertEqual(left, [], "its socket has no name any more")
        bridge, program = self.plugin(agent)["PID"], self.go_program(agent)
        agent.stop()
        for pid in (bridge, program):
            self.assertFalse(os.path.exists(f"/proc/{pid}/exe"))

    def test_a_task_gets_what_the_job_says_and_ends(self):
        agent = self.with_driver()
        self.wait_for_health(agent)
        one = self.task("full", "echo out; echo problem >&2; exit 3", kind="batch", number=5, part=[{"name": "a"}, {"name": "b", "size": 2}],
                        labels=[{"x": "y"}])
        group = one["TaskGroups"][0]
        group["RestartPolicy"] = {"Attempts": 0, "Mode": "fail"}
        group["ReschedulePolicy"] = {"Attempts": 0}
        task = group["Tasks"][0]
        task["Meta"] = {"color": "red"}
        task["Resources"] = {"CPU": 50, "MemoryMB": 20, "MemoryMaxMB": 30}
        agent.register(one)
        alloc = agent.wait_for_allocs("full", "failed")[0]["ID"]
        seen = json.loads(self.local(agent, alloc, "seen.json"))
        self.assertEqual(seen["config"]["number"], 5)
        self.assertIs(seen["config"]["flag"], True)
        self.assertEqual(seen["config"]["part"], [{"name": "a", "size": 1.5}, {"name": "b", "size": 2}])
        self.assertEqual(seen["config"]["labels"], [{"x": "y"}])
        self.assertIsNone(seen["config"]["args"])
        self.assertEqual((seen["job"], seen["group"], seen["namespace"], seen["meta"]), ("full", "group", "default", "red"))
        self.assertEqual((seen["memory_mb"], seen["memory"], seen["shares"]), (20, 20 << 20, 50))
        self.assertRegex(seen["id"], rf"^{alloc}/task/[0-9a-f]{{8}}$")
        events = self.events(agent, alloc)
        self.assertIn(("Driver", "hello from the driver"), events)
        self.assertTrue(any("Exit Code: 3" in text for _, text in events), events)
        for kind, text in (("stdout", "out\n"), ("stderr", "problem\n")):
            shown = wait_until(lambda: agent.run("alloc", "logs", *(["-stderr"] if kind == "stderr" else []), alloc).stdout, what=kind)
            self.assertEqual(shown, text)
        wait_until(lambda: not os.listdir(os.path.join(agent.data_dir, "plugins", NAME, "logs")), what="the removal of its FIFOs")

    def test_wrong_configs_and_refused_starts_are_events(self):
        agent = self.with_driver()
        self.wait_for_health(agent)
        for name, config, why in (("unknown", {"comand": "x"}, 'did you mean "command"'), ("kind", {"number": "many"}, "number: a number is required"),
                                  ("part", {"part": [{"size": 1}]}, "name"), ("refused", {"start_error": "no bed"}, "no bed"),
                                  ("again", {"start_error": "no bed yet", "recoverable": True}, "no bed yet")):
            with self.subTest(name):
                agent.register(self.task(name, "sleep 1000", **config))
                wait_until(lambda: any(why in e[1] for a in agent.allocs(name) for e in self.events(agent, a["ID"])), what=why)
        wait_until(lambda: agent.allocs("refused")[-1]["ClientStatus"] == "failed", what="the end of tries")
        self.assertNotEqual(agent.allocs("again")[0]["ClientStatus"], "failed")

    def test_a_task_whose_logs_cannot_be_kept_says_so(self):
        agent = self.with_driver()
        self.wait_for_health(agent)
        one = self.task("logless", "sleep 1000")
        group = one["TaskGroups"][0]
        group["Tasks"].append(dict(harness.shell_job("x", 'rm -r "$NOMAD_ALLOC_DIR/logs" && touch "$NOMAD_ALLOC_DIR/logs"')["TaskGroups"][0]["Tasks"][0],
                                   Name="breaks", Lifecycle={"Hook": "prestart"}))
        agent.register(one)
        why = r"the task's logs can't be kept: opening /\S+/alloc/logs: Not a directory"
        wait_until(lambda: any(re.search(why, text) for a in agent.allocs("logless") for _, text in self.events(agent, a["ID"])), what="why")
        self.assertEqual(self.plugin(agent)["Restarts"], 0)
        for path in ("logs", "runs"):
            wait_until(lambda: not os.listdir(os.path.join(agent.data_dir, "plugins", NAME, path)), what=f"nothing in {path}")

    def test_signals_stops_and_a_driver_that_does_not_want_to(self):
        agent = self.with_driver()
        self.wait_for_health(agent)
        alloc = self.run_task(agent, "long", "trap 'echo got usr1' USR1; trap 'echo stopping; exit 7' TERM; echo ready; while :; do sleep 0.1; done")
        logs = lambda: agent.run("alloc", "logs", alloc).stdout
        wait_until(lambda: "ready" in logs(), what="its first line")
        agent.run("alloc", "signal", "-s", "SIGUSR1", alloc, check=True)
        wait_until(lambda: "got usr1" in logs(), what="the signal's effect")
        refused = agent.run("alloc", "signal", "-s", "SIGWINCH", alloc)
        self.assertIn("it knows no signal", refused.stdout + refused.stderr)
        agent.request("DELETE", "/v1/job/long")
        agent.wait_for_allocs("long", "complete")
        self.assertIn("stopping", logs())
        one = self.task("stubborn", "sleep 1000", stubborn=True)
        one["TaskGroups"][0]["Tasks"][0]["KillTimeout"] = 1_000_000_000
        agent.register(one)
        alloc = agent.wait_for_allocs("stubborn", "running")[0]["ID"]
        agent.request("DELETE", "/v1/job/stubborn")
        agent.wait_for_allocs("stubborn", "complete", timeout=90)
        self.assertTrue(any("it does not want to" in text for _, text in self.events(agent, alloc)))

    def test_what_its_tasks_use(self):
        agent = self.with_driver()
        self.wait_for_health(agent)

        def usage(alloc):
            return agent.get(f"/v1/client/allocation/{alloc}/stats")

        alloc = self.run_task(agent, "counted", "sleep 1000")
        shown = usage(alloc).json["ResourceUsage"]
        self.assertEqual((shown["CpuStats"]["Percent"], shown["MemoryStats"]["Measured"]), (12.5, ["RSS"]))
        wait_until(lambda: usage(alloc).json["ResourceUsage"]["MemoryStats"]["RSS"] >= 3 * 4096, what="a later reading")
        never = self.run_task(agent, "uncounted", "sleep 1000", stats="never")
        self.assertIsNone(usage(never).json["ResourceUsage"]["MemoryStats"]["Measured"])
        once = self.run_task(agent, "lost", "sleep 1000", stats="once")
        self.assertEqual(usage(once).json["ResourceUsage"]["MemoryStats"]["RSS"], 4096)
        wait_until(lambda: usage(once).status == 200, what="another try")
        self.assertEqual(self.plugin(agent)["Restarts"], 0)

    def test_commands_beside_a_task(self):
        agent = self.with_driver()
        self.wait_for_health(agent)
        alloc = self.run_task(agent, "long", "sleep 1000")

        def execute(*words, stdin=None):
            return agent.run("alloc", "exec", *words, stdin=stdin, timeout=60)

        done = execute("-i=true", "-t=false", alloc, "sh", "-c", "cat; echo $NAP >&2; exit 5", stdin="hello")
        self.assertEqual((done.returncode, done.stdout), (5, "hello"), done.stderr)
        self.assertTrue(os.path.exists(f"/proc/{int(done.stderr)}"))
        done = execute("-i=false", "-t=false", alloc, "head", "-c", "5000000", "/dev/zero")
        self.assertEqual((done.returncode, len(done.stdout)), (0, 5_000_000))
        sent = "x" * 1_000_000
        done = execute("-i=true", "-t=false", alloc, "cat", stdin=sent)
        self.assertEqual((done.returncode, len(done.stdout)), (0, len(sent)))
        done = execute("-i=false", "-t=false", alloc, "no-such-program")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no-such-program", done.stderr + done.stdout)
        asked = subprocess.Popen([harness.BINARY, "alloc", "exec", "-i=false", "-t=false", alloc, "sh", "-c", "echo $$; exec sleep 4243.19"],
                                 env=dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{agent.port}"), stdout=subprocess.PIPE, text=True)
        pid = int(asked.stdout.readline())
        asked.kill()
        asked.wait()
        asked.stdout.close()
        wait_until(lambda: not os.path.exists(f"/proc/{pid}/exe"), what="the end of a command that nobody waits for")
        self.assertEqual(self.plugin(agent)["Restarts"], 0)


    def test_a_terminal_beside_a_task_has_its_size(self):
        agent = self.with_driver()
        self.wait_for_health(agent)
        alloc = self.run_task(agent, "long", "sleep 1000")
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 90, 0, 0))
        asked = subprocess.Popen([harness.BINARY, "alloc", "exec", "-i=true", "-t=true", alloc, "echo", "behind", "it"],
                                 env=dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{agent.port}"), stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        while b"behind it" not in shown:
            shown += os.read(ours, 1000)
        self.assertIn(b"terminal of 30 rows, 90 columns", shown)
        self.assertEqual(asked.wait(30), 0)

    def test_validate_runs_it(self):
        done = subprocess.run([harness.BINARY, "plugin", "validate", "-run", GoDriver.program()], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("passed  driver gonaps describes itself", done.stdout)
        self.assertIn("passed  it ends when it is told to", done.stdout)


class RecoveryTest(Case):
    def test_kills_of_the_program_of_the_bridge_of_the_agent_and_of_all(self):
        """PLUGIN_KILLS=20 for the number of the whole run."""
        agent = self.with_driver()
        self.wait_for_health(agent)
        tasks = 3
        agent.register(self.task("many", "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.2; done", count=tasks))
        allocs = [a["ID"] for a in agent.wait_for_allocs("many", "running", tasks)]
        ids = {json.loads(self.local(agent, alloc, "seen.json"))["id"] for alloc in allocs}

        def kill_program():
            os.kill(self.go_program(agent), signal.SIGKILL)

        def kill_bridge():
            program = self.go_program(agent)
            os.kill(self.plugin(agent)["PID"], signal.SIGKILL)
            wait_until(lambda: not os.path.exists(f"/proc/{program}/exe"), what="the program's end with the bridge")

        def kill_agent():
            program = self.go_program(agent)
            agent.kill9()
            wait_until(lambda: not os.path.exists(f"/proc/{program}/exe"), what="the program's end with the agent")
            agent.start()

        def kill_all():
            os.kill(self.go_program(agent), signal.SIGKILL)
            kill_agent_only()

        def kill_agent_only():
            agent.kill9()
            agent.start()

        def stop_agent():
            agent.process.terminate()
            agent.process.wait(30)
            agent.start()

        for _ in range(int(os.environ.get("PLUGIN_KILLS", 1))):
            for kill in (kill_program, kill_bridge, kill_agent, kill_all, stop_agent):
                with self.subTest(kill.__name__):
                    pid = self.plugin(agent)["PID"]
                    kill()
                    wait_until(lambda: self.plugin(agent)["PID"] not in (0, pid), what="the next process")
                    self.wait_for(agent, "running")
                    self.wait_for_health(agent)
                    self.assertEqual({a["ID"] for a in agent.allocs("many") if a["ClientStatus"] == "running"}, set(allocs))
                    for alloc in allocs:
                        self.assertEqual(self.restarts(agent, alloc), 0)
                        before = len(agent.run("alloc", "logs", alloc).stdout.splitlines())
                        wait_until(lambda: len(agent.run("alloc", "logs", alloc).stdout.splitlines()) > before, what="its lines")
                        lines = agent.run("alloc", "logs", alloc).stdout.splitlines()
                        self.assertEqual(lines, [f"line {i + 1}" for i in range(len(lines))], "no line is lost")
        self.assertIn("found a task again", agent.log())
        # It ends while nobody looks.
        os.kill(self.plugin(agent)["PID"], signal.SIGKILL)
        status = next(pid for pid in harness.processes_of(agent.data_dir) if self.is_task(pid, allocs[0]))
        os.killpg(os.getpgid(status), signal.SIGKILL)
        wait_until(lambda: self.restarts(agent, allocs[0]) == 1, timeout=120, what="its restart")
        agent.request("DELETE", "/v1/job/many")
        agent.wait_for_allocs("many", "complete", tasks)
        wait_until(lambda: not os.listdir(os.path.join(agent.data_dir, "plugins", NAME, "logs")), what="the ends of those who keep logs")
        self.assertEqual(os.listdir(os.path.join(agent.data_dir, "plugins", NAME, "runs")), [])
        self.assertTrue(ids)

    def lines(self, agent, alloc):
        return agent.run("alloc", "logs", alloc).stdout.splitlines()

    def collector(self, agent, alloc):
        """The process that collects the logs of the allocation's task."""
        return next((pid for pid in harness.processes_of(agent.data_dir) if self.words(pid)[1:2] == [b"logs"] and alloc.encode() in self.words(pid)[2]),
                    None)

    @staticmethod
    def words(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                return f.read().split(b"\0")
        except OSError:
            return []

    def marks(self, *names):
        """Paths of files that are made by `mark` and removed at the end."""
        place = tempfile.mkdtemp(prefix="gonaps-")
        self.addCleanup(shutil.rmtree, place)
        return [os.path.join(place, name) for name in names]

    @staticmethod
    def mark(path):
        with open(path, "w"):
            pass

    def assert_goes_on(self, agent, alloc):
        """The task was not started again, and no line of its log is missing."""
        before = len(self.lines(agent, alloc))
        wait_until(lambda: len(self.lines(agent, alloc)) > before + 3, what="its lines")
        lines = self.lines(agent, alloc)
        self.assertEqual(lines, [f"line {i + 1}" for i in range(len(lines))])
        self.assertEqual((self.restarts(agent, alloc), agent.get(f"/v1/allocation/{alloc}").json["ClientStatus"]), (0, "running"))

    COUNTS = "i=0; while :; do i=$((i+1)); echo line $i; sleep 0.1; done"

    def test_a_program_that_is_killed_while_it_looks_for_a_task_loses_none(self):
        dozes, = self.marks("dozes")
        agent = self.with_driver(f'    dozes = "{dozes}"\n')
        self.wait_for_health(agent)
        alloc = self.run_task(agent, "long", self.COUNTS)
        self.mark(dozes)
        pid = self.plugin(agent)["PID"]
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: self.plugin(agent)["PID"] not in (0, pid), what="the next process")
        self.wait_for(agent, "running")
        second = self.plugin(agent)["PID"]
        program = self.go_program(agent)
        time.sleep(0.5)  # it is asked for the task
        self.assertNotIn("found a task again", agent.log())
        os.kill(program, signal.SIGKILL)
        os.remove(dozes)
        wait_until(lambda: self.plugin(agent)["PID"] not in (0, second), what="the process behind that")
        self.wait_for(agent, "running")
        wait_until(lambda: "found a task again" in agent.log(), what="its recovery")
        self.assert_goes_on(agent, alloc)

    def test_a_driver_that_is_away_for_a_while_loses_no_task_and_no_end(self):
        away, = self.marks("away")
        agent = self.with_driver(f'    away = "{away}"\n')
        self.wait_for_health(agent)
        alloc = self.run_task(agent, "long", self.COUNTS)
        self.mark(away)
        os.kill(self.plugin(agent)["PID"], signal.SIGKILL)
        wait_until(lambda: any("the driver does not say whether it has the task" in text for _, text in self.events(agent, alloc)), what="its event")
        self.wait_for_health(agent)
        short = self.run_task(agent, "short", "sleep 1; exit 3", kind="batch")  # whose end is not told while the driver is away
        time.sleep(3)
        self.assertEqual(agent.get(f"/v1/allocation/{short}").json["ClientStatus"], "running")
        os.remove(away)
        wait_until(lambda: any("Exit Code: 3" in text for _, text in self.events(agent, short)), timeout=60, what="its end")
        self.assertIn("does not say how task", agent.log())
        self.assert_goes_on(agent, alloc)

    def test_what_a_driver_does_not_destroy_is_destroyed_later_by_another_process(self):
        away, = self.marks("away")
        agent = self.with_driver(f'    away = "{away}"\n')
        self.wait_for_health(agent)
        alloc = self.run_task(agent, "ended", "exit 0", status="complete", kind="batch")
        runs, left = (os.path.join(agent.data_dir, "plugins", NAME, name) for name in ("runs", "left"))
        wait_until(lambda: not os.listdir(runs), what="the destruction of what had ended")
        alloc = self.run_task(agent, "long", self.COUNTS)
        self.mark(away)
        agent.request("DELETE", "/v1/job/long")
        agent.wait_for_allocs("long", "complete")
        wait_until(lambda: os.listdir(left), what="the record of what is left")
        wait_until(lambda: "is not gone, and tried again: it is out for a nap" in agent.log(), what="its line in the log")
        agent.kill9()
        agent.start()
        self.wait_for(agent, "running")
        self.assertEqual(len(os.listdir(left)), 1)
        os.remove(away)
        wait_until(lambda: not os.listdir(left), timeout=60, what="the removal of its record")
        self.assertEqual(os.listdir(runs), [])
        self.assertIsNone(self.collector(agent, alloc))

    def test_what_keeps_logs_is_followed_when_it_is_killed(self):
        agent = self.with_driver()
        self.wait_for_health(agent)
        alloc = self.run_task(agent, "long", self.COUNTS)
        for kills_bridge in (False, True, False):
            with self.subTest(kills_bridge=kills_bridge):
                wait_until(lambda: len(self.lines(agent, alloc)) > 3, what="its first lines")
                collector = self.collector(agent, alloc)
                os.kill(collector, signal.SIGKILL)
                wait_until(lambda: self.collector(agent, alloc) not in (None, collector), what="the next one")
                wait_until(lambda: any("what kept the task's logs has ended" in text for _, text in self.events(agent, alloc)), what="its event")
                if kills_bridge:
                    pid = self.plugin(agent)["PID"]
                    os.kill(pid, signal.SIGKILL)
                    wait_until(lambda: self.plugin(agent)["PID"] not in (0, pid), what="the next process")
                    self.wait_for(agent, "running")
                    wait_until(lambda: "found a task again" in agent.log(), what="its recovery")
                self.assert_goes_on(agent, alloc)
        agent.request("DELETE", "/v1/job/long")
        agent.wait_for_allocs("long", "complete")
        wait_until(lambda: not os.listdir(os.path.join(agent.data_dir, "plugins", NAME, "logs")), what="the end of who keeps logs")
        self.assertIsNone(self.collector(agent, alloc))

    def test_logs_that_are_followed_have_their_last_lines(self):
        agent = self.with_driver()
        self.wait_for_health(agent)
        alloc = self.run_task(agent, "ends", "echo first; sleep 3; echo last", kind="batch")
        collector = wait_until(lambda: self.collector(agent, alloc), what="who keeps its logs")
        os.kill(collector, signal.SIGSTOP)
        followed = []
        reader = threading.Thread(target=lambda: followed.append(agent.run("alloc", "logs", "-f", alloc).stdout))
        reader.start()
        time.sleep(6)  # the task has ended; what keeps its logs has not heard a word of it
        self.assertEqual(agent.get(f"/v1/allocation/{alloc}").json["ClientStatus"], "running")
        os.kill(collector, signal.SIGCONT)
        agent.wait_for_allocs("ends", "complete")
        reader.join(30)
        self.assertEqual(followed[0].splitlines()[-1:], ["last"])

    def test_no_task_is_started_before_the_driver_has_looked_around(self):
        agent = self.with_driver('    slow = true\n')
        self.wait_for_health(agent)
        one = self.task("again", "echo $$ > $NOMAD_TASK_DIR/pid; sleep 1000")
        one["TaskGroups"][0]["RestartPolicy"] = {"Attempts": 1, "Delay": 10**6, "Interval": 600 * 10**9, "Mode": "fail"}
        agent.register(one)
        alloc = agent.wait_for_allocs("again", "running")[0]["ID"]
        first = wait_until(lambda: self.local(agent, alloc, "pid").strip(), what="its first start")
        os.kill(self.plugin(agent)["PID"], signal.SIGKILL)
        os.kill(int(first), signal.SIGKILL)  # so that the next process is asked for a start at once
        wait_until(lambda: self.local(agent, alloc, "pid").strip() not in ("", first), timeout=120, what="its second start")
        self.assertEqual(self.plugin(agent)["Restarts"], 1, agent.log()[-3000:])
        agent.wait_for_allocs("again", "running")  # the agent hears of it behind the task's first words
        self.assertEqual(self.restarts(agent, alloc), 1)

    def test_a_changed_configuration_is_another_program_and_tasks_go_on(self):
        agent = self.with_driver('    greeting = "one"\n')
        self.wait_for_health(agent)
        alloc = self.run_task(agent, "before", "echo begin; sleep 1000")
        wait_until(lambda: ("Driver", "one from the driver") in self.events(agent, alloc), what="its greeting")
        program = self.go_program(agent)
        with open(agent.config_path) as f:
            text = f.read()
        with open(agent.config_path, "w") as f:
            f.write(text.replace('"one"', '"two"'))
        pid = self.plugin(agent)["PID"]
        agent.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.plugin(agent)["PID"] not in (0, pid), what="the next process")
        self.wait_for(agent, "running")
        self.assertFalse(os.path.exists(f"/proc/{program}/exe"))
        self.wait_for_health(agent)
        after = self.run_task(agent, "after", "sleep 1000")
        wait_until(lambda: ("Driver", "two from the driver") in self.events(agent, after), what="its greeting")
        self.assertEqual((self.restarts(agent, alloc), agent.allocs("before")[0]["ClientStatus"]), (0, "running"))
        done = agent.run("alloc", "exec", "-i=false", "-t=false", alloc, "sh", "-c", "kill -0 $NAP && echo there")
        self.assertEqual(done.stdout, "there\n")

    @staticmethod
    def is_task(pid, alloc):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                words = f.read()
        except OSError:
            return False
        return b"gonap\0" in words and alloc.encode() in words

    def test_a_handle_has_no_secrets(self):
        agent = self.with_driver()
        self.wait_for_health(agent)
        one = self.task("secret", "sleep 1000")
        one["TaskGroups"][0]["Tasks"][0]["Env"] = {"PASSWORD": "geheim-4711"}
        agent.register(one)
        agent.wait_for_allocs("secret", "running")
        runs = os.path.join(agent.data_dir, "plugins", NAME, "runs")
        kept = [os.path.join(runs, name) for name in os.listdir(runs)]
        self.assertEqual(len(kept), 1)
        with open(kept[0], "rb") as f:
            self.assertNotIn(b"geheim-4711", f.read())


if __name__ == "__main__":
    harness.main()
