"""The driver docker on a real engine: containers of tasks, their logs, networks, commands and ends, and what
becomes of them when the agent or the engine is killed.

The engine is this test's own: a dockerd with its directories and socket, in a network namespace and with mounts of
its own, whose one image is made of a static busybox. Nothing is pulled from anywhere. Without the programs, or where
an engine can't run, all of it is skipped, with the reason.
"""
import base64
import glob
import json
import os
import pty
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.request

from apart import lacks, move_apart

LACKING = lacks()
if not LACKING and "NOMADCTL_TEST_APART" not in os.environ:
    move_apart()

import harness  # noqa: E402  (claims ports where it is imported)
from engine import IMAGE, Engine, UnixConnection, docker_job, docker_task  # noqa: E402
from harness import Agent, wait_until  # noqa: E402
from registry import Registry  # noqa: E402


@unittest.skipIf(LACKING, LACKING)
class Case(unittest.TestCase):
    config = ""
    options = ""
    engine_dir = None  # the engine's; else one of its own

    @classmethod
    def setUpClass(cls):
        cls.engine = Engine(cls.engine_dir).start()
        try:
            wait_until(cls.engine.answers, what="the engine's answer")
        except OSError as why:
            cls.engine.process.wait()
            shutil.rmtree(cls.engine.dir, ignore_errors=True)
            raise unittest.SkipTest(f"an engine can't run here: {why}") from None
        cls.engine.make_image()
        cls.agent = Agent(f"""
plugin "docker" {{
  config {{
    endpoint = "unix://{cls.engine.socket}"
    {cls.options}
  }}
}}
{cls.config}
""").start()
        wait_until(lambda: cls.driver().get("Healthy"), what="the driver's health")

    @classmethod
    def tearDownClass(cls):
        cls.agent.destroy()
        left = [c["Names"] for c in cls.engine.containers()]
        positions = glob.glob(f"{cls.agent.data_dir}/client/docker/*")
        cls.engine.destroy()
        assert not left, f"containers were left: {left}"
        assert not positions, f"records were left: {positions}"

    @classmethod
    def driver(cls):
        node = cls.agent.get("/v1/nodes").json[0]["ID"]
        node = cls.agent.get(f"/v1/node/{node}").json
        return dict(node["Drivers"]["docker"], Attributes=node["Attributes"])

    def run_job(self, made, status="running"):
        self.agent.register(made)
        return self.alloc(self.agent.wait_for_allocs(made["ID"], status)[0]["ID"])

    def alloc(self, alloc_id):
        return self.agent.get(f"/v1/allocation/{alloc_id}").json

    def stop(self, name):
        self.agent.request("DELETE", f"/v1/job/{name}")

    def purge(self, name):
        self.agent.request("DELETE", f"/v1/job/{name}?purge=true")

    def logs(self, alloc, stream="stdout", task="task"):
        found = glob.glob(f"{self.agent.data_dir}/alloc/{alloc['ID']}/alloc/logs/{task}.{stream}.*")
        found.sort(key=lambda path: int(path.rsplit(".", 1)[1]))
        return "".join(open(path).read() for path in found)

    def events(self, alloc, task="task"):
        return [event["DisplayMessage"] for event in self.alloc(alloc["ID"])["TaskStates"][task]["Events"]]

    def failure(self, made):
        """What the events of a task that can't be started say."""
        alloc = self.run_job(made, "failed")
        return " | ".join(self.events(alloc))

    def port(self, alloc, label="http"):
        return next(p["Value"] for p in alloc["AllocatedResources"]["Shared"]["Ports"] if p["Label"] == label)

    def fetched(self, port, path=""):
        def answer():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=5) as said:
                    return said.read().decode()
            except OSError:
                return None
        return wait_until(answer, what=f"an answer at port {port}")


