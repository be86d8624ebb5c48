"""Completion as shells ask for it: the line in the environment, and through bash, zsh and fish themselves."""
import os
import pty
import select
import shutil
import signal
import socket
import subprocess
import time
import unittest

import harness
from harness import BINARY, shell_job

SCRIPTS = os.path.join(harness.ROOT, "cli", "install", "completion")
ZSH_STARTS = "fpath=($SCRIPTS $fpath); autoload -U compinit; compinit -u -D; PS1='ready%% '\n"


class Terminal:
    """A program at a terminal of its own."""

    def __init__(self, words, environment, folder):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, environment)

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, text, timeout=60):
        """Until it shows that; what it showed before is dropped."""
        end = time.monotonic() + timeout
        while text not in self.seen:
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"no {text!r} within {timeout} s, but {self.seen!r}")
            self.seen += os.read(self.fd, 65536).decode(errors="replace")
        self.seen = self.seen.split(text, 1)[1]

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


class CompletionTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.agent = harness.Agent()
        cls.addClassCleanup(cls.agent.destroy)
        cls.agent.start()
        cls.agent.register(shell_job("web-front", "exec sleep 1000"))
        cls.agent.wait_for_allocs("web-front", "running")
        cls.alloc = cls.agent.allocs("web-front")[0]["ID"]
        cls.agent.run("var", "put", "-out", "none", "app/secret", "a=b", check=True)
        cls.home = os.path.join(cls.agent.dir, "home")
        os.makedirs(os.path.join(cls.home, "bin"))
        os.symlink(BINARY, os.path.join(cls.home, "bin", "nomadctl"))
        for name in ("jobs a", "web.nomad.hcl"):
            with open(os.path.join(cls.home, name), "w"):
                pass

    def environment(self, **more):
        return {"PATH": os.path.join(self.home, "bin") + ":" + os.environ["PATH"], "HOME": self.home, "TERM": "vt100",
                "LC_ALL": "C.UTF-8", "NOMAD_ADDR": f"http://127.0.0.1:{self.agent.port}", "SCRIPTS": SCRIPTS, **more}

    def asked(self, line, *words, **more):
        done = subprocess.run([BINARY, *words], env=self.environment(COMP_LINE=line, **more), cwd=self.home,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        return done.stdout.splitlines()

    def test_what_the_agent_knows_can_follow(self):
        self.assertEqual(["web-front"], self.asked("nomadctl job status "))
        self.assertEqual([self.alloc], self.asked(f"nomadctl alloc status {self.alloc[:3]}"))
        self.assertEqual(["task"], self.asked(f"nomadctl alloc logs {self.alloc} "))
        self.assertIn("task/local/", self.asked(f"nomadctl alloc fs {self.alloc} task/"))
        self.assertEqual(["app/secret"], self.asked("nomadctl var get "))
        self.assertEqual(["default"], self.asked("nomadctl job status -namespace "))
        self.assertEqual(["-namespace=default"], self.asked("nomadctl job status -namespace="))
        self.assertEqual([self.agent.get("/v1/nodes").json[0]["ID"]], self.asked("nomadctl node drain -enable "))
        self.assertEqual(["web.nomad.hcl"], self.asked("nomadctl job run w"))
        self.assertEqual(["web-front\tservice, running"], self.asked("nomadctl job stop w", COMP_DESCRIBED="1"))

    def test_bash_gets_what_is_behind_its_word_breaks(self):
        self.assertEqual(["default"], self.asked("nomadctl job status -namespace=d", "nomadctl", "d", "-namespace"))
        self.assertEqual(["web-front"], self.asked("nomadctl job status w", "nomadctl", "w", "status"))

    def test_an_agent_that_does_not_answer_costs_half_a_second(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen(5)
            address = f"http://127.0.0.1:{silent.getsockname()[1]}"
            # The time that the program takes itself is no part of it: the machine may be busy.
            began = time.monotonic()
            self.assertEqual([], self.asked("nomadctl job status ", NOMAD_ADDR=address))
            self.assertLess(time.monotonic() - began, 5)
            silent.accept()  # it did ask

    def test_through_bash(self):
        script = f"""
          source {SCRIPTS}/nomadctl.bash
          COMP_LINE=$LINE COMP_POINT=${{#LINE}} COMP_WORDS=($LINE)
          compopt() {{ :; }}
          _nomadctl nomadctl "$CURRENT" x
          printf '%s\n' "${{COMPREPLY[@]}}"
        """
        def in_bash(line, current):
            done = subprocess.run(["bash", "--norc", "-c", script], cwd=self.home, capture_output=True, text=True, timeout=60,
                                  env=self.environment(LINE=line, CURRENT=current))
            self.assertEqual((0, ""), (done.returncode, done.stderr))
            return done.stdout.split("\n")[:-1]
        self.assertEqual(["web-front"], in_bash("nomadctl job status w", "w"))
        self.assertEqual(["default"], in_bash("nomadctl job status -namespace=d", "d"))
        self.assertEqual(["jobs\\ a"], in_bash("nomadctl job run j", "j"))

    @unittest.skipUnless(shutil.which("fish"), "needs fish")
    def test_through_fish(self):
        def in_fish(line):
            done = subprocess.run(["fish", "-N", "-c", f"source {SCRIPTS}/nomadctl.fish; complete -C '{line}'"],
                                  cwd=self.home, capture_output=True, text=True, timeout=60, env=self.environment())
            self.assertEqual((0, ""), (done.returncode, done.stderr))
            return done.stdout.splitlines()
        self.assertEqual(["web-front\tservice, running"], in_fish("nomadctl job status w"))
        self.assertEqual(["status\tLists the jobs, or shows one"], in_fish("nomadctl job statu"))

    @unittest.skipUnless(shutil.which("zsh"), "needs zsh")
    def test_through_zsh(self):
        shell = Terminal(["zsh", "-f", "-i"], self.environment(), self.home)
        self.addCleanup(shell.close)
        shell.type(ZSH_STARTS)
        shell.wait_for("ready% ")
        shell.type("nomadctl job status w\t")
        shell.wait_for("web-front")
        shell.type("\x15nomadctl job run j\t")
        shell.wait_for("jobs\\ a")

    def test_it_is_installed_into_the_shells_of_a_user(self):
        with open(os.path.join(self.home, ".bashrc"), "w"):
            pass
        done = subprocess.run([BINARY, "-autocomplete-install"], env=self.environment(), capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
        with open(os.path.join(self.home, ".bashrc")) as f:
            self.assertEqual(f"complete -C {os.path.realpath(BINARY)} {os.path.basename(os.path.realpath(BINARY))}\n", f.read())


if __name__ == "__main__":
    harness.main()
