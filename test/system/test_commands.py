"""What users type: every command with what it doesn't expect, and job files from elsewhere."""
import contextlib
import glob
import http.server
import json
import os
import re
import subprocess
import tempfile
import threading
import unittest

import harness

JOB = """
job "fetched" {
  group "g" {
    task "t" {
      driver = "raw_exec"
      config {
        command = "/bin/true"
        args    = [%s]
      }
    }
  }
}
"""


def run(*words, cwd=None):
    """A command whose agent nobody is."""
    return subprocess.run([harness.BINARY, *words], stdin=subprocess.DEVNULL, cwd=cwd, capture_output=True, text=True,
                          env=dict(os.environ, NOMAD_ADDR="http://127.0.0.1:1"), timeout=60)


def all_commands():
    """The name of each command, as the lists of commands have them."""
    names, groups = [], [""]
    while groups:
        group = groups.pop()
        said = run(*group.split(), "-help").stdout
        words = re.findall(r"^    ([a-z][\w-]*)", said[said.index("ommands:"):], re.M)
        for name in (f"{group} {word}".strip() for word in words):
            if run(*name.split(), "-help").stdout.startswith(f"Usage: nomadctl {name} <subcommand>"):
                groups.append(name)
            else:
                names.append(name)
    return sorted(names)


