"""Drives the real binary: agents with a data directory of their own, HTTP, the commands.

A test file ends with `harness.main()`. Test cases derive from AgentTest, which starts one agent for
the class; NOMADCTL names the binary. The closing line is "N passed, N failed[, N skipped]".

Many of these programs run side by side, also of several trees on one machine: ports are claimed,
directories, network namespaces and words in command lines are a process's own, and a test waits for
what it wants instead of for a time. How long at most is there to end a run that hangs, not to
measure: nothing depends on it, however busy the machine's processors and disk are.
"""
import atexit
import contextlib
import fcntl
import glob
import http.client
import json
import mmap
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = os.path.abspath(os.environ.get("NOMADCTL", "build/debug/nomadctl"))
# Of every agent; a comparison with another program sets what that one needs.
MORE_CONFIG = """
plugin "mock_driver" {
  config {
    enabled = true
  }
}
"""
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


claims = []  # sockets whose ports are this process's


def claim(port):
    """Whether `port` is now this process's until it ends, and an agent can listen at it, killed and
    started again."""
    taken = socket.socket()
    try:
        taken.bind(("0.0.0.0", port))
    except OSError:
        taken.close()
        return False
    # Bound alone: no other claim can be, and who listens with the same option may.
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    claims.append(taken)
    return True


def free_ports(*offsets):
    """A number of which all that lie `offsets` above it are ports claimed for this process. None that
    the kernel gives to outgoing connections (from 32768) or an agent to its tasks (from 20000)."""
    while True:
        base = random.SystemRandom().randrange(10_000, 20_000 - max(offsets))
        if all(claim(base + offset) for offset in offsets):
            return base


def free_port():
    return free_ports(0)


def needs_failpoints(test):
    """For tests that give orders to failpoints, whose names are in the binaries that have them."""
    with open(BINARY, "rb") as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as binary:
        has_some = binary.find(b"raft.before_fsync") >= 0
    return unittest.skipUnless(has_some, "this agent has no failpoints (-Dfailpoints=enabled)")(test)


def skip_with_sanitizer(test, pid):
    """For tests of memory: a sanitizer's allocator keeps what the process gives back."""
    with open(f"/proc/{pid}/maps") as f:
        if "libasan" in f.read():
            test.skipTest("AddressSanitizer keeps what was given back")


def wait_until(condition, timeout=60, interval=None, what="the condition"):
    """The first true value of `condition`; a test failure after `timeout` seconds. Asks again after `interval`, or after a
    tenth of the time that has passed (20 to 150 ms): asking is half of what many of these tests cost."""
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < timeout:
        value = condition()
        if value:
            return value
        time.sleep(interval or min(max(0.02, passed / 10), 0.15))
    raise AssertionError(f"{what} did not hold within {timeout} s")


def started_at(pid):
    """When a process began, as the kernel counts; None when it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[19]
    except OSError:
        return None


def belongs_to(pid, directory):
    """An executor shows its directory only by the files that it holds open."""
    wanted = directory + "/"
    try:
        for name in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{name}", "rb") as f:
                if wanted.encode() in f.read():
                    return True
        return any(wanted in os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return False


def processes_of(directory):
    """Agents, executors and tasks of a test's directory."""
    return [int(pid) for pid in filter(str.isdigit, os.listdir("/proc"))
            if int(pid) != os.getpid() and belongs_to(pid, directory)]


def clear(directory):
    """Kills what belongs to a test's directory, and removes it with its mounts."""
    for _ in range(5):  # a process may have been starting another one
        pids = processes_of(directory)
        if not pids:
            break
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.05)
    with open("/proc/mounts") as f:
        mounts = [line.split()[1] for line in f if line.split()[1].startswith(directory + "/")]
    mounts = [where.replace("\\040", " ") for where in mounts]
    for where in reversed(mounts):
        subprocess.run(["umount", "-l", where], check=False)
    shutil.rmtree(directory, ignore_errors=True)


living = set()  # directories of agents that were not destroyed yet


def clear_living():
    for directory in list(living):
        clear(directory)


def clear_abandoned():
    """What earlier runs left behind that were killed before they could clean up. One process at a
    time: another one would look like a process of the directory that it removes."""
    with open(os.path.join(tempfile.gettempdir(), "nomadctl-test.lock"), "w") as lock:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            clear_those_without_owner()


def clear_those_without_owner():
    for owner in glob.glob(os.path.join(tempfile.gettempdir(), "nomadctl-test-*", "owner")):
        try:
            with open(owner) as f:
                pid, since = f.read().split()
        except (OSError, ValueError):
            continue
        if started_at(pid) != since:
            clear(os.path.dirname(owner))


class Reply:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def index(self):
        return int(self.headers.get("X-Nomad-Index", 0))

    def __repr__(self):
        return f"{self.status} {self.body[:500]!r}"


