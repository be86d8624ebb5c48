"""Each hook in each of its phases: it is asked and things go on as they should; the agent is killed when
the hook is asked, and when it has answered and nobody knows; the job, or the agent, is stopped while a start
is at the hook. Afterwards there is one task or none, what the servers know of it is right, later phases run, and
nothing is left over."""
import base64
import contextlib
import glob
import http.server
import itertools
import os
import re
import signal
import socketserver
import threading
import time
import unittest

import harness
from harness import Agent, Orders, shell_job, wait_until
from leftovers import executors_of, groups_of, tasks_of
from tasks import unix_http

STAYS = "echo $$ >> local/pids; exec sleep 1000"
PAYLOAD = "eaten at once"
CONFIG = """
client {
  host_volume "there" {
    path = "/tmp"
  }
}
"""
# `validate` is for drivers that run tasks as users of their own. (No hook has a shutdown phase.)
# Those of networks have test_network.py, those of CSI volumes/test_csi_volumes.py.
UNREACHED = {("validate", "prestart"), ("network", "prerun"), ("network", "postrun"), ("network", "destroy"),
             ("network_files", "prestart"), ("csi_hook", "prerun"), ("csi_hook", "postrun"), ("csi_hook", "destroy"),
             ("csi_plugin", "prestart"), ("csi_plugin", "poststart"), ("csi_plugin", "exited"), ("csi_plugin", "stop"),
             ("csi_volumes", "prestart")}


class Life:
    """A job of one task, from its registration to its end, and what has to be there of it meanwhile."""
    numbers = itertools.count(1)

    def __init__(self, case, agent):
        self.case, self.agent = case, agent
        self.name = self.offers = f"hooked-{next(self.numbers)}"  # What is dispatched gets another name.
        self.tag = "first"

    def job(self):
        made = shell_job(
            self.name, STAYS, Networks=[{"ReservedPorts": [{"Label": "http", "Value": self.case.port}]}],
            RestartPolicy={"Attempts": 5, "Interval": 60 * 10**9, "Delay": 10**8, "Mode": "delay"},
            Update={"HealthCheck": "checks", "MinHealthyTime": 10**8},
            Services=[{"Name": self.offers + "-front", "Provider": "nomad", "PortLabel": "http", "Tags": [self.tag],
                       "Checks": [{"Name": "alive", "Type": "tcp", "Interval": 10**9, "Timeout": 10**9}]}])
        made["TaskGroups"][0]["Tasks"][0]["Services"] = [
            {"Name": self.offers + "-back", "Provider": "nomad", "PortLabel": "http", "Tags": [self.tag]}]
        return made

    # -- what is done to it ------------------------------------------------------------------------

    def start(self):
        self.agent.register(self.job())

    def update(self):
        self.tag = "second"
        self.agent.register(self.job())

    def restart(self):
        self.agent.put(f"/v1/client/allocation/{self.alloc()['ID']}/restart", {"AllTasks": True})

    def fail(self):
        os.kill(tasks_of(self.agent)[self.alloc()["ID"]][0], signal.SIGKILL)

    def stop(self):
        self.agent.request("DELETE", f"/v1/job/{self.name}")

    def forget(self):
        self.agent.request("DELETE", f"/v1/job/{self.name}?purge=true")
        self.agent.put("/v1/system/gc")

    # -- what is there of it -----------------------------------------------------------------------

    def alloc(self):
        allocs = wait_until(lambda: self.agent.allocs(self.name), what=f"an allocation of {self.name}")
        self.case.assertEqual(1, len(allocs), allocs)
        return allocs[0]

    def registered(self):
        return [(s["ServiceName"], s["AllocID"], s["Tags"]) for end in ("back", "front")
                for s in self.agent.get(f"/v1/service/{self.offers}-{end}").json]

    def leftovers(self, alloc):
        return [*tasks_of(self.agent)[alloc], *(e for e in executors_of(self.agent).values() if e == alloc),
                *groups_of({alloc}), *glob.glob(f"{self.agent.data_dir}/client/executors/{alloc}*"), *self.registered()]

    def faults(self):
        """What is not as it should be while the job runs."""
        alloc = self.alloc()
        checks = self.agent.get(f"/v1/client/allocation/{alloc['ID']}/checks")
        seen = {
            "status": alloc["ClientStatus"],
            "processes": len(tasks_of(self.agent)[alloc["ID"]]),
            "executors": list(executors_of(self.agent).values()).count(alloc["ID"]),
            "services": self.registered(),
            "checks": [c["Status"] for c in (checks.json or {}).values()] if checks.status == 200 else checks.body,
            "deployments": {d["Status"] for d in self.agent.get(f"/v1/job/{self.name}/deployments").json},
        }
        wanted = {
            "status": "running", "processes": 1, "executors": 1, "checks": ["success"], "deployments": {"successful"},
            "services": [(f"{self.offers}-{end}", alloc["ID"], [self.tag]) for end in ("back", "front")],
        }
        return {what: found for what, found in seen.items() if found != wanted[what]}

    def until_sound(self):
        faults = {}

        def is_sound():
            faults.clear()
            faults.update(self.faults())
            return not faults
        try:
            wait_until(is_sound, interval=0.1)
        except AssertionError:
            self.case.fail(f"{self.name}: {faults}\n{self.agent.account_of(self.name)}")

    def runs(self, starts=(1,)):
        self.until_sound()
        self.case.assertIn(len(self.agent.starts(self.name)[self.alloc()["ID"]]), starts)
        self.stop()
        self.ended()

    def runs_again(self):
        self.runs(starts=(1, 2))

    def ended(self):
        alloc = wait_until(lambda: self.alloc()["ClientStatus"] == "complete" and self.alloc(), what="its end")["ID"]
        wait_until(lambda: not self.leftovers(alloc), what=f"nothing of {alloc}")
        self.forgotten(alloc)

    def forgotten(self, alloc):
        folder = os.path.join(self.agent.data_dir, "alloc", alloc)

        def is_gone():
            self.forget()
            return self.agent.get(f"/v1/allocation/{alloc}").status == 404 and not os.path.exists(folder)
        wait_until(is_gone, interval=0.2, what=f"{alloc} being removed")
        with open("/proc/mounts") as f:
            self.case.assertNotIn(folder, f.read())
        self.case.assertEqual([], self.leftovers(alloc))

    def gone(self):
        self.forgotten(self.removed)

    def until_running(self):
        self.start()
        self.until_sound()

    def until_over(self):
        self.until_running()
        self.removed = self.alloc()["ID"]
        self.stop()
        wait_until(lambda: self.alloc()["ClientStatus"] == "complete", what="its end")


