"""What was acknowledged stays, or the agent says what is damaged: flipped bits in every file that it
keeps, a full disk, and who may look into its directories."""
import contextlib
import os
import resource
import shutil
import subprocess
import unittest

import cluster
import harness
from harness import Agent, job, shell_job, wait_until

FLIPS = 6  # in each file; test/unit/runtime/storage/damage_test.cpp flips many more
MIB = 1 << 20


def settle(agent):
    """Starts the agent; True when it is up, False when it has refused to."""
    agent.start(wait=False)
    return wait_until(lambda: "no" if agent.process.poll() is not None else agent.is_ready() and "yes",
                      what="the agent's start or end") == "yes"


class Damage(unittest.TestCase):
    """One flipped bit at a time, in copies of what a killed agent has left."""

    @classmethod
    def setUpClass(cls):
        cls.agent = Agent().start()
        cls.addClassCleanup(cls.agent.destroy)
        for number in range(40):
            cls.agent.register(job(f"job-{number}", count=0))
            if number == 20:  # a part of them is in it, the others are in the log alone
                assert cls.agent.get("/v1/operator/snapshot").status == 200
        cls.agent.put("/v1/var/a/secret", {"Path": "a/secret", "Items": {"key": "value"}})
        cls.agent.register(job("runs"))
        cls.agent.wait_for_allocs("runs", "running")
        cls.node = cls.agent.get("/v1/nodes").json[0]["ID"]
        cls.allocs = {a["ID"] for a in cls.agent.get("/v1/allocations").json}
        cls.agent.kill9()
        cls.sound = os.path.join(cls.agent.dir, "sound")
        shutil.copytree(cls.agent.data_dir, cls.sound, ignore=shutil.ignore_patterns("api.sock"))  # which no copy can be made of

    def put_back(self):
        shutil.rmtree(self.agent.data_dir)
        shutil.copytree(self.sound, self.agent.data_dir)

    def files(self):
        for folder, _, names in os.walk(self.sound):
            relative = os.path.relpath(folder, self.sound)
            if relative.split(os.sep)[0] == "alloc":
                continue  # the tasks' own
            for name in names:
                # One holds a number for messages only, the other nothing at all.
                if name != "agent.lock" and not name.endswith(".reserve"):
                    yield os.path.normpath(os.path.join(relative, name))

    def check_complete(self):
        self.assertEqual({f"job-{n}" for n in range(40)} | {"runs"},
                         {j["ID"] for j in self.agent.get("/v1/jobs").json})
        self.assertEqual("value", self.agent.get("/v1/var/a/secret").json["Items"]["key"])
        self.assertEqual([self.node], [n["ID"] for n in self.agent.get("/v1/nodes").json])
        self.assertLessEqual(self.allocs, {a["ID"] for a in self.agent.get("/v1/allocations").json})

    def check_flip(self, file, offset, bit):
        self.put_back()
        with open(os.path.join(self.agent.data_dir, file), "r+b") as f:
            f.seek(offset)
            byte = f.read(1)[0]
            f.seek(offset)
            f.write(bytes([byte ^ 1 << bit]))
        before = len(self.agent.log())
        try:
            if settle(self.agent):
                self.check_complete()
                return True
            said = self.agent.log()[before:]
            self.assertIn(os.path.basename(file), said, said)
            return False
        finally:
            if self.agent.process.poll() is None:
                self.agent.kill9()

    def test_every_file(self):
        outcomes = {}
        for file in sorted(self.files()):
            size = os.path.getsize(os.path.join(self.sound, file))
            offsets = sorted({size * n // FLIPS + n % 3 for n in range(FLIPS)} | {size - 1})
            for offset in (o for o in offsets if 0 <= o < size):
                with self.subTest(file=file, offset=offset):
                    complete = self.check_flip(file, offset, offset % 8)
                    outcomes.setdefault(file, []).append(complete)
        for file, complete in outcomes.items():
            print(f"{file}: {complete.count(True)} complete, {complete.count(False)} refused")
        self.assertTrue(any(False in complete for complete in outcomes.values()))
        self.put_back()
        self.agent.start()
        self.check_complete()
        self.agent.kill9()

    def test_the_only_copy(self):
        """Of a log without its mark: the operator may say that there is no better one."""
        self.put_back()
        raft = os.path.join(self.agent.data_dir, "server", "raft")
        os.remove(os.path.join(raft, "raft.db.mark"))
        before = len(self.agent.log())
        self.assertFalse(settle(self.agent))
        self.assertIn("accept-log-as-is", self.agent.log()[before:])
        accepts = os.path.join(raft, "accept-log-as-is")
        open(accepts, "w", encoding="utf-8").close()
        self.agent.start()
        self.check_complete()
        self.assertFalse(os.path.exists(accepts))
        self.agent.kill9()
        self.agent.start()
        self.check_complete()
        self.agent.kill9()


def mount_disk(test, directory):
    """A small disk of its own for an agent's data, while the test runs."""
    os.makedirs(directory)
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128m,mode=0711", "tmpfs", directory],
                           capture_output=True, check=False)
    if mount.returncode != 0:
        test.skipTest("no disk of its own can be mounted")
    test.addCleanup(subprocess.run, ["umount", "-l", directory], check=False)


def fill_disk(directory):
    """Leaves nothing of the disk; names the file that takes it."""
    filler = os.path.join(directory, "filler")
    with open(filler, "wb", buffering=0) as f:
        for size in (MIB, 4096):
            try:
                while True:
                    f.write(b"x" * size)
            except OSError:
                pass
    return filler


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.agent = Agent()
        mount_disk(self, self.agent.data_dir)
        self.addCleanup(self.agent.stop)
        self.agent.start()

    def fill(self):
        self.filler = fill_disk(self.agent.data_dir)

    def register(self, number):
        return self.agent.put("/v1/jobs", {"Job": dict(job(f"job-{number}", count=0),
                                                       Meta={"padding": "x" * 10_000})})

    def read_only_gauge(self):
        gauges = self.agent.get("/v1/metrics").json["Gauges"]
        return [g["Value"] for g in gauges if g["Name"].endswith("raft.read_only")]

    def jobs(self):
        return {j["ID"] for j in self.agent.get("/v1/jobs").json}

    def test_read_only_until_there_is_room(self):
        written = set()
        self.assertEqual(200, self.register(0).status)
        written.add("job-0")
        self.fill()
        refused = None
        for number in range(1, 3000):
            answer = self.register(number)
            if answer.status != 200:
                refused = answer
                break
            written.add(f"job-{number}")
        self.assertIsNotNone(refused)
        self.assertEqual(429, refused.status, refused)
        self.assertIn("read-only: no space left", refused.body)
        self.assertLessEqual(written, self.jobs())
        health = self.agent.get("/v1/agent/health?type=server")
        self.assertEqual(500, health.status)
        self.assertIn("read-only: no space left", health.body)
        self.assertEqual([1], self.read_only_gauge())
        self.assertEqual(1, self.agent.log().count("ALARM: server"))

        os.unlink(self.filler)
        wait_until(lambda: self.register(9000).status == 200, what="the server's taking writes")
        written.add("job-9000")
        self.assertEqual(200, self.agent.get("/v1/agent/health?type=server").status)
        self.assertEqual([0], self.read_only_gauge())
        self.agent.kill9()
        self.agent.start()
        self.assertLessEqual(written, self.jobs())

    def test_starts_on_a_full_disk(self):
        self.assertEqual(200, self.register(0).status)
        self.fill()
        self.agent.kill9()
        self.agent.start(wait=False)
        wait_until(lambda: "ALARM: server" in self.agent.log(), what="the alarm")
        wait_until(lambda: "job-0" in self.jobs_if_up(), what="reads")
        self.assertEqual(429, self.register(1).status)
        os.unlink(self.filler)
        wait_until(lambda: self.register(2).status == 200, what="the server's taking writes")

    def test_a_limit_of_file_sizes_ends_the_agent_with_a_reason(self):
        pid = self.agent.process.pid
        largest = max(os.path.getsize(os.path.join(where, name))
                      for where, _, names in os.walk(self.agent.data_dir) for name in names)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (largest + MIB, resource.RLIM_INFINITY))
        written = set()
        with contextlib.suppress(OSError):
            for number in range(3000):
                if self.register(number).status == 200:
                    written.add(f"job-{number}")
        try:
            self.assertEqual(1, self.agent.process.wait(60))  # not by SIGXFSZ
        except subprocess.TimeoutExpired:
            self.fail(f"it runs on, {len(written)} jobs were taken:\n{self.agent.log()[-3000:]}")
        self.assertIn('stopping: error="cannot write the log', self.agent.log())
        self.agent.start()
        self.assertLessEqual(written, self.jobs())

    def jobs_if_up(self):
        try:
            answer = self.agent.get("/v1/jobs?stale")
            return {j["ID"] for j in answer.json} if answer.status == 200 else set()
        except OSError:
            return set()


