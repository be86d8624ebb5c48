"""Ordinary churn for a long time: jobs, dispatches, variables, clients that go away in the middle.
What an agent holds must not grow with what has passed through it: memory, metric series, files and
threads stay flat once it is warm.

    NOMADCTL=build/release/nomadctl python3 test/bench/churn.py -minutes 60 -warm 10 [-kills]

`-kills` kills the agent now and then and starts it again on its data. Figures are printed every
half minute, and at the end how much each grew from the warm agent to the last figures.
"""
import argparse
import os
import random
import re
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import harness  # noqa: E402  (the path comes first)
from harness import Agent, job  # noqa: E402

# Garbage goes within seconds, so that what stays is not the state.
CONFIG = """
telemetry {
  publish_allocation_metrics = true
  publish_node_metrics       = true
  prometheus_metrics         = true
}
server {
  job_gc_interval          = "5s"
  job_gc_threshold         = "5s"
  eval_gc_threshold        = "5s"
  batch_eval_gc_threshold  = "5s"
  deployment_gc_threshold  = "5s"
  raft_snapshot_threshold  = 2000
  raft_snapshot_interval   = "10s"
  raft_trailing_logs       = 500
}
client {
  gc_interval       = "5s"
  gc_max_allocs     = 20
  cpu_total_compute = 1000000
  memory_total_mb   = 1000000
  disk_total_mb     = 1000000
  disk_free_mb      = 1000000
}
limits {
  http_max_conns_per_client = 2000
}
"""


def figures(agent):
    """What the agent holds now, by name; memory in MiB."""
    pid = agent.process.pid
    with open(f"/proc/{pid}/smaps_rollup") as f:
        anonymous = int(re.search(r"^Anonymous:\s+(\d+) kB", f.read(), re.M)[1]) / 1024
    text = agent.get("/v1/metrics?format=prometheus").body
    return {
        "anonymous": anonymous,
        "series": sum(1 for line in text.splitlines() if line and not line.startswith("#")),
        "files": len(os.listdir(f"/proc/{pid}/fd")),
        "threads": len(os.listdir(f"/proc/{pid}/task")),
    }


class Churn:
    """One client's operations after a seed."""

    def __init__(self, agent, seed, held=40):
        self.agent = agent
        self.random = random.Random(seed)
        self.held = held  # connections that are left open for a while
        self.open = []
        self.jobs = []
        self.count = 0
        self.refused = 0
        self.operations = [self.register, self.register, self.update, self.deregister, self.dispatch,
                           self.dispatch, self.dispatch, self.variable, self.variable,
                           self.drop_variable, self.query, self.session, self.events, self.read]

    def prepare(self):
        batch = job("template", kind="batch", config={"run_for": "100ms"})
        batch["ParameterizedJob"] = {"Payload": "optional", "MetaOptional": ["n"]}
        self.agent.register(batch)

    def step(self):
        self.count += 1
        try:
            self.random.choice(self.operations)()
        except OSError:
            self.refused += 1  # the agent is being killed

    def register(self):
        name = f"churn-{self.count}"
        self.agent.register(job(name, config={"run_for": self.random.choice(["1s", "1h"])}))
        self.jobs.append(name)
        if len(self.jobs) > 15:
            self.deregister()

    def update(self):
        if self.jobs:
            self.agent.register(job(self.random.choice(self.jobs), count=2,
                                    config={"run_for": "1h"}, Meta={"n": str(self.count)}))

    def deregister(self):
        if self.jobs:
            name = self.jobs.pop(self.random.randrange(len(self.jobs)))
            purge = self.random.choice(["true", "false"])
            self.agent.request("DELETE", f"/v1/job/{name}?purge={purge}")

    def dispatch(self):
        self.agent.put("/v1/job/template/dispatch", {"Meta": {"n": str(self.count)}})

    def variable(self):
        self.agent.put(f"/v1/var/churn/{self.random.randrange(200)}",
                       {"Items": {"value": "x" * self.random.randrange(2000)}})

    def drop_variable(self):
        self.agent.request("DELETE", f"/v1/var/churn/{self.random.randrange(200)}")

    def read(self):
        for path in ("jobs", "allocations", "evaluations", "deployments", "nodes", "vars"):
            self.agent.get("/v1/" + path)

    def query(self):
        """A blocking query of a client that goes away."""
        index = self.agent.get("/v1/jobs").index
        path = self.random.choice(["jobs", "allocations", "vars", "job/none-%d" % self.count])
        self.abandon(f"GET /v1/{path}?index={index + 1000000}&wait=300s HTTP/1.1")

    def events(self):
        self.abandon("GET /v1/event/stream HTTP/1.1")

    def session(self):
        """The log, or a command, of an allocation: the client goes away in the middle."""
        allocs = [a for a in self.agent.get("/v1/allocations").json if a["ClientStatus"] == "running"]
        if not allocs:
            return
        alloc = self.random.choice(allocs)["ID"]
        if self.random.random() < 0.5:
            self.abandon(f"GET /v1/client/fs/logs/{alloc}?task=task&type=stdout&follow=true HTTP/1.1")
        else:
            self.abandon(f"GET /v1/client/allocation/{alloc}/exec?task=task&command=%5B%22cat%22%5D HTTP/1.1",
                         "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
                         "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")

    def abandon(self, *lines):
        """Sends a request whose answer nobody reads to its end."""
        connection = socket.create_connection(("127.0.0.1", self.agent.port), timeout=5)
        connection.sendall("\r\n".join([*lines, "Host: 127.0.0.1", "", ""]).encode())
        self.open.append(connection)
        if len(self.open) > self.held:
            self.open.pop(self.random.randrange(len(self.open))).close()

    def let_go(self):
        while self.open:
            self.open.pop().close()