class Dispatched(Life):
    """A job with a payload."""

    def job(self):
        made = shell_job(self.name, STAYS, kind="batch")
        made["ParameterizedJob"] = {"Payload": "required"}
        made["TaskGroups"][0]["Tasks"][0]["DispatchPayload"] = {"File": "deep/payload"}
        return made

    def start(self):
        super().start()
        self.agent.put(f"/v1/job/{self.name}/dispatch", {"Payload": base64.b64encode(PAYLOAD.encode()).decode()})

    def alloc(self):
        if "/" not in self.name:  # The agent may have died before it could say it.
            self.name = wait_until(lambda: self.agent.get(f"/v1/jobs?prefix={self.name}/dispatch").json)[0]["ID"]
        return super().alloc()

    def faults(self):
        found = super().faults()
        return {what: found[what] for what in ("status", "processes", "executors") if what in found}

    def runs(self, starts=(1,)):
        self.until_sound()
        with open(os.path.join(self.agent.data_dir, "alloc", self.alloc()["ID"], "task/local/deep/payload")) as f:
            self.case.assertEqual(PAYLOAD, f.read())
        super().runs(starts)


class Templated(Life):
    """A task with a file that is made of a variable."""

    def job(self):
        made = super().job()
        made["TaskGroups"][0]["Tasks"][0]["Templates"] = [{
            "EmbeddedTmpl": 'port={{ with nomadVar "app/hooked" }}{{ .port }}{{ end }}', "DestPath": "local/app.conf"}]
        return made

    def start(self):
        self.agent.put("/v1/var/app/hooked", {"Items": {"port": "80"}})
        super().start()

    def faults(self):
        found = super().faults()
        path = os.path.join(self.agent.data_dir, "alloc", self.alloc()["ID"], "task/local/app.conf")
        if not found and open(path).read() != "port=80":
            found["file"] = path
        return found


