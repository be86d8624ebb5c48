"""300 allocations of `exec` and `docker` on one node, half of them with a bridge of their group's, which start, crash, are
updated and stopped, while the agent and the engine are killed now and then (-9) and started again. At the end every job
is gone, and so must be all that allocations have: processes, containers, mounts, control groups, network namespaces,
ports of the bridge, rules of the firewall, addresses, directories, actors and the agent's files.

    NOMADCTL=build/release/nomadctl python3 test/bench/churn_drivers.py -minutes 10 [-count 300] [-seed 1]

The engine and the networks are its own (test/system/docker/apart.py); as root, with docker.io, busybox-static and
containernetworking-plugins. Figures are printed every half minute; at the end what is left over, and the exit code is 1
if anything is. `-idle 60` measures instead what that many idle docker tasks cost the agent for so many seconds.
"""
import glob
import json
import os
import subprocess
import sys
import time

here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(here, "..", "system", "docker"), os.path.join(here, "..", "system")]
from apart import lacks, move_apart  # noqa: E402  (the path comes first)

if lacks():
    sys.exit(lacks())
if "NOMADCTL_TEST_APART" not in os.environ:
    move_apart()

import churn_allocs  # noqa: E402
from churn_allocs import CRASHES, GROUP, STAYS, WRITES  # noqa: E402
from engine import Engine, docker_task  # noqa: E402
from harness import job, wait_until  # noqa: E402

SCRIPTS = [STAYS, STAYS, CRASHES, WRITES, "sleep 1000 & trap '' TERM INT; while :; do sleep 0.5; done"]
NETWORK = {"Mode": "bridge", "DynamicPorts": [{"Label": "http", "To": 8080}]}
RESTARTS = {"Attempts": 1000, "Interval": 10 ** 12, "Delay": 10 ** 9, "Mode": "delay"}


def exec_task(name, script):
    return {"Name": name, "Driver": "exec", "Config": {"command": "/bin/sh", "args": ["-c", script]},
            "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1}, "Resources": {"CPU": 5, "MemoryMB": 32}}


def make_job(name, chosen):
    """One of exec, of docker, or of both in one group."""
    made = job(name, Count=GROUP, RestartPolicy=RESTARTS)
    group = made["TaskGroups"][0]
    if chosen.random() < 0.5:
        group["Networks"] = [NETWORK]
    makers = chosen.choice([[exec_task], [docker_task], [exec_task, docker_task]])
    group["Tasks"] = [dict(make(f"task{number}", chosen.choice(SCRIPTS)), KillTimeout=5 * 10 ** 8)
                      for number, make in enumerate(makers)]
    return made


def output_of(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


class Node(churn_allocs.Node):
    def __init__(self, publishes):
        self.engine = Engine().start()
        wait_until(self.engine.answers, what="the engine's answer")
        self.engine.make_image()
        super().__init__(f"""
plugin "docker" {{
  config {{
    endpoint = "unix://{self.engine.socket}"
  }}
}}
""", publishes)

    def left(self):
        # Those of the bridge of networks of groups: an engine that is killed forgets some of its own.
        links = [link for link in json.loads(output_of("ip", "-j", "link")) if link.get("master") == "nomad"]
        return dict(super().left(),
                    containers=[made["Names"] for made in self.engine.containers()],
                    namespaces=glob.glob("/run/netns/*"),
                    records=glob.glob(os.path.join(self.agent.data_dir, "client/networks/*.json")),
                    links=[link["ifname"] for link in links],
                    rules=[line for line in output_of("iptables-save").splitlines() if "CNI-DN-" in line or "CNI-SN-" in line],
                    addresses=[path for path in glob.glob("/var/lib/cni/networks/*/*")
                               if os.path.basename(path)[0].isdigit()])

    def end(self):
        wait_until(self.engine.answers, what="the engine's answer")
        return super().end()

    def kill_engine(self):
        self.engine.kill9()
        time.sleep(1)
        self.engine.start()

    def destroy(self):
        super().destroy()
        self.engine.destroy()


class Churn(churn_allocs.Churn):
    """Kills the engine every fourth time, instead of the agent."""

    def kill(self):
        if self.done["killed"] % 4 == 3:
            self.node.kill_engine()
            self.done["killed"] += 1
        else:
            super().kill()


def of_idle_tasks(name):
    made = job(name, Count=GROUP, RestartPolicy=RESTARTS)
    made["TaskGroups"][0]["Tasks"] = [docker_task("task", STAYS)]
    return made


def main():
    parser = churn_allocs.arguments(count=300, rate=0.5)
    parser.add_argument("-publish", action="store_true", help="with -idle: with metrics of each task, every second")
    options = parser.parse_args()
    node = Node(options.publish or not options.idle).start()
    try:
        if options.idle:
            before = node.figures()["anonymous MiB"]
            share = churn_allocs.measure_idle(node, options.count, options.idle, of_idle_tasks)
            each = (node.figures()["anonymous MiB"] - before) / options.count
            print(f"{options.count} idle docker tasks: {share:.2f} % of a core, {each:.3f} MiB each")
            return 0
        return churn_allocs.churn_and_look(node, Churn(node, options.seed, options.count, make_job), options)
    finally:
        node.destroy()


if __name__ == "__main__":
    sys.exit(main())
