"""The pages for users do what they say: their commands are run in order, and print what the pages show.

A case is a page. Of its fenced blocks

    ```hcl file=NAME    is written to NAME
    ```sh               is run by one shell, which goes on from block to block, in a directory of the page's own
    ```text             behind one of the former is what that prints

A command that fails fails the page, unless its line ends with "# exit code N" and it does. Behind
`<!-- not run: needs REASON -->` a block is listed, not run; REASONS has what may stand there. Of what is shown, ids, times,
ports and the machine's name may be others, "…" stands for anything within a line, and a line "…" for any lines. Commands
that change nothing are repeated until they show it: what they look at takes its time.

Pages name the usual ports and places below /tmp; here every agent gets ports and places of the test's own, and commands,
files and outputs are changed accordingly. With NOMADCTL_SHOW_PAGES=1 each block is printed with what it prints.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import harness

DOCS = os.path.join(harness.ROOT, "docs")
REASONS = ("root", "docker", "systemd", "a second machine", "another release", "Nomad", "Prometheus")
FENCE = re.compile(r"(?:<!-- not run: needs (?P<why>[^>]*?) -->\n)?^```(?P<kind>\w*)(?: file=(?P<file>\S+))?\n"
                   r"(?P<text>.*?)^```$", re.M | re.S)
LOOKS = re.compile(r"(nomadctl .*\b(status|members|list|list-peers|history|logs|info|checks|health|inspect|fs|get|why|validate|"
                   r"get-config|deployments|allocs|metrics|gc)\b|curl -\w*s|cat |grep |ls )")
PATIENCE = 90


class Block:
    def __init__(self, match, line):
        self.kind, self.file, self.text, self.why = match["kind"], match["file"], match["text"], match["why"]
        self.line = line
        self.shown = None  # what it prints, if the page says so

    def commands(self):
        """The lines, without comments; what a line goes on with is a line."""
        return [line for line in self.text.splitlines() if line.strip() and not line.startswith("#")]

    def only_looks(self):
        return all(LOOKS.match(line) for line in self.commands())

    def failures(self):
        """The commands that the page says to fail: "CODE COMMAND"."""
        told = (re.fullmatch(r"(.*?) +#.*exit code (\d+)", line) for line in self.commands())
        return [f"{match[2]} {match[1].strip()}" for match in told if match]


def blocks_of(page):
    """The blocks that are run or written, each with the output that stands behind it."""
    found, end = [], None
    for match in FENCE.finditer(page):
        block = Block(match, page.count("\n", 0, match.start("kind")) + 1)
        if block.kind == "text":
            if found and end is not None and not page[end:match.start()].strip():
                found[-1].shown = block.text
            end = None
        else:
            found.append(block)
            end = match.end()
    return [block for block in found if block.kind == "sh" or block.file]


def normal(text):
    """What differs from run to run is made the same, and columns are one space apart."""
    text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<id>", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?", "<time>", text)
    text = re.sub(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{8}\b|\b\d{8}\b|\b[a-f]{8}\b", "<id>", text)
    text = re.sub(r"\b(\d+[hms])+\d* ago\b", "<ago>", text)
    text = re.sub(r"(?<=[: ])(2\d{4}|3[01]\d{3})\b", "<port>", text)
    return "\n".join(" ".join(line.split()) for line in text.strip().splitlines())


def pattern_of(shown):
    """What normal output must be like."""
    parts = []
    for line in normal(shown).splitlines():
        if line == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(re.escape(line).replace("…", ".*") + "\n")
    return re.compile("".join(parts))


class Shell:
    """A bash that goes on from block to block, with agents of its own ports."""

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="nomadctl-test-")
        with open(os.path.join(self.dir, "owner"), "w") as f:
            f.write(f"{os.getpid()} {harness.started_at(os.getpid())}")
        harness.living.add(self.dir)
        self.port = harness.free_ports(0, 1, 2)
        self.ports = {str(4646 + n): str(self.port + n) for n in range(3)}
        self.home = os.path.join(self.dir, "page")
        for name in ("page", "bin", "tmp"):
            os.mkdir(os.path.join(self.dir, name))
        # Every agent has the ports, also one without a file.
        self.put("bin/ports.hcl", self.ours("ports {\n  http = 4646\n  rpc  = 4647\n  serf = 4648\n}\n"))
        self.put("bin/nomadctl", f'''#!/bin/sh
[ "$1" = agent ] && set -- "$@" -config "{self.dir}/bin/ports.hcl"
exec "{harness.BINARY}" "$@"
''', 0o755)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("NOMAD")}
        environment.update(HOME=self.home, TMPDIR=os.path.join(self.dir, "tmp"), TZ="UTC", LC_ALL="C.UTF-8",
                           PATH=f"{self.dir}/bin:{os.environ['PATH']}", NOMAD_ADDR=f"http://127.0.0.1:{self.port}")
        self.process = subprocess.Popen(["bash", "--norc", "-m"], cwd=self.home, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        start_new_session=True)
        self.count = 0

    def ours(self, text):
        text = re.sub(r"(?<![\w.])/tmp/", os.path.join(self.dir, "tmp", ""), text)
        return re.sub(r"\b464[678]\b", lambda port: self.ports[port[0]], text)

    def theirs(self, text):
        for usual, own in self.ports.items():
            text = re.sub(rf"\b{own}\b", usual, text)
        text = text.replace(self.home, "/home/you").replace(os.path.join(self.dir, "tmp", ""), "/tmp/")
        return text.replace(os.uname().nodename, "node1")

    def put(self, name, text, mode=0o644):
        path = os.path.join(self.dir, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
        os.chmod(path, mode)
        return path

    def run(self, text, timeout=PATIENCE):
        """What a block prints, and its commands that failed, each behind its exit code."""
        self.count += 1
        block = self.put(f"blocks/{self.count}.sh", self.ours(text))
        out, failed, done = block + ".out", block + ".failed", block + ".done"
        self.process.stdin.write(f"trap 'echo \"$? $BASH_COMMAND\" >>{failed}' ERR\n"
                                 f". {block} >{out} 2>&1 </dev/null\ntrap - ERR\necho >{done}\n")
        self.process.stdin.flush()
        end = time.monotonic() + timeout
        while not os.path.exists(done):
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"it still runs after {timeout} s:\n{text}\n{self.read(out)}")
            time.sleep(0.02)
        failures = [line for line in self.read(failed).splitlines() if f" . {block} " not in line]  # the block as a whole
        return self.theirs(self.read(out)), [self.theirs(line) for line in failures]

    @staticmethod
    def read(path):
        try:
            with open(path, errors="replace") as f:
                return f.read()
        except FileNotFoundError:
            return ""

    def logs(self):
        """The ends of the agents' logs, for whoever reads a failure."""
        found = []
        for at, _, names in os.walk(self.home):
            found += [f"-- {name}:\n{self.read(os.path.join(at, name))[-2000:]}" for name in names if name.endswith(".log")]
        return "\n".join(found)

    def destroy(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.stdin.close()
        self.process.wait()
        harness.clear(self.dir)
        harness.living.discard(self.dir)


class PageTest(unittest.TestCase):
    """Each page's name is its case's."""

    def follow(self, name):
        with open(os.path.join(DOCS, name)) as f:
            blocks = blocks_of(f.read())
        self.assertTrue(any(block.kind == "sh" and not block.why for block in blocks), f"{name} has no command that is run")
        shell = Shell()
        self.addCleanup(shell.destroy)
        for block in blocks:
            where = f"docs/{name}:{block.line}"
            if block.why:
                self.assertIn(block.why, REASONS, where)
                print(f"{where} is not run: needs {block.why}")
            elif block.file:
                shell.put(os.path.join("page", block.file), shell.ours(block.text))
            else:
                self.run_block(shell, block, where)

    def run_block(self, shell, block, where):
        end = time.monotonic() + (PATIENCE if block.only_looks() else 0)
        while True:
            out, failed = shell.run(block.text)
            failed, told = sorted(failed), sorted(block.failures())
            is_shown = block.shown is None or pattern_of(block.shown).fullmatch(normal(out) + "\n")
            if is_shown and failed == told or time.monotonic() >= end:
                break
            time.sleep(0.2)
        if os.environ.get("NOMADCTL_SHOW_PAGES"):
            print(f"== {where}\n{block.text}--\n{out}", flush=True)
        if failed != told:
            self.fail(f"{where}: these commands fail: {failed}, and the page says: {told}\n{block.text}--\n{out}\n{shell.logs()}")
        if not is_shown:
            self.fail(f"{where}: the page shows\n{normal(block.shown)}\n-- and this is printed:\n{normal(out)}\n{shell.logs()}")

    def test_start(self):
        self.follow("start.md")

    def test_install(self):
        self.follow("install.md")

    def test_concepts(self):
        self.follow("concepts.md")

    def test_operations(self):
        self.follow("operations.md")

    def test_coming_from_nomad(self):
        self.follow("coming-from-nomad.md")

    def test_coming_from_compose(self):
        self.follow("coming-from-compose.md")

    def test_pictures_are_what_their_texts_say(self):
        drawn = subprocess.run([sys.executable, os.path.join(DOCS, "pictures", "draw.py"), "--check"], capture_output=True, text=True)
        self.assertEqual((0, ""), (drawn.returncode, drawn.stderr))


class ReaderTest(unittest.TestCase):
    """How pages are read: a runner that finds nothing wrong would be worth nothing."""

    def test_what_differs_is_found_and_what_may_differ_is_not(self):
        shown = "ID        Status\n6f4b0e2a  running\n…\nat 2026-01-02T03:04:05Z on …, port 21000\n"
        same = "ID  Status\n00c0ffee    running\nx\ny\nat 2027-01-02T03:04:06Z on node1, port 31999\n"
        self.assertTrue(pattern_of(shown).fullmatch(normal(same) + "\n"))
        for other in (same.replace("running", "pending"), same.replace("at ", "on "), same + "more\n",
                      same.replace("00c0ffee", "none")):
            self.assertIsNone(pattern_of(shown).fullmatch(normal(other) + "\n"), other)

    def test_blocks_are_files_commands_and_outputs(self):
        page = ("```hcl file=a.hcl\nx = 1\n```\n```hcl\nno = 1\n```\n```sh\nnomadctl job status\n```\n\n```text\nnone\n```\n"
                "words\n```text\nof nobody\n```\n<!-- not run: needs root -->\n```sh\nsudo x\n```\n")
        blocks = blocks_of(page)
        self.assertEqual([("hcl", "a.hcl", None, None, 1), ("sh", None, "none\n", None, 7), ("sh", None, None, "root", 19)],
                         [(b.kind, b.file, b.shown, b.why, b.line) for b in blocks])
        self.assertTrue(blocks[1].only_looks())
        self.assertFalse(blocks[2].only_looks())

    def test_a_failing_command_is_told_unless_the_page_expects_it(self):
        shell = Shell()
        self.addCleanup(shell.destroy)
        out, failed = shell.run("echo $NOMAD_ADDR\nname=kept\nfalse\necho 4646\n(exit 3) # exit code 3\n")
        self.assertEqual(("http://127.0.0.1:4646\n4646\n", ["1 false", "3 ( exit 3 )"]), (out, failed))
        self.assertEqual(("kept\n", []), shell.run("echo $name\n"))
        block = Block(FENCE.search("```sh\ntest 1 = 2 # exit code 1\n```\n"), 1)
        self.assertEqual(["1 test 1 = 2"], block.failures())


if __name__ == "__main__":
    harness.main()