class Commands(unittest.TestCase):
    def test_no_command_aborts_whatever_file_it_gets(self):
        commands = all_commands()
        self.assertIn("operator root keyring rotate", commands)
        self.assertGreater(len(commands), 90)
        with tempfile.TemporaryDirectory() as folder:
            for name in commands:
                if name in ("agent", "node-sim"):  # these would run on
                    continue
                for words in ([folder], ["/dev/null"], ["x", folder], ["a/b", "k=@" + folder], ["@" + folder], ["-"]):
                    done = run(*name.split(), *words, cwd=folder)
                    with self.subTest(command=name, words=words):
                        self.assertIn(done.returncode, (0, 1, 2, 127, 255), done)
                        self.assertNotIn("terminate called", done.stderr)
                        self.assertNotIn("Success", done.stderr)

    def test_a_file_that_none_should_be_is_named_with_the_reason(self):
        with tempfile.TemporaryDirectory(suffix=".json") as folder:
            for words in (["job", "run", folder], ["node", "pool", "apply", folder],
                          ["job", "validate", folder], ["job", "plan", folder], ["tls", "cert", "info", folder],
                          ["var", "put", "@" + folder], ["var", "put", "a/b", "k=@" + folder]):
                done = run(*words)
                with self.subTest(words=words):
                    self.assertNotEqual(done.returncode, 0)
                    self.assertIn(f"read {folder}: Is a directory", done.stderr)

    def test_a_closed_pipe_ends_a_command_quietly(self):
        for words in (["-help"], ["job", "-help"], ["job", "run", "-help"]):
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run([harness.BINARY, *words], stdout=writer, stderr=subprocess.PIPE, text=True, timeout=60)
            os.close(writer)
            with self.subTest(words=words):
                self.assertNotIn("terminate called", done.stderr)

    def test_a_group_has_help_and_a_mistyped_word_a_hint(self):
        group = run("node", "pool", "-h")
        self.assertEqual((group.returncode, group.stderr), (0, ""))
        self.assertIn("Subcommands:", group.stdout)
        self.assertEqual(run("node", "pool").returncode, 1)
        self.assertEqual(run().returncode, 127)
        mistyped = run("jbo", "status")
        self.assertEqual(mistyped.returncode, 127)
        self.assertIn('did you mean "job status"?', mistyped.stderr)
        self.assertLess(mistyped.stderr.count("\n"), 4)


    def test_a_file_that_cannot_be_written_is_named_with_the_reason(self):
        for words in (["job", "init"], ["node", "pool", "init"], ["var", "init"], ["tls", "ca", "create"]):
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run(["sh", "-c", 'ulimit -f 0; trap "" XFSZ; exec "$@"', "-", harness.BINARY, *words], cwd=folder,
                                      capture_output=True, text=True, timeout=60)
                with self.subTest(words=words):
                    self.assertEqual(1, done.returncode, done)
                    self.assertIn("File too large", done.stderr)
                    self.assertEqual([], [name for name in os.listdir(folder) if not os.path.getsize(os.path.join(folder, name))])

    def test_output_that_cannot_be_written_is_a_failure(self):
        for words in (["version"], ["job", "-help"], ["tls", "ca", "create", "-help"]):
            with open("/dev/full", "w") as full, self.subTest(words=words):
                done = subprocess.run([harness.BINARY, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
                self.assertEqual((1, "writing the output: No space left on device\n"), (done.returncode, done.stderr))

    def test_stdin_that_cannot_be_read_is_not_empty(self):
        for words in (["fmt", "-"], ["job", "run", "-"], ["operator", "api", "-X", "PUT", "/v1/jobs"]):
            stdin = os.open("/", os.O_RDONLY)
            done = subprocess.run([harness.BINARY, *words], stdin=stdin, capture_output=True, text=True, timeout=60)
            os.close(stdin)
            with self.subTest(words=words):
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("read stdin: Is a directory", done.stderr)


class Texts(unittest.TestCase):
    def test_every_command_that_a_text_names_exists(self):
        """In errors, hints, logs and pages: \"nomadctl job run\" in quotes, or a line of an example."""
        commands = set(all_commands())
        groups = {" ".join(words[:count]) for words in map(str.split, commands) for count in range(1, len(words))}
        tracked = subprocess.run(["git", "-C", harness.ROOT, "ls-files", "actors", "cli", "runtime", "subprojects", "docs", "examples",
                                  "README.md"], check=True, capture_output=True, text=True).stdout.split()
        found, unknown = 0, []
        for path in tracked:
            # CONTRIBUTING shows how commands come about: its examples have tests of their own.
            if not path.endswith((".cpp", ".hpp", ".md", ".hcl", ".py", ".in")) or path == "docs/CONTRIBUTING.md":
                continue
            with open(os.path.join(harness.ROOT, path)) as f:
                text = re.sub(r'"\n\s*"', "", f.read())  # literals that the compiler joins
            typed = "\n".join(re.findall(r"(?s)```(.*?)```", text)) if path.endswith(".md") else ""
            for named in re.findall(r'(?:`|\\")nomadctl ([a-z][a-z -]*)', text) + re.findall(
                    r"(?m)^\s*(?:\$ |sudo |build/release/)?nomadctl ([a-z][a-z -]*)", typed):
                words = re.findall(r"[a-z][a-z-]*", named)
                name = next((" ".join(words[:count]) for count in range(len(words), 0, -1)
                             if " ".join(words[:count]) in commands), None)
                found += 1
                if name is None and " ".join(words) not in groups:
                    unknown.append(f"{path}: nomadctl {named}")
        self.assertGreater(found, 30)
        self.assertEqual([], unknown)


class JobFiles(unittest.TestCase):
    def test_a_job_in_json_may_lack_anything(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "job.json")
            for text in ("{}", '{"Job":{}}', '{"Job":null}', '{"ID":null}', '{"ID":"a","Type":null}'):
                with open(path, "w") as f:
                    f.write(text)
                for words, code in ((["job", "run"], 1), (["job", "validate"], 1), (["job", "plan"], 255)):
                    with self.subTest(text=text, words=words):
                        done = run(*words, "-json", path)
                        self.assertEqual(done.returncode, code, done)
                        self.assertNotIn("terminate called", done.stderr)

    def test_an_address_without_a_temporary_directory_is_an_error(self):
        done = subprocess.run([harness.BINARY, "job", "validate", "http://127.0.0.1:1/x.hcl"], capture_output=True,
                              text=True, env=dict(os.environ, TMPDIR="/nonexist"), timeout=60)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("temporary directory", done.stderr)

    def test_a_job_file_is_read_by_its_address(self):
        class Files(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                found = self.path == "/web.hcl"
                text = (JOB % "").encode()
                self.send_response(200 if found else 404)
                self.send_header("Content-Length", str(len(text) if found else 0))
                self.end_headers()
                if found:
                    self.wfile.write(text)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Files)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        address = f"http://127.0.0.1:{server.server_port}"
        done = run("job", "run", "-output", address + "/web.hcl")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["Job"]["ID"], "fetched")
        for words, code in ((["job", "run"], 1), (["job", "validate"], 1), (["job", "plan"], 255)):
            done = run(*words, address + "/none.hcl")
            self.assertEqual(done.returncode, code, done)
            self.assertIn("404", done.stderr)

    def test_fileset_lists_files_beside_the_job(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(os.path.join(folder, "conf/sub"))
            for name in ("conf/b.yml", "conf/a.yml", "conf/sub/c.yml", "conf/d.txt"):
                open(os.path.join(folder, name), "w").close()
            path = os.path.join(folder, "web.hcl")
            with open(path, "w") as f:
                f.write(JOB % f'for name in fileset("{folder}/conf", "**/*.yml") : name')
            done = run("job", "run", "-output", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            task = json.loads(done.stdout)["Job"]["TaskGroups"][0]["Tasks"][0]
            self.assertEqual(task["Config"]["args"], ["a.yml", "b.yml", "sub/c.yml"])


class Installed(unittest.TestCase):
    def test_an_installed_agent_finds_what_it_starts(self):
        build = os.path.dirname(os.path.dirname(os.path.realpath(harness.BINARY)))
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        subprocess.run(["meson", "install", "-C", build, "--no-rebuild", "--quiet", "--tags", "runtime", "--destdir", folder.name],
                       check=True, stdout=subprocess.DEVNULL)
        program, = glob.glob(f"{folder.name}/**/bin/nomadctl", recursive=True)
        self.assertEqual(os.listdir(os.path.dirname(program)), ["nomadctl"])
        unit, = glob.glob(f"{folder.name}/**/systemd/system/nomadctl.service", recursive=True)
        with open(unit) as f:
            self.assertIn(f"ExecStart={program.removeprefix(folder.name)} agent ", f.read())
        agent = harness.Agent()
        self.addCleanup(agent.destroy)
        agent.binary = program
        agent.start()
        agent.register(harness.shell_job("hello", "exec sleep 1000"))
        agent.wait_for_allocs("hello", "running")
        started = set()
        for pid in harness.processes_of(agent.dir):
            with contextlib.suppress(OSError):  # it has just ended
                started.add(os.readlink(f"/proc/{pid}/exe"))
        self.assertIn(f"{os.path.dirname(program)[:-3]}libexec/nomadctl/nomadctl-executor", started)


if __name__ == "__main__":
    harness.main()