class Fetched(Life):
    """A task with an artifact."""

    def job(self):
        made = super().job()
        made["TaskGroups"][0]["Tasks"][0]["Artifacts"] = [
            {"GetterSource": f"http://127.0.0.1:{self.case.files_port}/artifact", "RelativeDest": "local/deep"}]
        return made

    def leftovers(self, alloc):
        return [*super().leftovers(alloc), *glob.glob(f"{self.agent.data_dir}/alloc/{alloc}/.artifacts/*/*")]

    def runs(self, starts=(1,)):
        self.until_sound()
        with open(os.path.join(self.agent.data_dir, "alloc", self.alloc()["ID"], "task/local/deep/artifact")) as f:
            self.case.assertEqual("fetched", f.read())
        super().runs(starts)


class Files(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "7")
        self.end_headers()
        self.wfile.write(b"fetched")

    def log_message(self, *_):
        pass


class Asking(Life):
    """A task that its agent answers at its socket."""

    def faults(self):
        found = super().faults()
        path = os.path.join(self.agent.data_dir, "alloc", self.alloc()["ID"], "task/secrets/api.sock")
        try:
            status = found or unix_http.ask(path, "/v1/jobs").status
        except OSError as problem:
            status = problem
        return found if found or status == 401 else {"socket": status}


class Shown(Life):
    """A task with a file of its identity."""

    def job(self):
        made = super().job()
        made["TaskGroups"][0]["Tasks"][0]["Identity"] = {"File": True}
        return made

    def faults(self):
        found = super().faults()
        path = os.path.join(self.agent.data_dir, "alloc", self.alloc()["ID"], "task/secrets/nomad_token")
        if not found and open(path).read().count(".") != 2:
            found["file"] = path
        return found


class Served(Life):
    """Services of the group with identities, which their agent keeps."""

    def job(self):
        made = super().job()
        for service in made["TaskGroups"][0]["Services"]:
            service["Identity"] = {"Name": "mesh", "Audience": ["consul.io"]}
        return made

    def faults(self):
        found = super().faults()
        known = self.agent.get(f"/v1/client/allocation/{self.alloc()['ID']}/identities")
        names = [one["Name"] for one in known.json] if known.status == 200 else known.body
        return found if found or names == ["mesh"] else {"identities": names}


class Mounting(Life):
    """A task that wants a volume of the host of a driver that can't show it one."""

    def job(self):
        made = shell_job(self.name, STAYS, Volumes={"there": {"Name": "there", "Type": "host", "Source": "there"}},
                         RestartPolicy={"Attempts": 0, "Mode": "fail"}, ReschedulePolicy={"Attempts": 0})
        made["TaskGroups"][0]["Tasks"][0]["VolumeMounts"] = [{"Volume": "there", "Destination": "/there"}]
        return made

    def refused(self):
        alloc = wait_until(lambda: self.alloc()["ClientStatus"] == "failed" and self.alloc(), what="its failure")
        self.case.assertIn("does not support host volumes", str(alloc["TaskStates"]))
        self.case.assertEqual([], self.leftovers(alloc["ID"]))
        self.forgotten(alloc["ID"])


class Replaced(Life):
    """A job whose second allocation goes on with the disk of the first."""
    changes = 0

    def job(self):
        made = super().job()
        made["TaskGroups"][0]["EphemeralDisk"] = {"SizeMB": 10, "Sticky": True}
        made["TaskGroups"][0]["Tasks"][0]["Env"] = {"CHANGE": str(self.changes)}
        return made

    def replace(self):
        self.changes += 1
        self.start()

    def alloc(self):
        allocs = wait_until(lambda: len(self.agent.allocs(self.name)) > self.changes and self.agent.allocs(self.name),
                            what=f"allocation {self.changes + 1} of {self.name}")
        self.case.assertEqual(self.changes + 1, len(allocs), allocs)
        return max(allocs, key=lambda alloc: alloc["CreateIndex"])

    def took_over(self):
        self.runs(starts=(2,))  # The file that tells of starts is of the disk.


