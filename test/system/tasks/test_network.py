"""Networks of groups on the real kernel: the modes none, host, bridge and cni/<name>, and what is left of them.

All of it happens in a network namespace of the test's own, with its own /run/netns and /var/lib/cni:
the machine's interfaces and rules are never touched.
"""
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest
import urllib.request

PLUGINS = "/usr/lib/cni"


def lacks():
    """Why these tests can't run here; empty when they can."""
    if os.geteuid() != 0:
        return "only root can make networks"
    for program in ("ip", "iptables", "iptables-save", "nsenter"):
        if not shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin"):
            return f"{program} is not installed"
    for plugin in ("bridge", "firewall", "portmap", "loopback", "host-local"):
        if not os.path.exists(f"{PLUGINS}/{plugin}"):
            return f"the CNI plugin {plugin} is not installed (containernetworking-plugins)"
    trial = ("ip link add b0 type bridge && ip link add v0 type veth peer name v1 && iptables -t nat -A PREROUTING -p tcp"
             " -m addrtype --dst-type LOCAL -m multiport --dports 80 -m comment --comment x -j DNAT --to-destination 10.0.0.1:80"
             " && iptables -A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT")
    done = subprocess.run(["unshare", "--net", "sh", "-c", trial], capture_output=True, text=True)
    return f"this kernel can't: {done.stderr.strip()}" if done.returncode else ""


def move_apart():
    """Starts this program once more, where nothing but a loopback interface is."""
    os.environ["NOMADCTL_TEST_APART"] = "1"
    prepare = ("ip link set lo up && ip link add outside type bridge && ip addr add 10.99.0.1/24 dev outside && ip link set outside up"
               # Where a machine has no IPv6, the cases that want it are skipped.
               " && (ip addr add fd00:99::1/64 dev outside nodad || true)"
               " && for d in /run/netns /var/lib/cni; do mkdir -p $d && mount -t tmpfs none $d || exit 1; done"
               ' && exec "$0" "$@"')
    os.execvp("unshare", ["unshare", "--net", "--mount", "--propagation", "private", "sh", "-c", prepare,
                          sys.executable, *sys.argv])


LACKING = lacks()
if not LACKING and "NOMADCTL_TEST_APART" not in os.environ:
    move_apart()

import harness  # noqa: E402  (claims ports where it is imported)
from harness import Agent, job, wait_until  # noqa: E402

SERVER = """
import http.server, os, socket, sys
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        said = ("it is " + os.environ["NOMAD_ALLOC_ID"]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
    def log_message(self, *args): pass
open("local/pids", "a").write(str(os.getpid()) + "\\n")
Server((sys.argv[1], int(os.environ["NOMAD_PORT_http"])), Answer).serve_forever()
"""


ASKING = """
public class Ask {
  public static void main(String[] words) throws Exception {
    for (;;) {
      try (java.io.InputStream answer = new java.net.URL(words[0]).openStream()) {
        System.out.println(new String(answer.readAllBytes()));
        Thread.sleep(600000);
      } catch (java.net.ConnectException e) {
        Thread.sleep(100);
      }
    }
  }
}
"""


def task(name, *words, **more):
    return dict({"Name": name, "Driver": "raw_exec", "Config": {"command": words[0], "args": list(words[1:])},
                 "LogConfig": {"MaxFiles": 1, "MaxFileSizeMB": 1}, "Resources": {"CPU": 5, "MemoryMB": 20}}, **more)


def group_job(name, network, *tasks, **group):
    """Its allocations are neither restarted nor placed again after a failure."""
    made = job(name, Networks=[network], RestartPolicy={"Attempts": 0, "Mode": "fail", "Delay": 10**9, "Interval": 10**11},
               ReschedulePolicy={"Attempts": 0, "Unlimited": False}, **group)
    made["TaskGroups"][0]["Tasks"] = list(tasks)
    return made


def server_job(name, network=None, *others, address="0.0.0.0", **group):
    network = network or {"Mode": "bridge", "DynamicPorts": [{"Label": "http", "To": 8080}]}
    return group_job(name, network, task("task", "/usr/bin/env", "python3", "-c", SERVER, address), *others, **group)


