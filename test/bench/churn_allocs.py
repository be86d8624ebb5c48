"""500 raw_exec allocations on one node that start, crash, are updated and stopped, while the agent is
killed now and then (-9) and started again on its data. At the end every job is gone, and so must be
all that allocations have: processes, mounts, control groups, directories, executors, actors and the
agent's files; and the agent's memory must not have grown with what passed through it.

    NOMADCTL=build/release/nomadctl python3 test/bench/churn_allocs.py -minutes 10 [-count 500] [-seed 1]

Figures are printed every half minute; at the end what is left over, and the exit code is 1 if
anything is. `-idle 60` measures instead what that many idle tasks cost the agent for so many seconds.
"""
import argparse
import collections
import contextlib
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import churn  # noqa: E402  (the path comes first)
import harness  # noqa: E402
from harness import Agent, shell_job, wait_until  # noqa: E402

GROUP = 10  # allocations of a job
STAYS = "exec sleep 100000"
CRASHES = "sleep $((NOMAD_ALLOC_INDEX % 5)).$((NOMAD_ALLOC_INDEX * 7 % 10)); exit 3"
WRITES = "while :; do echo a line of no interest; sleep 0.3; done"
FORKS = "sleep 1000 & (sleep 1000 & sleep 1000 &) ; trap '' TERM INT; while :; do sleep 0.5; done"
SCRIPTS = [STAYS, STAYS, CRASHES, WRITES, FORKS]


def of_group(name, script, count):
    made = shell_job(name, script, count=count)
    group = made["TaskGroups"][0]
    group["RestartPolicy"] = {"Attempts": 1000, "Interval": 10 ** 12, "Delay": 10 ** 9, "Mode": "delay"}
    group["Tasks"][0]["KillTimeout"] = 5 * 10 ** 8
    return made


NODES_OWN = {"init.scope", "shared", "reserved", "share.slice", "reserve.slice"}


def groups_below(root, parent):
    """Control groups of tasks below `parent` (client.cgroup_parent), whatever the version. Those that the node
    shares its cores by stay."""
    return [folder for folder, _, _ in os.walk(root)
            if parent in folder.split("/")[:-1] and os.path.basename(folder) not in NODES_OWN]


def mounts_below(directory):
    with open("/proc/mounts") as f:
        return [line.split()[1] for line in f if line.split()[1].startswith(directory + "/")]


def actors_of(agent):
    """How many living actors there are of each kind."""
    return collections.Counter(actor["Name"] for actor in agent.get("/v1/agent/actors").json)


def ticks(pid):
    """Processor time of a process, in seconds."""
    with open(f"/proc/{pid}/stat") as f:
        words = f.read().rsplit(")", 1)[1].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def anonymous(pid):
    """Memory of a process that no file is behind, in MiB."""
    with open(f"/proc/{pid}/smaps_rollup") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Anonymous:")) / 1024


class Node:
    """The agent with what is to be looked at outside of it."""

    def __init__(self, config="", publishes=True):
        """`publishes`: the usage of each task is read each second, for its metrics."""
        self.parent = f"nomadctl-test-{os.getpid()}"
        # Two removals at a time would be fewer than what ends, and the rest would look like a leak.
        base = churn.CONFIG if publishes else churn.CONFIG.replace("publish_allocation_metrics = true", "")
        self.agent = Agent(base + f'client {{\n  cgroup_parent = "{self.parent}"\n'
                           '  gc_parallel_destroys = 16\n}\n' + config, log_level="INFO")

    def start(self):
        self.agent.start()
        return self

    def left(self):
        """What allocations have left behind, by kind."""
        agent = self.agent
        directories = [f"{where}/{name}" for where in ("alloc", "client/executors")
                       for name in os.listdir(os.path.join(agent.data_dir, where))]
        return {
            "processes": [pid for pid in harness.processes_of(agent.dir) if pid != agent.process.pid],
            "mounts": mounts_below(agent.data_dir),
            "groups": groups_below("/sys/fs/cgroup", self.parent),
            "directories": directories,
        }

    def end(self):
        """Stops and purges every job, and waits until nothing of them is left; what is, otherwise."""
        agent = self.agent
        for job in agent.get("/v1/jobs").json:
            agent.request("DELETE", f"/v1/job/{job['ID']}?purge=true")

        def is_gone():
            agent.put("/v1/system/gc")
            return not agent.get("/v1/allocations").json and not any(self.left().values())
        try:
            wait_until(is_gone, timeout=120, interval=1)
        except AssertionError:
            return {kind: found for kind, found in self.left().items() if found}
        return {}

    def figures(self):
        pid = self.agent.process.pid
        return {"anonymous MiB": round(anonymous(pid), 1), "files": len(os.listdir(f"/proc/{pid}/fd")),
                "threads": len(os.listdir(f"/proc/{pid}/task")), "runners": actors_of(self.agent)["alloc_runner"]}

    def destroy(self):
        self.agent.destroy()
        for folder, _, _ in os.walk("/sys/fs/cgroup", topdown=False):
            if f"/{self.parent}" in folder:
                with contextlib.suppress(OSError):  # a process of it may be ending
                    os.rmdir(folder)


