"""What the whole program takes: time, memory and processor of a real agent under real requests."""
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
import harness  # noqa: E402  (the path comes first)
from harness import Agent, job, shell_job, wait_until  # noqa: E402

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
BIG = "client {\n  cpu_total_compute = 10000000\n  memory_total_mb = 10000000\n" \
      "  disk_total_mb = 100000000\n  disk_free_mb = 100000000\n  gc_max_allocs = 100000\n}\n" \
      "limits {\n  http_max_conns_per_client = 2000\n}\n"


def show(name, figure):
    print(f"{name:<58} {figure}", flush=True)


def memory(pid):
    """(resident, private) in MB."""
    text = open(f"/proc/{pid}/smaps_rollup").read()
    field = lambda name: sum(int(n) for n in re.findall(rf"^{name}:\s+(\d+) kB", text, re.M))
    return field("Rss") / 1024, (field("Private_Clean") + field("Private_Dirty")) / 1024


def processor_seconds(pid):
    fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def load(build, agent, connections, seconds, *arguments):
    program = os.path.join(build, "test", "bench", "http_load")
    done = subprocess.run([program, "-c", str(connections), "-t", str(seconds), *arguments[:-1],
                           f"127.0.0.1:{agent.port}", arguments[-1]],
                          capture_output=True, text=True)
    return done.stdout.strip() + done.stderr.strip()[:300]


def start(build):
    times = []
    for _ in range(10):
        agent = Agent(log_level="WARN")
        before = time.monotonic()
        agent.start(wait=False)
        while True:
            try:
                nodes = agent.get("/v1/nodes")
                if nodes.status == 200 and nodes.json and nodes.json[0]["Status"] == "ready":
                    break
            except OSError:
                assert agent.process.poll() is None, agent.log()
            time.sleep(0.001)
        times.append((time.monotonic() - before) * 1000)
        if len(times) == 10:
            time.sleep(3)
            resident, private = memory(agent.process.pid)
            show("idle memory", f"{resident:.1f} MB resident, {private:.1f} MB private")
        agent.destroy()
    show("start to node ready", f"median {statistics.median(times):.0f} ms, worst {max(times):.0f} ms")


def register_until_running(agent, made):
    """Milliseconds from the registration until the job's one allocation is seen running."""
    before = time.monotonic()
    agent.register(made)
    index = 0
    while True:
        reply = agent.get(f"/v1/job/{made['ID']}/allocations?index={index}&wait=2s")
        if any(a["ClientStatus"] == "running" for a in reply.json):
            return (time.monotonic() - before) * 1000
        index = reply.index


def register(build):
    agent = Agent(log_level="WARN").start()
    times = []
    for n in range(30):
        time.sleep(0.3)
        times.append(register_until_running(agent, job(f"one-{n}")))
    show("register to running visible, idle, mock_driver",
         f"median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms")
    agent.destroy()


def one_after_the_other(build, jobs=400):
    """A node that never rests: each job is registered once the one before is seen running."""
    agent = Agent(BIG, log_level="WARN").start()
    times = sorted(register_until_running(agent, job(f"next-{n}")) for n in range(jobs))
    show(f"{jobs} jobs one after the other, each until seen running",
         f"p50 {times[jobs // 2]:.1f} ms, p99 {times[jobs * 99 // 100]:.1f}, worst {times[-1]:.1f}")
    agent.destroy()


def exec_tasks(build):
    """Tasks in namespaces and control groups of their own. Wants root."""
    agent, tasks, times = idle_agent(), 150, []
    command = {"command": "/bin/sh", "args": ["-c", "echo started; exec sleep 100000"]}
    for n in range(20):
        time.sleep(0.3)
        times.append(register_until_running(agent, job(f"alone-{n}", "exec", command)))
    show("register to running visible, idle, exec", f"median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms")
    before = time.monotonic()
    agent.register(job("apart", "exec", command, count=tasks))
    wait_until(lambda: count_running(agent, "apart") >= tasks, timeout=120, interval=0.01)
    took = time.monotonic() - before
    show(f"{tasks} exec tasks with logs until all run", f"{tasks / took:.0f} tasks/s ({took:.2f} s)")
    agent.destroy()


