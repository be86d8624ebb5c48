"""Clusters whose servers can be cut off the network: each in a network namespace of its own."""
import os
import shutil
import subprocess

import cluster


def ip(*words, check=True):
    subprocess.run(["ip", *words], check=check, stdout=subprocess.DEVNULL,
                   stderr=None if check else subprocess.DEVNULL)


class Namespaces:
    """A bridge, an address at it for the writers, and a namespace with one for each server. The bridge has a namespace
    of its own: a Docker engine's firewall drops what crosses bridges of the machine."""

    def __init__(self, count):
        self.link = f"nomad{os.getpid() % 100_000}"  # an interface's name has 15 characters
        self.switch = f"{self.link}s"
        self.count = count
        # Several clusters may be separated at a time; test_disconnect has 10.200 and above.
        self.net = f"10.{150 + os.getpid() % 50}.{os.getpid() // 50 % 250}"
        self.addresses = [f"{self.net}.{n + 1}" for n in range(count)]

    def name(self, number):
        return f"{self.link}{number}"

    def create(self):
        try:
            self.build()
        except (OSError, subprocess.CalledProcessError):
            self.destroy()
            raise
        return self

    def build(self):
        ip("netns", "add", self.switch)
        ip("-n", self.switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", self.switch, "link", "set", "bridge", "up")
        ip("link", "add", self.link, "type", "veth", "peer", "name", "writers", "netns", self.switch)
        ip("-n", self.switch, "link", "set", "writers", "master", "bridge", "up")
        ip("address", "add", f"{self.net}.254/24", "dev", self.link)
        ip("link", "set", self.link, "up")
        for number, address in enumerate(self.addresses):
            name = self.name(number)
            ip("netns", "add", name)
            ip("-n", self.switch, "link", "add", f"server{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", self.switch, "link", "set", f"server{number}", "master", "bridge", "up")
            ip("-n", name, "address", "add", f"{address}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")

    def connect(self, number, connected):
        ip("-n", self.switch, "link", "set", f"server{number}", "up" if connected else "down")

    def destroy(self):
        if shutil.which("ip") is None:
            return
        for name in [*map(self.name, range(self.count)), self.switch]:
            ip("netns", "delete", name, check=False)
        ip("link", "delete", self.link, check=False)


class SeparatedCluster(cluster.Cluster):
    """Servers in namespaces. Needs root and iproute2: an OSError or CalledProcessError where either
    is missing."""

    def __init__(self, count):
        super().__init__(0)
        self.namespaces = Namespaces(count).create()
        self.servers = [
            cluster.Server(self.root, f"s{n}", [4647] * count, n, count,
                           hosts=self.namespaces.addresses,
                           wrapper=["ip", "netns", "exec", self.namespaces.name(n)])
            for n in range(count)]

    def connect(self, server, connected):
        self.namespaces.connect(self.servers.index(server), connected)

    def destroy(self):
        super().destroy()
        self.namespaces.destroy()
