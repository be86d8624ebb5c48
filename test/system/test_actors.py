"""An exception in each kind of actor of a running agent, one after the other, under load: each ends
as its card says, none in silence, and no task is lost."""
import contextlib
import glob
import http.client
import os
import re
import threading
import time
import unittest

import cluster
import harness
from harness import Agent, Orders, job, needs_failpoints, shell_job, wait_until

ACTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "actors")
TASKS = 3

# Kinds that begin anew.
RESTARTED = [
    "eval_broker", "scheduler_worker", "plan_applier", "node_endpoint", "data_endpoint", "identity_endpoint", "identity_issuer", "identity_signer", "data_watcher", "heartbeat_tracker", "local_servers",
    "node_caller", "alloc_sync", "check_runner", "driver_manager", "blocking_pool", "step_worker", "periodic_dispatcher", "deployment_watchers", "node_drainer", "autopilot",
    "keyring_rotator", "lock_tracker", "core_gc", "decision_log", "gateway", "usage_reader", "sealed_link", "wal_checkpointer",
]
# Kinds whose owner knows what to do, and what it says.
REPORTED = {
    "raw_exec": "a driver ended; another follows: driver=raw_exec", "exec": "a driver ended; another follows: driver=exec", "java": "a driver ended; another follows: driver=java", "qemu": "a driver ended; another follows: driver=qemu",
    "mock_driver": "a driver ended; another follows: driver=mock_driver",
    "docker_driver": "a driver ended; another follows: driver=docker",
    "alloc_runner": "its runner failed", "task_runner": "ended by an exception: actor=task_runner",
    "alloc_health_watcher": "ended by an exception: actor=alloc_health_watcher",
    "function_hook": "ended by an exception: actor=function_hook",
    "network_hook": "ended by an exception: actor=network_hook",
    "services_hook": "ended by an exception: actor=services_hook",
    "template_hook": "ended by an exception: actor=template_hook",
    "identity_hook": "ended by an exception: actor=identity_hook",
    "checks_hook": "ended by an exception: actor=checks_hook",
    "artifact_hook": "ended by an exception: actor=artifact_hook",
    "previous_alloc_hook": "ended by an exception: actor=previous_alloc_hook",
    "deployment_watcher": "another one follows",
}
# Kinds without which the agent cannot go on.
FATAL = ["raft_node", "log_writer", "applier", "snapshotter", "membership", "server", "client", "client_db"]
# Kinds that a single agent does not have, or does not use: of servers among themselves, and of a client alone.
OF_CLUSTERS = {"tcp_transport", "rpc_forwarder", "remote_servers", "raft_peer", "region_rows", "replicator"}
# Of what a configuration turns on, as these agents' does not: test/unit/actors/api/audit.
OF_CONFIGURATION = {"audit_log"}
# Kinds that no agent has, and the one whose handlers are all of the core.
# Those of plugins, which these agents do not have: test/unit/actors/plugin and test/system/plugins.
OF_PLUGINS = {"plugin_link", "plugin_hook", "plugin_driver", "pending_deregistrations"}
# Those of CSI volumes, which this load does not use: test/system/volumes and test/unit/actors/client/volumes.
OF_VOLUMES = {"csi_hook", "csi_volumes_hook", "csi_plugin_hook", "volume_manager", "volume_endpoint"}
OF_NO_AGENT = {"simulated_runner", "forgetful_client_db", "root"}

def serve(agent):
    """A job with a service and a check of it."""
    served = shell_job(f"served-{time.monotonic_ns()}", "sleep 1000")
    served["TaskGroups"][0].update(
        Networks=[{"DynamicPorts": [{"Label": "http"}]}],
        Services=[{"Name": "front", "Provider": "nomad", "PortLabel": "http", "Checks": [
            {"Name": "alive", "Type": "tcp", "Interval": 10**9, "Timeout": 10**9}]}])
    agent.register(served)


def follow(agent):
    """A job with a file that follows a variable, which changes."""
    agent.put("/v1/var/followed", {"Items": {"at": str(time.monotonic_ns())}})
    made = shell_job(f"follower-{time.monotonic_ns()}", "sleep 1000")
    made["TaskGroups"][0]["Tasks"][0]["Templates"] = [{
        "EmbeddedTmpl": '{{ with nomadVar "followed" }}{{ .at }}{{ end }}', "DestPath": "local/followed",
        "ChangeMode": "noop", "Wait": {"Min": 0, "Max": 0}}]
    agent.register(made)


def show_itself(agent):
    """A job whose task has a token of its own."""
    shown = shell_job(f"shown-{time.monotonic_ns()}", "sleep 1000")
    shown["TaskGroups"][0]["Tasks"][0]["Identity"] = {"Env": True}
    agent.register(shown)


