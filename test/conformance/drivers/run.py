"""Runs tasks of every driver under an agent program and compares what they see and what is told of them with
what the real Nomad answered.

usage: run.py [options] [pattern]...      patterns of DRIVER/NAME
  NOMADCTL=program           the program of ours (default build/debug/nomadctl)
  -record N                  NOMAD=program is the real one: run N times and keep what it answers
  -show                      print what was seen
  -suite                     drivers that every machine has: raw_exec, and exec where this one can

Wants root; docker, java and qemu where they are installed. What is compared stands in README.md.
"""
import argparse
import concurrent.futures
import contextlib
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SYSTEM = os.path.join(HERE, "..", "..", "system")
sys.path[:0] = [os.path.join(HERE, ".."), SYSTEM, os.path.join(SYSTEM, "docker")]

import harness  # noqa: E402
import judge  # noqa: E402
from scenarios import IMAGE, SCENARIOS  # noqa: E402

PROGRAMS = ("sh", "env", "sort", "stat", "grep", "cat", "ls", "id", "touch", "sleep", "tail", "cut", "readlink", "hostname", "wc")
NEEDS = {"docker": "dockerd", "java": "java", "qemu": "qemu-system-x86_64"}
# What agents are started with: tasks inherit it but for what the driver holds back.
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "USER": "root", "LANG": "C.UTF-8",
               "OF_THE_AGENT": "1", "VAULT_TOKEN": "secret", "CONSUL_HTTP_TOKEN": "secret", "AWS_SECRET_ACCESS_KEY": "secret",
               "GOOGLE_APPLICATION_CREDENTIALS": "secret"}
FINAL = ("complete", "failed", "lost")
UNWANTED = "env_aws,env_azure,env_digitalocean,env_gce,consul,vault"
# The real one wants to hear that loopback is meant.
ADVERTISE = """
advertise {
  http = "127.0.0.1"
  rpc  = "127.0.0.1"
  serf = "127.0.0.1"
}
"""


def laid_over(below, above):
    """`above` over `below`, objects member by member."""
    if isinstance(below, dict) and isinstance(above, dict):
        return {key: laid_over(below.get(key), above[key]) if key in above else below[key] for key in [*below, *(k for k in above if k not in below)]}
    return below if above is None else above


def job_of(name, scenario):
    task = laid_over({"Name": "task", "Driver": scenario["driver"], "Config": scenario["config"],
                      "Resources": {"CPU": 100, "MemoryMB": 64}}, scenario.get("task"))
    group = laid_over({"Name": "group", "Count": 1, "Tasks": [task], "EphemeralDisk": {"SizeMB": 150},
                       "ReschedulePolicy": {"Attempts": 0, "Unlimited": False},
                       "RestartPolicy": scenario.get("restart", {"Attempts": 0, "Interval": 600_000_000_000, "Delay": 0, "Mode": "fail"})},
                      scenario.get("group"))
    return laid_over({"ID": name, "Name": name, "Type": "batch", "Datacenters": ["*"], "TaskGroups": [group]}, scenario.get("job"))


def small_root(where):
    """The programs that scenarios run, with their libraries: the real one copies what is in a task's root for each start."""
    def copy(path):
        target = where + path
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target):
            shutil.copy(path, target)

    for program in PROGRAMS:
        path = f"/bin/{program}"
        copy(path)
        for line in subprocess.run(["ldd", path], capture_output=True, text=True).stdout.splitlines():
            for word in line.split():
                if word.startswith("/"):
                    copy(word)
    copy("/etc/passwd")
    copy("/etc/group")
    return [f"/{name}" for name in sorted(os.listdir(where))]


class Stage:
    """An agent with the drivers, and a Docker engine if one is wanted."""

    def __init__(self, drivers, is_real):
        self.engine = None
        self.root = tempfile.mkdtemp(prefix="nomadctl-drivers-")
        config = f"""
client {{
  options = {{
    "fingerprint.denylist" = "{UNWANTED}"
  }}
  gc_max_allocs = 100000
  CHROOT
}}
"""
        if "exec" in drivers:
            lines = "\n".join(f'    "{self.root}{path}" = "{path}"' for path in small_root(self.root))
            config = config.replace("CHROOT", f"chroot_env {{\n{lines}\n  }}")
        config = config.replace("CHROOT", "")
        if "docker" in drivers:
            import engine  # wants a busybox
            self.engine = engine.Engine().start()
            harness.wait_until(self.engine.answers, what="the engine")
            self.engine.make_image(IMAGE)
            config += f'plugin "docker" {{\n  config {{\n    endpoint = "unix://{self.engine.socket}"\n  }}\n}}\n'
        if is_real:
            harness.MORE_CONFIG = ADVERTISE
        self.agent = harness.Agent(config, log_level="INFO").start()

    def has(self, driver):
        return any((node.get("Drivers") or {}).get(driver, {}).get("Healthy") for node in self.agent.get("/v1/nodes").json)

    def destroy(self):
        self.agent.destroy()
        shutil.rmtree(self.root, ignore_errors=True)
        if self.engine:
            self.engine.destroy()