def idle_agent():
    """A large node that has finished its start."""
    agent = Agent(BIG, log_level="WARN").start()
    time.sleep(1.5)
    return agent


def count_running(agent, prefix=""):
    jobs = agent.get(f"/v1/jobs?prefix={prefix}").json
    return sum(g["Running"] for j in jobs for g in (j["JobSummary"]["Summary"] or {}).values())


def many_jobs(build):
    agent = idle_agent()
    body = harness.json.dumps({"Job": job("many-{n}")})
    before = time.monotonic()
    print("   ", load(build, agent, 16, 60, "-n", "500", "-X", "PUT", "-b", body, "/v1/jobs"))
    wait_until(lambda: count_running(agent, "many-") >= 500, timeout=120)
    took = time.monotonic() - before
    show("500 one-task mock_driver jobs until all run", f"{500 / took:.0f} jobs/s ({took:.2f} s)")
    agent.destroy()


def one_big_job(build):
    agent = idle_agent()
    wait = lambda: len(agent.get("/v1/job/big/allocations").json)
    base = memory(agent.process.pid)[1]
    before = time.monotonic()
    eval_id = agent.register(job("big", count=5000))["EvalID"]
    wait_until(lambda: agent.get(f"/v1/evaluation/{eval_id}").json["Status"] == "complete",
               timeout=120, interval=0.005)
    placed = time.monotonic() - before
    assert wait() == 5000
    wait_until(lambda: count_running(agent, "big") >= 5000, timeout=300)
    running = time.monotonic() - before
    show("one job of 5,000 tasks on one node: placed", f"{5000 / placed:.0f}/s ({placed:.2f} s)")
    show("one job of 5,000 tasks on one node: running", f"{5000 / running:.0f}/s ({running:.2f} s)")
    time.sleep(3)
    show("private memory in the agent per allocation",
         f"{(memory(agent.process.pid)[1] - base) * 1024 / 5000:.1f} kB")
    show("GET of an allocation list of 5,000, 4 connections",
         load(build, agent, 4, 3, "/v1/job/big/allocations"))
    agent.destroy()


def thousand_allocations(build):
    agent = idle_agent()
    agent.register(job("list", count=1000))
    wait_until(lambda: count_running(agent, "list") >= 1000, timeout=120)
    resident = memory(agent.process.pid)[1]
    show("GET of 1,000 allocations, 4 connections", load(build, agent, 4, 5, "/v1/allocations"))
    show("  private memory before and after",
         f"{resident:.1f} MB, {memory(agent.process.pid)[1]:.1f} MB")
    agent.destroy()


def single_reads(build):
    agent = idle_agent()
    agent.register(job("web", count=3))
    agent.wait_for_allocs("web", "running", 3, timeout=30)
    alloc = agent.allocs("web")[0]["ID"]
    for what, path in (("the leader", "/v1/status/leader"), ("a job", "/v1/job/web"),
                       ("an allocation", f"/v1/allocation/{alloc}")):
        show(f"GET of {what}, 16 connections", load(build, agent, 16, 5, path))
    agent.destroy()


def watchers(build):
    """Blocking queries that one write wakes: their memory, and when the last one is answered."""
    count, agent = 1000, idle_agent()
    watched, late, held = job("watched", count=0), [], []
    for n in range(5):
        agent.register(dict(watched, Meta={"n": str(n)}))
        time.sleep(2.5)
        before = memory(agent.process.pid)[1]
        index = agent.get("/v1/job/watched").index
        program = os.path.join(build, "test", "bench", "http_load")
        clients = subprocess.Popen(
            [program, "-l", "-c", str(count), "-n", str(count), "-t", "30",
             f"127.0.0.1:{agent.port}", f"/v1/job/watched?index={index}&wait=60s"],
            stdout=subprocess.PIPE, text=True)
        time.sleep(2)
        held.append((memory(agent.process.pid)[1] - before) * 1024 / count)
        assert clients.poll() is None, "the queries did not wait"
        written = time.monotonic()
        agent.register(dict(watched, Meta={"n": f"{n} again"}))
        last = float(clients.communicate()[0])
        assert clients.returncode == 0
        late.append((last - written) * 1000)
    show("1,000 blocking queries woken by one write, the last",
         f"median {statistics.median(late):.1f} ms, worst {max(late):.1f} ms after the write was sent")
    show("  private memory of each while it waits", f"median {statistics.median(held):.1f} kB")
    agent.destroy()


