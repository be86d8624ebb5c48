"""A Docker engine of the test's own: a dockerd with its directories and socket, whose one image is made of a static
busybox; and jobs for it. Nothing is pulled from anywhere.
"""
import glob
import http.client
import io
import json
import os
import socket
import subprocess
import tarfile
import tempfile

import harness
from apart import BUSYBOX
from harness import job

IMAGE = "busybox:local"


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("docker", timeout=60)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect(self.path)


class Engine:
    """One dockerd. `kill9` and `start` may be called again and again."""

    def __init__(self, directory=None):
        self.dir = directory or tempfile.mkdtemp(prefix="nomadctl-test-engine-")
        self.socket = f"{self.dir}/docker.sock"
        self.process = None

    def start(self):
        for stale in glob.glob(f"{self.dir}/*.pid"):
            os.remove(stale)
        with open(f"{self.dir}/log", "ab") as log:
            self.process = subprocess.Popen(
                ["dockerd", "--storage-driver=vfs", f"--data-root={self.dir}/data", f"--exec-root={self.dir}/exec",
                 f"--pidfile={self.dir}/docker.pid", f"--host=unix://{self.socket}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        return self

    def answers(self):
        if self.process.poll() is not None:
            with open(f"{self.dir}/log", errors="replace") as log:
                raise OSError("dockerd ended: " + log.read()[-1500:])
        try:
            return self.request("GET", "/_ping")[0] == 200
        except OSError:
            return False

    def request(self, method, path, body=None):
        connection = UnixConnection(self.socket)
        try:
            connection.request(method, path, body, {"Content-Type": "application/x-tar"} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def make_image(self, name=IMAGE):
        """Of a busybox and its links alone."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as tar:
            for directory in ("bin", "etc", "tmp"):
                entry = tarfile.TarInfo(directory)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
            tar.add(BUSYBOX, "bin/busybox")
            for applet in ("sh", "sleep", "cat", "echo", "httpd", "ls", "env", "stty", "id", "wget", "dd", "tail", "hostname", "ip", "grep", "cut", "readlink",
                           "sort", "stat", "touch", "true"):
                link = tarfile.TarInfo(f"bin/{applet}")
                link.type, link.linkname = tarfile.SYMTYPE, "busybox"
                tar.addfile(link)
        repository, tag = name.split(":")
        status, said = self.request("POST", f"/images/create?fromSrc=-&repo={repository}&tag={tag}", archive.getvalue())
        assert status == 200, said

    def containers(self):
        return json.loads(self.request("GET", "/containers/json?all=1")[1])

    def container(self, alloc, task="task"):
        status, said = self.request("GET", f"/containers/{task}-{alloc['ID']}/json")
        assert status == 200, said
        return json.loads(said)

    def has_image(self, name):
        return self.request("GET", f"/images/{name}/json")[0] == 200

    def kill9(self):
        self.process.kill()
        self.process.wait()

    def destroy(self):
        for container in self.containers() if self.process.poll() is None else []:
            self.request("DELETE", f"/containers/{container['Id']}?force=1")
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        harness.clear(self.dir)


def docker_job(name, script="sleep 1000", kind="service", network=None, tasks=None, group=None, **config):
    """Its allocations are neither restarted nor placed again after a failure."""
    group = dict({"RestartPolicy": {"Attempts": 0, "Mode": "fail", "Delay": 10**9, "Interval": 10**11},
                  "ReschedulePolicy": {"Attempts": 0, "Unlimited": False}}, **(group or {}))
    if network:
        group["Networks"] = [network]
    made = job(name, kind=kind, **group)
    made["TaskGroups"][0]["Tasks"] = tasks or [docker_task("task", script, **config)]
    return made


def docker_task(name, script="sleep 1000", memory=32, **config):
    more = {key: config.pop(key) for key in ("KillSignal", "KillTimeout", "User", "Env") if key in config}
    return dict({"Name": name, "Driver": "docker", "LogConfig": {"MaxFiles": 3, "MaxFileSizeMB": 1},
                 "Config": dict({"image": IMAGE, "command": "sh", "args": ["-c", script]}, **config),
                 "Resources": {"CPU": 5, "MemoryMB": memory}}, **more)
