"""Clients that go and come back: paused, killed, cut off from the network, left alone by their
servers. Heartbeats are due every few seconds here, so that an absence is noticed soon."""
import os
import re
import signal
import subprocess
import tempfile
import time
import unittest

import cluster
import harness
from harness import shell_job, wait_until

SECOND = 1_000_000_000
IMPATIENT = """
  min_heartbeat_ttl = "2s"
  heartbeat_grace   = "1s"
"""


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class DisconnectCase(unittest.TestCase):
    """One server and two clients, for all cases of a class."""

    @classmethod
    def setUpClass(cls):
        cls.cluster = cluster.Cluster(1, extra=IMPATIENT).start()
        cls.addClassCleanup(cls.cluster.destroy)
        cls.server = cls.cluster.servers[0]
        cls.cluster.leader()
        cls.add_clients()
        cls.wait_for_nodes("c0", "c1")

    @classmethod
    def add_clients(cls):
        cls.cluster.add_client()
        cls.cluster.add_client()

    @classmethod
    def wait_for_nodes(cls, *names, status="ready", timeout=60):
        wait_until(lambda: cls.cluster.nodes(status) >= set(names), timeout,
                   what=f"nodes {names} being {status}")

    def tearDown(self):
        result = self._outcome.result
        if any(case is self for case, _ in [*result.errors, *result.failures]):
            for member in [*self.cluster.servers, *self.cluster.clients]:
                print(f"--- {member.name}\n{member.log()[-3000:]}")
        for job in self.server.try_get("/v1/jobs") or []:
            self.server.request("DELETE", f"/v1/job/{job['ID']}?purge=true")

    # -- what the tests ask ------------------------------------------------------------------------

    def run_job(self, name, **group):
        """A service of one task that notes its pid, on whichever client; (allocation, client)."""
        script = f"echo $$ > {self.cluster.root}/pid.$NOMAD_ALLOC_ID; exec sleep 1000"
        job = shell_job(name, script, **group)
        job["TaskGroups"][0]["Tasks"][0]["KillTimeout"] = SECOND
        job["TaskGroups"][0].setdefault("ReschedulePolicy", {
            "Delay": 5 * SECOND, "DelayFunction": "constant", "Unlimited": True})
        # What belongs to a deployment under way is left to that, so each test waits for its end.
        job["TaskGroups"][0]["Update"] = {
            "MaxParallel": 1, "HealthCheck": "task_states", "MinHealthyTime": SECOND // 10,
            "HealthyDeadline": 60 * SECOND, "ProgressDeadline": 120 * SECOND}
        answer = self.server.request("PUT", "/v1/jobs", {"Job": job})
        self.assertEqual(answer.status, 200, answer)
        alloc = self.wait_for(name, "running")
        wait_until(lambda: (self.server.try_get(f"/v1/job/{name}/deployment") or {}).get("Status")
                   == "successful", 60, what=f"the end of the deployment of {name}")
        return alloc, next(c for c in self.cluster.clients if c.name == alloc["NodeName"])

    def wait_for(self, name, status, but=None, timeout=60):
        """An allocation of the job that has the status and is not `but`."""
        def found():
            return next((a for a in self.cluster.allocs(name, status)
                         if but is None or a["ID"] != but["ID"]), None)
        return wait_until(found, timeout, what=f"an allocation of {name} being {status}")

    def status_of(self, alloc):
        return (self.server.try_get(f"/v1/allocation/{alloc['ID']}") or {}).get("ClientStatus")

    def wait_for_status(self, alloc, status, timeout=60):
        wait_until(lambda: self.status_of(alloc) == status, timeout,
                   what=f"allocation {alloc['ID']} being {status}")

    def pid(self, alloc):
        path = f"{self.cluster.root}/pid.{alloc['ID']}"
        wait_until(lambda: os.path.exists(path) and os.path.getsize(path) > 0, what=path)
        with open(path) as f:
            return int(f.read())

    def events(self, alloc):
        state = self.server.try_get(f"/v1/allocation/{alloc['ID']}")["TaskStates"]["task"]
        return [event["Type"] for event in state["Events"]]

    def node_events(self, client):
        node = next(n for n in self.server.try_get("/v1/nodes") if n["Name"] == client.name)
        return [e["Message"] for e in self.server.try_get(f"/v1/node/{node['ID']}")["Events"]]

    def assert_single(self, name):
        """Exactly one allocation of the job is wanted and runs, and goes on doing so."""
        time.sleep(1)
        live = [a for a in self.cluster.allocs(name) if a["ClientStatus"] in ("running", "pending")]
        self.assertEqual([a["ClientStatus"] for a in live], ["running"], live)