class Tasks(Case):
    def test_the_node_says_what_the_engine_is(self):
        about = self.driver()
        self.assertTrue(about["Detected"])
        for name in ("driver.docker", "driver.docker.version", "driver.docker.runtimes", "driver.docker.os_type", "driver.docker.cgroup_driver",
                     "driver.docker.bridge_ip"):
            self.assertTrue(about["Attributes"].get(name), name)

    def test_a_task_runs_to_its_end_in_its_place(self):
        script = ("echo $NOMAD_TASK_DIR $NOMAD_ALLOC_DIR $NOMAD_SECRETS_DIR $FOO; echo said >&2; echo kept > /local/file;"
                  " echo shared > /alloc/data/file; cat /proc/mounts | grep ' /secrets ' | cut -d' ' -f3; exit 3")
        alloc = self.run_job(docker_job("end", script, kind="batch", tasks=[
            dict(docker_task("task", script), Env={"FOO": "bar"})]), "failed")
        self.assertEqual(self.logs(alloc), "/local /alloc /secrets bar\ntmpfs\n")
        self.assertEqual(self.logs(alloc, "stderr"), "said\n")
        root = f"{self.agent.data_dir}/alloc/{alloc['ID']}"
        self.assertEqual(open(f"{root}/task/local/file").read(), "kept\n")
        self.assertEqual(open(f"{root}/alloc/data/file").read(), "shared\n")
        state = alloc["TaskStates"]["task"]
        ended = next(event for event in state["Events"] if event["Type"] == "Terminated")
        self.assertEqual(ended["ExitCode"], 3)
        self.assertIn("Docker container exited with non-zero exit code: 3", ended["DisplayMessage"])

    def test_what_is_wrong_is_said(self):
        for name, config, said in (
                ("unknown", {"comand": "x"}, 'did you mean "command"?'),
                ("nested", {"mount": [{"taget": "/x"}]}, 'did you mean "target"?'),
                ("privileged", {"privileged": True}, "Docker privileged mode is disabled on this Nomad agent"),
                ("capability", {"cap_add": ["sys_admin"]}, "driver does not allow the following capabilities: sys_admin"),
                ("volume", {"volumes": ["/etc:/x"]}, "volumes are not enabled; cannot mount host paths"),
                ("runtime", {"runtime": "other"}, 'requested runtime "other" is not allowed'),
                ("ports", {"ports": ["http"]}, 'Port "http" not found, check network block'),
                ("command", {"command": "/no/such/program"}, "Failed to start container"),
                ("load", {"image": "not:there", "load": "no.tar"}, "unable to open image archive"),
                ("pull", {"image": "127.0.0.1:1/no/such:image"}, "Failed to pull `127.0.0.1:1/no/such:image`")):
            with self.subTest(name):
                self.assertIn(said, self.failure(docker_job(f"wrong-{name}", **config)))
        self.assertFalse([c for c in self.engine.containers() if "wrong" in str(c)])

    def test_an_image_is_loaded_from_an_archive(self):
        self.engine.make_image("saved:1")
        status, archive = self.engine.request("GET", "/images/saved:1/get")
        self.assertEqual(status, 200)
        self.engine.request("DELETE", "/images/saved:1")
        with tempfile.TemporaryDirectory() as directory:
            with open(f"{directory}/saved.tar", "wb") as file:
                file.write(archive)
            prepare = {"Name": "prepare", "Driver": "raw_exec", "Lifecycle": {"Hook": "prestart"},
                       # The other task's directory is made meanwhile.
                       "Config": {"command": "/bin/sh", "args": [
                           "-c", f"until cp {directory}/saved.tar $NOMAD_ALLOC_DIR/../task/local/; do sleep 0.1; done"]},
                       "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1}, "Resources": {"CPU": 5, "MemoryMB": 10}}
            self.run_job(docker_job("load", tasks=[docker_task("task", image="saved:1", load="saved.tar"), prepare]))
        self.purge("load")

    def test_limits_hold_and_memory_ends_a_task(self):
        alloc = self.run_job(docker_job("limits", "sleep 1000", pids_limit=20, ulimit=[{"nofile": "100:200"}],
                                        sysctl=[{"net.ipv4.ip_forward": "1"}], labels=[{"mine": "yes"}]))
        host = self.engine.container(alloc)["HostConfig"]
        self.assertEqual((host["Memory"], host["PidsLimit"]), (32 << 20, 20))
        self.assertEqual(self.engine.container(alloc)["Config"]["Labels"]["mine"], "yes")
        self.assertEqual(host["Ulimits"], [{"Name": "nofile", "Soft": 100, "Hard": 200}])
        # Not the soft limit: runc's Go runtime may raise it to the hard one.
        done = self.agent.run("alloc", "exec", alloc["ID"], "sh", "-c", "ulimit -Hn; cat /proc/sys/net/ipv4/ip_forward")
        self.assertEqual(done.stdout, "200\n1\n", done.stderr)
        self.purge("limits")
        alloc = self.run_job(docker_job("oom", "exec dd if=/dev/zero of=/dev/null bs=200M count=1", kind="batch"), "failed")
        self.assertIn("OOM", " ".join(self.events(alloc)))

    def test_a_task_is_stopped_by_its_signal_or_killed(self):
        alloc = self.run_job(docker_job("stop", tasks=[
            docker_task("task", "trap 'echo ended; exit 0' USR1; echo ready; while :; do sleep 0.1; done",
                        KillSignal="SIGUSR1", KillTimeout=20 * 10**9)]))
        wait_until(lambda: "ready" in self.logs(alloc), what="the task's readiness")
        self.stop("stop")
        self.agent.wait_for_allocs("stop", "complete")
        self.assertIn("ended", self.logs(alloc))
        alloc = self.run_job(docker_job("kill", tasks=[
            docker_task("task", "trap '' TERM; echo ready; while :; do sleep 0.1; done", KillTimeout=10**9)]))
        wait_until(lambda: "ready" in self.logs(alloc), what="the task's readiness")
        self.stop("kill")
        self.agent.wait_for_allocs("kill", "complete")

    def test_signals_and_restarts(self):
        alloc = self.run_job(docker_job("signal", "trap 'echo heard' HUP; echo ready; while :; do sleep 0.1; done"))
        wait_until(lambda: "ready" in self.logs(alloc), what="the task's readiness")
        self.agent.run("alloc", "signal", "-s", "SIGHUP", alloc["ID"], check=True)
        wait_until(lambda: "heard" in self.logs(alloc), what="the signal")
        before = self.engine.container(alloc)["Id"]
        self.agent.run("alloc", "restart", alloc["ID"], check=True)
        wait_until(lambda: self.logs(alloc).count("ready") == 2, what="another start")
        self.assertNotEqual(self.engine.container(alloc)["Id"], before)
        self.purge("signal")

    def test_commands_beside_a_task(self):
        alloc = self.run_job(docker_job("exec", "echo in > /tmp/mark; sleep 1000"))
        done = self.agent.run("alloc", "exec", "-i", alloc["ID"], "sh", "-c", "cat /tmp/mark -; echo err >&2; exit 7", stdin="hello\n")
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("in\nhello\n", "err\n", 7))
        self.assertNotEqual(self.agent.run("alloc", "exec", alloc["ID"], "/no/such").returncode, 0)
        self.assertIn("25 91", self.on_terminal(alloc, "stty size"))
        self.purge("exec")

    def on_terminal(self, alloc, command):
        import fcntl
        import struct
        import termios
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 91, 0, 0))
        child = subprocess.Popen([harness.BINARY, "alloc", "exec", "-i", "-t", alloc["ID"], "sh"], stdin=slave, stdout=slave,
                                 stderr=slave, start_new_session=True,
                                 env=dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{self.agent.port}"))
        os.close(slave)
        time.sleep(1)
        os.write(master, f"{command}; exit 0\n".encode())
        seen = b""
        try:
            while chunk := os.read(master, 4096):
                seen += chunk
        except OSError:
            pass
        self.assertEqual(child.wait(30), 0, seen)
        os.close(master)
        return seen.decode()

    def test_a_command_ends_with_whoever_asked(self):
        alloc = self.run_job(docker_job("abandoned"))
        child = subprocess.Popen([harness.BINARY, "alloc", "exec", alloc["ID"], "sleep", "4321"],
                                 env=dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{self.agent.port}"))
        top = f"/containers/task-{alloc['ID']}/top"
        wait_until(lambda: b"4321" in self.engine.request("GET", top)[1], what="the command")
        child.kill()
        child.wait()
        wait_until(lambda: b"4321" not in self.engine.request("GET", top)[1], what="its end")
        self.purge("abandoned")

    def test_usage_is_measured(self):
        alloc = self.run_job(docker_job("busy", "while :; do :; done"))
        def measured():
            usage = self.agent.get(f"/v1/client/allocation/{alloc['ID']}/stats").json["ResourceUsage"]
            return usage if usage["CpuStats"]["Percent"] > 10 and usage["MemoryStats"]["Usage"] > 0 else None
        usage = wait_until(measured, what="its usage")
        self.assertIn("Percent", usage["CpuStats"]["Measured"])
        self.purge("busy")

    def test_a_port_is_mapped_on_the_host(self):
        alloc = self.run_job(docker_job("mapped", "echo it is $NOMAD_PORT_http > /tmp/index.html; exec httpd -f -p 80 -h /tmp",
                                        network={"DynamicPorts": [{"Label": "http", "To": 80}]}, ports=["http"]))
        self.assertEqual(self.fetched(self.port(alloc)), "it is 80\n")
        self.purge("mapped")

    def test_volumes_of_the_task_and_no_way_out(self):
        alloc = self.run_job(docker_job("volumes", "echo written > /data/file; ls /memory && sleep 1000", volumes=["local/data:/data"],
                                        mount=[{"type": "tmpfs", "target": "/memory", "tmpfs_options": [{"size": 1000000}]}]))
        wait_until(lambda: os.path.exists(f"{self.agent.data_dir}/alloc/{alloc['ID']}/task/local/data/file"), what="the file")
        self.purge("volumes")

    def test_logs_are_followed_across_files(self):
        alloc = self.run_job(docker_job(
            "long", "i=0; while [ $i -lt 8000 ]; do echo line $i " + "that fills files " * 8 + "; i=$((i+1)); done", kind="batch"), "complete")
        lines = self.logs(alloc).splitlines()
        self.assertEqual(lines[-1].split()[1], "7999")
        numbers = [int(line.split()[1]) for line in lines]
        self.assertEqual(numbers, list(range(0, 8000)))
        self.assertGreater(len(glob.glob(f"{self.agent.data_dir}/alloc/{alloc['ID']}/alloc/logs/task.stdout.*")), 1)


    def test_the_end_of_a_task_without_logs_is_not_waited_for(self):
        alloc = self.run_job(docker_job("mute", "echo lost; sleep 1", kind="batch", logging=[{"type": "none"}]), "complete")
        at = {event["Type"]: event["Time"] for event in self.alloc(alloc["ID"])["TaskStates"]["task"]["Events"]}
        self.assertLess(at["Terminated"] - at["Started"], 6 * 10**9)
        self.assertEqual("", self.logs(alloc))
        self.assertTrue(any("does not support reading" in each for each in self.events(alloc)), self.events(alloc))

    def test_a_log_that_the_engine_gives_out_again_is_kept_once(self):
        alloc = self.run_job(docker_job(
            "rotated", "i=0; while [ $i -lt 12000 ]; do echo line $i " + "that fills files " * 4 + "; i=$((i+1)); done", kind="batch",
            logging=[{"type": "json-file", "config": [{"max-size": "200k", "max-file": "20"}]}]), "complete")
        numbers = [int(line.split()[1]) for line in self.logs(alloc).splitlines()]
        # An engine that rotates that fast may pass over files, and give them out when it is asked again.
        self.assertEqual(len(set(numbers)), len(numbers))
        self.assertIn(11999, numbers)


class Survival(Case):
    options = 'gc {\n image_delay = "15s"\n }'

    def setUp(self):
        if not self.engine.has_image(IMAGE):
            self.engine.make_image()

    def test_1_an_agent_that_is_killed_loses_no_line_and_restarts_nothing(self):
        alloc = self.run_job(docker_job(
            "lines", "i=0; while :; do echo line $i; echo error $i >&2; i=$((i+1)); [ $((i % 50)) = 0 ] && sleep 0.2; done"))
        before = self.engine.container(alloc)["Id"]
        for pause in (0.4, 1.3, 2.2):
            time.sleep(pause)
            self.agent.kill9()
            time.sleep(0.3)
            self.agent.start()
            wait_until(lambda: self.alloc(alloc["ID"])["ClientStatus"] == "running", what="its state")
        self.assertEqual(self.engine.container(alloc)["Id"], before)
        done = self.agent.run("alloc", "exec", alloc["ID"], "echo", "still")
        self.assertEqual(done.stdout, "still\n", done.stderr)
        self.stop("lines")
        self.agent.wait_for_allocs("lines", "complete")
        for stream, word in (("stdout", "line"), ("stderr", "error")):
            lines = self.logs(alloc, stream).splitlines()
            first = int(lines[0].split()[1])
            self.assertEqual(lines, [f"{word} {n}" for n in range(first, first + len(lines))])

    def test_2_a_task_that_ends_while_nobody_looks(self):
        alloc = self.run_job(docker_job("unseen", "sleep 2; exit 4", kind="batch"))
        self.agent.kill9()
        wait_until(lambda: not self.engine.container(alloc)["State"]["Running"], what="the container's end")
        self.agent.start()
        self.agent.wait_for_allocs("unseen", "failed")
        ended = [e for e in self.alloc(alloc["ID"])["TaskStates"]["task"]["Events"] if e["Type"] == "Terminated"]
        self.assertEqual([e["ExitCode"] for e in ended], [4])

    def test_3_an_engine_that_is_killed_and_comes_back(self):
        alloc = self.run_job(docker_job("engine", "echo ready; sleep 1000", group={
            "RestartPolicy": {"Attempts": 20, "Mode": "delay", "Delay": 10**9, "Interval": 10**12}}))
        wait_until(lambda: "ready" in self.logs(alloc), what="the task's readiness")
        self.engine.kill9()
        wait_until(lambda: not self.driver()["Healthy"], what="the driver's sickness")
        self.engine.start()
        wait_until(lambda: self.driver()["Healthy"], what="the driver's health")
        wait_until(lambda: self.logs(alloc).count("ready") >= 2, what="another start")
        self.assertEqual(self.alloc(alloc["ID"])["ClientStatus"], "running")
        self.purge("engine")
        wait_until(lambda: not self.engine.containers(), what="its removal")

    def test_4_images_go_a_while_after_their_last_task(self):
        self.engine.make_image("other:1")
        self.run_job(docker_job("image", "exit 0", kind="batch", image="other:1"), "complete")
        self.purge("image")
        self.agent.put("/v1/system/gc")
        wait_until(lambda: not self.engine.has_image("other:1"), what="the image's removal")

    def test_5_what_nobody_wants_is_removed_when_an_agent_begins(self):
        alloc = self.run_job(docker_job("owned"))
        labels = self.engine.container(alloc)["Config"]["Labels"]
        self.agent.kill9()
        other = "11111111-2222-3333-4444-555555555555"
        left = f"{labels['nomadctl.task']}-{other}"
        # Labels of an image come to whoever runs it: the last one is nobody's of this agent.
        for name, owner in ((left, labels["nomadctl.agent"]), ("foreign", "/of/somebody/else"), ("labelled", labels["nomadctl.agent"])):
            body = json.dumps({"Image": IMAGE, "Cmd": ["sleep", "1000"], "Labels": dict(
                labels, **{"nomadctl.agent": owner, "com.hashicorp.nomad.alloc_id": other})})
            connection = UnixConnection(self.engine.socket)
            connection.request("POST", f"/containers/create?name={name}", body, {"Content-Type": "application/json"})
            self.assertEqual(connection.getresponse().status, 201)
        self.agent.start()
        wait_until(lambda: [f"/{left}"] not in [c["Names"] for c in self.engine.containers()], what="its removal")
        for name in ("foreign", "labelled"):
            self.assertIn([f"/{name}"], [c["Names"] for c in self.engine.containers()])
            self.engine.request("DELETE", f"/containers/{name}?force=1")
        self.purge("owned")


class Pulls(Case):
    """From registries of the test's own: an open one, and three that want to know who asks."""

    @classmethod
    def setUpClass(cls):
        cls.open, cls.for_task, cls.for_file, cls.for_helper = (
            Registry(), *(Registry(f"{name}:of {name}") for name in ("task", "file", "helper")))
        cls.own = tempfile.mkdtemp(prefix="nomadctl-test-")
        cls.addClassCleanup(shutil.rmtree, cls.own)
        with open(f"{cls.own}/config.json", "w") as f:
            json.dump({"auths": {cls.for_file.address: {"auth": base64.b64encode(b"file:of file").decode()}},
                       "credHelpers": {cls.for_helper.address: "nomadctltest"}}, f)
        with open(f"{cls.own}/docker-credential-nomadctltest", "w") as f:
            f.write('''#!/bin/sh
read server
[ "$1" = get ] && echo '{"ServerURL":"'"$server"'","Username":"helper","Secret":"of helper"}'
''')
        os.chmod(f.name, 0o755)
        cls.options = f'auth {{\n config = "{cls.own}/config.json"\n }}\n gc {{\n image_delay = "1h"\n }}'
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{cls.own}:{path}"
        try:
            super().setUpClass()
        finally:
            os.environ["PATH"] = path

    def pulled(self, name, registry, **config):
        image = f"{registry.address}/{name}:1"
        self.run_job(docker_job(name, image=image, **config))
        self.assertTrue(self.engine.has_image(image))
        self.purge(name)

    def test_an_image_is_pulled_once_for_all_who_want_it(self):
        self.open.gate.clear()
        before = self.open.layers
        made = docker_job("many", image=f"{self.open.address}/many:1")
        made["TaskGroups"][0]["Count"] = 3
        self.agent.register(made)
        def waiting():
            allocs = self.agent.allocs("many")
            return len(allocs) == 3 and all("Downloading image" in self.events(alloc) for alloc in allocs if alloc["TaskStates"])
        try:
            wait_until(waiting, what="three that wait")
            wait_until(lambda: self.open.layers > before, what="the pull")
        finally:
            self.open.gate.set()
        self.agent.wait_for_allocs("many", "running", count=3)
        self.assertEqual(before + 1, self.open.layers)
        self.purge("many")

    def test_who_asks_is_said_by_the_task_the_agents_file_or_a_helper(self):
        self.pulled("by-task", self.for_task, auth=[{"username": "task", "password": "of task", "server_address": self.for_task.address}])
        self.pulled("by-file", self.for_file)
        self.pulled("by-helper", self.for_helper)

    def test_what_is_not_given_out_is_told(self):
        for name, registry, config, said in (
                ("missing", self.open, {}, "manifest unknown"),
                ("nobody", self.for_task, {}, "no basic auth credentials"),
                ("stranger", self.for_task, {"auth": [{"username": "task", "password": "guessed"}]}, "who are you?")):
            with self.subTest(name):
                told = self.failure(docker_job(f"no-{name}", image=f"{registry.address}/{name}:1", **config))
                self.assertIn(f"Failed to pull `{registry.address}/{name}:1`: ", told)
                self.assertIn(said, told)
                self.assertNotIn("guessed", told)

    def test_one_that_takes_too_long_is_given_up(self):
        slow = Registry()
        slow.gate.clear()
        self.addCleanup(slow.gate.set)
        told = self.failure(docker_job("late", image=f"{slow.address}/late:1", image_pull_timeout="2s"))
        self.assertRegex(told, r"Failed to pull `.*`: .*(time|took)")
        # A job that is stopped meanwhile leaves nothing behind; as in Nomad it ends when the pull does.
        self.agent.register(docker_job("stopped", image=f"{slow.address}/stopped:1"))
        wait_until(lambda: slow.layers == 2, what="the pull")
        self.stop("stopped")
        wait_until(lambda: self.agent.allocs("stopped")[0]["DesiredStatus"] == "stop", what="the order")
        slow.gate.set()
        self.agent.wait_for_allocs("stopped", "complete")
        wait_until(lambda: not [c for c in self.engine.containers() if "stopped" in c["Image"]], what="its container's end")


class FullDisk(Case):
    """An engine whose directory holds no more than an image or two."""

    @classmethod
    def setUpClass(cls):
        cls.registry = Registry(more=60 << 20)
        cls.small = tempfile.mkdtemp(prefix="nomadctl-test-engine-")
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "none", cls.small], check=True)
        cls.addClassCleanup(subprocess.run, ["umount", "-l", cls.small])
        cls.engine_dir = cls.small
        super().setUpClass()

    def test_a_pull_that_finds_no_room_is_told_and_others_go_on(self):
        other = self.run_job(docker_job("other"))
        told = self.failure(docker_job("large", image=f"{self.registry.address}/large:1"))
        self.assertIn("no space left on device", told)
        self.assertEqual("running", self.alloc(other["ID"])["ClientStatus"])
        self.assertEqual([[f"/task-{other['ID']}"]], [c["Names"] for c in self.engine.containers()])
        self.purge("other")
        self.run_job(docker_job("again"))
        self.purge("again")