def lock_a_variable(agent):
    """And renew the lock, as its holder does."""
    path = f"/v1/var/locked-{time.monotonic_ns()}"
    lock = agent.put(path + "?lock-acquire", {}).json["Lock"]
    agent.put(path + "?lock-renew", {"Lock": {"ID": lock["ID"]}})


def drain_a_moment(agent):
    """The survivors are batch tasks, which nobody moves before a deadline."""
    node = f"/v1/node/{agent.get('/v1/nodes').json[0]['ID']}/drain"
    agent.put(node, {"DrainSpec": {"Deadline": 3600 * 10**9}})
    agent.put(node, {"DrainSpec": None, "MarkEligible": True})


def part_from_the_network(agent):
    """A job whose tasks have a network of their own."""
    apart = shell_job(f"apart-{time.monotonic_ns()}", "sleep 1000")
    apart["TaskGroups"][0]["Networks"] = [{"Mode": "none"}]
    agent.register(apart)


def fetch(agent):
    """A job with an artifact, which nobody serves."""
    fetching = shell_job(f"fetching-{time.monotonic_ns()}", "sleep 1000")
    fetching["TaskGroups"][0]["Tasks"][0]["Artifacts"] = [{"GetterSource": "http://127.0.0.1:1/x"}]
    agent.register(fetching)


# What makes an agent use a kind; the others are used by the load.
USES = {
    "gateway": lambda agent: agent.get("/v1/agent/self"),
    "usage_reader": lambda agent: agent.get("/v1/client/stats"),
    "node_caller": lambda agent: agent.get("/v1/client/metadata"),
    "check_runner": lambda agent: agent.get(
        f"/v1/client/allocation/{agent.get('/v1/allocations').json[0]['ID']}/checks"),
    "sealed_link": lambda agent: agent.put("/v1/operator/keyring/rotate?full=true"),
    "wal_checkpointer": lambda agent: write_much(agent),
    "applier": lambda agent: write_much(agent),
    "snapshotter": lambda agent: agent.get("/v1/operator/snapshot"),
    "mock_driver": lambda agent: agent.register(job("mocked")),
    "services_hook": serve,
    "template_hook": follow,
    "data_watcher": follow,
    "data_endpoint": follow,
    "identity_hook": show_itself,
    "identity_signer": show_itself,
    "identity_endpoint": show_itself,
    "identity_issuer": show_itself,
    "checks_hook": serve,
    "network_hook": part_from_the_network,
    "artifact_hook": fetch,
    "node_drainer": drain_a_moment,
    "lock_tracker": lock_a_variable,
    "decision_log": lambda agent: agent.get("/v1/operator/decisions"),
}


def write_much(agent):
    """A good part of what makes the log ask for a checkpoint."""
    agent.register(dict(job("much", count=0), Meta={"padding": os.urandom(500_000).hex()}))


def use(agent, kind):
    """Has the agent use the kind, if it is there to be used."""
    with contextlib.suppress(OSError, AssertionError):
        USES.get(kind, lambda _: None)(agent)


def cards():
    """(owners, policy) of each kind, as its card says."""
    found = {}
    for header in glob.glob(os.path.join(ACTORS, "**", "*.hpp"), recursive=True):
        with open(header) as f:
            text = f.read()
        card = re.search(r"^// Parent: +((?:\w+, )*\w+), (report|end_owner|restart)\b", text, re.M)
        sources = text + (open(header[:-4] + ".cpp").read() if os.path.exists(header[:-4] + ".cpp") else "")
        for state in re.findall(r'#include "actors/(.*_state\.hpp)"', sources):
            with open(os.path.join(ACTORS, state)) as f:
                sources += f.read()
        for name in re.findall(r'static constexpr const char\* name = "(\w+)"', sources) if card else ():
            found[name] = (card[1].split(", "), card[2])
    # Two kinds share a card, or have none of their own.
    found["step_worker"] = (["blocking_pool"], "restart")
    found["root"] = ([None], "report")
    return found


class Load:
    """Jobs that come and go, and reads, for as long as it lives."""

    def __init__(self, agent):
        self.agent, self.over, self.number = agent, threading.Event(), 0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.over.is_set():
            self.number += 1
            job = shell_job(f"load-{self.number % 4}", f"sleep 2; : {self.number}")
            job["Update"] = {"MaxParallel": 1, "MinHealthyTime": 100_000_000, "HealthCheck": "task_states"}
            try:
                self.agent.put("/v1/jobs", {"Job": job}, timeout=10)
                self.agent.get("/v1/allocations", timeout=10)
            except (OSError, http.client.HTTPException):
                pass  # whoever ends the agent looks at that
            self.over.wait(0.5)

    def stop(self):
        self.over.set()
        self.thread.join()