# What of a life brings a hook to a phase, what comes before, and what holds afterwards.
START, BEFORE = (lambda life: None), (lambda life: life.until_running())
ROWS = {
    ("alloc_dir", "prerun"): (Life, START, Life.start, Life.runs),
    ("await_previous_allocations", "prerun"): (Replaced, BEFORE, Replaced.replace, Replaced.took_over),
    ("migrate_disk", "prerun"): (Replaced, BEFORE, Replaced.replace, Replaced.took_over),
    ("alloc_health_watcher", "prerun"): (Life, START, Life.start, Life.runs),
    ("group_services", "prerun"): (Life, START, Life.start, Life.runs),
    ("checks_hook", "prerun"): (Life, START, Life.start, Life.runs),
    ("task_dir", "prestart"): (Life, START, Life.start, Life.runs),
    ("dispatch_payload", "prestart"): (Dispatched, START, Dispatched.start, Dispatched.runs),
    ("template", "prestart"): (Templated, START, Templated.start, Templated.runs),
    ("template", "poststart"): (Templated, START, Templated.start, Templated.runs),
    ("template", "exited"): (Templated, BEFORE, Templated.fail, Templated.runs_again),
    ("template", "stop"): (Templated, BEFORE, Templated.stop, Templated.ended),
    ("identity", "prestart"): (Shown, START, Shown.start, Shown.runs),
    ("identity", "poststart"): (Shown, START, Shown.start, Shown.runs),
    ("identity", "update"): (Shown, BEFORE, Shown.update, Shown.runs),
    ("group_identities", "prerun"): (Served, START, Served.start, Served.runs),
    ("group_identities", "update"): (Served, BEFORE, Served.update, Served.runs),
    ("group_identities", "postrun"): (Served, BEFORE, Served.stop, Served.ended),
    ("identity", "exited"): (Shown, BEFORE, Shown.fail, Shown.runs_again),
    ("identity", "stop"): (Shown, BEFORE, Shown.stop, Shown.ended),
    ("api", "prestart"): (Asking, START, Asking.start, Asking.runs),
    ("api", "stop"): (Asking, BEFORE, Asking.stop, Asking.ended),
    ("artifacts", "prestart"): (Fetched, START, Life.start, Fetched.runs),
    ("volumes", "prestart"): (Mounting, START, Life.start, Mounting.refused),
    ("task_services", "poststart"): (Life, START, Life.start, Life.runs),
    ("alloc_health_watcher", "update"): (Life, BEFORE, Life.update, Life.runs),
    ("group_services", "update"): (Life, BEFORE, Life.update, Life.runs),
    ("checks_hook", "update"): (Life, BEFORE, Life.update, Life.runs),
    ("task_services", "update"): (Life, BEFORE, Life.update, Life.runs),
    ("group_services", "taskRestart"): (Life, BEFORE, Life.restart, Life.runs_again),
    ("checks_hook", "taskRestart"): (Life, BEFORE, Life.restart, Life.runs_again),
    ("task_services", "exited"): (Life, BEFORE, Life.fail, Life.runs_again),
    ("group_services", "preKill"): (Life, BEFORE, Life.stop, Life.ended),
    ("checks_hook", "preKill"): (Life, BEFORE, Life.stop, Life.ended),
    ("task_services", "preKill"): (Life, BEFORE, Life.stop, Life.ended),
    ("task_services", "stop"): (Life, BEFORE, Life.stop, Life.ended),
    ("group_services", "postrun"): (Life, BEFORE, Life.stop, Life.ended),
    ("checks_hook", "postrun"): (Life, BEFORE, Life.stop, Life.ended),
    ("alloc_dir", "postrun"): (Life, BEFORE, Life.stop, Life.ended),
    ("checks_hook", "destroy"): (Life, Life.until_over, Life.forget, Life.gone),
    ("alloc_dir", "destroy"): (Life, Life.until_over, Life.forget, Life.gone),
}