class FullDiskOfOneInThree(unittest.TestCase):
    """The others go on, whichever it is, and it catches up when it has room again."""

    def setUp(self):
        self.group = cluster.Cluster()
        self.addCleanup(self.group.destroy)
        for server in self.group.servers:
            mount_disk(self, self.data(server))
        self.group.start()
        self.leader = self.group.leader()
        self.written = set()
        self.number = 0
        self.write(self.leader)

    def data(self, server):
        return os.path.join(server.dir, "data")

    def write(self, server):
        """A job through that server; its answer, or None when the connection broke."""
        self.number += 1
        body = cluster.small_job(f"job-{self.number}")
        body["Job"]["Meta"] = {"padding": "x" * 10_000}
        try:
            answer = server.request("PUT", "/v1/jobs", body)
        except OSError:
            return None
        if answer.status == 200:
            self.written.add(f"job-{self.number}")
        return answer

    def is_read_only(self, server):
        answer = server.request("GET", "/v1/agent/health?type=server")
        return answer.status == 500 and "read-only: no space left" in answer.body

    def write_until_read_only(self, server):
        for _ in range(3000):
            for each in self.group.running():
                self.write(each)
            if self.is_read_only(server):
                return
        self.fail(f"{server.name} does not notice that its disk is full")

    def write_on(self, count):
        """Every server takes writes, as soon as each knows who leads."""
        for server in self.group.running():
            wait_until(lambda s=server: (answer := self.write(s)) and answer.status == 200, timeout=30,
                       what=f"a write through {server.name}")
        for _ in range(count):
            for server in self.group.running():
                answer = self.write(server)
                self.assertEqual(200, answer.status, answer)

    def jobs(self, server):
        return {job["ID"] for job in server.try_get("/v1/jobs?stale") or []}

    def check_all_have_everything(self):
        for server in self.group.servers:
            wait_until(lambda s=server: self.jobs(s) >= self.written, timeout=60,
                       what=f"every acknowledged job on {server.name}")

    def check_after_a_power_cut(self):
        for server in self.group.running():
            server.kill9()
        self.group.start()
        self.group.leader(timeout=60)
        self.check_all_have_everything()

    def test_of_the_leader(self):
        filler = fill_disk(self.data(self.leader))
        self.write_until_read_only(self.leader)
        wait_until(lambda: self.group.leader_now() not in (None, self.leader), timeout=30, what="another leader")
        self.write_on(50)
        self.assertIn("ALARM: server", self.leader.log())
        self.assertTrue(self.is_read_only(self.leader))
        self.assertIsNot(self.leader, self.group.leader())
        os.unlink(filler)
        wait_until(lambda: not self.is_read_only(self.leader), timeout=30, what="room")
        self.check_all_have_everything()
        self.check_after_a_power_cut()

    def test_of_a_follower(self):
        full = next(server for server in self.group.servers if server is not self.leader)
        filler = fill_disk(self.data(full))
        self.write_until_read_only(full)
        self.write_on(50)
        self.assertIs(self.leader, self.group.leader(), "what a follower lacks is no reason for another leader")
        # Beyond its reserve it has no room even for the log: it waits, and the others are the quorum.
        full_log = os.path.join(self.data(full), "server", "raft")
        self.assertNotIn("raft.db.reserve", os.listdir(full_log))
        self.write_on(600)
        os.unlink(filler)
        wait_until(lambda: not self.is_read_only(full), timeout=30, what="room")
        self.check_all_have_everything()
        self.check_after_a_power_cut()

    def test_of_one_that_the_quorum_needs(self):
        full = next(server for server in self.group.servers if server is not self.leader)
        fill_disk(self.data(full))
        self.write_until_read_only(full)
        self.leader.kill9()
        self.write_on(50)
        self.assertIsNot(full, self.group.leader())
        self.assertTrue(self.is_read_only(full))
        self.check_of(full)

    def check_of(self, server):
        wait_until(lambda: self.jobs(server) >= self.written, timeout=60, what="every acknowledged job")