def writes(build):
    agent = idle_agent()
    parameterized = dict(job("p-{n}", kind="batch"), ParameterizedJob={"Payload": "optional"})
    for what, body in (("parameterized jobs (no evaluation)", parameterized),
                       ("jobs with count 0 (one evaluation each)", job("w-{n}", count=0))):
        text = harness.json.dumps({"Job": body})
        for connections in (1, 16, 64):
            request = ["-X", "PUT", "-b", text, "/v1/jobs"]
            line = load(build, agent, connections, 5, *request)
            show(f"registrations of {what}, {len(text)} bytes, {connections} connections", line)
            rate = float(line.split()[0])
            show("  at half that rate", load(build, agent, connections, 5, "-r", str(rate / 2), *request))
    agent.destroy()


def helpers_of(agent):
    """The processes beside the agent and the tasks that hold files of the agent's directory open."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            name = open(f"/proc/{pid}/comm").read().strip()
            files = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
        except OSError:
            continue
        if name != "sleep" and int(pid) != agent.process.pid \
                and any(f.startswith(agent.dir) for f in files):
            found.append(int(pid))
    return found


def raw_exec(build):
    agent = Agent(BIG, log_level="WARN").start()
    tasks = 200
    agent.register(shell_job("sleepers", "exec sleep 100000", count=tasks))
    agent.wait_for_allocs("sleepers", "running", tasks, timeout=120)
    time.sleep(3)
    helpers = helpers_of(agent)
    figures = [memory(pid) for pid in helpers] or [(0, 0)]
    show("helper processes for 200 raw_exec tasks",
         f"{len(helpers)}; each {statistics.mean(r for r, _ in figures):.2f} MB resident, "
         f"{statistics.mean(p for _, p in figures):.2f} MB private")
    pids = [agent.process.pid, *helpers]
    before = sum(processor_seconds(p) for p in pids)
    time.sleep(20)
    used = sum(processor_seconds(p) for p in pids) - before
    show("idle processor time with 200 raw_exec tasks, helpers included",
         f"{100 * used / 20:.2f} % of a core")
    ids = [a["ID"] for a in agent.allocs("sleepers")]
    agent.kill9()
    before = time.monotonic()
    agent.start(wait=False)
    for alloc in ids:
        wait_until(lambda: is_attached(agent, alloc), timeout=60, interval=0.002)
    show("restart of the agent until 200 tasks are attached again",
         f"{time.monotonic() - before:.2f} s")
    agent.destroy()


def is_attached(agent, alloc):
    """Whether the agent knows the task's processes: it answers with their statistics."""
    try:
        reply = agent.get(f"/v1/client/allocation/{alloc}/stats")
    except OSError:
        assert agent.process.poll() is None, agent.log()
        return False
    return reply.status == 200 and bool(reply.json.get("Tasks"))


def logging_tasks(build):
    """Real processes that write a line: from the registration until all run, and their lines are there."""
    tasks, agent = 400, idle_agent()
    before = time.monotonic()
    agent.register(shell_job("logging", "echo started; exec sleep 100000", count=tasks))
    wait_until(lambda: count_running(agent, "logging") >= tasks, timeout=120, interval=0.01)
    took = time.monotonic() - before
    logs = os.path.join(agent.data_dir, "alloc", "{}", "alloc", "logs", "task.stdout.0")
    paths = [logs.format(alloc["ID"]) for alloc in agent.allocs("logging")]
    wait_until(lambda: all(os.path.exists(path) and os.path.getsize(path) for path in paths), timeout=30)
    show(f"{tasks} raw_exec tasks with logs until all run", f"{tasks / took:.0f} tasks/s ({took:.2f} s)")
    agent.destroy()


