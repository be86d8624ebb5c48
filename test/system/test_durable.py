"""What was acknowledged stays, or the agent says what is damaged: flipped bits in every file that it
keeps, a full disk, and who may look into its directories."""
import os
import shutil
import subprocess
import unittest

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
        shutil.copytree(cls.agent.data_dir, cls.sound)

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


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.agent = Agent()
        os.makedirs(self.agent.data_dir)
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=128m,mode=0711", "tmpfs",
                                self.agent.data_dir], capture_output=True, check=False)
        if mount.returncode != 0:
            self.skipTest("no disk of its own can be mounted")
        self.addCleanup(subprocess.run, ["umount", "-l", self.agent.data_dir], check=False)
        self.addCleanup(self.agent.stop)
        self.agent.start()

    def fill(self):
        """Leaves nothing of the disk."""
        self.filler = os.path.join(self.agent.data_dir, "filler")
        with open(self.filler, "wb", buffering=0) as f:
            for size in (MIB, 4096):
                try:
                    while True:
                        f.write(b"x" * size)
                except OSError:
                    pass

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

    def jobs_if_up(self):
        try:
            answer = self.agent.get("/v1/jobs?stale")
            return {j["ID"] for j in answer.json} if answer.status == 200 else set()
        except OSError:
            return set()


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
                     "client/state.db", "client/state.db-wal", "client/state.db.mark", "agent.lock"):
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