def run(agent, seconds, rate, seed=1, kill_every=0, sample=lambda churn: None, sample_every=30):
    """Churns at `rate` operations a second; calls `sample` now and then with nothing held open."""
    churn = Churn(agent, seed)
    churn.prepare()
    begin = time.monotonic()
    next_sample, next_kill = begin + sample_every, begin + (kill_every or seconds + 1)
    while (now := time.monotonic()) < begin + seconds:
        if now >= next_kill:
            next_kill += kill_every
            churn.let_go()
            agent.kill9()
            agent.start()
        if now >= next_sample:
            next_sample += sample_every
            churn.let_go()
            time.sleep(0.5)
            sample(churn)
        churn.step()
        due = begin + churn.count / rate
        time.sleep(max(0, min(due - time.monotonic(), 1)))
    churn.let_go()
    return churn


def main():
    parser = argparse.ArgumentParser(prefix_chars="-")
    parser.add_argument("-minutes", type=float, default=60)
    parser.add_argument("-warm", type=float, default=10, help="minutes before the first counted figures")
    parser.add_argument("-rate", type=float, default=17, help="operations a second")
    parser.add_argument("-seed", type=int, default=1)
    parser.add_argument("-kills", action="store_true", help="kill the agent every two minutes")
    options = parser.parse_args()
    agent = Agent(CONFIG, log_level="WARN").start()
    taken = []

    def sample(churn):
        minutes = (time.monotonic() - begin) / 60
        taken.append((minutes, figures(agent)))
        print(f"{minutes:5.1f} min {churn.count:7} operations  " + "  ".join(
            f"{name} {value:.1f}" if name == "anonymous" else f"{name} {value}"
            for name, value in taken[-1][1].items()), flush=True)

    begin = time.monotonic()
    try:
        run(agent, options.minutes * 60, options.rate, options.seed, 120 if options.kills else 0, sample)
        warm = [f for minutes, f in taken if minutes >= options.warm]
        for name in warm[0] if warm else ():
            values = [f[name] for f in warm]
            print(f"{name:<12} warm {values[0]:.1f}, last {values[-1]:.1f}, most {max(values):.1f}")
    finally:
        agent.stop()
        harness.clear(agent.dir)


if __name__ == "__main__":
    main()