def dispatches(build):
    count, agent = 1000, idle_agent()
    agent.register(dict(job("worker", config={"run_for": "0s"}, kind="batch"),
                        ParameterizedJob={"Payload": "optional"}))
    before = time.monotonic()
    print("   ", load(build, agent, 16, 60, "-n", str(count), "-X", "PUT", "-b", "{}",
                      "/v1/job/worker/dispatch"))

    def done():
        summary = agent.get("/v1/job/worker/summary").json["Children"]
        return summary["Dead"] >= count
    wait_until(done, timeout=120, interval=0.01)
    took = time.monotonic() - before
    complete = sum(a["ClientStatus"] == "complete" for a in agent.get("/v1/allocations").json)
    assert complete == count, f"{complete} of {count} are complete"
    show(f"{count} dispatched jobs until all are done", f"{count / took:.0f} jobs/s ({took:.2f} s)")
    agent.destroy()


def idle_tasks(build):
    tasks, agent = 500, idle_agent()
    agent.register(shell_job("idle", "exec sleep 100000", count=tasks))
    agent.wait_for_allocs("idle", "running", tasks, timeout=120)
    time.sleep(15)  # until their health is known
    before = processor_seconds(agent.process.pid)
    time.sleep(60)
    used = processor_seconds(agent.process.pid) - before
    show(f"idle processor time of the agent with {tasks} raw_exec tasks", f"{100 * used / 60:.2f} % of a core")
    agent.destroy()


def templated(name, path, count, mode, **terms):
    """A job of `count` mock tasks, each with a file that follows the variable."""
    made = job(name, count=count)
    made["TaskGroups"][0]["Tasks"][0]["Templates"] = [dict({
        "EmbeddedTmpl": '{{ with nomadVar "%s" }}{{ .value }}{{ end }}' % path, "DestPath": "local/app.conf",
        "ChangeMode": mode, "Splay": 0, "Wait": {"Min": 0, "Max": 0}}, **terms)]
    return made


def put_variable(agent, path, value):
    answer = agent.put(f"/v1/var/{path}", {"Items": {"value": value}})
    assert answer.status == 200, answer


def files_of(agent, name):
    return [os.path.join(agent.data_dir, "alloc", alloc["ID"], "task", "local", "app.conf")
            for alloc in agent.allocs(name)]


def holds(path, value):
    try:
        with open(path) as f:
            return f.read() == value
    except FileNotFoundError:
        return False


def template_changes(agent):
    """From the write of a variable to the file, and to the signal that the task hears."""
    put_variable(agent, "bench/one", "0")
    made = templated("follower", "bench/one", 1, "signal", ChangeSignal="SIGHUP")
    task = made["TaskGroups"][0]["Tasks"][0]
    task["Driver"] = "raw_exec"
    task["Config"] = {"command": "/usr/bin/python3", "args": ["-c", (
        "import os, signal, time\n"
        "def heard(*_):\n"
        "    os.close(os.open('local/heard.' + open('local/app.conf').read(), os.O_CREAT))\n"
        "signal.signal(signal.SIGHUP, heard)\n"
        "open('local/ready', 'w').close()\n"
        "while True: time.sleep(1000)\n")]}
    agent.register(made)
    agent.wait_for_allocs("follower", "running")
    path = files_of(agent, "follower")[0]
    place = os.path.dirname(path)
    wait_until(lambda: os.path.exists(place + "/ready"))
    to_file, to_signal = [], []
    for number in range(1, 51):
        time.sleep(0.3)
        before = time.monotonic()
        put_variable(agent, "bench/one", str(number))
        wait_until(lambda n=number: holds(path, str(n)), interval=0.001)
        to_file.append((time.monotonic() - before) * 1000)
        wait_until(lambda n=number: os.path.exists(f"{place}/heard.{n}"), interval=0.001)
        to_signal.append((time.monotonic() - before) * 1000)
    for what, times in (("file", to_file), ("signal", to_signal)):
        show(f"a variable's change to the {what}, idle",
             f"median {statistics.median(times):.1f} ms, worst {max(times):.1f} ms")
    agent.request("DELETE", "/v1/job/follower?purge=true")