class Actors(unittest.TestCase):
    def setUp(self):
        self.agent = Agent('server { job_gc_interval = "1s" }\n', log_level="INFO")
        self.addCleanup(self.agent.destroy)
        self.orders = Orders(self.agent.dir)
        self.orders.start(self.agent)
        self.agent.register(dict(shell_job("survivor", "echo $$ >> local/pids; sleep 1000", count=TASKS), Type="batch"))
        self.agent.wait_for_allocs("survivor", "running", TASKS, timeout=60)
        self.pids = wait_until(self.all_pids)
        self.load = Load(self.agent)
        self.addCleanup(self.load.stop)

    def all_pids(self):
        found = self.agent.starts("survivor")
        return found if len(found) >= TASKS and all(found.values()) else None

    def actors(self, kind=None):
        every = self.agent.get("/v1/agent/actors").json
        return [each for each in every if kind in (None, each["Name"])]

    def restarts(self, kind):
        return sum(each["Restarts"] for each in self.actors(kind))

    def assert_tasks_go_on(self):
        for pids in self.pids.values():
            self.assertEqual(len(pids), 1)
            os.kill(int(pids[0]), 0)
        self.assertEqual(self.all_pids(), self.pids, "same processes, each started once")

    def works(self, name):
        """Whether a new job runs: every part of the agent has to do with it."""
        wait_until(lambda: self.agent.put("/v1/jobs", {"Job": shell_job(name, "sleep 1000")}).status == 200,
                   timeout=30, what="a job's registration")
        self.agent.wait_for_allocs(name, "running", timeout=60)
        self.agent.request("DELETE", f"/v1/job/{name}?purge=true")

    def test_cards_name_the_real_owners(self):
        every = self.actors()
        names = {each["ID"]: each["Name"] for each in every}
        known = cards()
        seen = set()
        for each in every:
            if each["Owner"] and each["Owner"] not in names:
                continue  # it has just ended, and so does this one
            name, owner = each["Name"], names.get(each["Owner"])
            seen.add(name)
            self.assertIn(name, known, "an actor without a card")
            wanted, policy = known[name]
            self.assertEqual(each["Policy"], policy, name)
            if name not in ("gateway", "tcp_transport"):  # of the server's services, or of the root's
                self.assertIn(owner, wanted, name)
        self.assertGreater(len(seen), 20)
        shown = self.agent.run("operator", "actors", check=True).stdout
        self.assertIn("  server ", shown)
        self.assertIn("    eval_broker ", shown)

    @needs_failpoints
    def test_begin_anew(self):
        for kind in RESTARTED:
            with self.subTest(kind=kind):
                before = self.restarts(kind)
                self.orders.throw_in(kind)

                def has_restarted():
                    use(self.agent, kind)
                    return self.restarts(kind) > before
                wait_until(has_restarted, timeout=60, interval=0.2, what=f"a restart of {kind}")
                self.orders.say("")
                self.assertIn(f"begins anew after an exception: actor={kind}", self.agent.log())
                self.works("after-" + kind.replace("_", "-"))
                self.assert_tasks_go_on()

    @needs_failpoints
    def test_owners_know(self):
        for kind, words in REPORTED.items():
            with self.subTest(kind=kind):
                self.orders.throw_in(kind)
                use(self.agent, kind)
                wait_until(lambda: words in self.agent.log(), timeout=60, what=words)
                self.orders.say("")
                self.works("after-" + kind.replace("_", "-"))
                self.agent.wait_for_allocs("survivor", "running", TASKS, timeout=120)

    @needs_failpoints
    def test_another_driver_takes_the_tasks_over(self):
        self.agent.register(job("steady"))
        steady = self.agent.wait_for_allocs("steady", "running")[0]
        self.orders.throw_in("mock_driver")
        use(self.agent, "mock_driver")
        wait_until(lambda: "a driver ended; another follows: driver=mock_driver" in self.agent.log(), timeout=60, what="the driver's end")
        self.orders.say("")
        self.agent.wait_for_allocs("mocked", "running", timeout=60)
        after = self.agent.allocs("steady")
        self.assertEqual([(steady["ID"], "running", 0)],
                         [(a["ID"], a["ClientStatus"], a["TaskStates"]["task"]["Restarts"]) for a in after])

    @needs_failpoints
    def test_ends_the_agent(self):
        for kind in FATAL:
            with self.subTest(kind=kind):
                # The server itself hears of nothing but changes: of another's new beginning, say.
                self.orders.say(f"throw_in:{kind}=error@1;"
                                + ("throw_in:eval_broker=error@1" if kind == "server" else ""))
                use(self.agent, kind)
                code = wait_until(lambda: (self.agent.process.poll(),)
                                  if self.agent.process.poll() is not None else None,
                                  timeout=90, what=f"the agent's end by {kind}")[0]
                self.assertEqual(code, 1, self.agent.log()[-2000:])
                self.assertIn(f"ended by an exception: actor={kind}", self.agent.log())
                self.orders.say("")
                self.orders.start(self.agent)
                self.agent.wait_for_allocs("survivor", "running", TASKS, timeout=60)
                self.assert_tasks_go_on()


