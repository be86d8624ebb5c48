"""Tasks, services and checks that are careless or hostile: users hear what happened, the policy is
applied, and neither the agent nor a task beside them notices anything."""
import contextlib
import glob
import os
import socket
import subprocess
import threading
import time
import unittest

import harness
from harness import Agent, AgentTest, shell_job, wait_until

SECOND = 10 ** 9
NEVER_RESTARTS = {"Attempts": 0, "Interval": 10 ** 12, "Delay": SECOND, "Mode": "fail"}
NOT_PLACED_AGAIN = {"Attempts": 0, "Interval": 10 ** 12, "Unlimited": False}
NEIGHBOUR = "while :; do date +%s; sleep 0.2; done"


def bad_job(name, script, kind="service", **group):
    """Fails once and for all, so that there is one allocation to look at."""
    group = {"RestartPolicy": NEVER_RESTARTS, "ReschedulePolicy": NOT_PLACED_AGAIN, **group}
    return shell_job(name, script, kind=kind, **group)


class BadTasks(AgentTest):
    """Beside each of them runs a task that writes the time."""
    config = """
client {
  ephemeral_disk_interval = "1s"
}
telemetry {
  publish_allocation_metrics = true
}
"""

    @classmethod
    def setUpClass(cls):
        cls.agent = Agent(cls.config)
        os.chmod(cls.agent.dir, 0o711)  # for tasks of another user
        cls.agent.start()
        cls.agent.register(shell_job("neighbour", NEIGHBOUR))
        cls.neighbour = cls.agent.wait_for_allocs("neighbour", "running")[0]["ID"]

    def tearDown(self):
        for job in self.agent.get("/v1/jobs").json:
            if job["ID"] != "neighbour":
                self.agent.request("DELETE", f"/v1/job/{job['ID']}?purge=true")
        self.check_undisturbed()

    def check_undisturbed(self):
        self.assertIsNone(self.agent.process.poll(), self.agent.log()[-3000:])
        log = os.path.join(self.agent.data_dir, "alloc", self.neighbour, "alloc", "logs", "task.stdout.0")
        size = os.path.getsize(log)
        wait_until(lambda: os.path.getsize(log) > size, what="a line of the neighbour")
        task = self.agent.get(f"/v1/allocation/{self.neighbour}").json["TaskStates"]["task"]
        self.assertEqual(("running", 0), (task["State"], task["Restarts"]))

    def start(self, job):
        self.agent.register(job)
        return self.agent.wait_for_allocs(job["ID"], "running")[0]["ID"]

    def events(self, alloc):
        states = self.agent.get(f"/v1/allocation/{alloc}").json["TaskStates"] or {}
        return [event for state in states.values() for event in state["Events"] or ()]

    def wait_for_event(self, alloc, kind, text="", **details):
        def found():
            return next((event for event in self.events(alloc)
                         if event["Type"] == kind and text in event["DisplayMessage"]
                         and details.items() <= (event["Details"] or {}).items()), None)
        try:
            return wait_until(found)
        except AssertionError:
            self.fail(f"no event {kind} {text!r} {details} in {self.events(alloc)}")

    def stop(self, name):
        """How many seconds it takes to end the job's tasks."""
        begin = time.monotonic()
        self.agent.request("DELETE", f"/v1/job/{name}")
        wait_until(lambda: all(a["ClientStatus"] in ("complete", "failed") for a in self.agent.allocs(name)),
                   what="the end of the tasks")
        return time.monotonic() - begin

    def directory(self, alloc):
        return os.path.join(self.agent.data_dir, "alloc", alloc)

    # -- processes ---------------------------------------------------------------------------------

    def test_ignores_signals_and_stops_itself(self):
        job = bad_job("deaf", "trap '' TERM INT HUP QUIT; kill -STOP $$; while :; do sleep 1; done")
        job["TaskGroups"][0]["Tasks"][0]["KillTimeout"] = SECOND
        alloc = self.start(job)
        self.stop("deaf")
        self.wait_for_event(alloc, "Killing", "Waiting 1s before force killing")
        self.wait_for_event(alloc, "Terminated", signal="9")
        self.wait_for_event(alloc, "Killed")

    @unittest.skipIf(os.geteuid() != 0, "only root's tasks can be another user's")
    def test_forks_without_end_inside_its_limits(self):
        """The limit is of all processes of that user, who has none else; without it, it stops at once."""
        script = ("ulimit -u 300 && [ $(ulimit -u) = 300 ] || exit 77; ulimit -t 60; "
                  "f() { f | f & }; f 2>/dev/null; sleep 1000")
        job = bad_job("bomb", script)
        task = job["TaskGroups"][0]["Tasks"][0]
        task["User"], task["Config"]["command"] = "nobody", "/bin/bash"
        alloc = self.start(job)
        self.addCleanup(self.check_gone, alloc)
        time.sleep(1)
        self.check_undisturbed()
        self.stop("bomb")
        self.wait_for_event(alloc, "Terminated")
        self.assertNotIn("77", [e["Details"].get("exit_code") for e in self.events(alloc)], "there was no limit")

    def check_gone(self, alloc):
        def left():
            found = []
            for name in glob.glob("/proc/[0-9]*/environ"):
                with contextlib.suppress(OSError), open(name, "rb") as f:
                    found += [name] if alloc.encode() in f.read() else []
            return found
        wait_until(lambda: not left(), what="the end of all processes of the task")

    def test_killed_for_memory(self):
        parent = "/sys/fs/cgroup/memory/nomad"
        job = bad_job("greedy", "until [ -e local/go ]; do sleep 0.1; done; x=$(head -c 300000000 /dev/zero | tr '\\0' x)")
        alloc = self.start(job)
        groups = glob.glob(f"{parent}/{alloc}*") + glob.glob(f"/sys/fs/cgroup/nomad.slice/{alloc}*")
        limit = [f"{group}/{name}" for group in groups for name in ("memory.limit_in_bytes", "memory.max")
                 if os.path.exists(f"{group}/{name}")]
        if not limit:
            self.skipTest("no control groups of memory can be made here")
        with open(limit[0], "w") as f:  # raw_exec sets none
            f.write("33554432")
        open(os.path.join(self.directory(alloc), "task/local/go"), "w").close()
        event = self.wait_for_event(alloc, "Terminated", oom_killed="true")
        self.assertIn("OOM Killed", event["DisplayMessage"])
        wait_until(lambda: "client_allocs_oom_killed" in self.agent.get("/v1/metrics?format=prometheus").body
                   or "nomad.client.allocs.oom_killed" in self.agent.get("/v1/metrics").body)

    # -- disk --------------------------------------------------------------------------------------

    def test_holds_more_than_its_disk(self):
        alloc = self.start(bad_job("hoards", "head -c 30000000 /dev/zero > local/junk; sleep 1000"))
        self.wait_for_event(alloc, "Disk Resources Exceeded", "size of its ephemeral_disk is 10 MiB", disk_limit="10")
        self.assertEqual("running", self.agent.allocs("hoards")[0]["ClientStatus"], "it is only told of")

    def test_deletes_its_own_directories(self):
        alloc = self.start(bad_job("tidy", 'cd /; rm -rf "${NOMAD_ALLOC_DIR%/*}"; sleep 1000'))
        self.wait_for_event(alloc, "Task hook message", 'directory "alloc" of the allocation was deleted')
        self.assertNotEqual(0, self.agent.run("alloc", "logs", alloc).returncode)
        # Its secrets are a mount, and can't be deleted; a restart finds no place for its logs.
        self.agent.run("alloc", "restart", alloc)
        self.wait_for_event(alloc, "Driver Failure", "cannot open the log file")
        self.agent.wait_for_allocs("tidy", "failed")

    def test_deletes_its_own_files(self):
        alloc = self.start(bad_job("tidier", 'cd /; rm -rf "${NOMAD_TASK_DIR%/*}"; sleep 1000'))
        self.wait_for_event(alloc, "Task hook message", 'directory "task/local" of the allocation was deleted')
        self.assertEqual(0, self.agent.run("alloc", "restart", alloc).returncode)
        self.wait_for_event(alloc, "Restarting")
        self.agent.wait_for_allocs("tidier", "running")

    def test_fills_its_disk_with_its_logs(self):
        """As fast as it can, over restarts of the task and of the agent."""
        job = bad_job("chatty", "exec yes 'a line as long as lines of logs are, more or less'",
                      RestartPolicy={"Attempts": 10, "Interval": 10 ** 12, "Delay": 10 ** 8, "Mode": "fail"},
                      EphemeralDisk={"SizeMB": 20})
        job["TaskGroups"][0]["Tasks"][0]["LogConfig"] = {"MaxFiles": 3, "MaxFileSizeMB": 1}
        alloc = self.start(job)
        logs = os.path.join(self.directory(alloc), "alloc", "logs")
        most = 0

        def size():
            total = 0
            for name in glob.glob(f"{logs}/task.stdout.*"):
                with contextlib.suppress(OSError):
                    total += os.path.getsize(name)
            return total
        for turn in range(3):
            end = time.monotonic() + 1.5
            while time.monotonic() < end:
                most = max(most, size())
                time.sleep(0.01)
            if turn == 0:
                self.assertEqual(0, self.agent.run("alloc", "restart", alloc).returncode)
            elif turn == 1:
                self.agent.kill9()
                self.agent.start()
        self.assertLessEqual(most, 4 << 20)
        self.assertGreater(most, 2 << 20)
        self.agent.wait_for_allocs("chatty", "running")

    # -- services and checks -----------------------------------------------------------------------

    def check(self, **more):
        return dict({"Name": "alive", "Type": "tcp", "PortLabel": "1", "Interval": SECOND, "Timeout": SECOND}, **more)

    def service(self, name="odd", **more):
        return dict({"Name": name, "Provider": "nomad", "PortLabel": "1", "AddressMode": "host"}, **more)

    def test_services_with_odd_names(self):
        for name in ("späße", "a b", "a/b", "-a", "a" * 64, "${", "\n"):
            answer = self.agent.put("/v1/jobs", {"Job": bad_job("odd", "sleep 1000", Services=[self.service(name)])})
            self.assertIn(answer.status, (400, 500), (name, answer))
        # What a name is made of is only known on the node.
        job = bad_job("made", "sleep 1000", Services=[self.service("x-${NOMAD_META_word}")], Meta={"word": "ä/ö"})
        self.agent.register(job)
        alloc = self.agent.wait_for_allocs("made", "failed")[0]["ID"]
        self.wait_for_event(alloc, "Setup Failure", 'its name is "x-ä/ö" once interpolated')

    def results(self, alloc):
        return list(self.agent.get(f"/v1/client/allocation/{alloc}/checks").json.values())

    def test_check_to_a_port_that_nobody_has(self):
        check = self.check(CheckRestart={"Limit": 2, "Grace": 0})
        alloc = self.start(bad_job("alone", "sleep 1000", Services=[self.service(Checks=[check])]))
        self.wait_for_event(alloc, "Restart Signaled", "healthcheck: check")
        self.wait_for_event(alloc, "Not Restarting")
        self.agent.wait_for_allocs("alone", "failed")

    def test_each_start_has_the_grace_of_its_checks(self):
        """Neither the end of a stubborn task nor the delay of its restart, both longer than the grace, eats it up."""
        check = self.check(CheckRestart={"Limit": 1, "Grace": 2 * SECOND})
        policy = {"Attempts": 1, "Interval": 600 * SECOND, "Delay": 3 * SECOND, "Mode": "fail"}
        job = bad_job("grace", "trap '' INT; while :; do sleep 1; done", Services=[self.service(Checks=[check])], RestartPolicy=policy)
        job["TaskGroups"][0]["Tasks"][0]["KillTimeout"] = 4 * SECOND
        alloc = self.start(job)
        self.wait_for_event(alloc, "Not Restarting")
        told = [e for e in self.events(alloc) if e["Type"] in ("Started", "Restart Signaled")]
        self.assertEqual(["Started", "Restart Signaled"] * 2, [e["Type"] for e in told])
        for started, wish in zip(told[::2], told[1::2]):
            self.assertGreaterEqual(wish["Time"] - started["Time"], 2 * SECOND)

    def test_check_that_hangs(self):
        """Somebody takes the connection and says nothing."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = str(listener.getsockname()[1])
            held = []

            def hold():
                with contextlib.suppress(OSError):
                    while True:
                        held.append(listener.accept()[0])
            threading.Thread(target=hold, daemon=True).start()
            service = self.service(PortLabel=port, Checks=[self.check(Type="http", Path="/", PortLabel=port)])
            alloc = self.start(bad_job("hangs", "sleep 1000", Services=[service]))
            wait_until(lambda: [r for r in self.results(alloc) if r["Status"] == "failure"])
            self.stop("hangs")
            listener.shutdown(socket.SHUT_RDWR)
            for connection in held:
                connection.close()

    def test_a_thousand_checks(self):
        checks = [self.check(Name=f"check-{number}", Timeout=SECOND) for number in range(200)]
        job = bad_job("many", "sleep 1000", count=5, Services=[self.service(Checks=checks)])
        self.agent.register(job)
        allocs = [a["ID"] for a in self.agent.wait_for_allocs("many", "running", 5)]

        def all_known():
            results = [r for alloc in allocs for r in self.results(alloc)]
            return len(results) == 1000 and all(r["Status"] == "failure" for r in results)
        wait_until(all_known, interval=0.5, what="a result of each check")
        self.check_undisturbed()


class FullDisk(unittest.TestCase):
    """Allocations have a disk of their own, which a task fills; the agent's is another one."""

    def setUp(self):
        self.agent = Agent('client {\n  ephemeral_disk_interval = "1s"\n  ephemeral_disk_enforce = true\n}\n')
        self.addCleanup(self.agent.destroy)
        self.disk = os.path.join(self.agent.data_dir, "alloc")
        os.makedirs(self.disk)
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=0711", "tmpfs", self.disk],
                               capture_output=True, text=True)
        if mount.returncode != 0:
            self.skipTest("no disk of its own can be mounted")
        self.agent.start()

    def test_the_greedy_ends_and_the_others_go_on(self):
        self.agent.register(shell_job("neighbour", NEIGHBOUR))
        neighbour = self.agent.wait_for_allocs("neighbour", "running")[0]["ID"]
        self.agent.register(bad_job("fills", "cat /dev/zero > local/junk; while :; do echo more; sleep 0.1; done"))
        self.agent.wait_for_allocs("fills", "failed")
        events = self.agent.allocs("fills")[0]["TaskStates"]["task"]["Events"]
        self.assertIn("Disk Resources Exceeded", [e["Type"] for e in events])
        state = self.agent.get(f"/v1/allocation/{neighbour}").json["TaskStates"]["task"]
        self.assertEqual(("running", 0), (state["State"], state["Restarts"]))

        # What it held goes with it; then the neighbour's lines are kept again.
        self.agent.request("DELETE", "/v1/job/fills?purge=true")
        self.agent.put("/v1/system/gc")
        log = os.path.join(self.disk, neighbour, "alloc", "logs", "task.stdout.0")
        size = os.path.getsize(log)
        wait_until(lambda: os.path.getsize(log) > size, what="a line of the neighbour")


if __name__ == "__main__":
    harness.main()