def template_crowd(agent):
    """200 files of one variable."""
    count = 200
    put_variable(agent, "bench/crowd", "0")
    agent.register(templated("crowd", "bench/crowd", count, "noop"))
    agent.wait_for_allocs("crowd", "running", count, timeout=120)
    paths = files_of(agent, "crowd")
    took, used = [], []
    for number in range(1, 11):
        time.sleep(1)
        cpu, before = processor_seconds(agent.process.pid), time.monotonic()
        put_variable(agent, "bench/crowd", str(number))
        left = paths
        while left:
            left = [path for path in left if not holds(path, str(number))]
            assert time.monotonic() - before < 30, f"{len(left)} of {count} are old"
        took.append(time.monotonic() - before)
        used.append(processor_seconds(agent.process.pid) - cpu)
    show(f"one change to {count} files of as many tasks",
         f"median {1000 * statistics.median(took):.0f} ms, {statistics.median(used):.2f} core-s")
    agent.request("DELETE", "/v1/job/crowd?purge=true")


def weight_of(made, seconds):
    """(private kB, % of a core) of an agent of its own for the job's tasks, while nothing changes."""
    count = made["TaskGroups"][0]["Count"]
    agent = idle_agent()
    try:
        put_variable(agent, "bench/idle", "0")
        time.sleep(10)
        start = memory(agent.process.pid)[1]
        agent.register(made)
        agent.wait_for_allocs(made["ID"], "running", count, timeout=300)
        time.sleep(30)
        before = processor_seconds(agent.process.pid)
        time.sleep(seconds)
        used = 100 * (processor_seconds(agent.process.pid) - before) / seconds
        return (memory(agent.process.pid)[1] - start) * 1024, used
    finally:
        agent.destroy()


def template_weight(seconds=60):
    """What 1,000 files cost while nothing changes, beside as many tasks without."""
    count, figures = 1000, []
    for with_template in (False, True):
        made = templated("weight", "bench/idle", count, "noop")
        if not with_template:
            made["TaskGroups"][0]["Tasks"][0]["Templates"] = None
        figures.append(weight_of(made, seconds))
        show(f"1,000 mock tasks {'with' if with_template else 'without'} a template, idle",
             f"{figures[-1][0] / count:.1f} kB private each, {figures[-1][1]:.2f} % of a core")
    (plain, idle), (with_one, used) = figures
    show("a template, idle", f"{(with_one - plain) / count:.1f} kB; 1,000 of them {used - idle:.2f} % of a core")


def templates(build):
    agent = Agent(BIG, log_level="WARN").start()
    try:
        template_changes(agent)
        template_crowd(agent)
    finally:
        agent.destroy()
    template_weight()


SCENARIOS = [start, register, one_after_the_other, many_jobs, one_big_job, thousand_allocations, single_reads,
             watchers, writes, raw_exec, exec_tasks, logging_tasks, dispatches, idle_tasks, templates]


def run(build, only):
    """All scenarios, or those in `only`. NOMADCTL_COMPARE names another program that takes the same
    configuration and API, which is measured in our place."""
    harness.BINARY = os.environ.get("NOMADCTL_COMPARE") or os.path.join(build, "nomadctl")
    if "NOMADCTL_COMPARE" in os.environ:
        harness.MORE_CONFIG = 'advertise {\n  http = "127.0.0.1"\n  rpc = "127.0.0.1"\n' \
                              '  serf = "127.0.0.1"\n}\n'
    print(f"== agent {harness.BINARY}", flush=True)
    for scenario in SCENARIOS:
        if only and scenario.__name__ not in only:
            continue
        try:
            scenario(build)
        except (AssertionError, OSError) as problem:
            show(scenario.__name__, f"failed: {str(problem)[:300]}")
