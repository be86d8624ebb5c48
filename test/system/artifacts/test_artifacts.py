"""Artifacts of tasks: what comes from where, what is refused and how users hear of it, that nothing outside of
the task's directory is touched or seen, and that nothing is left of what was cancelled or killed."""
import base64
import glob
import hashlib
import os
import pwd
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import time
from urllib.parse import quote

import cluster
import harness
from artifact_server import ArtifactServer
from harness import Agent, shell_job, wait_until

CONFIG = """
client {
  artifact {
    http_read_timeout              = "4s"
    http_max_size                  = "100MB"
    git_timeout                    = "20s"
    decompression_file_count_limit = 20
    decompression_size_limit       = "50MB"
    set_environment_variables      = "PATH, ARTIFACT_SHOWN AWS_METADATA_URL STORAGE_EMULATOR_HOST"
  }
}
"""
# In place of hg: it tells what it can see and do. What it makes is the artifact.
SPY = """#!/bin/sh
for last; do :; done
case "$*" in *update*) exit 0;; esac
mkdir "$last"
exec > "$last/report" 2>/dev/null
try() { if "$@" > /dev/null 2>&1; then echo "CAN $*"; else echo "can't $*"; fi; }
try cat /etc/shadow
try cat /etc/hostname
try ls DATA
try cat DATA/client/identity
try ls /root
try ls /proc
try cat /proc/1/environ
try touch /etc/nomadctl-escaped
try touch /var/tmp/nomadctl-escaped
try mkdir /dev/shm/nomadctl-escaped
try unshare -m true
try mount -t tmpfs none /mnt
try kill -0 AGENT
try /usr/bin/python3 -c 'import os; os.setuid(0)'
try cat /tmp/secret-of-the-host
cp /bin/true "$last/tool"; chmod +x "$last/tool"; try "$last/tool"
echo "user $(id -u) $(id -g) $(id -G)"
echo "no new privileges $(/usr/bin/python3 -c 'import ctypes; print(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))')"
echo "processes $$"
env | sort
"""
# In place of ssh: it looks at the key that it is given, and speaks to the daemon of git.
SSH = """#!/usr/bin/env python3
import os, socket, sys, threading
words = sys.argv[1:]
key = words[words.index("-i") + 1]
assert open(key).read() == "the key\\n" and os.stat(key).st_mode & 0o777 == 0o600, key
assert "BatchMode=yes" in words and words[-2] == "git@host.example", words
program, path = words[-1].split(" ", 1)
peer = socket.create_connection(("127.0.0.1", PORT))
line = f"{program} {path.strip(chr(39))}\\0host=localhost\\0".encode()
peer.sendall(b"%04x" % (len(line) + 4) + line)
def answer():
    while part := peer.recv(65536):
        os.write(1, part)
reader = threading.Thread(target=answer)
reader.start()
while part := os.read(0, 65536):
    peer.sendall(part)
peer.shutdown(socket.SHUT_WR)
reader.join()
"""
KEYS = {"aws_access_key_id": "AKIDTEST", "aws_access_key_secret": "the/secret+of=it", "region": "eu-test-1"}


def fetchers(agent):
    """The running nomadctl-artifact processes of the agent."""
    found = []
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat) as f:
                name, rest = f.read().rsplit(")", 1)
        except OSError:
            continue
        if "(nomad-artifact" in name and rest.split()[0] != "Z" and int(rest.split()[1]) == agent.process.pid:
            found.append(int(stat.split("/")[2]))
    return found


class ArtifactCase(harness.AgentTest):
    config = CONFIG

    @classmethod
    def setUpClass(cls):
        cls.place = tempfile.mkdtemp(prefix="nomadctl-artifacts-", dir="/var/tmp")  # /tmp is hidden from fetches
        os.chmod(cls.place, 0o755)
        cls.server = ArtifactServer(cls.place)
        os.makedirs(cls.place + "/bin")
        os.environ.update(PATH=f"{cls.place}/bin:{os.environ['PATH']}", ARTIFACT_SHOWN="seen", ARTIFACT_HIDDEN="unseen",
                          AWS_METADATA_URL=cls.server.url + "/role", STORAGE_EMULATOR_HOST=cls.server.url)
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.server.end()
        subprocess.run(["rm", "-r", cls.place], check=True)

    def job(self, name, *artifacts, **group):
        made = shell_job(name, "exec sleep 1000", **dict(
            {"RestartPolicy": {"Attempts": 0, "Mode": "fail"}, "ReschedulePolicy": {"Attempts": 0, "Unlimited": False}},
            **group))
        made["TaskGroups"][0]["Tasks"][0].update(
            Artifacts=[{"GetterSource": self.server.url + a} if isinstance(a, str) else a for a in artifacts],
            Meta={"key": "value", "name": "f"})
        return made

    def start(self, name, *artifacts, **group):
        self.agent.register(self.job(name, *artifacts, **group))

    def runs(self, name, *artifacts, **group):
        """The task's directory, once it runs."""
        self.start(name, *artifacts, **group)
        return self.directory(self.agent.wait_for_allocs(name, "running")[0]["ID"])

    def directory(self, alloc):
        return os.path.join(self.agent.data_dir, "alloc", alloc, "task")

    def events(self, name):
        return [e for a in self.agent.allocs(name) for e in (a["TaskStates"] or {}).get("task", {}).get("Events") or []]

    def failure(self, name):
        """What users read of the failed download."""
        wait_until(lambda: any(a["ClientStatus"] == "failed" for a in self.agent.allocs(name)), what=f"{name} failing")
        told = [e for e in self.events(name) if e["Type"] == "Failed Artifact Download"]
        self.assertEqual(1, len(told), self.events(name))
        self.assertEqual(told[0]["DisplayMessage"], told[0]["DownloadError"])
        self.assertTrue(told[0]["DisplayMessage"].startswith("failed to download artifact \""), told)
        return told[0]["DisplayMessage"]

    def read(self, *path):
        with open(os.path.join(*path)) as f:
            return f.read()

    def stop(self, name):
        self.agent.request("DELETE", f"/v1/job/{name}")