class Modes(unittest.TestCase):
    def mode(self, *names):
        return os.stat(os.path.join(self.agent.data_dir, *names)).st_mode & 0o777

    def start(self, made_before=None):
        self.agent = Agent()
        self.addCleanup(self.agent.destroy)
        os.chmod(self.agent.dir, 0o711)
        if made_before is not None:
            os.makedirs(os.path.join(self.agent.data_dir, "client"))
            os.makedirs(os.path.join(self.agent.data_dir, "server"))
            os.chmod(self.agent.data_dir, made_before)
        self.agent.start()

    def check_private(self):
        for folder in ("server", "client"):
            self.assertEqual(0o700, self.mode(folder), folder)
        for file in ("server/raft/raft.db", "server/raft/raft.db-wal", "server/raft/raft.db.mark",
                     "client/identity", "client/state.db", "client/state.db-wal", "client/state.db.mark", "agent.lock"):
            self.assertEqual(0o600, self.mode(file), file)

    def test_new_directory(self):
        self.start()
        self.assertEqual(0o711, self.mode())
        self.assertEqual(0o711, self.mode("alloc"))
        self.check_private()

    def test_directory_of_others(self):
        self.start(made_before=0o755)
        self.assertEqual(0o755, self.mode())
        self.check_private()

    def test_task_of_another_user(self):
        if os.getuid() != 0:
            self.skipTest("only root runs tasks of other users")
        self.start()
        state = os.path.join(self.agent.data_dir, "client", "state.db")
        tasks = shell_job("other", f"cat {state} && exit 3; ls {self.agent.data_dir} && exit 4; "
                          "id -un > local/who", kind="batch")
        tasks["TaskGroups"][0]["Tasks"][0]["User"] = "nobody"
        self.agent.register(tasks)
        alloc = self.agent.wait_for_allocs("other", "complete")[0]
        with open(os.path.join(self.agent.data_dir, "alloc", alloc["ID"], "task/local/who")) as f:
            self.assertEqual("nobody", f.read().strip())


if __name__ == "__main__":
    harness.main()
