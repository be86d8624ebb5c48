"""What access control costs, on real agents: the figures of docs/BENCHMARKS.md about access.

    NOMADCTL=build/release/cli/nomadctl python3 test/bench/access.py [scenario …]

Scenarios, all of them without a name:
    requests  reads and writes at 16 connections by a token of ten policies, beside the same requests to an agent without
              ACLs, in turns
    list      10,000 allocations over 100 namespaces, listed by such a token and without ACLs
    tokens    the memory of 100,000 tokens
    guesses   10,000 wrong tokens a second: memory, and what others wait for
    audit     the same requests with an audit log, and without
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import harness  # noqa: E402  (the path comes first)
from harness import Agent, wait_until  # noqa: E402

BUILD = os.path.join(os.path.dirname(harness.BINARY), "..")
TICKS = os.sysconf("SC_CLK_TCK")
OPEN = "limits {\n  http_max_conns_per_client = 0\n  rpc_max_conns_per_client = 0\n}\n"
ACL = "acl {\n  enabled = true\n}\n"
ROUNDS = 15


def show(name, figure):
    print(f"{name:<66} {figure}", flush=True)


def processor_seconds(agent):
    with open(f"/proc/{agent.process.pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def private_memory(agent):
    """MB."""
    with open(f"/proc/{agent.process.pid}/smaps_rollup") as f:
        return sum(int(n) for n in re.findall(r"^Private_\w+:\s+(\d+) kB", f.read(), re.M)) / 1024


def load(agent, connections, *words, seconds=3.0, token=None):
    """(answers a second, p50 and p99 in ms, processor microseconds of the agent for each). Fails where an answer was not what
    is expected."""
    header = ["-H", f"X-Nomad-Token: {token}"] if token else []
    before = processor_seconds(agent)
    done = subprocess.run([os.path.join(BUILD, "test/bench/http_load"), "-c", str(connections), "-t", str(seconds), *header,
                           *words[:-1], f"127.0.0.1:{agent.port}", words[-1]], capture_output=True, text=True, check=False)
    used = processor_seconds(agent) - before
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.match(r"(\d+) answers/s \((\d+) ok.*p50 ([\d.]+) ms p99 ([\d.]+) ms", done.stdout)
    return float(found[1]), float(found[3]), float(found[4]), 1e6 * used / max(1, int(found[2]))


def started(config="", **more):
    agent = Agent(OPEN + config, log_level="WARN", **more)
    agent.start(wait=False)

    def leads():
        assert agent.process.poll() is None, agent.log()
        try:
            return agent.get("/v1/status/leader").body.strip() not in ('""', "")
        except OSError:
            return False
    wait_until(leads)
    return agent


def bootstrapped(config=""):
    agent = started(ACL + config)
    agent.token = wait_until(agent.bootstrap, what="the first token")["SecretID"]
    return agent


def made(agent, path, body):
    reply = agent.put(path, body)
    assert reply.status == 200, reply
    return reply


def developer(agent, namespaces):
    """A client token of ten policies that share the namespaces."""
    names = []
    for at in range(10):
        rules = "".join(f'namespace "{name}" {{ policy = "write" variables {{ path "*" {{ capabilities = ["write", "read"] }} }} }}\n'
                        for name in namespaces[at::10]) + f'host_volume "disk-{at}-*" {{ policy = "write" }}\n' \
            + 'node { policy = "read" }\nagent { policy = "read" }\nnode_pool "*" { policy = "read" }\n'
        names.append(f"team-{at}")
        made(agent, f"/v1/acl/policy/team-{at}", {"Name": f"team-{at}", "Rules": rules})
    return made(agent, "/v1/acl/token", {"Name": "developer", "Type": "client", "Policies": names}).json["SecretID"]


def spaces(agent, count):
    names = [f"ns-{at}" for at in range(count)]
    for name in names:
        made(agent, f"/v1/namespace/{name}", {"Name": name})
    return names


def small_job(name, namespace, count=0):
    return {"ID": name, "Name": name, "Namespace": namespace, "Type": "service", "Datacenters": ["*"], "TaskGroups": [
        {"Name": "group", "Count": count, "EphemeralDisk": {"SizeMB": 10}, "Tasks": [
            {"Name": "task", "Driver": "mock_driver", "Config": {"run_for": "10000s"},
             "LogConfig": {"MaxFiles": 2, "MaxFileSizeMB": 2}, "Resources": {"CPU": 10, "MemoryMB": 10}}]}]}


def in_turns(agents, what, *words, rounds=ROUNDS):
    """The medians of the load on each agent (name -> (agent, token)), measured in turns; prints the ratio to the first."""
    found = {name: [] for name in agents}
    for _ in range(rounds):
        for name, (agent, token) in agents.items():
            found[name].append(load(agent, 16, *words, seconds=1.5, token=token))
    rates = {name: statistics.median(one[0] for one in each) for name, each in found.items()}
    costs = {name: statistics.median(one[3] for one in each) for name, each in found.items()}
    first, second = agents
    show(what, ", ".join(f"{name} {rates[name]:.0f}/s {costs[name]:.0f} us" for name in agents)
         + f"; {second} does {100 * rates[second] / rates[first]:.0f} %, at {costs[second] / costs[first]:.2f} x the processor time")


def compare_requests(agents):
    for agent, token in agents.values():
        for at in range(50):
            made(agent, "/v1/jobs?namespace=ns-3", {"Job": small_job(f"kept-{at}", "ns-3")})
    in_turns(agents, "GET of a job, 16 connections", "/v1/job/kept-7?namespace=ns-3")
    in_turns(agents, "GET of a list of 50 jobs, 16 connections", "/v1/jobs?namespace=ns-3")
    in_turns(agents, "PUT of a variable, 16 connections", "-X", "PUT", "-b",
             json.dumps({"Items": {"k": "v"}}), "/v1/var/app/{n}?namespace=ns-4")
    in_turns(agents, "PUT of a job, 16 connections", "-X", "PUT", "-b",
             json.dumps({"Job": small_job("written-{n}", "ns-5")}), "/v1/jobs?namespace=ns-5", rounds=5)


def requests():
    off, on = started(), bootstrapped()
    names = spaces(on, 20)
    spaces(off, 20)
    token = developer(on, names)
    compare_requests({"off": (off, token), "on": (on, token)})
    on.destroy()
    off.destroy()


def audit():
    off, on = bootstrapped(), bootstrapped('audit {\n  enabled = true\n}\n')
    agents = {name: (agent, developer(agent, spaces(agent, 20))) for name, agent in (("off", off), ("on", on))}
    compare_requests(agents)
    on.destroy()
    off.destroy()


def filled(agent, names, nodes, total=10_000):
    rpc = re.search(r"rpc\s+= (\d+)", open(agent.config_path).read())[1]
    words = [harness.BINARY, "node-sim", "-nodes", str(nodes), "-seed", "1", "-server", f"127.0.0.1:{rpc}"]
    simulator = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: sum(n["Status"] == "ready" for n in agent.get("/v1/nodes").json) >= nodes, timeout=120)
    for name in names:
        made(agent, f"/v1/jobs?namespace={name}", {"Job": small_job("many", name, total // len(names))})
    wait_until(lambda: len(agent.get("/v1/allocations?namespace=*").json) >= total, timeout=300, interval=1)
    return simulator


def list_():
    off, on = started(), bootstrapped()
    names = spaces(on, 100)
    spaces(off, 100)
    token = developer(on, names)
    simulators = [filled(agent, names, 100) for agent in (off, on)]
    time.sleep(10)
    took = {"off": [], "on": []}
    used = {"off": [], "on": []}
    for _ in range(31):
        for name, agent, header in (("off", off, {}), ("on", on, {"X-Nomad-Token": token})):
            before, processor = time.monotonic(), processor_seconds(agent)
            reply = agent.request("GET", "/v1/allocations?namespace=*", headers=header)
            took[name].append((time.monotonic() - before) * 1000)
            used[name].append((processor_seconds(agent) - processor) * 1000)
            assert len(re.findall(r'"ClientStatus"', reply.body)) == 10_000
    median = {name: statistics.median(each) for name, each in took.items()}
    processor = {name: statistics.mean(each) for name, each in used.items()}
    show("list of 10,000 allocations over 100 namespaces",
         f"off {median['off']:.1f} ms, on {median['on']:.1f} ms: {median['on'] / median['off']:.2f} x; "
         f"processor {processor['off']:.1f}, {processor['on']:.1f} ms: {processor['on'] / processor['off']:.2f} x")
    for simulator in simulators:
        simulator.kill()
        simulator.wait()
    on.stop()
    off.stop()
    for agent in (on, off):
        harness.clear(agent.dir)
        harness.living.discard(agent.dir)


def tokens():
    for policies in (["team-1"], [f"team-{at}" for at in range(10)]):
        agent = bootstrapped()
        developer(agent, spaces(agent, 20))
        before = private_memory(agent)
        body = json.dumps({"Name": "developer {n}", "Type": "client", "Policies": policies})
        rate, *_ = load(agent, 64, "-X", "PUT", "-n", "100000", "-b", body, "/v1/acl/token", seconds=600, token=agent.token)
        count = len(agent.get("/v1/acl/tokens").json)
        assert count >= 100_000, count
        agent.get("/v1/status/leader")
        time.sleep(15)
        show(f"100,000 tokens with {len(policies)} policies each",
             f"{private_memory(agent) - before:.1f} MB private memory, made at {rate:.0f}/s")
        agent.destroy()


def guesses():
    agent = bootstrapped()
    names = spaces(agent, 20)
    token = developer(agent, names)
    made(agent, "/v1/jobs?namespace=ns-3", {"Job": small_job("kept-7", "ns-3")})
    alone = [load(agent, 1, "/v1/job/kept-7?namespace=ns-3", seconds=5, token=token) for _ in range(3)]
    before = private_memory(agent)
    words = [os.path.join(BUILD, "test/bench/http_load"), "-c", "32", "-t", "30", "-r", "10000", "-e", "403", "-H",
             "X-Nomad-Token: {uuid}", f"127.0.0.1:{agent.port}", "/v1/jobs"]
    guesser = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(3)
    beside = [load(agent, 1, "/v1/job/kept-7?namespace=ns-3", seconds=5, token=token) for _ in range(4)]
    said = " ".join(guesser.communicate())
    show("p50 of a GET alone, and beside 10,000 guesses a second",
         f"{statistics.median(a[1] for a in alone):.3f} ms, {statistics.median(b[1] for b in beside):.3f} ms")
    show("  the guesser", said.strip()[:200])
    show("  private memory before and after", f"{before:.1f} MB, {private_memory(agent):.1f} MB")
    agent.destroy()


SCENARIOS = {"requests": requests, "list": list_, "tokens": tokens, "guesses": guesses, "audit": audit}


def main():
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("scenarios", nargs="*", choices=[[], *SCENARIOS], default=[])
    for name in reader.parse_args().scenarios or SCENARIOS:
        print(f"== {name}", flush=True)
        SCENARIOS[name]()


if __name__ == "__main__":
    main()