class Fetching(ArtifactCase):
    def test_a_file_by_http(self):
        task = self.runs("file", {
            "GetterSource": self.server.url + "/${NOMAD_META_name}",
            "GetterOptions": {"checksum": "sha256:" + hashlib.sha256(b"hello").hexdigest()},
            "GetterHeaders": {"X-Key": "${NOMAD_META_key}"}, "RelativeDest": "local/${NOMAD_TASK_NAME}/x"})
        self.assertEqual("hello", self.read(task, "local/task/x/f"))
        status = os.stat(task + "/local/task/x/f")
        self.assertEqual((os.geteuid(), os.getegid(), 0o100644), (status.st_uid, status.st_gid, status.st_mode))
        headers = self.server.headers_at("/f")[-1]
        self.assertEqual("value", headers["X-Key"])
        self.assertEqual(["Received", "Task Setup", "Downloading Artifacts", "Started"],
                         [e["Type"] for e in self.events("file")])
        self.assertEqual("Client is downloading artifacts", self.events("file")[2]["DisplayMessage"])
        self.assertFalse(os.path.exists(os.path.dirname(task) + "/.artifacts"))

    def test_a_file_at_a_path_of_its_own(self):
        task = self.runs("named", {"GetterSource": self.server.url + "/f", "GetterMode": "file",
                                   "RelativeDest": "local/deep/name"},
                         {"GetterSource": self.server.url + "/f?filename=other"},
                         {"GetterSource": self.server.url + "/f?checksum=file:" + self.server.url + "/SUMS",
                          "RelativeDest": "secrets/"},
                         {"GetterSource": self.server.url + "/f", "RelativeDest": "local/listed",
                          "GetterOptions": {"checksum": "file:" + self.server.url + "/SUMS"}},
                         {"GetterSource": self.server.url + "/f", "RelativeDest": "${NOMAD_ALLOC_DIR}/data/shared"})
        for path in ("local/deep/name", "local/other", "local/listed/f", "secrets/f", "../alloc/data/shared/f"):
            self.assertEqual("hello", self.read(task, path))

    def test_a_server_with_a_certificate_of_nobody_is_believed_if_it_is_to_be(self):
        pki = cluster.Pki()
        self.addCleanup(pki.destroy)
        pki.config("server")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{pki.dir}/global-server-nomad.pem", f"{pki.dir}/global-server-nomad-key.pem")
        server = ArtifactServer(self.place, context)
        self.addCleanup(server.end)
        self.start("doubted", {"GetterSource": server.url + "/f"})
        self.assertIn("certificate", self.failure("doubted"))
        task = self.runs("believed", {"GetterSource": server.url + "/f", "GetterInsecure": True, "RelativeDest": "local/a"},
                         {"GetterSource": server.url + "/f?checksum=file:" + server.url + "/SUMS", "GetterInsecure": True,
                          "RelativeDest": "local/b"})
        self.assertEqual(["hello", "hello"], [self.read(task, "local", name, "f") for name in "ab"])

    def test_what_comes_may_be_the_tasks_user_s(self):
        if os.geteuid() != 0:
            self.skipTest("only root gives files away")
        made = self.job("given", {"GetterSource": self.server.url + "/f", "Chown": True, "RelativeDest": "local/to"},
                        {"GetterSource": self.server.url + "/f", "RelativeDest": "local/own"})
        # Of a driver that starts nothing: nobody may not look into the test's directory.
        made["TaskGroups"][0]["Tasks"][0].update(User="nobody", Driver="mock_driver", Config={"run_for": "1h"})
        self.agent.register(made)
        task = self.directory(self.agent.wait_for_allocs("given", "running")[0]["ID"])
        nobody = pwd.getpwnam("nobody")
        for path in ("local/to", "local/to/f"):
            status = os.stat(os.path.join(task, path))
            self.assertEqual((nobody.pw_uid, nobody.pw_gid), (status.st_uid, status.st_gid), path)
        self.assertEqual(0, os.stat(task + "/local/own/f").st_uid)
        unknown = self.job("unknown", {"GetterSource": self.server.url + "/f", "Chown": True})
        unknown["TaskGroups"][0]["Tasks"][0].update(User="nomadctl-nobody-here", Driver="mock_driver",
                                                    Config={"run_for": "1h"})
        self.agent.register(unknown)
        self.assertIn('": failed to chown artifact: unknown user "nomadctl-nobody-here"', self.failure("unknown"))

    def test_archives_of_all_kinds(self):
        kinds = ("tree.tar", "tree.tar.gz", "tree.tbz2", "tree.txz", "tree.zip")
        task = self.runs("archives", *({"GetterSource": f"{self.server.url}/{k}", "RelativeDest": f"local/{k}"}
                                       for k in kinds))
        for kind in kinds:
            self.assertEqual("deep", self.read(task, "local", kind, "e/f"))
            if kind != "tree.zip":
                self.assertEqual(0o755, os.stat(f"{task}/local/{kind}/d/run").st_mode & 0o7777)
                self.assertEqual("../e/f", os.readlink(f"{task}/local/{kind}/d/link"))

    def test_parts_and_single_files_of_archives(self):
        task = self.runs("parts", {"GetterSource": self.server.url + "/tree.tar.gz//e", "RelativeDest": "local/part"},
                         {"GetterSource": self.server.url + "/tree.zip?archive=false", "RelativeDest": "local/whole"},
                         *({"GetterSource": f"{self.server.url}/f.{k}", "GetterMode": "file",
                            "RelativeDest": f"local/{k}"} for k in ("gz", "bz2", "xz")))
        self.assertEqual(["f"], os.listdir(task + "/local/part"))
        self.assertTrue(os.path.isfile(task + "/local/whole/tree.zip"))
        for kind in ("gz", "bz2", "xz"):
            self.assertEqual("hello", self.read(task, "local", kind))

    def test_what_is_for_one_server_is_told_no_other(self):
        other = ArtifactServer()
        self.addCleanup(other.end)
        with_user = self.server.url.replace("//", "//me:pw@")
        secret = {"X-Secret": "hidden"}
        self.runs("redirected", {"GetterSource": f"{with_user}/redirect/{quote(other.url, safe='')}/f", "GetterHeaders": secret},
                  {"GetterSource": f"{with_user}/redirect/%2fprivate", "GetterHeaders": secret})
        headers = other.headers_at("/f")
        self.assertEqual(1, len(headers))
        self.assertNotIn("X-Secret", headers[0])
        self.assertNotIn("Authorization", headers[0])
        at_home = self.server.headers_at("/private")[-1]
        self.assertEqual("hidden", at_home["X-Secret"])

    def test_a_try_fetches_what_has_failed_alone(self):
        self.server.flaky = 0
        before = self.server.times("/f")
        task = self.runs("again", "/f", "/flaky",
                         RestartPolicy={"Attempts": 5, "Interval": 60 * 10**9, "Delay": 10**8, "Mode": "fail"})
        self.assertEqual("at last", self.read(task, "local/flaky"))
        self.assertEqual(3, self.server.times("/flaky"))
        self.assertEqual(1, self.server.times("/f") - before)
        self.assertIn("bad response code: 500", str(self.events("again")))

    def test_buckets(self):
        s3 = "s3::" + self.server.url
        task = self.runs(
            "buckets", {"GetterSource": s3 + "/bucket/dist/f.txt", "GetterOptions": KEYS},
            {"GetterSource": s3 + "/bucket/dist/app", "GetterOptions": KEYS, "RelativeDest": "local/app"},
            {"GetterSource": s3 + "/bucket/dist/f.txt?region=eu-test-1", "RelativeDest": "local/role"},
            {"GetterSource": "gcs::https://www.googleapis.com/storage/v1/bucket-open/dist/f.txt",
             "RelativeDest": "local/google"},
            {"GetterSource": "gcs::https://www.googleapis.com/storage/v1/bucket-open/dist/app", "GetterMode": "dir",
             "RelativeDest": "local/google/app"})
        for path in ("local/f.txt", "local/role/f.txt", "local/google/f.txt"):
            self.assertEqual("from a bucket", self.read(task, path))
        for path in ("local/app", "local/google/app"):
            self.assertEqual({"one", "deep"}, set(os.listdir(os.path.join(task, path))))
            self.assertEqual("two & more", self.read(task, path, "deep/two"))

    def test_the_agent_stays_small_and_so_does_the_fetcher(self):
        def peak(pid):
            return int(next(line for line in self.read(f"/proc/{pid}/status").split("\n") if "VmHWM" in line).split()[1])
        self.runs("warm", "/f")
        before, most = peak(self.agent.process.pid), []
        self.start("large", *({"GetterSource": self.server.url + "/large", "RelativeDest": f"local/{i}"} for i in range(3)))
        while not any(a["ClientStatus"] == "running" for a in self.agent.allocs("large")):
            for pid in fetchers(self.agent):
                try:
                    most.append(peak(pid))
                except (OSError, StopIteration):
                    pass
            time.sleep(0.01)
        self.assertLess(peak(self.agent.process.pid) - before, 16 * 1024)
        harness.skip_with_sanitizer(self, self.agent.process.pid)
        self.assertTrue(most)
        self.assertLess(max(most), 12 * 1024)



