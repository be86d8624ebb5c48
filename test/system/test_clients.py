"""Client nodes in processes of their own: they join one server or three over the network, with and
without mutual TLS, run jobs, survive the death of servers, and strangers stay outside."""
import contextlib
import os
import re
import shutil
import signal
import sqlite3
import ssl
import subprocess
import tempfile
import time
import unittest

import cluster
import harness
from harness import job, shell_job, wait_until


class OneServerTest(cluster.Case):
    def test_jobs_run_on_both_clients(self):
        self.put(shell_job("spread", "echo hello; sleep 1000", count=4))
        self.put(job("everywhere", config={"run_for": "100s"}, kind="system"))

        self.wait_for("spread", "running", 4)
        allocs = self.wait_for("everywhere", "running", 2)
        self.assertEqual({a["NodeName"] for a in allocs}, {"c0", "c1"})
        for client in self.cluster.clients:
            self.assertEqual(client.request("GET", "/v1/agent/servers").json, [f"127.0.0.1:{self.server.rpc}"])

        self.server.request("DELETE", "/v1/job/spread")
        self.wait_for("spread", "complete", 4)

    def test_an_operator_tells_a_client_its_servers(self):
        client = self.cluster.clients[0]
        address = f"127.0.0.1:{self.server.rpc}"
        shown = client.run("node", "config", "-update-servers", address, "127.0.0.1:1")
        self.assertEqual((shown.stdout, shown.returncode), ("Updated server list\n", 0))
        self.assertEqual(client.run("node", "config", "-servers").stdout, address + "\n")
        refused = client.run("node", "config", "-update-servers", "127.0.0.1:1")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("Unexpected response code: 400 (Server at address 127.0.0.1:1 failed ping: ", refused.stderr)
        self.assertEqual(client.request("GET", "/v1/agent/servers").json, [address])

    def test_a_restarted_server_finds_its_nodes_and_their_tasks_again(self):
        self.put(shell_job("steady", "sleep 1000", count=2))
        before = {a["ID"] for a in self.wait_for("steady", "running", 2)}

        self.server.kill9()
        self.server.start()
        self.cluster.leader()
        self.wait_for_nodes("c0", "c1")
        self.put(shell_job("later", "sleep 1000"))

        self.wait_for("later", "running", 1)
        self.assertEqual({a["ID"] for a in self.wait_for("steady", "running", 2)}, before)

    def test_strangers_are_refused_and_nobody_notices(self):
        hello = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        huge = b"\x52\x4e\x01\x02\x01\x03\x00\x00\x01\x00\x00\x00\xff\xff\xff\xff"
        noise = "TLS handshake: " if self.tls else "these are no frames of ours"
        self.is_sent_away(hello, noise)
        self.is_sent_away(b"\0" + os.urandom(4096), noise)
        # Four gigabytes are announced: also by who has a certificate.
        context = None
        if self.tls:
            name = f"{self.pki.dir}/global-client-nomad"
            context = ssl.create_default_context(cafile=f"{self.pki.dir}/nomad-agent-ca.pem")
            context.check_hostname = False
            context.load_cert_chain(name + ".pem", name + "-key.pem")
        self.is_sent_away(huge, "a frame of 4294967295 bytes", context)

        self.put(shell_job("unimpressed", "sleep 1000"))
        self.wait_for("unimpressed", "running", 1)

    def test_simulated_nodes_join(self):
        name = f"{self.pki.dir}/global-client-nomad" if self.tls else ""
        proofs = ["-ca-file", f"{self.pki.dir}/nomad-agent-ca.pem", "-cert-file", name + ".pem",
                  "-key-file", name + "-key.pem"] if self.tls else []
        done = self.server.run("node-sim", "-nodes", "3", "-duration", "5s", *proofs,
                               "-server", f"127.0.0.1:{self.server.rpc}")
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertIn("3 nodes, 0 allocations", done.stdout)

    def test_a_node_of_another_region_stays_outside(self):
        self.cluster.add_client(blocks=self.secured("client") + 'region = "eu"\n')
        wait_until(lambda: 'a client of region "eu" where this is "global"' in self.server.log(),
                   timeout=30, what="the refusal in the server's log")
        self.assertEqual({"c0", "c1"}, {n["Name"] for n in self.server.try_get("/v1/nodes")})

    def test_the_id_of_a_node_is_worth_nothing_without_its_secret(self):
        self.put(shell_job("steady", "sleep 1000", count=2))
        self.wait_for("steady", "running", 2)
        owner = self.cluster.clients[0]
        node = next(n for n in self.server.try_get("/v1/nodes") if n["Name"] == "c0")
        thief = self.cluster.add_client(blocks=self.secured("client"))
        self.wait_for_nodes("c0", "c1", "c2")
        thief.stop()
        steal_node_id(owner, thief)
        begin = len(self.server.log())
        thief.start()
        wait_until(lambda: "node secret ID does not match" in self.server.log()[begin:],
                   timeout=30, what="the refusal in the server's log")

        kept = self.server.try_get(f"/v1/node/{node['ID']}")
        self.assertEqual(("c0", "ready", node["CreateIndex"], f"127.0.0.1:{owner.http}"),
                         tuple(kept[key] for key in ("Name", "Status", "CreateIndex", "HTTPAddr")))
        self.assertEqual(2, len(self.cluster.allocs("steady", "running")))
        self.put(shell_job("later", "echo hello; sleep 1000", count=2))
        for alloc in self.wait_for("later", "running", 2):  # the way to the node is its own
            wait_until(lambda: "hello" in self.server.request(
                "GET", f"/v1/client/fs/logs/{alloc['ID']}?task=task&type=stdout&plain=true").body,
                       what="the log")