def of_the_real_one_alone(path):
    """The socket of its Task API, and what its executor keeps beside tasks. It also begins logs of tasks that never start."""
    return path.endswith("/secrets/api.sock") or "/alloc/container" in path or path == "executor.out"


class Play:
    """One scenario on a stage."""

    def __init__(self, stage, name, scenario):
        self.agent, self.scenario, self.alloc_id = stage.agent, scenario, ""
        self.job = "of-" + name.replace("/", "-").replace("_", "-")
        self.driver = scenario["driver"]

    def run(self):
        answer = self.agent.put("/v1/jobs", {"Job": job_of(self.job, self.scenario)})
        if answer.status != 200:
            return {"refused": answer.body}
        self.alloc_id = harness.wait_until(lambda: self.agent.allocs(self.job), what="an allocation")[0]["ID"]
        if self.scenario.get("stop"):
            harness.wait_until(lambda: "up" in self.log("stdout") or self.alloc()["ClientStatus"] in FINAL, what="the task's word")
            self.agent.request("DELETE", f"/v1/job/{self.job}")
        alloc = harness.wait_until(self.ended, 120, what="the end of the task")
        time.sleep(0.3)  # what was written last is on its way to the log
        return self.seen(alloc)

    def alloc(self):
        return self.agent.get(f"/v1/allocation/{self.alloc_id}").json

    def ended(self):
        alloc = self.alloc()
        tasks = alloc.get("TaskStates") or {}
        return alloc if alloc["ClientStatus"] in FINAL and all(task["State"] == "dead" for task in tasks.values()) else None

    def log(self, kind):
        return self.agent.get(f"/v1/client/fs/logs/{self.alloc_id}?task=task&type={kind}&plain=true").body

    def seen(self, alloc):
        task = alloc["TaskStates"]["task"]
        ends = [event["Details"] for event in task["Events"] if event["Type"] == "Terminated"]
        shown = {
            "status": alloc["ClientStatus"], "failed": task["Failed"], "restarts": task["Restarts"],
            "events": [[event["Type"], self.plain(event["DisplayMessage"])] for event in task["Events"]],
            "ends": [{key: end.get(key) for key in ("exit_code", "signal", "oom_killed")} for end in ends],
            "files": self.files(any(event["Type"] == "Started" for event in task["Events"])),
        }
        if not self.scenario.get("silent"):
            shown["said"], shown["complained"] = sections(self.plain(self.log("stdout"))), self.plain(self.log("stderr")).splitlines()
        if self.scenario.get("vague"):  # how programs beside the agent word it
            shown["events"] = [event[:1] for event in shown["events"]]
        return shown

    def files(self, has_started):
        """Kinds and rights in the allocation's directory, without what the roots of tasks are made of."""
        found = []

        def walk(path, depth):
            answer = self.agent.get(f"/v1/client/fs/ls/{self.alloc_id}?path={path}")
            for entry in answer.json if answer.status == 200 else []:
                where = f"{path}/{entry['Name']}"
                if entry["Name"].endswith(".fifo") or (path == "/alloc/logs" and not has_started) or of_the_real_one_alone(where):
                    continue
                found.append(f"{entry['FileMode']} {where}")
                if entry["IsDir"] and depth:
                    walk(where, depth - 1)

        walk("/alloc", 1)
        for name in ("local", "secrets", "private", "tmp"):
            answer = self.agent.get(f"/v1/client/fs/stat/{self.alloc_id}?path=/task/{name}")
            found.append(f"{answer.json['FileMode']} /task/{name}" if answer.status == 200 else f"no /task/{name}")
        walk("/task/local", 1)
        return sorted(found)

    def plain(self, text):
        """Without what is another one each time."""
        for what, name in ((self.alloc_id, "ALLOC"), (self.alloc_id[:8], "SHORT"), (self.agent.data_dir, "DATA"), (self.agent.dir, "DIR")):
            text = text.replace(what, name)
        text = re.sub(r"\b[0-9a-f]{64}\b|\b[0-9a-f]{12}\b", "HEX", text)
        text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "ID", text)
        text = re.sub(r"restarting in [0-9.]+m?s", "restarting in JITTER", text)
        return re.sub(r"\b(2[0-9]|3[01])\d{3}\b", lambda found: found[0] if found[0] == "23999" else "PORT", text)