def output_of(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def links():
    return {link["ifname"] for link in json.loads(output_of("ip", "-j", "link"))}


def rules():
    return output_of("iptables-save")


def fetch(port, address="127.0.0.1"):
    with urllib.request.urlopen(f"http://{address}:{port}/", timeout=5) as answer:
        return answer.read().decode()


def answers_at(port, alloc_id, address):
    try:
        return fetch(port, address) == f"it is {alloc_id}"
    except OSError:
        return False


def reached(port, alloc_id, address="127.0.0.1"):
    def answers():
        return answers_at(port, alloc_id, address)
    wait_until(answers, what=f"the answer of {alloc_id} at {address}:{port}")


@unittest.skipIf(LACKING, LACKING)
class Case(unittest.TestCase):
    config = ""

    @classmethod
    def setUpClass(cls):
        cls.agent = Agent(cls.client_config()).start()

    @classmethod
    def tearDownClass(cls):
        cls.agent.destroy()

    @classmethod
    def client_config(cls):
        return cls.config

    def run_job(self, made):
        self.agent.register(made)
        return self.alloc(self.agent.wait_for_allocs(made["ID"], "running")[0]["ID"])

    def alloc(self, alloc_id):
        return self.agent.get(f"/v1/allocation/{alloc_id}").json

    def port(self, alloc, label="http"):
        return next(p["Value"] for p in alloc["AllocatedResources"]["Shared"]["Ports"] if p["Label"] == label)

    def task_dir(self, alloc, name="task"):
        return f"{self.agent.data_dir}/alloc/{alloc['ID']}/{name}"

    def pids(self, alloc):
        return self.agent.starts(alloc["JobID"]).get(alloc["ID"], [])

    def messages(self, alloc_id, kind):
        return [event["DisplayMessage"] for state in (self.alloc(alloc_id)["TaskStates"] or {}).values()
                for event in state["Events"] if event["Type"] == kind]

    def purge(self, *names):
        for name in names:
            self.agent.request("DELETE", f"/v1/job/{name}?purge=true")
            wait_until(lambda: all(a["ClientStatus"] in ("complete", "failed", "lost") for a in self.agent.allocs(name)),
                       what=f"the end of {name}")
        self.agent.put("/v1/system/gc")

    def leftovers(self, alloc_id, address=""):
        """What the machine still has of an allocation's network."""
        found = glob.glob(f"/run/netns/{alloc_id}") + glob.glob(f"{self.agent.data_dir}/client/networks/{alloc_id}*")
        found += [line for line in rules().splitlines() if alloc_id in line or (address and f"{address}/32" in line)]
        for path in glob.glob("/var/lib/cni/networks/*/*.*.*.*"):
            with contextlib.suppress(FileNotFoundError), open(path) as lease:  # other tests' come and go
                found += [path] if lease.read().startswith(alloc_id) else []
        return found

    def gone(self, alloc_id, address=""):
        try:
            wait_until(lambda: not self.leftovers(alloc_id, address), timeout=30, what="the network's end")
        except AssertionError:
            self.assertEqual([], self.leftovers(alloc_id, address))


class BridgeTest(Case):
    def tearDown(self):
        self.purge(*[j["ID"] for j in self.agent.get("/v1/jobs").json])
        wait_until(lambda: not [link for link in links() if link.startswith("veth")], what="the end of all links")

    def test_the_node_tells_what_it_has(self):
        node = self.agent.get("/v1/node/" + self.agent.get("/v1/nodes").json[0]["ID"]).json
        self.assertIn("bridge", [network["Mode"] for network in node["NodeResources"]["NodeNetworks"]])
        self.assertEqual("false", node["Attributes"]["nomad.bridge.hairpin_mode"])
        for plugin in ("bridge", "portmap", "firewall"):
            self.assertRegex(node["Attributes"][f"plugins.cni.version.{plugin}"], r"^v?\d+\.")

    def test_a_server_is_reached_by_its_port_and_shares_its_network(self):
        look = ("env | sort > env; readlink /proc/self/ns/net > net; ip -j addr > addr; exec sleep 3600")
        made = server_job("web", {"Mode": "bridge", "DNS": {"Servers": ["10.0.0.53"], "Searches": ["example"], "Options": ["ndots:2"]},
                                  "DynamicPorts": [{"Label": "http", "To": 8080}, {"Label": "plain"}],
                                  "ReservedPorts": [{"Label": "fixed", "Value": harness.free_port(), "To": 8080}]},
                          task("beside", "/bin/sh", "-c", look))
        alloc = self.run_job(made)
        port, plain = self.port(alloc), self.port(alloc, "plain")
        for address in ("127.0.0.1", "10.99.0.1"):
            reached(port, alloc["ID"], address)
        reached(self.port(alloc, "fixed"), alloc["ID"])

        status = self.alloc(alloc["ID"])["NetworkStatus"]
        self.assertEqual("eth0", status["InterfaceName"])
        self.assertRegex(status["Address"], r"^172\.26\.6[4-9]\.\d+$")
        self.assertEqual({"Servers": ["10.0.0.53"], "Searches": ["example"], "Options": ["ndots:2"]}, status["DNS"])
        reached(8080, alloc["ID"], status["Address"])

        beside = self.task_dir(alloc, "beside")
        wait_until(lambda: os.path.exists(f"{beside}/addr") and os.path.getsize(f"{beside}/addr"), what="the other task")
        with open(f"{beside}/env") as f:
            environment = dict(line.rstrip("\n").split("=", 1) for line in f if "=" in line)
        self.assertEqual(
            {"NOMAD_ADDR_http": f"127.0.0.1:{port}", "NOMAD_ALLOC_PORT_http": "8080", "NOMAD_HOST_ADDR_http": f"127.0.0.1:{port}",
             "NOMAD_HOST_IP_http": "127.0.0.1", "NOMAD_HOST_PORT_http": str(port), "NOMAD_IP_http": "127.0.0.1",
             "NOMAD_PORT_http": "8080"},
            {name: value for name, value in environment.items() if name.endswith("_http")})
        self.assertEqual(str(plain), environment["NOMAD_PORT_plain"])
        pid = self.pids(alloc)[0]
        with open(f"{beside}/net") as f:
            self.assertEqual(os.readlink(f"/proc/{pid}/ns/net"), f.read().strip())
        self.assertNotEqual(os.readlink("/proc/self/ns/net"), os.readlink(f"/proc/{pid}/ns/net"))
        with open(f"{beside}/addr") as f:
            self.assertEqual({"lo", "eth0"}, {link["ifname"] for link in json.load(f)})

        ran = self.agent.run("alloc", "exec", "-task", "task", alloc["ID"], "/bin/sh", "-c", "readlink /proc/self/ns/net")
        self.assertEqual(os.readlink(f"/proc/{pid}/ns/net"), ran.stdout.strip(), ran)
        shown = self.agent.run("alloc", "status", alloc["ID"]).stdout
        self.assertIn('Allocation Addresses (mode = "bridge"):', shown)
        self.assertRegex(shown, rf"\*http +yes +127\.0\.0\.1:{port} -> 8080")

        self.purge("web")
        self.gone(alloc["ID"], status["Address"])

    def test_it_is_the_same_after_the_agent_was_killed(self):
        alloc = self.run_job(server_job("kept"))
        reached(self.port(alloc), alloc["ID"])
        before, pids = self.alloc(alloc["ID"])["NetworkStatus"], self.pids(alloc)
        self.assertTrue(before["Address"])
        self.agent.kill9()
        reached(self.port(alloc), alloc["ID"])
        self.agent.start()
        wait_until(lambda: self.alloc(alloc["ID"])["NetworkStatus"] == before, what="the same status")
        time.sleep(1)
        self.assertEqual(before, self.alloc(alloc["ID"])["NetworkStatus"])
        self.assertEqual(pids, self.pids(alloc))
        self.assertEqual([], self.messages(alloc["ID"], "Network"))
        reached(self.port(alloc), alloc["ID"])
        self.purge("kept")
        self.gone(alloc["ID"], before["Address"])

    def test_a_bridge_that_was_deleted_is_made_anew(self):
        alloc = self.run_job(server_job("mended"))
        reached(self.port(alloc), alloc["ID"])
        before, pids = self.alloc(alloc["ID"])["NetworkStatus"], self.pids(alloc)
        self.agent.kill9()
        subprocess.run(["ip", "link", "delete", "nomad"], check=True)
        self.agent.start()
        reached(self.port(alloc), alloc["ID"])
        self.assertEqual(before, self.alloc(alloc["ID"])["NetworkStatus"])
        self.assertEqual(pids, self.pids(alloc))  # The address is the old one, so nothing was restarted.
        told = wait_until(lambda: self.messages(alloc["ID"], "Network"), what="the event")
        self.assertRegex(told[0], r"^the network is damaged and is made anew: CNI plugin bridge failed at CHECK")
        self.purge("mended")
        self.gone(alloc["ID"], before["Address"])

    def test_tasks_are_restarted_into_a_namespace_that_is_made_anew(self):
        alloc = self.run_job(server_job("moved"))
        reached(self.port(alloc), alloc["ID"])
        pids = self.pids(alloc)
        self.agent.kill9()
        subprocess.run(["ip", "netns", "delete", alloc["ID"]], check=True)
        self.agent.start()
        wait_until(lambda: len(self.pids(alloc)) == 2, what="the restart")
        reached(self.port(alloc), alloc["ID"])
        self.assertNotEqual(pids, self.pids(alloc)[1:])
        self.assertIn("the network namespace is gone and is made anew", self.messages(alloc["ID"], "Network"))
        address = self.alloc(alloc["ID"])["NetworkStatus"]["Address"]
        self.purge("moved")
        self.gone(alloc["ID"], address)

    def test_a_node_that_lost_its_database_keeps_the_networks_of_what_runs(self):
        alloc = self.run_job(server_job("found"))
        reached(self.port(alloc), alloc["ID"])
        before, pids = self.alloc(alloc["ID"])["NetworkStatus"], self.pids(alloc)
        self.agent.kill9()
        for name in glob.glob(f"{self.agent.data_dir}/client/state.db*"):
            os.remove(name)
        self.agent.start()
        wait_until(lambda: self.alloc(alloc["ID"])["ClientStatus"] == "running", what="the allocation")
        time.sleep(1)
        reached(self.port(alloc), alloc["ID"])
        self.assertEqual((before, pids), (self.alloc(alloc["ID"])["NetworkStatus"], self.pids(alloc)))

    def test_a_port_that_the_host_has_is_not_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.agent.register(server_job("second", {"Mode": "bridge",
                                                      "ReservedPorts": [{"Label": "http", "Value": port, "To": 8080}]}))
            alloc = self.agent.wait_for_allocs("second", "failed")[0]
        told = self.messages(alloc["ID"], "Setup Failure")
        self.assertEqual(1, len(told), told)
        self.assertIn(f"port {port} (http) is taken: a process of this host listens at it", told[0])
        self.gone(alloc["ID"])

    def test_services_and_checks_use_the_address_inside(self):
        services = [{"Name": f"at-{mode}", "Provider": "nomad", "PortLabel": "http", "AddressMode": mode,
                     "Checks": [{"Name": mode, "Type": "http", "Path": "/", "Interval": 10**9, "Timeout": 10**9,
                                 "AddressMode": mode}]} for mode in ("alloc", "host")]
        alloc = self.run_job(server_job("served", None, Services=services))
        address = self.alloc(alloc["ID"])["NetworkStatus"]["Address"]
        def where(mode):
            found = self.agent.get(f"/v1/service/at-{mode}").json
            return [(one["Address"], one["Port"]) for one in found]
        wait_until(lambda: where("alloc") and where("host"), what="the services")
        self.assertEqual([(address, 8080)], where("alloc"))
        self.assertEqual([("127.0.0.1", self.port(alloc))], where("host"))
        def checks():
            found = self.agent.get(f"/v1/client/allocation/{alloc['ID']}/checks").json
            return len(found) == 2 and all(check["Status"] == "success" for check in found.values())
        wait_until(checks, what="the checks' success")

    def test_none_is_a_namespace_with_a_loopback_alone(self):
        look = "cat /proc/net/dev > local/dev; exec sleep 3600"
        alloc = self.run_job(group_job("alone", {"Mode": "none"}, task("task", "/bin/sh", "-c", look)))
        path = f"{self.task_dir(alloc)}/local/dev"
        wait_until(lambda: os.path.exists(path) and os.path.getsize(path), what="the task")
        with open(path) as f:
            self.assertEqual(["lo"], re.findall(r"^ *(\S+):", f.read(), re.M))
        self.assertEqual("", self.alloc(alloc["ID"])["NetworkStatus"]["Address"])
        self.assertTrue(os.path.exists(f"/run/netns/{alloc['ID']}"))
        self.purge("alone")
        self.gone(alloc["ID"])

    def test_a_hostname_is_refused_where_the_task_can_not_have_one(self):
        self.agent.register(server_job("named", {"Mode": "bridge", "Hostname": "web", "DynamicPorts": [{"Label": "http"}]}))
        alloc = self.agent.wait_for_allocs("named", "failed")[0]
        said = [event["DisplayMessage"] for event in self.alloc(alloc["ID"])["TaskStates"]["task"]["Events"]]
        self.assertTrue([text for text in said if "hostname is not supported by the driver of this task" in text], said)

    def test_isolated_tasks_are_in_it_and_know_its_names(self):
        if not self.agent.get("/v1/nodes").json[0]["Drivers"]["exec"]["Healthy"]:
            self.skipTest("this machine can't isolate")
        look = "cat /etc/hosts /etc/resolv.conf > /local/names; exec sleep 3600"
        made = server_job("apart", {"Mode": "bridge", "DynamicPorts": [{"Label": "http", "To": 8080}], "DNS": {"Servers": ["10.0.0.53"]}},
                          task("look", "/bin/sh", "-c", look))
        for one in made["TaskGroups"][0]["Tasks"]:
            one["Driver"], one["Resources"]["MemoryMB"] = "exec", 64
        alloc = self.run_job(made)
        reached(self.port(alloc), alloc["ID"])
        names = f"{self.task_dir(alloc, 'look')}/local/names"
        wait_until(lambda: os.path.exists(names) and "nameserver" in open(names).read(), what="the names")
        with open(names) as f:
            said = f.read()
        self.assertIn(f"{self.alloc(alloc['ID'])['NetworkStatus']['Address']} {alloc['ID'][:8]}\n", said)
        self.assertIn("nameserver 10.0.0.53\n", said)

    @unittest.skipUnless(shutil.which("java") and shutil.which("javac"), "needs java and javac")
    def test_a_program_of_java_asks_its_neighbour(self):
        if not self.agent.get("/v1/nodes").json[0]["Drivers"].get("java", {}).get("Healthy"):
            self.skipTest("this machine can't isolate")
        with harness.tempfile.TemporaryDirectory(prefix="nomadctl-test-") as where:
            with open(f"{where}/Ask.java", "w") as f:
                f.write(ASKING)
            subprocess.run(["javac", "Ask.java"], cwd=where, check=True)
            bring = task("bring", "/bin/sh", "-c", f"cp {where}/Ask.class $NOMAD_ALLOC_DIR/", Lifecycle={"Hook": "prestart"})
            asking = task("ask", "none", Driver="java", Resources={"CPU": 50, "MemoryMB": 256},
                          Config={"class": "Ask", "class_path": "${NOMAD_ALLOC_DIR}", "args": ["http://127.0.0.1:${NOMAD_PORT_http}/"]})
            alloc = self.run_job(server_job("java", None, bring, asking))
            said = f"{self.agent.data_dir}/alloc/{alloc['ID']}/alloc/logs/ask.stdout.0"
            wait_until(lambda: os.path.exists(said) and os.path.getsize(said), what="the answer")
            with open(said) as f:
                self.assertEqual(f"it is {alloc['ID']}\n", f.read())

    def test_host_is_the_hosts(self):
        look = "readlink /proc/self/ns/net > local/net; exec sleep 3600"
        alloc = self.run_job(group_job("outside", {"Mode": "host", "DynamicPorts": [{"Label": "http"}]},
                                       task("task", "/bin/sh", "-c", look)))
        path = f"{self.task_dir(alloc)}/local/net"
        wait_until(lambda: os.path.exists(path) and os.path.getsize(path), what="the task")
        with open(path) as f:
            self.assertEqual(os.readlink("/proc/self/ns/net"), f.read().strip())
        self.assertFalse(os.path.exists(f"/run/netns/{alloc['ID']}"))


@unittest.skipUnless(os.path.exists("/usr/sbin/xtables-legacy-multi"), "iptables is here of one kind")
class LegacyTest(Case):
    """With iptables of the other kind in place of the one that speaks to nf_tables."""

    @classmethod
    def setUpClass(cls):
        subprocess.run(["mount", "--bind", "/usr/sbin/xtables-legacy-multi", "/usr/sbin/xtables-nft-multi"], check=True)
        cls.addClassCleanup(subprocess.run, ["umount", "/usr/sbin/xtables-nft-multi"], check=True)
        if subprocess.run(["iptables", "-t", "nat", "-L", "-n"], capture_output=True).returncode != 0:
            raise unittest.SkipTest("this kernel has no iptables of the older kind")
        super().setUpClass()

    def test_a_server_is_reached_and_nothing_is_left(self):
        self.assertIn("legacy", output_of("iptables", "-V"))
        alloc = self.run_job(server_job("older"))
        for address in ("127.0.0.1", "10.99.0.1"):
            reached(self.port(alloc), alloc["ID"], address)
        address = self.alloc(alloc["ID"])["NetworkStatus"]["Address"]
        self.assertIn(alloc["ID"], rules())
        self.purge("older")
        self.gone(alloc["ID"], address)


class PluginsTest(Case):
    """Plugins that fail, hang and talk too much."""
    config = ""

    @classmethod
    def client_config(cls):
        cls.own = harness.tempfile.mkdtemp(prefix="nomadctl-test-")
        os.makedirs(f"{cls.own}/bin")
        os.makedirs(f"{cls.own}/conf")
        with open(f"{cls.own}/bin/other", "w") as f:
            f.write(f"""#!/usr/bin/env python3
import json, os, sys
verb = os.environ["CNI_COMMAND"] if "CNI_COMMAND" in os.environ else sys.exit(1)
told = json.load(sys.stdin)
with open("{cls.own}/calls", "a") as f:
    f.write(verb + " " + os.environ["CNI_CONTAINERID"] + "\\n")
try:
    exec(open("{cls.own}/on-" + verb).read())
except FileNotFoundError:
    pass
if verb == "ADD":
    print(json.dumps(told["prevResult"]))
""")
        os.chmod(f"{cls.own}/bin/other", 0o755)
        with open(f"{cls.own}/conf/10-own.conflist", "w") as f:
            json.dump({"cniVersion": "0.4.0", "name": "own", "plugins": [
                {"type": "bridge", "bridge": "own0", "isGateway": True, "ipMasq": True,
                 "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.77.0.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
                {"type": "other"}, {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}]}, f)
        return f"""
client {{
  cni_path       = "{cls.own}/bin:{PLUGINS}"
  cni_config_dir = "{cls.own}/conf"
}}
"""

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        shutil.rmtree(cls.own)

    network = {"Mode": "cni/own", "DynamicPorts": [{"Label": "http", "To": 8080}]}

    def on(self, verb, script):
        path = f"{self.own}/on-{verb}"
        with open(path, "w") as f:
            f.write(script)
        self.addCleanup(lambda: os.path.exists(path) and os.remove(path))

    def calls(self, alloc_id):
        if not os.path.exists(f"{self.own}/calls"):
            return []
        with open(f"{self.own}/calls") as f:
            return [line.split()[0] for line in f if line.split()[1] == alloc_id]

    def test_a_network_of_the_operators_own(self):
        alloc = self.run_job(server_job("own", self.network))
        self.assertRegex(self.alloc(alloc["ID"])["NetworkStatus"]["Address"], r"^10\.77\.0\.")
        reached(self.port(alloc), alloc["ID"])
        self.assertEqual(["ADD"], self.calls(alloc["ID"]))
        self.purge("own")
        self.gone(alloc["ID"])
        self.assertEqual(["ADD", "DEL"], self.calls(alloc["ID"]))

    def test_a_network_that_comes_later_is_found_after_sighup(self):
        later = f"{self.own}/conf/20-later.conflist"
        with open(later, "w") as f:
            json.dump({"cniVersion": "0.4.0", "name": "later", "plugins": [{"type": "loopback"}]}, f)

        def known():
            node = self.agent.get("/v1/node/" + self.agent.get("/v1/nodes").json[0]["ID"]).json
            return "cni/later" in [each["Mode"] for each in node["NodeResources"]["Networks"]]

        self.addCleanup(lambda: os.path.exists(later) and os.remove(later))
        self.assertFalse(known())
        self.agent.process.send_signal(signal.SIGHUP)
        wait_until(known, what="the network on the node")
        os.remove(later)
        self.agent.process.send_signal(signal.SIGHUP)
        wait_until(lambda: not known(), what="a node without it")

    def test_one_that_fails_half_way_leaves_nothing(self):
        self.on("ADD", """print(json.dumps({"cniVersion": "0.4.0", "code": 7, "msg": "no such thing"})); sys.exit(1)""")
        self.agent.register(server_job("half", self.network))
        alloc = self.agent.wait_for_allocs("half", "failed")[0]
        told = self.messages(alloc["ID"], "Setup Failure")
        self.assertIn("CNI plugin other failed at ADD: no such thing", told[0])
        self.gone(alloc["ID"])
        self.assertFalse([link for link in links() if link.startswith("veth")])

    def test_nonsense_is_told(self):
        self.on("ADD", "print('hello'); sys.exit(0)")
        self.agent.register(server_job("nonsense", self.network))
        alloc = self.agent.wait_for_allocs("nonsense", "failed")[0]
        self.assertIn("CNI plugin other: the result is no JSON", self.messages(alloc["ID"], "Setup Failure")[0])
        self.gone(alloc["ID"])

    def test_an_agent_that_is_killed_while_a_plugin_runs(self):
        self.on("ADD", f"""
import time
if not os.path.exists("{self.own}/slow"):
    open("{self.own}/slow", "w").close()
    time.sleep(600)
""")
        self.agent.register(server_job("killed", self.network))
        wait_until(lambda: os.path.exists(f"{self.own}/slow"), what="the plugin's begin")
        alloc = self.agent.allocs("killed")[0]
        self.agent.kill9()
        self.agent.start()
        self.agent.wait_for_allocs("killed", "running")
        reached(self.port(self.alloc(alloc["ID"])), alloc["ID"])
        self.assertEqual(1, len([link for link in links() if link.startswith("veth")]))
        self.purge("killed")
        self.gone(alloc["ID"])

    def test_one_that_can_not_be_taken_down_is_tried_again(self):
        alloc = self.run_job(server_job("stuck", self.network))
        self.on("DEL", """print(json.dumps({"code": 11, "msg": "later"})); sys.exit(1)""")
        self.purge("stuck")
        wait_until(lambda: "DEL" in self.calls(alloc["ID"]), what="the plugin's call")
        os.remove(f"{self.own}/on-DEL")
        self.agent.kill9()
        self.agent.start()
        self.gone(alloc["ID"])


class HostNetworksTest(Case):
    """Ports at the addresses that the operator has given names."""

    @classmethod
    def client_config(cls):
        cls.own = harness.tempfile.mkdtemp(prefix="nomadctl-test-")
        cls.addClassCleanup(shutil.rmtree, cls.own)
        with open(f"{cls.own}/10-both.conflist", "w") as f:
            json.dump({"cniVersion": "0.4.0", "name": "both", "plugins": [
                {"type": "bridge", "bridge": "both0", "isGateway": True, "ipMasq": True,
                 "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.66.0.0/24"}], [{"subnet": "fd00:66::/64"}]],
                          "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}},
                {"type": "portmap", "capabilities": {"portMappings": True}, "snat": True}, {"type": "last"}]}, f)
        os.mkdir(f"{cls.own}/bin")
        with open(f"{cls.own}/bin/last", "w") as f:  # It is asked when those before it have nothing to complain of.
            f.write(f"""#!/usr/bin/env python3
import json, os, sys
verb = os.environ["CNI_COMMAND"] if "CNI_COMMAND" in os.environ else sys.exit(1)
told = json.load(sys.stdin)
with open("{cls.own}/calls", "a") as f:
    f.write(verb + "\\n")
if verb == "ADD":
    print(json.dumps(told["prevResult"]))
""")
        os.chmod(f"{cls.own}/bin/last", 0o755)
        six = 'host_network "six" {\n    cidr = "fd00:99::/64"\n  }' if cls.has_six() else ""
        return f"""
client {{
  cni_path       = "{cls.own}/bin:{PLUGINS}"
  cni_config_dir = "{cls.own}"
  host_network "public" {{
    cidr = "10.99.0.0/24"
  }}
  {six}
}}
"""

    @staticmethod
    def has_six():
        return "fd00:99::1" in output_of("ip", "-o", "addr", "show", "dev", "outside")

    def test_a_port_is_at_the_address_of_its_host_network_alone(self):
        alloc = self.run_job(server_job("named", {"Mode": "bridge", "DynamicPorts": [
            {"Label": "http", "To": 8080}, {"Label": "public", "To": 8080, "HostNetwork": "public"}]}))
        usual, public = self.port(alloc), self.port(alloc, "public")
        reached(usual, alloc["ID"])
        reached(public, alloc["ID"], "10.99.0.1")
        self.assertFalse(answers_at(usual, alloc["ID"], "10.99.0.1"))
        self.assertFalse(answers_at(public, alloc["ID"], "127.0.0.1"))
        ran = self.agent.run("alloc", "exec", "-task", "task", alloc["ID"], "/bin/sh", "-c", "echo $NOMAD_ADDR_public $NOMAD_PORT_public")
        self.assertEqual(f"10.99.0.1:{public} 8080\n", ran.stdout, ran)
        self.assertIn(f"10.99.0.1:{public} -> 8080", self.agent.run("alloc", "status", alloc["ID"]).stdout)
        shown = self.agent.run("node", "status", "-self", "-verbose").stdout
        self.assertRegex(shown, r"public +10\.99\.0\.0/24")
        address = self.alloc(alloc["ID"])["NetworkStatus"]["Address"]
        self.purge("named")
        self.gone(alloc["ID"], address)

    def test_a_server_is_reached_by_the_newer_protocol_and_nothing_is_left(self):
        if not self.has_six():
            self.skipTest("this machine has no IPv6")
        alloc = self.run_job(server_job("six", {"Mode": "cni/both", "DynamicPorts": [
            {"Label": "http", "To": 8080}, {"Label": "six", "To": 8080, "HostNetwork": "six"}]}, address="::"))
        reached(self.port(alloc), alloc["ID"])
        reached(self.port(alloc, "six"), alloc["ID"], "[fd00:99::1]")
        ran = self.agent.run("alloc", "exec", "-task", "task", alloc["ID"], "/bin/sh", "-c", "echo $NOMAD_ADDR_six; ip -o -6 addr show eth0")
        self.assertIn(f"[fd00:99::1]:{self.port(alloc, 'six')}\n", ran.stdout, ran)
        self.assertIn("fd00:66::", ran.stdout)
        before = self.alloc(alloc["ID"])["NetworkStatus"]
        self.agent.kill9()
        self.agent.start()
        def calls():
            with open(f"{self.own}/calls") as f:
                return f.read().split()
        wait_until(lambda: len(calls()) > 1, what="a look at the network")
        self.assertEqual(["ADD", "CHECK"], calls())
        reached(self.port(alloc, "six"), alloc["ID"], "[fd00:99::1]")
        self.assertEqual((before, []), (self.alloc(alloc["ID"])["NetworkStatus"], self.messages(alloc["ID"], "Network")))
        self.purge("six")
        self.gone(alloc["ID"], before["Address"])
        self.assertNotIn(alloc["ID"], output_of("ip6tables-save"))