class Churn:
    def __init__(self, node, seed, count, make=lambda name, chosen: of_group(name, chosen.choice(SCRIPTS), GROUP)):
        self.node, self.random, self.make = node, random.Random(seed), make
        self.names = [f"churn-{number}" for number in range(max(1, count // GROUP))]
        self.done = {"registered": 0, "updated": 0, "stopped": 0, "killed": 0, "refused": 0}

    def put(self, name):
        self.node.agent.register(self.make(name, self.random))

    def step(self):
        name = self.random.choice(self.names)
        chance = self.random.random()
        try:
            if chance < 0.3:
                self.node.agent.request("DELETE", f"/v1/job/{name}?purge={self.random.choice(['true', 'false'])}")
                self.done["stopped"] += 1
            else:
                self.put(name)
                self.done["updated"] += 1
        except OSError:
            self.done["refused"] += 1

    def kill(self):
        self.node.agent.kill9()
        time.sleep(self.random.random())
        self.node.start()
        self.done["killed"] += 1

    def run(self, seconds, rate, kill_every, sample=lambda churn: None):
        for name in self.names:
            self.put(name)
            self.done["registered"] += 1
        begin = time.monotonic()
        next_kill, next_sample = begin + kill_every, begin + 30
        while (now := time.monotonic()) < begin + seconds:
            if now >= next_kill:
                next_kill = now + self.random.uniform(0.5, 1.5) * kill_every
                self.kill()
            if now >= next_sample:
                next_sample += 30
                sample(self)
            self.step()
            time.sleep(self.random.uniform(0, 2 / rate))


def measure_idle(node, count, seconds, make=lambda name: of_group(name, STAYS, GROUP)):
    """What `count` idle tasks cost the agent, in hundredths of a core."""
    for number in range(count // GROUP):
        node.agent.register(make(f"idle-{number}"))
    wait_until(lambda: sum(a["ClientStatus"] == "running" for a in node.agent.get("/v1/allocations").json) >= count,
               timeout=600, interval=1, what="the idle tasks")
    time.sleep(20)  # what starting them has left to do
    pid = node.agent.process.pid
    before, begin = ticks(pid), time.monotonic()
    time.sleep(seconds)
    return 100 * (ticks(pid) - before) / (time.monotonic() - begin)


def churn_and_look(node, run, options):
    """Churns, ends every job and says what is left; the exit code."""
    node.end()
    before, actors = node.figures(), actors_of(node.agent)
    print(f"empty        {before}", flush=True)
    begin = time.monotonic()
    run.run(options.minutes * 60, options.rate, options.kill,
            lambda churn: print(f"{(time.monotonic() - begin) / 60:5.1f} min    {node.figures()} {churn.done}",
                                flush=True))
    left = node.end()
    after, kinds = node.figures(), actors_of(node.agent)
    print(f"empty again  {after} {run.done}")
    more = dict(kinds - actors)
    for kind, found in [*left.items(), ("actors", more)]:
        if found:
            print(f"left over: {kind} {found}")
    if left:
        explain(left, node.agent)
    return 1 if left or more else 0


def explain(left, agent):
    """Whose the processes are that were left over, what they wait for, and what the log says of their allocations."""
    for pid in left.get("processes", []):
        with contextlib.suppress(OSError):
            of = {}
            for name in ("cmdline", "cgroup", "wchan", "stack", "status"):
                with open(f"/proc/{pid}/{name}") as f:
                    of[name] = f.read().replace("\0", " ").strip()
            status = dict(line.split(":", 1) for line in of.pop("status").splitlines())
            print(f"  {pid}: parent {status['PPid'].strip()}, {status['State'].strip()}, {of}")
    ids = {os.path.basename(group).split(".")[0] for group in left.get("groups", [])}
    for line in agent.log().splitlines():
        if any(alloc in line for alloc in ids):
            print(f"  {line}")


def arguments(count, rate):
    """What the command line may say; how many allocations and operations there are by default."""
    parser = argparse.ArgumentParser(prefix_chars="-")
    parser.add_argument("-minutes", type=float, default=10)
    parser.add_argument("-count", type=int, default=count)
    parser.add_argument("-rate", type=float, default=rate, help="operations a second, each of ten allocations")
    parser.add_argument("-kill", type=float, default=40, help="seconds between two kills")
    parser.add_argument("-seed", type=int, default=1)
    parser.add_argument("-idle", type=float, default=0, help="measure idle tasks for so many seconds instead")
    return parser


def main():
    options = arguments(count=500, rate=3).parse_args()
    node = Node().start()
    try:
        if options.idle:
            share = measure_idle(node, options.count, options.idle)
            print(f"{options.count} idle tasks: {share:.2f} % of a core, {node.figures()}")
            return 0
        return churn_and_look(node, Churn(node, options.seed, options.count), options)
    finally:
        node.destroy()


if __name__ == "__main__":
    sys.exit(main())
