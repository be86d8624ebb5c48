"""`nomadctl dev`: a job on an agent of its own, its lines, saves, mistakes, and the ends of it."""
import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import harness
from harness import wait_until

JOB = """
job "tried" {
  type = "%s"
  group "g" {
    restart {
      attempts = 0
      mode     = "fail"
    }
    reschedule {
      attempts  = 0
      unlimited = false
    }
    task "t" {
      driver       = "raw_exec"
      kill_timeout = "30s"
      config {
        command = "/bin/sh"
        args    = ["-c", "%s"]
      }
      resources {
        cpu    = 10
        memory = 16
      }
    }
  }
}
"""


def parent_of(pid):
    with open(f"/proc/{pid}/stat") as f:
        return int(f.read().rpartition(")")[2].split()[1])


class Dev:
    """One run of the command, with what it has printed."""

    def __init__(self, text, *flags):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "tried.nomad.hcl")
        self.save(text)
        self.process = subprocess.Popen([harness.BINARY, "dev", *flags, self.path], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = []
        self.reads_on = True
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if not self.reads_on:
                return self.process.stdout.close()

    def save(self, text):
        """As editors do: another file in its place."""
        with open(self.path + ".new", "w") as f:
            f.write(text)
        os.rename(self.path + ".new", self.path)

    def expect(self, part, count=1):
        wait_until(lambda: sum(part in line for line in self.lines) >= count or self.process.poll() is not None, what=part)
        if sum(part in line for line in self.lines) < count:
            raise AssertionError(f"{part!r} is not in {self.lines}")

    def agent_words(self):
        """The command line of its agent."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    words = f.read().decode(errors="replace").split("\0")
                if "-dev" in words and parent_of(pid) == self.process.pid:
                    return words
        return []

    def directories(self):
        """Where its agent keeps its state and its allocations."""
        return [word.split("=", 1)[1] for word in self.agent_words() if word.startswith(("-data-dir=", "-alloc-dir="))]

    def end(self, *signals):
        for number in signals:
            self.process.send_signal(number)
        code = self.process.wait(60)
        self.reader.join(10)
        return code

    def destroy(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)
        self.reader.join(10)
        self.process.stdout.close()
        self.folder.cleanup()


class DevTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Runs beside others: nobody is to get the usual ports, which two could find free.
        cls.held = socket.socket()
        with contextlib.suppress(OSError):
            cls.held.bind(("127.0.0.1", 4646))
            cls.held.listen()

    @classmethod
    def tearDownClass(cls):
        cls.held.close()

    def dev(self, text, *flags):
        made = Dev(text, *flags)
        self.addCleanup(made.destroy)
        return made

    def test_once_it_ends_with_the_job(self):
        for script, code, told in (("echo out; echo err >&2", 0, "==> t: Terminated: Exit Code: 0"),
                                   ("echo out; echo err >&2; exit 3", 1, "==> t: Terminated: Exit Code: 3")):
            with self.subTest(script=script):
                run = self.dev(JOB % ("batch", script), "-once")
                self.assertEqual(code, run.end(), run.lines)
                for line in ("t | out", "t | err", told):
                    self.assertIn(line, run.lines)
                self.assertEqual([], run.agent_words())

    def test_a_save_runs_the_job_anew_and_ctrl_c_ends_all(self):
        run = self.dev(JOB % ("service", "echo first; exec sleep 4242.5"))
        run.expect("t | first")
        directories = run.directories()
        self.assertEqual([True, True], [os.path.isdir(path) for path in directories])
        run.save(JOB % ("service", "echo second; exec sleep 4242.5"))
        run.expect("t | second")
        self.assertEqual(1, sum("t | first" in line for line in run.lines), run.lines)

        run.save(JOB % ("service", "echo third; exec sleep 4242.5") + "}")
        run.expect("tried.nomad.hcl:")
        self.assertNotIn("t | third", run.lines)
        run.save(JOB % ("service", "echo third; exec sleep 4242.5"))
        run.expect("t | third")

        self.assertEqual(0, run.end(signal.SIGINT), run.lines)
        self.assertEqual([False, False], [os.path.exists(path) for path in directories])
        self.assertEqual(0, self.sleepers())

    @staticmethod
    def sleepers():
        count = 0
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                with open(f"/proc/{pid}/cmdline", "rb") as f:
                    count += f.read() == b"sleep\x004242.5\x00"
        return count

    def test_a_second_signal_kills_what_does_not_end(self):
        run = self.dev(JOB % ("service", "trap : INT TERM; echo up; while :; do sleep 0.1; done"))
        run.expect("t | up")
        begun = time.monotonic()
        run.process.send_signal(signal.SIGINT)
        time.sleep(0.5)  # of the same signal twice at once one might be lost
        self.assertEqual(0, run.end(signal.SIGINT), run.lines)
        self.assertLess(time.monotonic() - begun, 25, "kill_timeout is 30 s")

    def test_it_goes_on_when_nobody_reads(self):
        run = self.dev(JOB % ("service", "echo up; while sleep 0.1; do echo more; done"))
        run.expect("t | up")
        directories = run.directories()
        run.reads_on = False
        run.reader.join(10)
        self.assertTrue(run.process.stdout.closed)
        with self.assertRaises(subprocess.TimeoutExpired):
            run.process.wait(1)
        self.assertEqual(0, run.end(signal.SIGINT))
        self.assertEqual([False, False], [os.path.exists(path) for path in directories])

    def test_what_cannot_be_placed_is_explained(self):
        run = self.dev((JOB % ("service", "true")).replace("memory = 16", "memory = 99000000"))
        run.expect('==> Group "g": 1 allocation can\'t be placed')
        run.expect("99000000 MiB of memory are asked for")
        self.assertEqual(0, run.end(signal.SIGTERM))

    def test_jobs_say_where_they_run(self):
        text = (JOB % ("batch", "echo $NOMAD_NAMESPACE $NOMAD_DC $NOMAD_REGION")).replace(
            'type = "batch"', 'type = "batch"\n  namespace = "ops"\n  datacenters = ["east"]\n  region = "eu"')
        run = self.dev(text, "-once")
        self.assertEqual(0, run.end(), run.lines)
        self.assertIn("t | ops east eu", run.lines)

    def test_mistakes(self):
        with self.subTest("a file with a mistake starts nothing"):
            run = self.dev("job {")
            self.assertEqual(1, run.end())
            self.assertIn("Error getting job struct", run.lines[0])
        with self.subTest("a job that the agent refuses"):
            run = self.dev((JOB % ("batch", "true")).replace('type = "batch"', 'type = "batch"\n  namespace = "a b"'), "-once")
            self.assertEqual(1, run.end())
            run.expect("Error creating the job's namespace: Unexpected response code: 400")
        with self.subTest("an agent that does not start"):
            run = self.dev(JOB % ("batch", "true"), "-log-level=loud")
            self.assertEqual(1, run.end())
            run.expect("==> The agent has ended: ")


if __name__ == "__main__":
    harness.main()