def steal_node_id(owner, thief):
    """Gives the thief, who is not running, the owner's id; the secret stays the thief's own."""
    copied = tempfile.mkdtemp(prefix="nomadctl-test-")
    try:
        for name in os.listdir(f"{owner.dir}/data/client"):
            if name.startswith("state.db"):
                shutil.copy(f"{owner.dir}/data/client/{name}", copied)
        with contextlib.closing(sqlite3.connect(f"{copied}/state.db")) as source:
            row = source.execute("SELECT * FROM client WHERE key = ?", (b"node_id",)).fetchone()
        with contextlib.closing(sqlite3.connect(f"{thief.dir}/data/client/state.db")) as target:
            target.execute("INSERT OR REPLACE INTO client VALUES(?, ?, ?, ?)", row)
            # As of a release without totals and mark: what was changed behind its back would be refused.
            target.execute("DELETE FROM client WHERE bucket = 0")
            target.execute("PRAGMA user_version = 1")
            target.commit()
        os.remove(f"{thief.dir}/data/client/state.db.mark")
    finally:
        shutil.rmtree(copied)


class NodeTest(cluster.Case):
    """What a node is changes while it runs."""

    def node(self, name):
        found = next(n for n in self.server.try_get("/v1/nodes") if n["Name"] == name)
        return self.server.try_get(f"/v1/node/{found['ID']}")

    def test_metadata_by_way_of_a_server(self):
        node = self.node("c0")
        set_it = self.server.run("node", "meta", "apply", "-node-id", node["ID"][:8], "-unset",
                                 "connect.log_level", "rack.name=r1")
        self.assertEqual((0, "", ""), (set_it.returncode, set_it.stdout, set_it.stderr))
        wrong = self.server.run("node", "meta", "apply", "-node-id", node["ID"], "bad key=1")
        self.assertEqual(1, wrong.returncode)
        self.assertIn('"bad key" is invalid; metadata keys must be valid dotted hcl identifiers',
                      wrong.stderr)
        # Nomad's own commands name the node in the body alone; any agent takes it on.
        other = self.cluster.clients[1].request("POST", "/v1/client/metadata",
                                                {"NodeID": node["ID"], "Meta": {"team": "x"}})
        self.assertEqual("x", other.json["Dynamic"]["team"])
        shown = self.server.run("node", "meta", "read", "-node-id", node["ID"]).stdout
        self.assertIn("rack.name", shown)
        self.assertRegex(shown, r"connect.log_level\s+= <unset>")

        constrained = job("racked", count=2)
        constrained["Constraints"] = [{"LTarget": "${meta.rack.name}", "Operand": "=", "RTarget": "r1"},
                                      {"LTarget": "${meta.connect.log_level}", "Operand": "is_not_set"}]
        self.put(constrained)
        allocs = self.wait_for("racked", "running", 2)
        self.assertEqual({"c0"}, {a["NodeName"] for a in allocs})

        agent = self.cluster.clients[0]
        agent.kill9()
        agent.start()
        wait_until(lambda: agent.try_get("/v1/client/metadata") is not None, what="the agent")
        meta = agent.try_get("/v1/client/metadata")
        self.assertEqual({"rack.name": "r1", "team": "x", "connect.log_level": None}, meta["Dynamic"])
        self.assertEqual("info", meta["Static"]["connect.log_level"])

    def test_what_a_task_uses_is_what_it_uses_now(self):
        self.put(shell_job("busy", "while :; do :; done"))
        alloc = self.wait_for("busy", "running", 1)[0]
        shown = self.server.run("alloc", "status", "-stats", alloc["ID"]).stdout
        percent = re.search(r"CPU Stats\n.*Percent.*\n([0-9.]+)%", shown)
        self.assertIsNotNone(percent, shown)
        self.assertGreater(float(percent[1]), 0)

    def test_sighup_takes_over_what_can_change_and_names_the_rest(self):
        agent = self.cluster.clients[0]
        with open(agent.config_path, "a") as f:
            f.write("""
datacenter = "dc9"
client {
  node_class = "fast"
  meta { zone = "z9" }
  reserved {
    memory         = 123
    reserved_ports = "9000-9010"
  }
}
""")
        agent.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.node("c0")["NodeClass"] == "fast", timeout=30, what="the new class")
        node = self.node("c0")
        self.assertEqual("z9", node["Meta"]["zone"])
        self.assertEqual("dc1", node["Datacenter"])
        self.assertEqual(123, node["ReservedResources"]["Memory"]["MemoryMB"])
        self.assertEqual("9000-9010", node["ReservedResources"]["Networks"]["ReservedHostPorts"])
        log = agent.log()
        self.assertIn('the configuration has changed: settings="client.node_class, client.meta, client.reserved.memory, '
                      'client.reserved.reserved_ports"', log)
        self.assertIn("the configuration changes after a restart: settings=datacenter", log)

        with open(agent.config_path, "a") as f:
            f.write('client { reserved { cores = "x" } }\n')
        agent.process.send_signal(signal.SIGHUP)
        wait_until(lambda: 'the configuration stays as it was: error="client.reserved.cores: "x" is no list of cores'
                   in agent.log(), what="the refusal")