class AbsenceTest(DisconnectCase):
    def pause(self, client):
        client.process.send_signal(signal.SIGSTOP)
        self.addCleanup(client.process.send_signal, signal.SIGCONT)

    def test_a_paused_client_loses_its_work_and_ends_it_when_it_is_back(self):
        alloc, client = self.run_job("paused")
        pid = self.pid(alloc)

        self.pause(client)
        self.wait_for_nodes(client.name, status="down")
        self.wait_for_status(alloc, "lost")
        other = self.wait_for("paused", "running", but=alloc)
        self.assertNotEqual(other["NodeName"], client.name)
        self.assertTrue(is_alive(pid))  # nobody is there to end it

        client.process.send_signal(signal.SIGCONT)
        self.wait_for_nodes(client.name)
        wait_until(lambda: not is_alive(pid), what="the end of the old task")
        self.wait_for_status(alloc, "complete")
        self.assertIn("Node heartbeat missed", self.node_events(client))
        self.assertIn("Node reregistered by heartbeat", self.node_events(client))
        self.assert_single("paused")

    def test_a_paused_client_with_max_client_disconnect_keeps_its_work(self):
        alloc, client = self.run_job("tolerated", MaxClientDisconnect=600 * SECOND)
        pid = self.pid(alloc)

        self.pause(client)
        self.wait_for_nodes(client.name, status="disconnected")
        self.wait_for_status(alloc, "unknown")
        other = self.wait_for("tolerated", "running", but=alloc)

        client.process.send_signal(signal.SIGCONT)
        self.wait_for_nodes(client.name)
        self.wait_for_status(alloc, "running")
        self.wait_for_status(other, "complete")
        self.assertTrue(is_alive(pid))
        wait_until(lambda: "Reconnected" in self.events(alloc), what="the event")
        self.assertEqual(self.events(alloc).count("Started"), 1)
        self.assert_single("tolerated")
        self.assertEqual(len(self.cluster.allocs("tolerated")), 2)

    def test_what_nothing_may_replace_is_awaited_on_a_node_that_is_down(self):
        alloc, client = self.run_job("sole", Disconnect={"Replace": False})
        shown = self.server.try_get("/v1/job/sole")["TaskGroups"][0]["Disconnect"]
        self.assertEqual(shown, {"LostAfter": 0, "StopOnClientAfter": None, "Replace": False,
                                 "Reconcile": "best_score"})
        pid = self.pid(alloc)

        self.pause(client)
        self.wait_for_nodes(client.name, status="down")
        self.wait_for_status(alloc, "unknown")
        client.process.send_signal(signal.SIGCONT)
        self.wait_for_nodes(client.name)
        self.wait_for_status(alloc, "running")
        self.assertTrue(is_alive(pid))
        self.assert_single("sole")
        self.assertEqual(len(self.cluster.allocs("sole")), 1)

    def test_the_replacement_stays_if_the_group_says_so(self):
        alloc, client = self.run_job("follower", Disconnect={
            "LostAfter": 600 * SECOND, "Reconcile": "keep_replacement"})
        pid = self.pid(alloc)
        self.pause(client)
        self.wait_for_status(alloc, "unknown")
        other = self.wait_for("follower", "running", but=alloc)

        client.process.send_signal(signal.SIGCONT)
        self.wait_for_nodes(client.name)
        self.wait_for_status(alloc, "complete")
        self.assertFalse(is_alive(pid))
        self.assertEqual(self.status_of(other), "running")
        self.assert_single("follower")

    def test_who_is_away_for_longer_than_tolerated_is_lost(self):
        alloc, client = self.run_job("expired", MaxClientDisconnect=3 * SECOND)
        pid = self.pid(alloc)

        self.pause(client)
        self.wait_for_status(alloc, "unknown")
        self.wait_for_status(alloc, "lost")
        self.wait_for_nodes(client.name, status="down")
        self.wait_for("expired", "running", but=alloc)

        client.process.send_signal(signal.SIGCONT)
        self.wait_for_nodes(client.name)
        wait_until(lambda: not is_alive(pid), what="the end of the old task")
        self.assert_single("expired")

    def test_a_job_that_is_stopped_meanwhile_is_not_taken_up_again(self):
        alloc, client = self.run_job("stopped", MaxClientDisconnect=600 * SECOND)
        pid = self.pid(alloc)
        client.kill9()
        self.wait_for_status(alloc, "unknown")
        self.server.request("DELETE", "/v1/job/stopped")

        client.start()
        self.wait_for_nodes(client.name)
        wait_until(lambda: not is_alive(pid), what="the end of the task")
        self.wait_for_status(alloc, "complete")
        self.assertNotIn("Reconnected", self.events(alloc))

    def test_tasks_survive_the_death_of_their_client(self):
        alloc, client = self.run_job("short")
        pid = self.pid(alloc)

        client.kill9()
        client.start()
        self.wait_for_nodes(client.name)
        self.assertTrue(is_alive(pid))
        self.assertEqual(self.status_of(alloc), "running")
        self.assert_single("short")
        self.assertEqual(len(self.cluster.allocs("short")), 1)

    def test_tasks_survive_the_death_of_their_client_for_longer_than_its_lease(self):
        alloc, client = self.run_job("long", MaxClientDisconnect=600 * SECOND)
        pid = self.pid(alloc)

        client.kill9()
        self.wait_for_status(alloc, "unknown")
        client.start()
        self.wait_for_nodes(client.name)
        self.wait_for_status(alloc, "running")
        self.assertTrue(is_alive(pid))
        self.assertEqual(self.events(alloc).count("Started"), 1)
        self.assert_single("long")

    def test_a_client_that_is_back_too_late_starts_nothing(self):
        alloc, client = self.run_job("late")
        pid = self.pid(alloc)

        client.kill9()
        self.wait_for_status(alloc, "lost")
        other = self.wait_for("late", "running", but=alloc)
        os.kill(pid, signal.SIGKILL)  # the task ends as well: nothing is to be found
        client.start()
        self.wait_for_nodes(client.name)
        self.wait_for_status(alloc, "complete")
        self.assertEqual(self.status_of(other), "running")
        self.assert_single("late")

    def test_tasks_go_on_while_there_is_no_server(self):
        alloc, client = self.run_job("steady")
        pid = self.pid(alloc)
        self.server.kill9()
        time.sleep(8)  # more than a lease
        self.assertTrue(is_alive(pid))
        self.server.start()
        self.cluster.leader()
        self.wait_for_nodes("c0", "c1")
        self.assertEqual(self.status_of(alloc), "running")
        self.assertTrue(is_alive(pid))

    def test_stop_after_client_disconnect_ends_tasks_without_servers(self):
        alloc, _ = self.run_job("impatient", Disconnect={"StopOnClientAfter": 4 * SECOND})
        patient, _ = self.run_job("patient")
        pid = self.pid(alloc)

        self.server.kill9()
        wait_until(lambda: not is_alive(pid), what="the end of the task", timeout=30)
        self.assertTrue(is_alive(self.pid(patient)))

        self.server.start()
        self.cluster.leader()
        self.wait_for_nodes("c0", "c1")
        self.wait_for("impatient", "running", but=alloc)
        self.wait_for_status(alloc, "complete")
        self.assert_single("impatient")
        self.assertEqual(self.status_of(patient), "running")