class HookCase(unittest.TestCase):
    """Cases whose jobs' checks ask this process."""

    @classmethod
    def setUpClass(cls):
        cls.server = socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler)
        cls.port = cls.server.server_address[1]
        cls.files = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
        cls.files_port = cls.files.server_address[1]
        for server in (cls.server, cls.files):
            threading.Thread(target=server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        for server in (cls.server, cls.files):
            server.shutdown()
            server.server_close()

    def begin(self, action):
        """In a thread of its own: what is held or killed does not answer."""
        def act():
            with contextlib.suppress(OSError):
                action()
        thread = threading.Thread(target=act, daemon=True)
        thread.start()
        return thread

    def hold(self, agent, orders, place, action):
        before = len(agent.log())
        orders.say(place + "=hold")
        under_way = self.begin(action)
        wait_until(lambda: f"held: failpoint={place}" in agent.log()[before:], what=f"{place} being reached")
        return under_way


@harness.needs_failpoints
class Held(HookCase):
    """On one agent, one after the other."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.agent = Agent(CONFIG)
        cls.orders = Orders(cls.agent.dir)
        cls.orders.start(cls.agent)

    @classmethod
    def tearDownClass(cls):
        cls.agent.destroy()
        super().tearDownClass()

    def setUp(self):
        self.addCleanup(self.orders.say, "")

    def passes(self, hook, phase):
        kind, before, action, holds = ROWS[hook, phase]
        life = kind(self, self.agent)
        before(life)
        under_way = self.hold(self.agent, self.orders, f"hook.{hook}.{phase}.answered", lambda: action(life))
        self.orders.say("")
        under_way.join()
        holds(life)

    def stopped(self, hook, phase):
        kind, before, action, _ = ROWS[hook, phase]
        life = kind(self, self.agent)
        before(life)
        self.hold(self.agent, self.orders, f"hook.{hook}.{phase}", lambda: action(life)).join()
        alloc = life.alloc()["ID"]
        life.stop()
        wait_until(lambda: life.alloc()["DesiredStatus"] == "stop", what="the order to stop")
        time.sleep(0.3)  # It is on its way to the node, too, and waits there behind the hook.
        self.orders.say("")
        wait_until(lambda: life.alloc()["ClientStatus"] in ("complete", "failed"), what="its end")
        wait_until(lambda: not life.leftovers(alloc), what=f"nothing of {alloc}")
        life.forgotten(alloc)


@harness.needs_failpoints
class Killed(HookCase):
    """Each on an agent of its own, which ends meanwhile."""

    def prepare(self, hook, phase):
        kind, before, action, holds = ROWS[hook, phase]
        agent = Agent(CONFIG)
        self.addCleanup(agent.destroy)
        orders = Orders(agent.dir)
        orders.start(agent)
        life = kind(self, agent)
        before(life)
        return agent, orders, life, action, holds

    def killed_at(self, hook, phase, moment):
        agent, orders, life, action, holds = self.prepare(hook, phase)
        orders.say(f"hook.{hook}.{phase}{moment}=kill")
        self.begin(lambda: action(life))
        wait_until(lambda: agent.process.poll() is not None, what="the agent's death")
        self.assertEqual(agent.process.returncode, -signal.SIGKILL)
        agent.start()
        holds(life)

    def interrupted_at(self, hook, phase):
        agent, orders, life, action, holds = self.prepare(hook, phase)
        self.hold(agent, orders, f"hook.{hook}.{phase}", lambda: action(life))
        agent.process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        orders.say("")
        self.assertEqual(0, agent.process.wait(30))
        agent.start()
        holds(life)


for row in ROWS:
    name = re.sub(r"\W", "_", "_".join(row))
    setattr(Held, "test_passes_" + name, lambda self, row=row: self.passes(*row))
    if ROWS[row][1] is START:
        setattr(Held, "test_stopped_" + name, lambda self, row=row: self.stopped(*row))
        setattr(Killed, f"test_{name}_interrupted", lambda self, row=row: self.interrupted_at(*row))
    setattr(Killed, f"test_{name}_asked", lambda self, row=row: self.killed_at(*row, ""))
    setattr(Killed, f"test_{name}_answered", lambda self, row=row: self.killed_at(*row, ".answered"))


class Table(unittest.TestCase):
    def test_has_what_the_documentation_says(self):
        """The hooks' table there and this one are about the same hooks and phases."""
        named = {"task restart": "taskRestart", "pre-kill": "preKill"}
        with open(os.path.join(harness.ROOT, "docs", "internals", "hooks.md")) as f:
            lines = re.findall(r"^\| (\w+) \| (?:allocation|task) \| ([^|;]+)", f.read(), re.M)
        said = {(hook, named.get(phase, phase)) for hook, phases in lines for phase in phases.strip().split(", ")}
        self.assertEqual(said, set(ROWS) | UNREACHED)


if __name__ == "__main__":
    harness.main()
