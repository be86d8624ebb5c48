"""Volumes of CSI with the sample plugin and real mounts: made, used, given back, and what becomes of them when plugins
misbehave and agents are killed."""
import os
import tempfile
import shutil
import unittest

import harness
from harness import Agent, job, wait_until

SAMPLE = os.environ.get("NOMADCTL_CSI_LOCAL", "")
CONFIG = 'plugin "raw_exec" {\n  config {\n    enabled = true\n  }\n}\n'


class CsiTest(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            raise unittest.SkipTest("mounting needs root")
        self.folder = tempfile.mkdtemp(prefix="csi-test-")
        self.agent = Agent(CONFIG).start()
        self.say("")
        self.agent.register(self.plugin_job())
        self.wait_for_plugin()

    def tearDown(self):
        with open("/proc/self/mounts") as f:
            left = [line.split()[1] for line in f if self.agent.data_dir in line]
        self.agent.destroy()
        for path in reversed(left):
            os.system(f"umount -l {path} 2>/dev/null")
        shutil.rmtree(self.folder, ignore_errors=True)

    # -- what there is

    def plugin_job(self):
        made = job("csi-local", "raw_exec", {
            "command": SAMPLE,
            "args": [f"-data={self.folder}/data", f"-log={self.folder}/calls", f"-misbehave={self.folder}/manners",
                     "-node=n1"]}, kind="system")
        made["TaskGroups"][0]["Tasks"][0]["CSIPluginConfig"] = {"ID": "local", "Type": "monolith"}
        return made

    def wait_for_plugin(self):
        def is_healthy():
            plugin = self.agent.get("/v1/plugin/csi/local")
            return plugin.status == 200 and plugin.json["NodesHealthy"] == 1 and plugin.json["ControllersHealthy"] == 1
        wait_until(is_healthy, what="the plugin's health")

    def say(self, manners):
        """What the plugin does wrong from now on."""
        with open(self.folder + "/manners.new", "w") as f:
            f.write(manners + "\n")
        os.rename(self.folder + "/manners.new", self.folder + "/manners")

    def calls(self, *words):
        """The calls of these methods, in their order; without any, all but probes."""
        if not os.path.exists(self.folder + "/calls"):
            return []
        with open(self.folder + "/calls") as f:
            names = [line.split()[0] for line in f if line.strip()]
        return [name for name in names if (name in words if words else "Get" not in name and name != "Probe")]

    def create(self, name="data", **fields):
        volume = dict({
            "ID": name, "Name": name, "PluginID": "local", "RequestedCapacityMin": 1 << 20,
            "RequestedCapabilities": [{"AccessMode": "single-node-writer", "AttachmentMode": "file-system"}]}, **fields)
        answer = self.agent.put(f"/v1/volume/csi/{name}/create", {"Volumes": [volume]})
        self.assertEqual(answer.status, 200, answer)

    def consumer(self, name="writer", script="echo begun >> /data/log; while :; do date +%N >> /data/log; sleep 0.2; done"):
        made = job(name, "exec", {"command": "/bin/sh", "args": ["-c", script]})
        group = made["TaskGroups"][0]
        group["Volumes"] = {"data": {"Name": "data", "Type": "csi", "Source": "data", "AccessMode": "single-node-writer",
                                     "AttachmentMode": "file-system"}}
        group["Tasks"][0]["VolumeMounts"] = [{"Volume": "data", "Destination": "/data"}]
        group["Tasks"][0]["Resources"] = {"CPU": 50, "MemoryMB": 64}
        group["RestartPolicy"] = {"Attempts": 0, "Mode": "fail"}
        group["ReschedulePolicy"] = {"Attempts": 0, "Unlimited": False}
        return made

    def run_consumer(self):
        self.agent.register(self.consumer())
        self.agent.wait_for_allocs("writer", "running")

    def stop(self, name="writer"):
        self.assertEqual(self.agent.request("DELETE", f"/v1/job/{name}").status, 200)

    def mounts(self):
        with open("/proc/self/mounts") as f:
            return [line.split()[1] for line in f
                    if self.agent.data_dir in line and ("/per-alloc/" in line or "/staging/" in line)]

    def is_free(self):
        volume = self.agent.get("/v1/volume/csi/data").json
        return not volume["WriteAllocs"] and not volume["ReadAllocs"]

    def wait_until_free(self):
        wait_until(self.is_free, what="the volume to be free")
        wait_until(lambda: not self.mounts(), what="nothing to be mounted")

    def events(self, name="writer"):
        states = self.agent.allocs(name)[0]["TaskStates"] or {}
        return [event["DisplayMessage"] for event in states.get("task", {}).get("Events", [])]

    def lines(self):
        path = self.folder + "/data/volumes/data/data/log"
        if not os.path.exists(path):
            return 0
        with open(path) as f:
            return len(f.readlines())

    # -- what has to be so

    def test_a_volume_is_made_used_and_given_back(self):
        self.create()
        self.run_consumer()
        wait_until(lambda: self.lines() > 2, what="lines in the volume")
        self.assertEqual(len(self.mounts()), 2)
        self.assertFalse(self.is_free())
        self.stop()
        self.wait_until_free()
        self.assertEqual(self.calls(), [
            "CreateVolume", "ControllerPublishVolume", "NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume",
            "NodeUnstageVolume", "ControllerUnpublishVolume"])
        self.assertEqual(self.agent.request("DELETE", "/v1/volume/csi/data/delete").status, 200)
        self.assertFalse(os.path.exists(self.folder + "/data/volumes/data"))

    def test_snapshots_are_made_listed_and_deleted(self):
        self.create()
        made = self.agent.put("/v1/volumes/snapshot", {"Snapshots": [{"SourceVolumeID": "data", "Name": "first"}]})
        self.assertEqual(made.status, 200, made)
        snapshot = made.json["Snapshots"][0]["ID"]
        self.create("copy", SnapshotID=snapshot)
        listed = self.agent.get("/v1/volumes/snapshot?plugin_id=local").json["Snapshots"]
        self.assertEqual([one["ID"] for one in listed], [snapshot])
        self.assertEqual(self.agent.request("DELETE", f"/v1/volumes/snapshot?plugin_id=local&snapshot_id={snapshot}").status, 200)
        self.assertFalse(self.agent.get("/v1/volumes/snapshot?plugin_id=local").json["Snapshots"])

    def test_a_refusal_of_the_plugin_is_told_and_the_claim_is_given_back(self):
        self.create()
        self.say("NodeStageVolume fail 13 no disk")
        self.agent.register(self.consumer())
        self.agent.wait_for_allocs("writer", "failed")
        self.assertIn('failed to setup alloc: pre-run hook "csi_hook" failed: mounting volumes: node plugin returned an '
                      'internal error, check the plugin allocation logs for more information: rpc error: code = Internal '
                      'desc = no disk', self.events())
        self.wait_until_free()

    def test_a_kill_between_stage_and_publish_leaves_nothing_mounted(self):
        self.create()
        self.say("NodePublishVolume hang")
        self.agent.register(self.consumer())
        wait_until(lambda: self.calls("NodePublishVolume"), what="the publishing")
        self.agent.kill9()
        self.assertEqual(len(self.mounts()), 1)
        self.say("")
        self.agent.start()
        self.stop()
        self.wait_until_free()

    def test_a_running_task_keeps_its_mount_when_the_agent_is_killed(self):
        self.create()
        self.run_consumer()
        wait_until(lambda: self.lines() > 2, what="lines in the volume")
        self.agent.kill9()
        self.agent.start()
        self.wait_for_plugin()
        before = self.lines()
        wait_until(lambda: self.lines() > before + 3, what="more lines")
        self.assertEqual(self.calls("NodePublishVolume", "NodeStageVolume"), ["NodeStageVolume", "NodePublishVolume"])
        self.stop()
        self.wait_until_free()

    def test_a_volume_that_is_not_unmounted_keeps_its_claim_until_it_is(self):
        self.create()
        self.run_consumer()
        self.say("NodeUnpublishVolume fail 13 busy")
        self.stop()
        wait_until(lambda: len(self.calls("NodeUnpublishVolume")) > 1, what="a second try")
        self.assertFalse(self.is_free())
        self.assertFalse(self.calls("ControllerUnpublishVolume"))
        self.say("")
        self.wait_until_free()

    def test_a_plugin_that_dies_comes_back_and_takes_the_volume_down(self):
        self.create()
        self.run_consumer()
        self.say("NodeUnpublishVolume die")
        self.stop()
        wait_until(lambda: self.calls("NodeUnpublishVolume"), what="the unpublishing")
        self.say("")
        self.wait_until_free()

    def test_a_plugin_that_never_answers_has_its_task_killed(self):
        self.say("Probe hang")
        made = self.plugin_job()
        made["ID"] = made["Name"] = "second"
        made["Type"] = "service"
        task = made["TaskGroups"][0]["Tasks"][0]
        task["CSIPluginConfig"] = {"ID": "second", "Type": "node", "HealthTimeout": 2_000_000_000}
        made["TaskGroups"][0]["RestartPolicy"] = {"Attempts": 0, "Mode": "fail"}
        made["TaskGroups"][0]["ReschedulePolicy"] = {"Attempts": 0, "Unlimited": False}
        self.agent.register(made)
        self.agent.wait_for_allocs("second", "failed")
        self.assertTrue(any("CSI plugin did not become healthy before configured 2s health timeout" in text
                            for text in self.events("second")), self.events("second"))


if __name__ == "__main__":
    harness.main()