PLUGINS = "/usr/lib/cni"
NO_BRIDGE = "" if os.path.exists(f"{PLUGINS}/bridge") else "the CNI plugins are not installed (containernetworking-plugins)"


@unittest.skipIf(NO_BRIDGE, NO_BRIDGE)
class Networks(Case):
    config = f'client {{\n cni_path = "{PLUGINS}"\n }}'

    def test_tasks_of_all_drivers_share_the_network_of_their_group(self):
        server = docker_task("web", "echo it is $(hostname) > /tmp/index.html; exec httpd -f -p 8080 -h /tmp")
        other = docker_task("other", "sleep 1; wget -q -O - http://127.0.0.1:8080/; cat /etc/hosts; sleep 1000")
        raw = {"Name": "raw", "Driver": "raw_exec", "Config": {"command": "/bin/sh", "args": ["-c", "readlink /proc/self/ns/net; sleep 1000"]},
               "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1}, "Resources": {"CPU": 5, "MemoryMB": 20}}
        alloc = self.run_job(docker_job("bridge", network={"Mode": "bridge", "Hostname": "named", "DynamicPorts": [{"Label": "http", "To": 8080}]},
                                        tasks=[server, other]))
        self.assertEqual(self.fetched(self.port(alloc)), "it is named\n")
        wait_until(lambda: self.logs(alloc, task="other").count("named") > 1, what="the other task's question, and its hosts")
        self.agent.kill9()
        self.agent.start()
        self.assertEqual(self.fetched(self.port(alloc)), "it is named\n")
        self.agent.run("alloc", "restart", "-task", "web", alloc["ID"], check=True)
        self.assertEqual(self.fetched(self.port(alloc)), "it is named\n")
        self.purge("bridge")
        wait_until(lambda: not self.engine.containers(), what="their removal")
        alloc = self.run_job(docker_job("mixed", network={"Mode": "bridge"}, tasks=[docker_task("task", "ls -l /proc/self/ns/net; sleep 1000"), raw]))
        wait_until(lambda: "net:[" in self.logs(alloc) and "net:[" in self.logs(alloc, task="raw"), what="their namespaces")
        self.assertIn(self.logs(alloc, task="raw").strip(), self.logs(alloc))
        self.purge("mixed")


if __name__ == "__main__":
    harness.main()