class CredentialFiles(ArtifactCase):
    """Files that nobody but root may read, named by what the agent lets in of its environment."""
    config = CONFIG.replace("ARTIFACT_SHOWN", "NETRC AWS_SHARED_CREDENTIALS_FILE")

    @classmethod
    def setUpClass(cls):
        cls.files = tempfile.mkdtemp(prefix="nomadctl-credentials-", dir="/var/tmp")
        cls.addClassCleanup(subprocess.run, ["rm", "-r", cls.files], check=True)
        os.environ.update(NETRC=cls.files + "/netrc", AWS_SHARED_CREDENTIALS_FILE=cls.files + "/credentials")
        cls.addClassCleanup(os.environ.pop, "NETRC")
        cls.addClassCleanup(os.environ.pop, "AWS_SHARED_CREDENTIALS_FILE")
        super().setUpClass()
        cls.netrc(f"machine {cls.server.url.split('//')[1]} login me password pw\n")
        cls.write("credentials", f"[other]\naws_access_key_id = NONE\naws_secret_access_key = hidden\n[mine]\n"
                  f"aws_access_key_id = AKIDTEST\naws_secret_access_key = {KEYS['aws_access_key_secret']}\n")

    @classmethod
    def write(cls, name, text):
        path = os.path.join(cls.files, name)
        with open(path, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
            f.write(text)

    @classmethod
    def netrc(cls, text):
        cls.write("netrc", text)

    def test_the_login_of_a_host_is_found_and_told_no_other(self):
        other = ArtifactServer()
        self.addCleanup(other.end)
        task = self.runs("netrc", "/private", f"/redirect/{quote(other.url, safe='')}/f",
                         {"GetterSource": other.url + "/f", "RelativeDest": "local/other"})
        self.assertEqual("for me", self.read(task, "local/private"))
        for headers in other.headers_at("/f"):
            self.assertNotIn("Authorization", headers)
        self.start("own", {"GetterSource": self.server.url.replace("//", "//you:hidden@") + "/private"})
        self.assertIn("bad response code: 401", self.failure("own"))

    def test_the_keys_of_a_profile_are_found(self):
        source = "s3::" + self.server.url + "/bucket/dist/f.txt?region=eu-test-1&aws_profile="
        task = self.runs("profile", {"GetterSource": source + "mine"})
        self.assertEqual("from a bucket", self.read(task, "local/f.txt"))
        self.start("nobody", {"GetterSource": source + "nobody"})
        self.assertIn("no keys of the profile \"nobody\"", self.failure("nobody"))
        self.start("wrong", {"GetterSource": source + "other"})
        self.assertIn("InvalidAccessKeyId", self.failure("wrong"))

    def test_what_is_no_file_of_logins_is_told_and_not_shown(self):
        right = self.read(self.files, "netrc")
        self.addCleanup(self.netrc, right)
        self.netrc("machine hidden\n")
        self.runs("short", "/f")
        self.netrc("hidden words\n")
        self.start("words", "/f")
        told = self.failure("words")
        self.assertIn("a word that is none of a netrc file", told)
        self.assertNotIn("hidden", told)
        os.remove(self.files + "/netrc")
        os.mkfifo(self.files + "/netrc")
        self.addCleanup(os.remove, self.files + "/netrc")
        self.start("pipe", "/f")
        self.assertIn("netrc is no file", self.failure("pipe"))


class Repositories(ArtifactCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()

        def git(*words, at="work"):
            subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], check=True, capture_output=True,
                           cwd=os.path.join(cls.place, at))
        os.mkdir(cls.place + "/work")
        git("init", "-q", "-b", "main")
        for round in ("first", "second"):
            os.makedirs(cls.place + "/work/part", exist_ok=True)
            with open(cls.place + "/work/part/f", "w") as f:
                f.write(round)
            git("add", ".")
            git("commit", "-q", "-m", round)
            git("tag", "of-" + round)
        git("clone", "-q", "--bare", "work", "repo.git", at=".")
        git("update-server-info", at="repo.git")
        os.symlink("/etc/passwd", cls.place + "/work/out")
        git("add", ".")
        git("commit", "-q", "-m", "a link")
        git("clone", "-q", "--bare", "work", "linked.git", at=".")
        git("update-server-info", at="linked.git")
        os.remove(cls.place + "/work/out")
        os.symlink(cls.place + "/host", cls.place + "/work/up")
        git("add", ".")
        git("commit", "-q", "-m", "a link to a directory")
        git("clone", "-q", "--bare", "work", "over.git", at=".")
        git("update-server-info", at="over.git")
        cls.daemon_port = harness.free_port()
        cls.daemon = subprocess.Popen(
            ["git", "daemon", "--export-all", "--reuseaddr", "--base-path=" + cls.place, "--listen=127.0.0.1",
             f"--port={cls.daemon_port}", cls.place], stderr=subprocess.DEVNULL, start_new_session=True)

    @classmethod
    def tearDownClass(cls):
        os.killpg(cls.daemon.pid, signal.SIGKILL)
        cls.daemon.wait()
        super().tearDownClass()

    def test_git(self):
        by_http, by_git = self.server.url + "/git", f"git://127.0.0.1:{self.daemon_port}"
        task = self.runs("git", {"GetterSource": f"git::{by_http}/repo.git", "RelativeDest": "local/newest"},
                         {"GetterSource": f"git::{by_http}/repo.git//part", "GetterOptions": {"ref": "of-first"},
                          "RelativeDest": "local/part"},
                         {"GetterSource": f"git::{by_git}/repo.git?depth=1&ref=of-first", "RelativeDest": "local/shallow"})
        self.assertEqual("second", self.read(task, "local/newest/part/f"))
        self.assertEqual("first", self.read(task, "local/part/f"))
        self.assertEqual("first", self.read(task, "local/shallow/part/f"))
        self.assertTrue(os.path.isfile(task + "/local/shallow/.git/shallow"))

    def test_hg(self):
        hg = shutil.which("hg")
        if not hg or hg.startswith(self.place):
            self.skipTest("hg is not installed")
        run = lambda *words: subprocess.run([hg, *words], check=True, capture_output=True, env=dict(os.environ, HGRCPATH=""))
        repository, port = self.place + "/of-hg", harness.free_port()
        run("init", repository)
        for round in ("first", "second"):
            os.makedirs(repository + "/part", exist_ok=True)
            with open(repository + "/part/f", "w") as f:
                f.write(round)
            run("-R", repository, "commit", "-A", "-u", "t", "-m", round, "--cwd", repository)
            run("-R", repository, "bookmark", "of-" + round, "--inactive")
        server = subprocess.Popen([hg, "serve", "-R", repository, "-a", "127.0.0.1", "-p", str(port), "--prefix", "/repo"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        wait_until(lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0, what="hg serve")
        source = f"hg::http://127.0.0.1:{port}/repo"
        # One after the other: "hg serve" fails requests that come while it loads its modules.
        self.assertEqual("second", self.read(self.runs("hg", {"GetterSource": source}), "local/part/f"))
        task = self.runs("hg-part", {"GetterSource": source + "//part?rev=of-first", "RelativeDest": "local/part"})
        self.assertEqual("first", self.read(task, "local/part/f"))
        self.start("no-rev", {"GetterSource": source + "?rev=missing", "RelativeDest": "local/x"})
        self.assertIn("hg update exited with 255: abort: unknown revision 'missing'", self.failure("no-rev"))

    def test_git_by_ssh_with_a_key(self):
        with open(self.place + "/bin/ssh", "w") as f:
            f.write(SSH.replace("PORT", str(self.daemon_port)))
        os.chmod(self.place + "/bin/ssh", 0o755)
        self.addCleanup(os.remove, self.place + "/bin/ssh")
        key = base64.b64encode(b"the key\n").decode()
        task = self.runs("by-ssh", {"GetterSource": "git@host.example:repo.git", "GetterOptions": {"sshkey": key},
                                    "RelativeDest": "local/x"})
        self.assertEqual("second", self.read(task, "local/x/part/f"))
        self.assertFalse(os.path.exists(os.path.dirname(task) + "/.artifacts"))
        self.start("no-key", {"GetterSource": "git::ssh://git@host.example/repo.git", "RelativeDest": "local/x"})
        self.assertNotIn(key, self.failure("no-key"))

    def test_a_link_of_a_repository_moves_nothing_of_the_host(self):
        """Where nothing but the rules of artifacts keeps the fetcher from the host's files."""
        agent = Agent(CONFIG.replace("artifact {", "artifact {\n    disable_filesystem_isolation = true")).start()
        self.addCleanup(agent.destroy)
        os.makedirs(self.place + "/host/inner", exist_ok=True)
        with open(self.place + "/host/inner/f", "w") as f:
            f.write("the host's")
        self.agent = agent  # Of this case alone.
        self.start("over-a-link", {"GetterSource": f"git::{self.server.url}/git/over.git//up/inner", "RelativeDest": "local/x"})
        self.assertIn("leads over a link", self.failure("over-a-link"))
        self.assertEqual("the host's", self.read(self.place, "host/inner/f"))

    def test_what_git_is_not_to_do(self):
        by_http = f"git::{self.server.url}/git"
        marks = self.place + "/made-by-git"
        for name, source, why in (
                ("injected", f"{by_http}/repo.git?ref=--upload-pack=touch {marks}", "begins with a dash"),
                ("external", f"git::ext::sh -c 'touch {marks}'", "can't fetch by the scheme 'ext'"),
                ("local", f"git::file://{self.place}/repo.git", "can't fetch by the scheme 'file'"),
                ("missing", f"{by_http}/missing.git", "git clone exited with 128"),
                ("no-ref", f"{by_http}/repo.git?ref=missing", "git checkout exited with"),
                ("password", f"{by_http.replace('//', '//me:hidden@')}/missing.git", "git clone exited with"),
                ("linked", f"{by_http}/linked.git", "\"out\", which is a link that leads outside, to \"/etc/passwd\"")):
            self.start(name, {"GetterSource": source, "RelativeDest": "local/x"})
            told = self.failure(name)
            self.assertIn(why, told)
            self.assertNotIn("hidden", told)
        self.assertFalse(os.path.exists(marks))

    def test_what_is_fetched_by_programs_sees_nothing_of_the_host(self):
        if os.geteuid() != 0:
            self.skipTest("as root")
        spy = SPY.replace("DATA", self.agent.data_dir).replace("AGENT", str(self.agent.process.pid))
        with open(self.place + "/bin/hg", "w") as f:
            f.write(spy)
        os.chmod(self.place + "/bin/hg", 0o755)
        self.addCleanup(os.remove, self.place + "/bin/hg")
        with open("/tmp/secret-of-the-host", "w") as f:
            f.write("x")
        self.addCleanup(os.remove, "/tmp/secret-of-the-host")
        task = self.runs("spied", {"GetterSource": f"hg::{self.server.url}/x", "RelativeDest": "local/x"})
        report = self.read(task, "local/x/report").split("\n")
        self.assertEqual([], [line for line in report if line.startswith("CAN ")])
        self.assertEqual(16, sum(line.startswith("can't ") for line in report), report)
        self.assertIn("user 65534 65534 65534", report)
        self.assertIn("no new privileges 1", report)
        variables = {line.split("=")[0] for line in report if "=" in line}
        self.assertIn("ARTIFACT_SHOWN=seen", report)
        self.assertLessEqual(variables, {"ARTIFACT_SHOWN", "AWS_METADATA_URL", "STORAGE_EMULATOR_HOST", "PATH", "HOME",
                                         "TMPDIR", "PWD", "HGPLAIN", "LC_ALL", "_", "SHLVL", "OLDPWD"})
        self.assertEqual([], glob.glob("/dev/shm/nomadctl-escaped") + glob.glob("/var/tmp/nomadctl-escaped")
                         + glob.glob("/etc/nomadctl-escaped"))


class Refusals(ArtifactCase):
    ROWS = {
        "missing": ("/nothing", "bad response code: 404"),
        "unreachable": ({"GetterSource": "http://127.0.0.1:1/x"}, "http://127.0.0.1:1/x: "),
        "slow": ("/slow", "it did not come in time from http://"),
        "early": ("/early", "/early: "),
        "huge": ("/huge", "the server sends more than 100000000 bytes (http_max_size)"),
        "endless": ("/endless", "http_max_size"),
        "loop": ("/loop", "stopped after 10 redirects"),
        "to-files": ("/redirect/file:%2f%2f%2fetc%2fshadow", "redirects to the scheme 'file'"),
        "from-files": ({"GetterSource": "file:///etc/shadow"}, "download not supported for scheme 'file'"),
        "path": ({"GetterSource": "/etc/shadow"}, "download not supported for scheme 'file'"),
        "unknown": ({"GetterSource": "gopher://h/x"}, "download not supported for scheme 'gopher'"),
        "no-source": ({"GetterSource": "some/where"}, "invalid source string"),
        "checksum": ({"GetterSource": "/f", "GetterOptions": {"checksum": "md5:" + "0" * 32}}, 
                     f"Checksums (md5) did not match. Expected: {'0' * 32} Got: 5d41402abc4b2a76b9719d911017c592 of http://"),
        "checksums": ("/f?checksum=file:{}/BAD-SUMS", "Checksums (sha256) did not match"),
        "no-checksum": ("/tree.zip?checksum=file:{}/SUMS", "no checksum found in"),
        "zip-bomb": ("/bomb.zip", "decompression_size_limit"),
        "tar-bomb": ("/bomb.tar.gz", "decompression_size_limit"),
        "many": ("/many.tar", "decompression_file_count_limit"),
        "absolute": ("/absolute.tar", "has an absolute path"),
        "up-tar": ("/up.tar", "its path has \"..\""),
        "up-zip": ("/up.zip", "its path has \"..\""),
        "symlink": ("/symlink.tar", "\"link\" is a link that leads outside, to \"/etc\""),
        "climbing": ("/climbing.tar", "is a link that leads outside"),
        "hardlink": ("/hardlink.tar", "is a hard link that leads outside"),
        "device": ("/device.tar", "is a device"),
        "fifo": ("/fifo.tar", "is a device, a FIFO or a socket"),
        "setuid": ("/setuid.tar", "is setuid or setgid"),
        "broken": ("/broken.tar.gz", "archive cannot be read"),
        "no-zip": ("/no.zip", "archive cannot be read"),
        "no-part": ("/tree.zip//nothing", "subdir \"nothing\" not found"),
        "climbing-part": ("/tree.zip//../x", "path traversal"),
        "sums-by-git": ("/f?checksum=file:git::http://h/SUMS", "a file of checksums is fetched by http or https alone"),
        "no-sums": ("/f?checksum=file:{}/nothing", "Error downloading checksum file: bad response code: 404"),
        "sum-of-a-tree": ({"GetterSource": "git::http://127.0.0.1:1/x.git", "GetterOptions": {"checksum": "md5:" + "0" * 32}},
                          "checksum cannot be specified for directory download"),
        "sum-of-a-part": ({"GetterSource": "git::http://127.0.0.1:1/x.git/f", "GetterMode": "file",
                           "GetterOptions": {"checksum": "md5:" + "0" * 32}},
                          "checksum cannot be specified for files of repositories"),
        "no-file-of-git": ({"GetterSource": "git::http://127.0.0.1:1", "GetterMode": "file"}, "names no file of a repository"),
        "parts": ("/tree.zip//*", "subdir \"*\" matches multiple paths"),
        "file-as-part": ("/tree.zip//e/f", "subdir \"e/f\" is no directory"),
        "part-of-a-file": ("/f//x", "/f is a file and has no subdirectory \"x\""),
        "no-name": ({"GetterSource": "/f", "GetterOptions": {"filename": "."}}, "/f names no file: set the option filename"),
        "half-a-key": ({"GetterSource": "s3::{}/bucket/dist/f.txt", "GetterOptions": {"aws_access_key_id": "AKIDTEST"}},
                       "aws_access_key_id and aws_access_key_secret belong together"),
        "no-profile": ({"GetterSource": "s3::{}/bucket/dist/f.txt", "GetterOptions": {"aws_profile": "p", "region": "eu"}},
                       "aws_profile: there is no file of credentials; name one by AWS_SHARED_CREDENTIALS_FILE or HOME in the "
                       "agent's environment and let that in by client.artifact.set_environment_variables"),
        "no-generation": ({"GetterSource": "gcs::https://www.googleapis.com/storage/v1/bucket/o#first"},
                          "\"first\" is no generation of an object"),
        "no-objects": ({"GetterSource": "s3::{}/bucket/none", "GetterMode": "dir", "GetterOptions": KEYS},
                       "no objects below \"none/\" in the bucket \"bucket\""),
        "no-header": ({"GetterSource": "/f", "GetterHeaders": {"a b": "c"}}, "\"a b\" is no header"),
        "single": ("/f.gz", "gz-compressed files can only unarchive to a single file: set mode = \"file\", or the option "
                            "archive = \"false\""),
        "directory": ({"GetterSource": "/f", "GetterMode": "dir"},
                      "/f is no archive: by http a directory comes as one (zip, tar.gz and others), and a file is fetched "
                      "with mode = \"file\" or \"any\""),
        "password": ({"GetterSource": "http://me:hidden@127.0.0.1:1/x?token=hidden"}, "me:xxxxx@"),
        "signature": ({"GetterSource": "s3::{}/bucket/dist/f.txt",
                       "GetterOptions": dict(KEYS, aws_access_key_secret="hidden")}, "SignatureDoesNotMatch"),
        "no-object": ({"GetterSource": "s3::{}/bucket/dist/none", "GetterOptions": KEYS}, "NoSuchKey: It is not there."),
    }

    def artifact(self, row):
        made = {"GetterSource": row} if isinstance(row, str) else dict(row)
        source = made["GetterSource"].replace("{}", self.server.url)
        known = "://" in source.split("?")[0].split("/redirect")[0] or not source.startswith("/") or source == "/etc/shadow"
        made["GetterSource"] = source if known else self.server.url + source
        return made

    def test_all_are_refused_and_touch_nothing(self):
        for name, (row, _) in self.ROWS.items():
            self.start(name, self.artifact(row))
        for name, (_, why) in self.ROWS.items():
            with self.subTest(name):
                told = self.failure(name)
                self.assertIn(why, told)
                self.assertNotIn("hidden", told)
                root = os.path.dirname(self.directory(self.agent.allocs(name)[0]["ID"]))
                self.assertEqual([], os.listdir(root + "/task/local"))
                self.assertEqual([], glob.glob(root + "/.artifacts/task/*"))
                self.assertEqual({"alloc", "task"}, set(os.listdir(root)) - {".artifacts"})
        self.assertEqual([], fetchers(self.agent))
        self.assertEqual([], glob.glob("/etc/nomadctl-escaped") + glob.glob("/tmp/nomadctl-artifact-escaped")
                         + glob.glob(self.agent.data_dir + "/**/escaped", recursive=True))

    def test_the_agent_and_link_local_addresses_are_not_reached(self):
        own = f"127.0.0.1:{self.agent.port}"
        sources = {
            "api": f"http://{own}/v1/jobs", "api-by-name": f"http://localhost:{self.agent.port}/v1/jobs",
            "api-by-number": f"http://2130706433:{self.agent.port}/v1/jobs", "api-of-none": f"http://0.0.0.0:{self.agent.port}/v1/jobs",
            "api-redirected": f"{self.server.url}/redirect/{quote(f'http://{own}/v1/jobs', safe='')}",
            "api-as-bucket": f"s3::http://{own}/v1/jobs", "api-by-git": f"git::http://{own}/v1/jobs",
            "git-redirected": f"git::{self.server.url}/redirect/{quote(f'http://{own}/x', safe='')}",
            "api-as-checksums": f"{self.server.url}/f?checksum=file:http://{own}/v1/jobs",
            "metadata": "http://169.254.169.254/latest/meta-data", "metadata-by-git": "git::http://169.254.169.254/x.git",
            "metadata-in-ipv6": "http://[::ffff:169.254.169.254]/x", "link-local": "http://[fe80::1%25lo]/x"}
        for name, source in sources.items():
            self.start(name, {"GetterSource": source, "RelativeDest": "local/x"})
        for name in sources:
            with self.subTest(name):
                self.assertRegex(self.failure(name), "is (the agent's own API|a link-local address): no artifact is fetched")

    def test_what_is_wrong_with_a_job_is_said_at_once(self):
        for artifact, why in (
                ({"GetterSource": ""}, "source must be specified"),
                ({"GetterSource": "http://h/x", "GetterMode": "tree"}, "invalid artifact mode"),
                ({"GetterSource": "http://h/x", "RelativeDest": "../../../x"}, "destination escapes"),
                ({"GetterSource": "http://h/x", "GetterOptions": {"checksum": "md5:00"}}, "invalid md5 checksum"),
                ({"GetterSource": "http://h/x", "GetterOptions": {"checksum": "00"}}, "type:value")):
            answer = self.agent.put("/v1/jobs", {"Job": self.job("bad", artifact)})
            self.assertGreaterEqual(answer.status, 400)
            self.assertIn(why, answer.body.decode() if isinstance(answer.body, bytes) else answer.body)

    def test_a_link_of_a_task_leads_nowhere(self):
        """The destination is a link that an earlier task of the allocation has made."""
        made = self.job("through-a-link", {"GetterSource": self.server.url + "/f", "RelativeDest": "${NOMAD_ALLOC_DIR}/data/l"})
        first = dict(made["TaskGroups"][0]["Tasks"][0], Name="first", Artifacts=[],
                     Lifecycle={"Hook": "prestart", "Sidecar": False},
                     Config={"command": "/bin/sh", "args": ["-c", f"ln -s {self.place} $NOMAD_ALLOC_DIR/data/l"]})
        made["TaskGroups"][0]["Tasks"].append(first)
        self.agent.register(made)
        self.failure("through-a-link")
        self.assertNotIn("f", os.listdir(self.place))


class Ends(ArtifactCase):
    def setUp(self):
        self.agent = Agent(CONFIG.replace('"4s"', '"10m"')).start()
        self.addCleanup(self.agent.destroy)

    def begin(self, name):
        self.start(name, "/slow", "/f")
        wait_until(lambda: fetchers(self.agent), what="a fetch")
        return fetchers(self.agent)

    def is_gone(self, pids):
        return not any(os.path.exists(f"/proc/{pid}") for pid in pids)

    def test_a_stopped_job_leaves_nothing(self):
        pids = self.begin("stopped")
        self.stop("stopped")
        alloc = self.agent.wait_for_allocs("stopped", "complete")[0]["ID"]
        self.assertTrue(self.is_gone(pids))
        self.assertFalse(os.path.exists(os.path.join(self.agent.data_dir, "alloc", alloc, ".artifacts")))
        self.assertNotIn("Failed Artifact Download", [e["Type"] for e in self.events("stopped")])

    def test_a_killed_agent_leaves_no_fetch_and_the_next_begins_again(self):
        pids = self.begin("killed")
        self.agent.kill9()
        wait_until(lambda: self.is_gone(pids), timeout=10, what="the end of the fetch")
        self.agent.start()
        wait_until(lambda: fetchers(self.agent), what="a fetch anew")

    def test_a_stopping_agent_ends_its_fetches(self):
        pids = self.begin("ending")
        self.agent.stop()
        wait_until(lambda: self.is_gone(pids), timeout=10, what="the end of the fetch")

    def test_a_restored_task_fetches_nothing_again(self):
        self.runs("restored", "/f")
        before = self.server.times("/f")
        self.agent.kill9()
        self.agent.start()
        wait_until(lambda: self.agent.allocs("restored")[0]["ClientStatus"] == "running")
        self.agent.put(f"/v1/client/allocation/{self.agent.allocs('restored')[0]['ID']}/restart", {"TaskName": "task"})
        wait_until(lambda: any(e["Type"] == "Restart Signaled" for e in self.events("restored")), what="a restart")
        self.assertEqual(before, self.server.times("/f"))


if __name__ == "__main__":
    harness.main()
