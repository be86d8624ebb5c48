"""One server and five client nodes on loopback, of nomadctl or of the real Nomad.

What a scenario can tell the nodes apart by stands in NODES, the same for both programs, so that
their scores, counts and reasons can be compared.
"""
import contextlib
import os
import signal
import tempfile
import urllib.parse

import cluster
import harness
from harness import wait_until

# name, datacenter, class, pool, MHz, MB, meta. c1 and c2 are alike but for their names and `number`.
NODES = [
    ("c1", "dc1", "small", "default", 1000, 1000, {"rack": "r1", "number": "1", "version": "1.2.3", "tags": "ssd,fast"}),
    ("c2", "dc1", "small", "default", 1000, 1000, {"rack": "r1", "number": "2", "version": "1.2.3", "tags": "ssd,fast"}),
    ("c3", "dc1", "large", "default", 2000, 2000, {"rack": "r2", "number": "3", "version": "1.3.0-beta1", "tags": "ssd"}),
    ("c4", "dc2", "large", "default", 2000, 2000, {"rack": "r2", "number": "10", "version": "2.0.0", "tags": "disk"}),
    ("c5", "dc2", "large", "special", 2000, 2000, {"rack": "r3", "number": "20", "version": "2.1.0", "only": "here"}),
]
# Fingerprinters that ask the network, and one whose answer has another order at each start.
UNWANTED = "env_aws,env_azure,env_digitalocean,env_gce,consul,vault,signal"


def client_config(node, server, volumes):
    name, datacenter, node_class, pool, cpu, memory, meta = node
    lines = "\n".join(f'    {key} = "{value}"' for key, value in meta.items())
    return f"""
datacenter = "{datacenter}"
client {{
  enabled           = true
  network_interface = "lo"
  servers           = ["127.0.0.1:{server}"]
  node_class        = "{node_class}"
  node_pool         = "{pool}"
  cpu_total_compute = {cpu}
  memory_total_mb   = {memory}
  disk_total_mb     = 50000
  disk_free_mb      = 20000
  gc_max_allocs     = 100000
  gc_disk_usage_threshold  = 100
  gc_inode_usage_threshold = 100
  meta {{
{lines}
  }}
  options = {{
    "fingerprint.denylist" = "{UNWANTED}"
  }}
  host_volume "scratch" {{
    path      = "{volumes}"
    read_only = {"true" if name == "c1" else "false"}
  }}
}}
"""


# The real one wants to hear that loopback is meant.
ADVERTISE = """
advertise {
  http = "127.0.0.1"
  rpc  = "127.0.0.1"
  serf = "127.0.0.1"
}
"""


class World:
    """A cluster. `ask` speaks to its server."""

    def __init__(self, is_real):
        self.root = tempfile.mkdtemp(prefix="nomadctl-test-judge-")
        with open(os.path.join(self.root, "owner"), "w") as f:
            f.write(f"{os.getpid()} {harness.started_at(os.getpid())}")
        harness.living.add(self.root)
        volumes = os.path.join(self.root, "volumes")
        os.makedirs(volumes)
        more = ADVERTISE + ("" if is_real else harness.MORE_CONFIG)
        self.server = cluster.Member(self.root, "server", harness.free_port(), ADVERTISE + """
server {
  enabled           = true
  bootstrap_expect  = 1
  min_heartbeat_ttl = "2s"
  heartbeat_grace   = "2s"
  max_heartbeats_per_second = 1000
}
""")
        self.clients = {}
        for node in NODES:
            self.clients[node[0]] = cluster.Member(self.root, node[0], harness.free_port(),
                                                   client_config(node, self.server.rpc, volumes) + more)
        self.node_ids = {}
        self.classes = {node[0]: node[2] for node in NODES}
        self.frozen = set()

    def start(self):
        for member in [self.server, *self.clients.values()]:
            member.start()
        wait_until(self.is_whole, 120, what="a cluster of five ready nodes")
        self.node_ids = {node["ID"]: node["Name"] for node in self.ask("GET", "/v1/nodes").json}
        return self

    def is_whole(self):
        for member in [self.server, *self.clients.values()]:
            if not member.is_running():
                raise AssertionError(f"{member.name} ended with {member.process.returncode}:\n{member.log()[-3000:]}")
        ready = {node["Name"] for node in self.server.try_get("/v1/nodes") or []
                 if node["Status"] == "ready" and node["SchedulingEligibility"] == "eligible"
                 and (node.get("Drivers") or {}).get("mock_driver", {}).get("Healthy")}
        return ready == set(self.clients)

    def ask(self, method, path, body=None):
        return self.server.request(method, urllib.parse.quote(path, safe="/?=&%*:"), body, timeout=30)

    def read(self, path):
        answer = self.ask("GET", path)
        return answer.json if answer.status == 200 else None

    def node_id(self, name):
        return next(node for node, its_name in self.node_ids.items() if its_name == name)

    # -- what happens to nodes ---------------------------------------------------------------------

    def kill(self, name):
        self.clients[name].kill9()

    def start_again(self, name):
        self.clients[name].start()

    def freeze(self, name):
        self.frozen.add(name)
        self.clients[name].process.send_signal(signal.SIGSTOP)

    def thaw(self, name):
        self.clients[name].process.send_signal(signal.SIGCONT)
        self.frozen.discard(name)

    def restore(self):
        """Undoes what a scenario has done to nodes and to the scheduler's configuration."""
        for name in list(self.frozen):
            self.thaw(name)
        for name, client in self.clients.items():
            if not client.is_running():
                client.start()
            node = self.node_id(name)
            with contextlib.suppress(OSError):
                if self.read(f"/v1/node/{node}")["Drain"]:
                    self.ask("PUT", f"/v1/node/{node}/drain", {"DrainSpec": None, "MarkEligible": True})
                self.ask("PUT", f"/v1/node/{node}/eligibility", {"Eligibility": "eligible"})
        self.ask("PUT", "/v1/operator/scheduler/configuration",
                 {"SchedulerAlgorithm": "binpack", "PreemptionConfig": {"SystemSchedulerEnabled": True}})
        wait_until(self.is_whole, 40, what="the nodes being as before")
        wait_until(self.is_empty, 20, what="the end of all allocations")

    def is_empty(self):
        return all(alloc["ClientStatus"] in ("complete", "failed", "lost")
                   for alloc in self.read("/v1/allocations?namespace=*") or [])

    def destroy(self):
        for name in list(self.frozen):
            self.thaw(name)
        for member in [*self.clients.values(), self.server]:
            if member.is_running():
                member.kill9()
        harness.clear(self.root)
        harness.living.discard(self.root)
