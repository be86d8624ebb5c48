"""What lists, counts and searches take where there is much: 50,000 jobs, each with a pending evaluation, as many
variables and node pools, beside another program with the same API (NOMADCTL_COMPARE, a path), if there is one.

    test/bench/lists.py <nomadctl> [-n 50000] [-only word]

Each question is asked after a write, so that no kept answer serves it, and once more."""
import argparse
import http.client
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import threading
import time

QUESTIONS = {
    "evaluations: count": "/v1/evaluations/count",
    "evaluations: count of a status": "/v1/evaluations/count?status=pending",
    "evaluations: count by filter": "/v1/evaluations/count?filter=Status%20%3D%3D%20%22pending%22",
    "evaluations: all": "/v1/evaluations",
    "evaluations: a page of 100": "/v1/evaluations?per_page=100",
    "evaluations: of a status, a page of 100": "/v1/evaluations?status=pending&per_page=100",
    "evaluations: by filter, one": "/v1/evaluations?filter=JobID%20%3D%3D%20%22job-77%22",
    "evaluations: by prefix": "/v1/evaluations?prefix=ab",
    "jobs: all": "/v1/jobs",
    "jobs: of all namespaces": "/v1/jobs?namespace=*",
    "jobs: a page of 100": "/v1/jobs?per_page=100",
    "jobs: by prefix": "/v1/jobs?prefix=job-77",
    "jobs: by filter, one": "/v1/jobs?filter=ID%20%3D%3D%20%22job-77%22",
    "evaluations of a job": "/v1/job/job-77/evaluations",
    "search: jobs": ("/v1/search", {"Prefix": "job-77", "Context": "jobs"}),
    "search: all": ("/v1/search", {"Prefix": "ab", "Context": "all"}),
    "scaling policies": "/v1/scaling/policies",
    "variables: all": "/v1/vars",
    "variables: a page of 100": "/v1/vars?per_page=100",
    "variables: by prefix": "/v1/vars?prefix=v-77",
    "node pools: all": "/v1/node/pools",
    "node pools: by filter, one": "/v1/node/pools?filter=Name%20%3D%3D%20%22pool-77%22",
}


def job_of(number):
    return "/v1/jobs", {"Job": {
        "ID": f"job-{number}", "Name": f"job-{number}", "Type": "service", "Datacenters": ["*"], "TaskGroups": [
            {"Name": "group", "Count": 1, "Tasks": [{"Name": "task", "Driver": "raw_exec", "Config": {"command": "/bin/true"}}]}]}}


def variable_of(number):
    return f"/v1/var/v-{number}", {"Items": {"key": f"value of {number}"}}


def pool_of(number):
    return "/v1/node/pools", {"Name": f"pool-{number}", "Description": "one of many"}


def written_for(name):
    """What a question is about."""
    return variable_of if name.startswith("variables") else pool_of if name.startswith("node pools") else job_of


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Server:
    """A server without clients whose broker hands nothing out."""

    def __init__(self, program):
        self.directory = tempfile.mkdtemp(prefix="nomadctl-lists-")
        self.port = free_port()
        path = os.path.join(self.directory, "agent.hcl")
        with open(path, "w") as f:
            f.write(f"""
data_dir  = "{self.directory}/data"
bind_addr = "127.0.0.1"
log_level = "WARN"
ports {{
  http = {self.port}
  rpc  = {free_port()}
  serf = {free_port()}
}}
advertise {{
  http = "127.0.0.1"
  rpc  = "127.0.0.1"
  serf = "127.0.0.1"
}}
server {{
  enabled          = true
  bootstrap_expect = 1
  default_scheduler_config {{
    pause_eval_broker = true
  }}
}}
limits {{
  http_max_conns_per_client = 0
}}
""")
        with open(os.path.join(self.directory, "log"), "w") as log:
            self.process = subprocess.Popen([program, "agent", "-config", path], stdout=log, stderr=log)
        end = time.monotonic() + 60
        while True:
            try:
                if self.request("GET", "/v1/status/leader")[1].strip() not in (b'""', b""):
                    break
            except OSError:
                pass
            if time.monotonic() > end:
                raise AssertionError(open(os.path.join(self.directory, "log")).read())
            time.sleep(0.1)

    def request(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request(method, path, None if body is None else json.dumps(body))
        answer = connection.getresponse()
        return answer.status, answer.read()

    def write(self, made, numbers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        for number in numbers:
            path, body = made(number)
            connection.request("PUT", path, json.dumps(body))
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, body

    def fill(self, made, count, writers=16):
        threads = [threading.Thread(target=self.write, args=(made, range(at, count, writers))) for at in range(writers)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    def time(self, question):
        """Milliseconds, and the bytes of the answer."""
        path, body = question if isinstance(question, tuple) else (question, None)
        words = ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code} %{time_total} %{size_download}",
                 f"http://127.0.0.1:{self.port}{path}"]
        if body is not None:
            words += ["-d", json.dumps(body)]
        status, seconds, size = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
        assert status == "200", (path, status)
        return float(seconds) * 1000, int(size)

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


def measure(program, count, only, rounds=5):
    server = Server(program)
    try:
        asked = {name: question for name, question in QUESTIONS.items() if only in name}
        for made in dict.fromkeys(written_for(name) for name in asked):
            begun = time.monotonic()
            server.fill(made, count)
            print(f"{program}: {count} by {made.__name__} in {time.monotonic() - begun:.0f} s", flush=True)
        found = {}
        for name, question in asked.items():
            fresh, again = [], []
            for _ in range(rounds):
                server.write(written_for(name), [0])
                fresh.append(server.time(question)[0])
                milliseconds, size = server.time(question)
                again.append(milliseconds)
            found[name] = statistics.median(fresh), statistics.median(again), size
            print(f"  {name}: {found[name][0]:.1f} ms, again {found[name][1]:.1f}, {size} bytes", flush=True)
        return found
    finally:
        server.end()


def main():
    words = argparse.ArgumentParser()
    words.add_argument("program")
    words.add_argument("-n", type=int, default=50_000)
    words.add_argument("-only", default="")
    given = words.parse_args()
    ours = measure(given.program, given.n, given.only)
    other_program = os.environ.get("NOMADCTL_COMPARE")
    others = measure(other_program, given.n, given.only) if other_program else {}
    for name, (fresh, _, _) in ours.items():
        if name in others:
            print(f"{name}: {fresh:.1f} ms, there {others[name][0]:.1f} ms: {others[name][0] / fresh:.1f} x", flush=True)


if __name__ == "__main__":
    main()
