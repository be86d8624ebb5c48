"""Nomad's own service discovery: what nodes say of their services, and what the API and the commands
make of it. The nodes' part is played by a program that has their proofs (services_of_node)."""
import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import urllib.request

import cluster
import harness
from harness import job, wait_until

PLAYER = os.environ["NOMADCTL_SERVICES_OF_NODE"]


def identity_of(client):
    """The id and the secret of a client node."""
    copied = tempfile.mkdtemp(prefix="nomadctl-test-")
    try:
        for name in os.listdir(f"{client.dir}/data/client"):
            if name.startswith("state.db"):
                shutil.copy(f"{client.dir}/data/client/{name}", copied)
        with contextlib.closing(sqlite3.connect(f"{copied}/state.db")) as database:
            rows = dict(database.execute("SELECT key, value FROM client WHERE key IN (?, ?)",
                                         (b"node_id", b"secret_id")))
        return rows[b"node_id"].decode(), rows[b"secret_id"].decode()
    finally:
        shutil.rmtree(copied)


class ServicesTest(cluster.Case):
    """Everything is asked of a follower, so it goes to the leader and back."""
    count = 3

    def setUp(self):
        super().setUp()
        self.asked = self.followers[0]
        self.nodes = {client.name: identity_of(client) for client in self.cluster.clients}
        self.put(job("web", kind="system"))  # one on each
        self.allocs = {a["NodeName"]: a["ID"] for a in self.wait_for("web", "running", 2)}

    def say(self, node, *words, secret=None):
        node_id, own = self.nodes[node]
        return subprocess.run([PLAYER, f"127.0.0.1:{self.asked.rpc}", node_id, secret or own, *words],
                              capture_output=True, text=True, timeout=60)

    def offer(self, node, name="web", port="8080", *tags):
        done = self.say(node, "register", self.allocs[node], name, "10.0.0.1", port, *tags)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return f"_nomad-task-{self.allocs[node]}-group-group-{name}-{port}"

    def ids(self, name="web"):
        return [service["ID"] for service in self.asked.try_get(f"/v1/service/{name}")]

    def events(self, count):
        """Type and key of the first events about services."""
        address = f"http://127.0.0.1:{self.asked.http}/v1/event/stream?topic=Service:web"
        seen = []
        with urllib.request.urlopen(address, timeout=20) as stream:
            while len(seen) < count:
                seen += [(event["Type"], event["Payload"]["Service"]["ID"])
                         for event in json.loads(stream.readline()).get("Events", [])]
        return seen

    def printed(self, *words, code=0):
        done = self.asked.run(*words)
        self.assertEqual(code, done.returncode, done)
        return done.stderr if code else done.stdout

    def test_what_a_node_registers_is_shown_until_its_task_ends(self):
        self.assertEqual("No service registrations found\n", self.printed("service", "list"))
        self.assertEqual("No service registrations found\n", self.printed("service", "info", "web"))
        first = self.offer("c0", "web", "8080", "blue", "v1")
        second = self.offer("c1", "web", "9090")
        self.offer("c0", "db", "0")

        self.assertEqual("Service Name  Tags\ndb            []\nweb           [blue,v1]\n",
                         self.printed("service", "list"))
        self.assertEqual("Service Name  Tags\ndb            []\n",
                         self.printed("service", "list", "-name", "d"))
        self.assertEqual("Service Name  Namespace  Tags\ndb            default    []\n"
                         "web           default    [blue,v1]\n",
                         self.printed("service", "list", "-namespace", "*"))
        self.assertEqual("default", json.loads(self.printed("service", "list", "-json"))[0]["Namespace"])

        lines = self.printed("service", "info", "web").splitlines()
        self.assertEqual("Job ID  Address        Tags       Node ID   Alloc ID", lines[0])
        node, alloc = self.nodes["c0"][0][:8], self.allocs["c0"][:8]
        self.assertIn(f"web     10.0.0.1:8080  [blue,v1]  {node}  {alloc}", lines)
        verbose = self.printed("service", "info", "-verbose", "-filter", 'Port == 8080', "web")
        self.assertEqual([["ID", first], ["Service Name", "web"], ["Namespace", "default"],
                          ["Job ID", "web"], ["Alloc ID", self.allocs["c0"]],
                          ["Node ID", self.nodes["c0"][0]], ["Datacenter", "dc1"],
                          ["Address", "10.0.0.1:8080"], ["Tags", "[blue,v1]"]],
                         [[part.strip() for part in line.split("=", 1)]
                          for line in verbose.strip().splitlines()])
        self.assertEqual(self.allocs["c1"],
                         self.printed("service", "info", "-filter", "Port == 9090", "-t",
                                      "{{range .}}{{.AllocID}}{{end}}", "web").strip())
        ordered = sorted([first, second])
        page = self.printed("service", "info", "-per-page", "1", "web")
        self.assertTrue(page.endswith(
            "\nResults have been paginated. To get the next page run:\n\n"
            f"nomadctl service info -per-page 1 -page-token default.{ordered[1]} web\n"), page)
        rest = self.printed("service", "info", "-page-token", "default." + ordered[1], "-json", "web")
        self.assertEqual([ordered[1]], [service["ID"] for service in json.loads(rest)])

        self.assertEqual({first, second}, {service["ID"] for service in
                                           self.asked.try_get("/v1/job/web/services")
                                           if service["ServiceName"] == "web"})
        self.assertEqual([second], [service["ID"] for service in self.asked.try_get(
            f"/v1/allocation/{self.allocs['c1']}/services")])
        self.assertEqual(1, len(self.asked.try_get("/v1/service/web?choose=1%7Cme")))

        self.server.request("DELETE", "/v1/job/web")
        wait_until(lambda: self.asked.try_get("/v1/services") == [], what="no services")

    def test_deleting_and_taking_down(self):
        first = self.offer("c0")
        second = self.offer("c1")
        self.assertEqual("Successfully deleted service registration\n",
                         self.printed("service", "delete", "web", first))
        self.assertEqual([second], self.ids())
        self.assertEqual("Error deleting service registration: Unexpected response code: 404 "
                         "(service registration not found)\n",
                         self.printed("service", "delete", "web", first, code=1))
        self.assertTrue(self.printed("service", "delete", "web", code=1).startswith(
            "This command takes two arguments: <service_name> and <service_id>\n"))
        self.assertTrue(self.printed("service", "info", code=1).startswith(
            "This command takes one argument: <service_name>\n"))
        self.printed("service", "info", "-filter", "(", "web", code=1)
        for odd in ("we b", "wéb", "x" * 300, "%2e", "?a=b"):
            self.assertEqual("No service registrations found\n", self.printed("service", "info", odd))

        third = self.offer("c1", "web", "9090")
        self.assertEqual(0, self.say("c1", "deregister", self.allocs["c1"], second).returncode)
        self.assertEqual(1, len(self.ids()))
        self.assertEqual(0, self.say("c1", "deregister", self.allocs["c1"]).returncode)
        self.assertEqual([], self.ids())
        self.assertEqual(0, self.say("c1", "deregister", self.allocs["c1"]).returncode)
        came, went = "ServiceRegistration", "ServiceDeregistration"
        self.assertEqual([(came, first), (came, second), (went, first), (came, third), (went, second),
                          (went, third)], self.events(6))

    def test_a_node_speaks_of_what_is_its_own(self):
        own = self.offer("c0")
        for words in (("register", self.allocs["c0"], "web", "6.6.6.6", "1"),
                      ("deregister", self.allocs["c0"])):
            for node, secret in (("c1", None), ("c0", self.nodes["c1"][1]), ("c0", "guessed")):
                done = self.say(node, *words, secret=secret)
                self.assertEqual(1, done.returncode, done)
                self.assertTrue(done.stderr.startswith("permission_denied: "), done.stderr)
        done = self.say("c0", "register", self.allocs["c0"], "we b", "10.0.0.1", "80")
        self.assertIn('service "we b" of allocation', done.stderr)
        self.assertEqual([own], self.ids())

    def test_services_of_a_node_that_is_down_are_gone(self):
        self.offer("c0")
        second = self.offer("c1")
        self.cluster.clients[0].kill9()
        wait_until(lambda: self.ids() == [second], timeout=90, what="the node being down")


if __name__ == "__main__":
    harness.main()