class Agent:
    """One agent process. `kill9` and `start` may be called again and again on the same data."""

    def __init__(self, config="", data_dir=None, log_level="DEBUG"):
        self.dir = tempfile.mkdtemp(prefix="nomadctl-test-")
        with open(os.path.join(self.dir, "owner"), "w") as f:
            f.write(f"{os.getpid()} {started_at(os.getpid())}")
        living.add(self.dir)
        self.data_dir = data_dir or os.path.join(self.dir, "data")
        self.port = free_port()
        self.config_path = os.path.join(self.dir, "agent.hcl")
        self.log_path = os.path.join(self.dir, "agent.log")
        with open(self.config_path, "w") as f:
            f.write(f"""
data_dir  = "{self.data_dir}"
bind_addr = "127.0.0.1"
log_level = "{log_level}"
ports {{
  http = {self.port}
  rpc  = {free_port()}
  serf = {free_port()}
}}
server {{
  enabled          = true
  bootstrap_expect = 1
}}
client {{
  enabled           = true
  network_interface = "lo"
}}
plugin "raw_exec" {{
  config {{
    enabled = true
  }}
}}
""" + MORE_CONFIG + config)
        self.process = None
        self.binary = BINARY
        self.environment = {}  # Besides that of the test, of the agent alone.
        self.token = ""  # Of its requests, where ACLs are on.

    def start(self, wait=True, flags=()):
        log = open(self.log_path, "ab")
        self.process = subprocess.Popen([self.binary, "agent", "-config", self.config_path, *flags],
                                        stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                        env={**os.environ, **self.environment})
        log.close()
        if wait:
            wait_until(self.is_ready, what="the node's readiness")
        return self

    def answers(self):
        """Whether somebody leads, and this agent says who, without a token."""
        try:
            return self.get("/v1/status/leader").status == 200
        except OSError:
            return False

    def bootstrap(self):
        """Makes the first token of all; None while nobody leads, and when there is one."""
        self.expect_running()
        try:
            answer = self.put("/v1/acl/bootstrap")
        except OSError:
            return None
        return answer.json if answer.status == 200 else None

    def expect_running(self):
        if self.process.poll() is not None:
            raise AssertionError(f"the agent ended with {self.process.returncode}:\n{self.log()[-3000:]}")

    def is_ready(self):
        self.expect_running()
        try:
            nodes = self.get("/v1/nodes")
        except OSError:
            return False
        return nodes.status == 200 and any(n["Status"] == "ready" for n in nodes.json)

    def log(self):
        """What the agent has logged; quotes within values as the values have them."""
        with open(self.log_path, errors="replace") as f:
            return f.read().replace('\\"', '"')

    def kill9(self):
        self.process.kill()
        self.process.wait()

    def stop(self, timeout=15):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def destroy(self):
        """Stops every job, then the agent, and removes what it left."""
        try:
            for job in self.get("/v1/jobs").json:
                self.request("DELETE", f"/v1/job/{job['ID']}?purge=true")
            wait_until(lambda: all(a["ClientStatus"] in ("complete", "failed", "lost")
                                   for a in self.get("/v1/allocations").json), timeout=15)
        except (OSError, AssertionError, ValueError) as problem:
            print(f"while stopping the jobs: {problem}", file=sys.stderr)
        self.stop()
        clear(self.dir)
        living.discard(self.dir)

    # -- HTTP --------------------------------------------------------------------------------------

    def request(self, method, path, body=None, headers=None, timeout=30):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            if body is not None and not isinstance(body, (str, bytes)):
                body = json.dumps(body)
            tokens = {"X-Nomad-Token": self.token} if self.token else {}
            connection.request(method, path, body, {**tokens, **(headers or {})})
            answer = connection.getresponse()
            return Reply(answer.status, answer.headers, answer.read().decode(errors="replace"))
        finally:
            connection.close()

    def get(self, path, **kwargs):
        return self.request("GET", path, **kwargs)

    def put(self, path, body=None, **kwargs):
        return self.request("PUT", path, body, **kwargs)

    # -- commands ----------------------------------------------------------------------------------

    def run(self, *words, check=False, stdin=None, timeout=60):
        """Runs a nomadctl command against this agent."""
        environment = dict(os.environ, NOMAD_ADDR=f"http://127.0.0.1:{self.port}", TZ="UTC")
        done = subprocess.run([self.binary, *words], input=stdin, capture_output=True, text=True,
                              env=environment, timeout=timeout)
        if check and done.returncode != 0:
            raise AssertionError(f"{words}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    # -- jobs --------------------------------------------------------------------------------------

    def register(self, job):
        answer = self.put("/v1/jobs", {"Job": job})
        assert answer.status == 200, answer
        return answer.json

    def allocs(self, job):
        return self.get(f"/v1/job/{job}/allocations").json

    def starts(self, job):
        """What the tasks "task" of a job have appended to local/pids, by allocation: the pid, a line a start."""
        found = {}
        for alloc in self.allocs(job):
            path = os.path.join(self.data_dir, "alloc", alloc["ID"], "task", "local", "pids")
            if os.path.exists(path):
                with open(path) as f:
                    found[alloc["ID"]] = f.read().split()
        return found

    def wait_for_allocs(self, job, status, count=1, timeout=60):
        def found():
            allocs = [a for a in self.allocs(job) if a["ClientStatus"] == status]
            return allocs if len(allocs) >= count else None
        try:
            return wait_until(found, timeout, what=f"{count} allocation(s) of {job} being {status}")
        except AssertionError as late:
            raise AssertionError(f"{late}; {self.account_of(job)}") from None

    def account_of(self, job):
        """Where a job's way from its registration to its tasks has ended, for whoever reads a failure."""
        def shown(path, *members):
            return [{name: each.get(name) for name in members} for each in self.get(path).json]
        evals = shown(f"/v1/job/{job}/evaluations", "Status", "StatusDescription", "TriggeredBy", "FailedTGAllocs")
        allocs = shown(f"/v1/job/{job}/allocations", "ClientStatus", "DesiredStatus", "TaskStates")
        nodes = shown("/v1/nodes", "Status", "SchedulingEligibility", "Drivers")
        return f"evaluations: {evals}\nallocations: {allocs}\nnodes: {nodes}\nlog: {self.log()[-6000:]}"


class ServiceManager:
    """What systemd is to an agent: a socket that hears what sd_notify tells, and the environment that names it."""

    def __init__(self, folder, watchdog=None):
        self.path = os.path.join(folder, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.environment = {"NOTIFY_SOCKET": self.path}
        if watchdog:
            self.environment["WATCHDOG_USEC"] = str(int(watchdog * 1_000_000))

    def next(self, timeout=60):
        """The next message as its lines' names and values; None if there is none for so long."""
        self.socket.settimeout(timeout)
        try:
            text = self.socket.recv(4096).decode()
        except TimeoutError:
            return None
        return dict(line.split("=", 1) for line in text.splitlines())

    def wait_for(self, name, timeout=60):
        """The next message that has that line, of those there are; others are dropped."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            message = self.next(max(0.01, end - time.monotonic()))
            if message and name in message:
                return message
        raise AssertionError(f"no {name} within {timeout} s")

    def close(self):
        self.socket.close()
        os.remove(self.path)


class Orders:
    """The file by which a running agent is told where to fail."""

    def __init__(self, directory):
        self.path = os.path.join(directory, "failpoints")
        self.say("")

    def say(self, text):
        with open(self.path + ".new", "w") as f:
            f.write(text)
        os.rename(self.path + ".new", self.path)

    def throw_in(self, kind):
        self.say(f"throw_in:{kind}=error@1")

    def start(self, agent):
        os.environ["NOMAD_FAILPOINTS"] = "@" + self.path
        try:
            return agent.start()
        finally:
            del os.environ["NOMAD_FAILPOINTS"]


def job(name, driver="mock_driver", config=None, count=1, kind="service", **group):
    """A small job in API form."""
    return {
        "ID": name, "Name": name, "Type": kind, "Datacenters": ["dc1"],
        "TaskGroups": [dict({
            "Name": "group", "Count": count,
            "EphemeralDisk": {"SizeMB": 10},
            "Tasks": [{"Name": "task", "Driver": driver,
                       "Config": config if config is not None else {"run_for": "1h"},
                       "LogConfig": {"MaxFiles": 2, "MaxFileSizeMB": 2},
                       "Resources": {"CPU": 5, "MemoryMB": 10}}],
        }, **group)],
    }


def shell_job(name, script, **kwargs):
    return job(name, "raw_exec", {"command": "/bin/sh", "args": ["-c", script]}, **kwargs)


class AgentTest(unittest.TestCase):
    """Cases that share one agent."""
    config = ""

    @classmethod
    def setUpClass(cls):
        cls.agent = Agent(cls.config).start()

    @classmethod
    def tearDownClass(cls):
        cls.agent.destroy()


def cases_of(suite):
    return [case for part in suite for case in (cases_of(part) if isinstance(part, unittest.TestSuite) else [part])]


def chosen_cases(suite, words):
    """Those of `suite` whose ids contain the word; the word "2/3" is the second of three shares, so
    that they run side by side."""
    cases = cases_of(suite)
    for word in words:
        share = re.fullmatch(r"(\d+)/(\d+)", word)
        if share:
            number, shares = int(share[1]), int(share[2])
            cases = cases[(number - 1) * len(cases) // shares:number * len(cases) // shares]
        else:
            cases = [case for case in cases if word in case.id()]
    return cases


def main():
    clear_abandoned()
    atexit.register(clear_living)  # for a run that ends early
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    cases = chosen_cases(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]), sys.argv[1:])
    if not cases:
        sys.exit(f"no case is chosen by {sys.argv[1:]}")
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(unittest.TestSuite(cases))
    failed = len(result.failures) + len(result.errors)
    skipped = len(result.skipped)
    print(f"{result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)