class AnotherNodeTest(Case):
    """The servers wait for the node that is gone, so the allocation is not waited for here."""

    def test_what_nobody_knows_any_more_is_taken_down(self):
        alloc = self.run_job(server_job("forgotten"))
        address = self.alloc(alloc["ID"])["NetworkStatus"]["Address"]
        self.agent.kill9()
        for name in glob.glob(f"{self.agent.data_dir}/client/state.db*") + glob.glob(f"{self.agent.data_dir}/client/identity*"):
            os.remove(name)  # It is another node from now on.
        self.agent.start()
        self.gone(alloc["ID"], address)


class WithoutPluginsTest(Case):
    config = 'client {\n  cni_path = "/nowhere"\n}\n'

    def test_a_node_that_has_no_plugins_has_no_bridge(self):
        node = self.agent.get("/v1/node/" + self.agent.get("/v1/nodes").json[0]["ID"]).json
        self.assertNotIn("bridge", [network["Mode"] for network in node["NodeResources"]["NodeNetworks"]])
        self.agent.register(server_job("waits"))
        def reason():
            evaluations = self.agent.get("/v1/job/waits/evaluations").json
            return [e["FailedTGAllocs"]["group"]["ConstraintFiltered"] for e in evaluations if e.get("FailedTGAllocs")]
        self.assertIn("missing network", wait_until(reason, what="the evaluation")[0])


if __name__ == "__main__":
    harness.main()
