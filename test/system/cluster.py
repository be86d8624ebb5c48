"""Clusters of real servers on loopback, for system tests and benches."""
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

import harness


class Member:
    """One agent process. `kill9`, `stop` and `start` may be called again and again. It listens on
    `host`, and is started by `wrapper`."""

    def __init__(self, root, name, rpc, blocks, host="127.0.0.1", wrapper=()):
        self.name, self.host, self.wrapper = name, host, list(wrapper)
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
bind_addr = "{host}"
{"" if host == "127.0.0.1" else "allow_unsafe_bind = true"}
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
            self.process = subprocess.Popen([*self.wrapper, harness.BINARY, "agent", "-config", self.config_path],
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
        """What the agent has logged; quotes within values as the values have them."""
        with open(self.log_path, errors="replace") as f:
            return f.read().replace('\\"', '"')

    def request(self, method, path, body=None, timeout=10):
        connection = http.client.HTTPConnection(self.host, self.http, timeout=timeout)
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
        environment = dict(os.environ, NOMAD_ADDR=f"http://{self.host}:{self.http}", TZ="UTC")
        return subprocess.run([harness.BINARY, *words], capture_output=True, text=True,
                              env=environment, timeout=60)


class Server(Member):
    """`extra` goes into its server block, `blocks` beside it."""

    def __init__(self, root, name, rpc_ports, number, count, extra="", blocks="",
                 hosts=None, wrapper=()):
        hosts = hosts or ["127.0.0.1"] * len(rpc_ports)
        joins = ", ".join(f'"{host}:{port}"' for host, port in zip(hosts, rpc_ports))
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
""", hosts[number], wrapper)


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
        said = {server: server.try_get("/v1/status/leader") for server in self.running()}
        named = set(said.values()) - {None}
        for server, answer in said.items():
            if answer is not None and named == {f"{server.host}:{server.rpc}"}:
                return server
        return None

    def leader(self, timeout=30):
        return harness.wait_until(self.leader_now, timeout=timeout, what="a leader")

    def keep_logs(self):
        """Copies the members' logs to a directory that outlives the cluster, and names it."""
        kept = tempfile.mkdtemp(prefix="nomadctl-logs-")
        for member in [*self.servers, *self.clients]:
            shutil.copyfile(member.log_path, os.path.join(kept, f"{member.name}.log"))
        return kept

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


class Pki:
    """Certificates that `nomadctl tls` made, in a directory of their own."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="nomadctl-pki-")
        self.run("ca", "create")

    def run(self, *words):
        done = subprocess.run([harness.BINARY, "tls", *words], cwd=self.dir, capture_output=True,
                              text=True, timeout=30)
        if done.returncode != 0:
            raise AssertionError(f"tls {words}: {done.stdout}{done.stderr}")
        return done.stdout

    def config(self, role):
        name = f"{self.dir}/global-{role}-nomad"
        if not os.path.exists(name + ".pem"):
            self.run("cert", "create", f"-{role}")
        return f"""
tls {{
  rpc = true
  ca_file   = "{self.dir}/nomad-agent-ca.pem"
  cert_file = "{name}.pem"
  key_file  = "{name}-key.pem"
  verify_server_hostname = true
}}
"""

    def destroy(self):
        shutil.rmtree(self.dir, ignore_errors=True)


class Case(unittest.TestCase):
    """Some servers and two clients; the first client is told of a single server."""
    tls = False
    count = 1

    def setUp(self):
        self.pki = Pki() if self.tls else None
        self.cluster = Cluster(self.count, blocks=self.secured("server")).start()
        self.addCleanup(self.cleanup)
        self.leader = self.cluster.leader()
        self.followers = [s for s in self.cluster.servers if s is not self.leader]
        self.server = self.cluster.servers[0]
        self.cluster.add_client((self.followers or [self.leader])[:1],
                                blocks=self.secured("client"))
        self.cluster.add_client(blocks=self.secured("client"))
        self.wait_for_nodes("c0", "c1")

    def cleanup(self):
        result = self._outcome.result
        if any(case is self for case, _ in [*result.errors, *result.failures]):
            for member in [*self.cluster.servers, *self.cluster.clients]:
                print(f"--- {member.name}\n{member.log()[-2000:]}")
        self.cluster.destroy()
        if self.pki:
            self.pki.destroy()

    def secured(self, role):
        return self.pki.config(role) if self.tls else ""

    def wait_for_nodes(self, *names, timeout=60):
        harness.wait_until(lambda: self.cluster.nodes() == set(names), timeout, what=f"nodes {names}")

    def is_sent_away(self, noise, line, context=None):
        """Who says that on the RPC port is cut off, and the server's log says why."""
        with contextlib.ExitStack() as stack:
            stranger = stack.enter_context(
                socket.create_connection(("127.0.0.1", self.server.rpc), timeout=20))
            port = stranger.getsockname()[1]
            if context:
                stranger = stack.enter_context(context.wrap_socket(stranger))
            stranger.sendall(noise)
            try:
                while stranger.recv(4096):
                    pass
            except (ConnectionResetError, ssl.SSLEOFError):
                pass
        self.log_says_of(port, line)

    def log_says_of(self, port, line):
        whole = f"rpc: closing a connection: peer=127.0.0.1:{port} error=\"{line}"
        harness.wait_until(lambda: whole in self.server.log(), what=f"{whole!r} in the log")

    def put(self, job):
        for server in self.cluster.running():
            answer = server.request("PUT", "/v1/jobs", {"Job": job})
            if answer.status == 200:
                return
        raise AssertionError(f"nobody takes the job: {answer}")

    def wait_for(self, job_id, status, count, timeout=60):
        def found():
            allocs = self.cluster.allocs(job_id, status)
            return allocs if len(allocs) == count else None
        return harness.wait_until(found, timeout, what=f"{count} allocation(s) of {job_id} being {status}")