class SecuredOneServerTest(OneServerTest):
    tls = True

    def test_a_node_without_the_right_certificate_stays_outside(self):
        other = cluster.Pki()
        try:
            self.cluster.add_client(blocks=other.config("client"))
            wait_until(lambda: "TLS handshake" in self.server.log(), timeout=30,
                       what="the refusal in the server's log")
            self.assertEqual(len(self.server.try_get("/v1/nodes")), 2)
        finally:
            other.destroy()

    def test_sighup_reads_the_certificates_again(self):
        name = f"{self.pki.dir}/global-server-nomad"
        os.remove(name + ".pem")
        os.remove(name + "-key.pem")
        self.pki.run("cert", "create", "-server")
        self.server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the certificates have been read again" in self.server.log(),
                   what="the reload")

        self.cluster.add_client(blocks=self.secured("client"))
        self.wait_for_nodes("c0", "c1", "c2")


class ThreeServersTest(cluster.Case):
    count = 3

    def test_a_client_carries_on_when_its_server_dies(self):
        self.put(job("everywhere", config={"run_for": "1h"}, kind="system"))
        before = self.wait_for("everywhere", "running", 2)
        # The one follower that c0 was told of; c0 has heard of the others meanwhile.
        self.followers[0].kill9()
        self.put(job("later", config={"run_for": "1h"}, kind="system"))
        self.wait_for("later", "running", 2)
        self.wait_for_nodes("c0", "c1")

        self.followers[0].start()
        self.cluster.leader()
        wait_until(lambda: self.followers[0].try_get("/v1/jobs?stale=true") is not None,
                   what="the follower's return")
        self.leader.kill9()
        self.cluster.leader()
        self.put(job("last", config={"run_for": "2s"}, kind="batch"))
        self.wait_for("last", "complete", 1)
        self.wait_for_nodes("c0", "c1")
        self.assertEqual({a["ID"] for a in before},
                         {a["ID"] for a in self.wait_for("everywhere", "running", 2)})

    def test_tasks_outlive_all_servers(self):
        self.put(shell_job("steady", "sleep 1000", count=2))
        before = self.wait_for("steady", "running", 2)
        for server in self.cluster.servers:
            server.kill9()
        time.sleep(3)
        for server in self.cluster.servers:
            server.start()
        self.cluster.leader()
        self.wait_for_nodes("c0", "c1")
        self.put(job("later", config={"run_for": "1h"}, kind="system"))
        self.wait_for("later", "running", 2)
        self.assertEqual({a["ID"] for a in before},
                         {a["ID"] for a in self.wait_for("steady", "running", 2)})


class SecuredThreeServersTest(ThreeServersTest):
    tls = True


class TlsCommands(unittest.TestCase):
    def setUp(self):
        self.pki = cluster.Pki()

    def tearDown(self):
        self.pki.destroy()

    def test_files_modes_and_openssl_agree(self):
        self.pki.run("cert", "create", "-server", "-region", "eu", "-additional-dnsname", "web.example")
        keys = [f for f in os.listdir(self.pki.dir) if f.endswith("-key.pem")]
        self.assertEqual(sorted(keys), ["eu-server-nomad-key.pem", "nomad-agent-ca-key.pem"])
        for key in keys:
            self.assertEqual(os.stat(os.path.join(self.pki.dir, key)).st_mode & 0o777, 0o600)
        info = self.pki.run("cert", "info", "eu-server-nomad.pem")
        self.assertIn("[web.example server.eu.nomad localhost]", info)
        self.assertIn("Permitted DNS Domains", self.pki.run("ca", "info", "nomad-agent-ca.pem"))
        if shutil.which("openssl"):
            done = subprocess.run(["openssl", "verify", "-CAfile", "nomad-agent-ca.pem",
                                   "eu-server-nomad.pem"], cwd=self.pki.dir, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_nothing_is_overwritten(self):
        again = subprocess.run([harness.BINARY, "tls", "ca", "create"], cwd=self.pki.dir,
                               capture_output=True, text=True, timeout=30)
        self.assertEqual(again.returncode, 1)
        self.assertIn("CA certificate file 'nomad-agent-ca.pem' already exists", again.stderr)


if __name__ == "__main__":
    harness.main()
