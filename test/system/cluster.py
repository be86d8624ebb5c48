"""Clusters of real servers on loopback, for system tests and benches."""
import http.client
import json
import os
import signal
import subprocess
import tempfile
import time

import harness


class Member:
    """One agent process. `kill9`, `stop` and `start` may be called again and again."""

    def __init__(self, root, name, rpc, blocks):
        self.name = name
        self.http = harness.free_port()
        self.rpc = rpc
        self.dir = os.path.join(root, name)
        os.makedirs(self.dir)
        self.log_path = os.path.join(self.dir, "agent.log")
        self.config_path = os.path.join(self.dir, "agent.hcl")
        with open(self.config_path, "w") as f:
            f.write(f"""
name      = "{name}"
data_dir  = "{self.dir}/data"
bind_addr = "127.0.0.1"
log_level = "INFO"
ports {{
  http = {self.http}
  rpc  = {self.rpc}
  serf = {harness.free_port()}
}}
{blocks}
""")
        self.process = None

    def start(self):
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen([harness.BINARY, "agent", "-config", self.config_path],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill9(self):
        self.process.kill()
        self.process.wait()

    def stop(self, how=signal.SIGINT, timeout=20):
        if not self.is_running():
            return
        self.process.send_signal(how)
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def log(self):
        with open(self.log_path, errors="replace") as f:
            return f.read()

    def request(self, method, path, body=None, timeout=10):
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=timeout)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            return harness.Reply(answer.status, answer.headers,
                                 answer.read().decode(errors="replace"))
        finally:
            connection.close()

    def try_get(self, path):
        """The JSON of a successful GET, or None."""
        try:
            answer = self.request("GET", path, timeout=2)
        except OSError:
            return None
        return answer.json if answer.status == 200 else None

    def run(self, *words):
        environment = dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{self.http}", TZ="UTC")
        return subprocess.run([harness.BINARY, *words], capture_output=True, text=True,
                              env=environment, timeout=60)


class Server(Member):
    """`extra` goes into its server block, `blocks` beside it."""

    def __init__(self, root, name, rpc_ports, number, count, extra="", blocks=""):
        joins = ", ".join(f'"127.0.0.1:{port}"' for port in rpc_ports)
        super().__init__(root, name, rpc_ports[number], f"""
server {{
  enabled          = true
  bootstrap_expect = {count}
  server_join {{
    retry_join     = [{joins}]
    retry_interval = "1s"
  }}
{extra}
}}
{blocks}
""")


class Client(Member):
    """A client node without a server; it is told of `servers` and hears of the others from them."""

    def __init__(self, root, name, servers, extra="", blocks=""):
        listed = ", ".join(f'"127.0.0.1:{server.rpc}"' for server in servers)
        super().__init__(root, name, harness.free_port(), f"""
client {{
  enabled           = true
  network_interface = "lo"
  servers           = [{listed}]
{extra}
}}
plugin "raw_exec" {{
  config {{
    enabled = true
  }}
}}
{harness.MORE_CONFIG}
{blocks}
""")


class Cluster:
    def __init__(self, count=3, extra="", blocks=""):
        self.root = tempfile.mkdtemp(prefix="nomadctl-cluster-")
        self.clients = []
        ports = [harness.free_port() for _ in range(count)]
        self.servers = [Server(self.root, f"s{n}", ports, n, count, extra, blocks)
                        for n in range(count)]

    def start(self):
        for server in self.servers:
            server.start()
        return self

    def add_client(self, servers=None, extra="", blocks=""):
        """Starts another client node."""
        name = f"c{len(self.clients)}"
        self.clients.append(
            Client(self.root, name, servers or self.servers, extra, blocks).start())
        return self.clients[-1]

    def nodes(self, status="ready"):
        """Names of the nodes that have the status, by the first server that says."""
        for server in self.running():
            nodes = server.try_get("/v1/nodes")
            if nodes is not None:
                return {node["Name"] for node in nodes if node["Status"] == status}
        return set()

    def allocs(self, job_id, status=None):
        """A job's allocations, by the first server that says."""
        for server in self.running():
            allocs = server.try_get(f"/v1/job/{job_id}/allocations")
            if allocs is not None:
                return [a for a in allocs if status in (None, a["ClientStatus"])]
        return []

    def running(self):
        return [server for server in self.servers if server.is_running()]

    def leader_now(self):
        """The server that all who answer take for the leader, itself among them."""
        named = {server.try_get("/v1/status/leader") for server in self.running()} - {None}
        for server in self.running():
            if named == {f"127.0.0.1:{server.rpc}"}:
                return server
        return None

    def leader(self, timeout=30):
        return harness.wait_until(self.leader_now, timeout=timeout, what="a leader")

    def destroy(self):
        for member in [*self.clients, *self.servers]:
            if member.is_running():
                member.kill9()
        harness.clear(self.root)  # with the tasks that the clients left


def small_job(job_id):
    """A job that makes no evaluation: parameterized."""
    return {"Job": {"ID": job_id, "Name": job_id, "Type": "batch", "Datacenters": ["dc1"],
                    "ParameterizedJob": {},
                    "TaskGroups": [{"Name": "g", "Count": 1,
                                    "Tasks": [{"Name": "t", "Driver": "raw_exec",
                                               "Config": {"command": "/bin/true"}}]}]}}


def register(servers, job_id, start, patience=30):
    """Registers a job with whichever server takes it; (server index, time of the answer)."""
    end = time.monotonic() + patience
    at = start
    while time.monotonic() < end:
        try:
            answer = servers[at % len(servers)].request("PUT", "/v1/jobs", small_job(job_id),
                                                        timeout=10)
            if answer.status == 200:
                return at % len(servers), time.monotonic()
        except (OSError, http.client.HTTPException):
            pass
        at += 1
        time.sleep(0.005)
    raise AssertionError(f"{job_id} was not registered within {patience} s")