class Starts(unittest.TestCase):
    @needs_failpoints
    def test_an_end_while_the_agent_starts_ends_it(self):
        for kind in ("raft_node", "log_writer", "membership", "client_db"):
            with self.subTest(kind=kind):
                agent = Agent()
                self.addCleanup(agent.destroy)
                os.environ["NOMAD_FAILPOINTS"] = f"throw_in:{kind}=error@1"
                try:
                    agent.start(wait=False)
                finally:
                    del os.environ["NOMAD_FAILPOINTS"]

                def outcome():
                    if agent.process.poll() is not None:
                        return "ended"
                    try:
                        return agent.get("/v1/nodes").json and "works"
                    except (OSError, ValueError):
                        return None
                self.assertEqual("ended", wait_until(outcome, timeout=60, what=f"the agent's end by {kind}"))
                self.assertEqual(agent.process.returncode, 1, agent.log()[-2000:])
                self.assertIn(f"ended by an exception: actor={kind}", agent.log())


class Kinds(unittest.TestCase):
    def test_none_is_left_out(self):
        self.assertEqual(set(cards()),
                         {*RESTARTED, *REPORTED, *FATAL, *OF_CLUSTERS, *OF_CONFIGURATION, *OF_PLUGINS, *OF_VOLUMES, *OF_NO_AGENT})


class Servers(unittest.TestCase):
    def setUp(self):
        self.group = cluster.Cluster()
        self.addCleanup(self.group.destroy)
        self.orders = {}
        for server in self.group.servers:
            self.start(server)
        self.leader = self.group.leader()
        self.followers = [server for server in self.group.servers if server is not self.leader]
        self.client = cluster.Client(self.group.root, "c0", self.followers)
        self.group.clients.append(self.client)
        self.start(self.client)
        wait_until(lambda: self.group.nodes() == {"c0"}, timeout=60, what="the node")
        self.load = Load(LoadTarget(self.leader))
        self.addCleanup(self.load.stop)

    def start(self, member):
        self.orders[member] = Orders(member.dir)
        self.orders[member].start(member)

    def restarts(self, kind, members):
        return sum(each["Restarts"] for member in members
                   for each in member.request("GET", "/v1/agent/actors").json if each["Name"] == kind)

    def throw_in(self, kind, *members):
        for member in members:
            self.orders[member].throw_in(kind)
        wait_until(lambda: self.restarts(kind, members), timeout=60, interval=0.2, what=f"a restart of {kind}")
        for member in members:
            self.orders[member].say("")

    @needs_failpoints
    def test_duties_of_three_servers(self):
        # The node begins with a follower, which sends on what it says; it may go on with another server later.
        self.throw_in("rpc_forwarder", *self.followers)
        for kind in ("eval_broker", "plan_applier", "scheduler_worker", "heartbeat_tracker", "node_endpoint",
                     "autopilot", "tcp_transport"):
            self.throw_in(kind, self.leader)
        self.throw_in("remote_servers", self.client)
        self.assertEqual(200, self.leader.request("PUT", "/v1/jobs", {"Job": job("placed", "raw_exec", {
            "command": "/bin/sleep", "args": ["1000"]})}).status)
        wait_until(lambda: self.group.allocs("placed", "running"), timeout=60, what="a task after all that")
        self.assertEqual({"c0"}, self.group.nodes())
        self.load.stop()
        self.orders[self.leader].throw_in("raft_peer")
        wait_until(lambda: not self.leader.is_running(), timeout=60, what="the leader's end")
        self.assertIn("ended by an exception: actor=raft_peer", self.leader.log())
        cluster.register(self.followers, "after", 0)


class LoadTarget:
    """A server, as Load takes agents."""

    def __init__(self, server):
        self.server = server

    def put(self, path, body, timeout=10):
        return self.server.request("PUT", path, body, timeout)

    def get(self, path, timeout=10):
        return self.server.request("GET", path, None, timeout)


if __name__ == "__main__":
    harness.main()
