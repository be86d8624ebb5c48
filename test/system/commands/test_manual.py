"""Manual pages: one for each command and group that help shows, of the same text, as roff takes it."""
import os
import shutil
import subprocess
import tempfile
import unittest

import harness
from harness import BINARY


def run(*words):
    return subprocess.run([BINARY, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)


def names_below(group=()):
    """All commands and groups of the help, as their words."""
    text = run(*group, "-help").stdout if group else run("-help").stdout
    words = [line.split()[0] for line in text.splitlines() if line.startswith("    ") and line.strip()]
    for word in words:
        name = (*group, word)
        yield name
        if "<subcommand>" in run(*name, "-help").stdout:
            yield from names_below(name)


class ManualTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="nomadctl-test-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        done = run("man", "-out", cls.folder, "-date", "2026-11-30")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
        cls.pages = os.path.join(cls.folder, "man1")

    def page(self, name):
        with open(os.path.join(self.pages, name + ".1")) as f:
            return f.read()

    def test_each_name_of_the_help_has_a_page_and_nothing_else_has(self):
        expected = {"-".join(("nomadctl", *name)) + ".1" for name in names_below()} | {"nomadctl.1"}
        self.assertGreater(len(expected), 150)
        self.assertEqual(expected, set(os.listdir(self.pages)))

    def test_a_page_has_the_flags_of_the_help(self):
        page = self.page("nomadctl-job-run")
        for line in run("job", "run", "-help").stdout.splitlines():
            if line.startswith("  -"):
                name = line.strip().lstrip("-").split("=")[0].replace("-", "\\-")
                self.assertRegex(page, rf"(?m)^\.BI? .-{name.replace(chr(92), chr(92) * 2)}(=.*)?$", line)
        self.assertEqual(page, run("man", "-date", "2026-11-30", "job", "run").stdout)
        self.assertIn(".BR nomadctl\\-job\\-run (1)\nRegisters a job, or updates it.", self.page("nomadctl-job"))

    def test_a_simulated_nodes_program_is_asked_for_its_own(self):
        self.assertIn(".BI \\-fail\\-rate= value", self.page("nomadctl-node-sim"))

    def test_what_is_wrong_is_said(self):
        done = run("man", "job", "nothing")
        self.assertEqual((1, 'no command is called "job nothing"\n'), (done.returncode, done.stderr))
        done = run("man", "-out", "/proc/none")
        self.assertEqual((1, "mkdir /proc/none/man1: No such file or directory\n"), (done.returncode, done.stderr))
        done = run("man", "-out", self.folder, "job")
        self.assertEqual((1, "-out writes all pages: name no command\nFor additional help try 'nomadctl man -help'\n"),
                         (done.returncode, done.stderr))

    @unittest.skipUnless(shutil.which("mandoc"), "needs mandoc")
    def test_mandoc_has_nothing_to_say(self):
        files = sorted(os.path.join(self.pages, name) for name in os.listdir(self.pages))
        done = subprocess.run(["mandoc", "-Tlint", *files], capture_output=True, text=True, timeout=120)
        self.assertEqual((0, "", ""), (done.returncode, done.stdout, done.stderr))


if __name__ == "__main__":
    harness.main()
