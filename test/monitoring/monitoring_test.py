"""examples/monitoring: promtool tries the alerts, and every metric that is named there is one of the
agent's. Without promtool the first is skipped, and with it the test."""
import json
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77  # as meson reads it

# What nomadctl shows beyond Nomad's.
OWN = {"nomad_nomad_raft_read_only", "nomad_raft_leader_lastContact", "nomad_client_allocs_memory_usage", "up"}


def known(root):
    with open(os.path.join(root, "test/monitoring/nomad_metrics.txt")) as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    return OWN | {words[0] for words in lines if words[0] != "absent"}


def named(folder):
    """The metrics in the alerts and on the dashboard."""
    with open(os.path.join(folder, "alerts.yml")) as file:
        texts = re.findall(r"(?m)^ *expr: (.*)$", file.read())
    with open(os.path.join(folder, "dashboard.json")) as file:
        texts += [target["expr"] for panel in json.load(file)["panels"] for target in panel["targets"]]
    return {name for text in texts for name in re.findall(r"\b(?:nomad|process)_\w+|\bup\b", text)}


def main(root):
    folder = os.path.join(root, "examples/monitoring")
    names = named(folder)
    unknown = names - known(root)
    if len(names) < 20 or unknown:
        sys.exit(f"metrics that no agent has: {sorted(unknown)}, of {len(names)}")
    with open(os.path.join(folder, "alerts.yml")) as rules, open(os.path.join(folder, "alerts_test.yml")) as tests:
        alerts = set(re.findall(r"- alert: (\w+)", rules.read()))
        tried = set(re.findall(r"- name: (\w+)\n", tests.read()))
    if alerts - tried:
        sys.exit(f"alerts that nothing tries: {sorted(alerts - tried)}")
    if not shutil.which("promtool"):
        print("skipped: there is no promtool (apt-get install prometheus)")
        sys.exit(SKIPPED)
    for words in (["check", "config", "prometheus.yml"], ["test", "rules", "alerts_test.yml"]):
        subprocess.run(["promtool", *words], cwd=folder, check=True)


if __name__ == "__main__":
    main(sys.argv[1])