@unittest.skipUnless(os.geteuid() == 0, "needs root for network namespaces")
class PartitionTest(DisconnectCase):
    """The second client lives in a network namespace of its own, with a cable that can be cut."""
    link = f"nmd{os.getpid() % 100000}"
    net = f"10.{200 + os.getpid() % 50}.{os.getpid() // 50 % 250}"

    @classmethod
    def add_clients(cls):
        for words in (f"netns add {cls.link}",
                      f"link add {cls.link} type veth peer name eth0 netns {cls.link}",
                      f"addr add {cls.net}.1/24 dev {cls.link}", f"link set {cls.link} up",
                      f"-n {cls.link} addr add {cls.net}.2/24 dev eth0",
                      f"-n {cls.link} link set eth0 up", f"-n {cls.link} link set lo up"):
            done = subprocess.run(["ip", *words.split()], capture_output=True, text=True)
            if done.returncode != 0:
                raise unittest.SkipTest(f"no network namespaces here: ip {words}: {done.stderr}")
            if words.startswith("netns"):
                cls.addClassCleanup(subprocess.run, ["ip", "netns", "delete", cls.link])
        cls.server.stop()
        with open(cls.server.config_path, "a") as f:
            f.write(f"""
allow_unsafe_bind = true
addresses {{ rpc = "{cls.net}.1" }}
advertise {{ rpc = "{cls.net}.1" }}
""")
        cls.server.start()
        for name in ("c0", "c1"):
            client = cluster.Client(cls.cluster.root, name, [cls.server])
            with open(client.config_path) as f:
                config = f.read().replace(f"127.0.0.1:{cls.server.rpc}",
                                          f"{cls.net}.1:{cls.server.rpc}")
            with open(client.config_path, "w") as f:
                f.write(config)
            cls.cluster.clients.append(client)
        cls.cluster.clients[0].start()
        inside = cls.cluster.clients[1]
        with open(inside.log_path, "ab") as log:
            inside.process = subprocess.Popen(
                ["ip", "netns", "exec", cls.link, harness.BINARY, "agent", "-config",
                 inside.config_path], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def cable(self, state):
        subprocess.run(["ip", "link", "set", self.link, state], check=True)

    def on_c1(self, name, **group):
        group["Constraints"] = [{"LTarget": "${node.unique.name}", "RTarget": "c1", "Operand": "="}]
        return self.run_job(name, **group)[0]

    def test_a_partition_shorter_than_the_lease_is_not_noticed(self):
        alloc = self.on_c1("blink")
        before = len(self.node_events(self.cluster.clients[1]))
        self.cable("down")
        time.sleep(0.7)
        self.cable("up")
        time.sleep(6)
        self.assertEqual(self.status_of(alloc), "running")
        self.assertEqual(len(self.node_events(self.cluster.clients[1])), before)

    def test_a_partitioned_client_comes_back_with_what_it_runs(self):
        alloc = self.on_c1("apart", MaxClientDisconnect=600 * SECOND)
        pid = self.pid(alloc)
        self.cable("down")
        self.addCleanup(self.cable, "up")
        self.wait_for_nodes("c1", status="disconnected")
        self.wait_for_status(alloc, "unknown")
        self.assertTrue(is_alive(pid))

        self.cable("up")
        self.wait_for_nodes("c1", timeout=120)
        self.wait_for_status(alloc, "running")
        self.assertTrue(is_alive(pid))
        self.assert_single("apart")
        self.assertEqual(len(self.cluster.allocs("apart")), 1)

    def test_stop_after_client_disconnect_keeps_two_from_running(self):
        alloc, _ = self.run_job("exclusive", StopAfterClientDisconnect=3 * SECOND,
                                Affinities=[{"LTarget": "${node.unique.name}", "RTarget": "c1",
                                             "Operand": "=", "Weight": 100}])
        self.assertEqual(alloc["NodeName"], "c1")
        pid = self.pid(alloc)
        self.cable("down")
        self.addCleanup(self.cable, "up")
        other = self.wait_for("exclusive", "running", but=alloc, timeout=120)
        self.assertEqual(other["NodeName"], "c0")
        self.assertFalse(is_alive(pid))  # it had ended before the other began

        self.cable("up")
        self.wait_for_nodes("c1", timeout=120)
        self.assert_single("exclusive")


class ExampleTest(unittest.TestCase):
    """The example's cluster does what its README says."""

    def call(self, *words, check=True):
        script = os.path.join(harness.ROOT, "examples", "cluster", "cluster")
        done = subprocess.run([script, *words, "-dir", self.dir, "-binary", harness.BINARY, "-port",
                               str(self.port)], capture_output=True, text=True, timeout=150)
        if check and done.returncode != 0:
            raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def nomadctl(self, *words):
        environment = dict(os.environ, NOMAD_ADDR=self.address)
        return subprocess.run([harness.BINARY, *words], capture_output=True, text=True,
                              env=environment, timeout=60).stdout

    def test_it_starts_survives_and_leaves_nothing(self):
        self.dir = tempfile.mkdtemp(prefix="nomadctl-example-")
        self.addCleanup(harness.clear, self.dir)
        # The script's n-th agent listens 10 n and the next two above the port.
        self.port = harness.free_ports(*(10 * n + more for n in range(1, 6) for more in range(3)))
        self.address = re.search(r"NOMAD_ADDR=(http://127.0.0.1:\d+)", self.call("start")).group(1)
        self.assertEqual(self.nomadctl("server", "members").count("alive"), 3)
        self.nomadctl("job", "run", "-detach",
                      os.path.join(harness.ROOT, "examples", "batch.nomad.hcl"))
        self.call("kill", "c1")
        self.assertIn("none: not running", self.call("status"))
        self.call("start")
        self.assertNotIn("none: not running", self.call("status"))

        wait_until(lambda: re.search(r"Status += dead", self.nomadctl("job", "status", "batch")),
                   timeout=60, what="the end of the batch job")

        self.call("purge")
        self.assertFalse(os.path.exists(self.dir))
        self.assertEqual(harness.processes_of(self.dir), [])


if __name__ == "__main__":
    harness.main()