def sections(text):
    """Lines below "== NAME" by that name."""
    shown, name = {}, ""
    for line in text.splitlines():
        if line.startswith("== "):
            name = line[3:]
        elif not of_the_real_one_alone(line):
            shown.setdefault(name, []).append(line)
    # What a task's environment lacks is told by name, not as a list that is shifted.
    if "env" in shown:
        shown["env"] = dict(line.split("=", 1) for line in shown["env"] if "=" in line)
    return shown


def play_all(chosen, is_real):
    """Each driver has an agent of its own: Java wants another root than exec."""
    seen = {}
    for driver in SCENARIOS:
        of_driver = {name: scenario for name, scenario in chosen.items() if scenario["driver"] == driver}
        if of_driver:
            seen.update(play_driver(driver, of_driver, is_real))
    return seen


def play_driver(driver, chosen, is_real):
    stage = Stage({driver}, is_real)
    try:
        with contextlib.suppress(AssertionError):
            harness.wait_until(lambda: stage.has(driver), 20)
        if not stage.has(driver):
            print(f"{driver}: skipped, this machine can't run it")
            return {}
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            plays = {name: pool.submit(Play(stage, name, scenario).run) for name, scenario in chosen.items()}
        return {name: played.result() for name, played in plays.items()}
    finally:
        stage.destroy()


def answers_path(driver):
    return os.path.join(HERE, "answers", driver + ".json")


def read_answers(driver):
    with contextlib.suppress(FileNotFoundError), open(answers_path(driver)) as f:
        return json.load(f)
    return {}


def keep(seen):
    os.makedirs(os.path.join(HERE, "answers"), exist_ok=True)
    for driver in SCENARIOS:
        of_driver = {name.split("/")[1]: answer for name, answer in seen.items() if name.startswith(driver + "/")}
        if of_driver:
            kept = {**read_answers(driver), **of_driver}
            with open(answers_path(driver), "w") as f:
                json.dump({name: kept[name] for name in sorted(kept) if name in SCENARIOS[driver]}, f, indent=1, sort_keys=True)
                f.write("\n")


def choose(patterns, is_suite):
    drivers = {"raw_exec"} if os.geteuid() != 0 else {"raw_exec", "exec"}
    if not is_suite:
        drivers |= {driver for driver, program in NEEDS.items() if shutil.which(program)}
    named = {f"{driver}/{name}": scenario for driver in sorted(drivers) for name, scenario in SCENARIOS[driver].items()}
    return {name: scenario for name, scenario in named.items()
            if not patterns or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)}


def by_path(answer):
    """The same, with files in the order of their paths, whatever rights they have."""
    files = answer.get("files")
    lists = files[judge.EITHER] if judge.is_either(files) else [files]
    if not all(isinstance(each, list) and all(isinstance(file, str) for file in each) for each in lists):
        return answer
    ordered = [sorted(each, key=lambda file: file.split(" ", 1)[1]) for each in lists]
    return {**answer, "files": {judge.EITHER: ordered} if judge.is_either(files) else ordered[0]}


def compare(seen):
    """Prints differences; how many scenarios are as the real one's, and how many are not."""
    with open(os.path.join(HERE, "differences.json")) as f:
        known = judge.Known(json.load(f))
    good = bad = 0
    for name, ours in seen.items():
        driver, title = name.split("/")
        real = read_answers(driver).get(title)
        if real is None:
            print(f"{name}: the real one was not asked")
            bad += 1
            continue
        found = judge.differences(by_path(real), by_path(ours), lambda path, real, ours, name=name: known.explains(name, path, real, ours))
        for path, its, own in found:
            print(f"{name}{path}\n  real {json.dumps(its)}\n  ours {json.dumps(own)}")
        good, bad = (good, bad + 1) if found else (good + 1, bad)
    return good, bad, known


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("-record", type=int, default=0)
    parser.add_argument("-show", action="store_true")
    parser.add_argument("-suite", action="store_true")
    parser.add_argument("pattern", nargs="*")
    options = parser.parse_args()
    chosen = choose(options.pattern, options.suite)
    if not chosen:
        sys.exit("no scenario has such a name")
    if options.record:
        harness.BINARY = os.path.abspath(os.environ["NOMAD"])
    os.environ.clear()
    os.environ.update(ENVIRONMENT)
    if options.record:
        seen = {}
        for _ in range(options.record):
            played = play_all(chosen, is_real=True)
            seen = {name: judge.agreed(seen[name], played[name]) if name in seen else played[name] for name in played}
        keep(seen)
    else:
        seen = play_all(chosen, is_real=False)
    if options.show:
        print(json.dumps(seen, indent=1, sort_keys=True))
    if options.record:
        return
    good, bad, known = compare(seen)
    if not options.pattern and not options.suite:
        for where in known.needless():
            print(f"differences.json: {where} explains nothing")
    print(f"{good} passed, {bad} failed")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
