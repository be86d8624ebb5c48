"""Counts the product's lines without blanks and comments. usage: product_lines.py [REVISION…]   (HEAD)

A table of the folders, a column for each revision, and one of the subjects that 2fff1078, from which the
project counts, did not have. What such a subject added to files that there were before is in none of them.
"""
import fnmatch
import os
import subprocess
import sys

FOLDERS = ("runtime", "actors", "cli", "schema", "subprojects")
ENDINGS = {".cpp": "//", ".hpp": "//", ".def": "//", ".capnp": "#"}  # and how a comment begins
# Subject -> the files that are its alone.
SUBJECTS = {
    "access: tokens, policies, roles, sign-in": (
        "runtime/access/*", "actors/api/acl/*", "cli/acl/*", "runtime/cluster/acl/*", "runtime/state/kinds/*acl*",
        "runtime/cluster/data/stored_rights.*", "runtime/cluster/job_rights.*", "actors/rpc/rights_link.*", "actors/api/http/rights_watch.*",
        "actors/api/http/presented.*", "actors/api/http/secret_answer.*", "actors/api/agent/whoami_endpoint.*", "runtime/jobspec/validate/rules_identity.*",
        "runtime/text/bcrypt.*", "cli/browser.*", "schema/acl.capnp", "schema/login.capnp"),
    "identities of tasks, task sockets": (
        "runtime/identity/*", "runtime/workload/identities/*", "actors/client/tools/*identit*", "actors/client/tools/task_*", "actors/client/hooks/api_hook.*",
        "actors/client/hooks/identity_hook.*", "actors/server/data/identity_endpoint.*", "actors/api/cluster/identity_endpoint.*", "runtime/host/task/*",
        "actors/api/http/task_gate.*", "runtime/telemetry/identity_counters.*"),
    "root keys, wrapping keys, gossip's keyring": (
        "runtime/keyring/*", "runtime/security/wrapping_key.*", "runtime/security/unopened_keys.*", "actors/server/keyring_rotator.*",
        "actors/api/cluster/root_key_wait.*", "runtime/cluster/members/*keyring*", "actors/agent/gossip_keyring.*", "actors/agent/transit_key.*", "actors/agent/wrapping_keys.*",
        "actors/api/agent/gossip_endpoint.*", "cli/operator/gossip_keyring_commands.*"),
    "audit": ("runtime/audit/*", "actors/api/audit/*", "cli/operator/audit_commands.*"),
    "quotas, namespaces' rules": (
        "runtime/scheduler/plan/quota_*", "runtime/state/kinds/quota_use.*", "cli/kinds/quota_*", "actors/api/cluster/quota_endpoint.*", "actors/api/jobs/namespace_use.*",
        "schema/quota.capnp"),
    "admission rules": ("runtime/cluster/admission/*", "actors/api/jobs/admission_cache.*", "cli/acl/sentinel_commands.*", "schema/admission.capnp"),
    "locks on variables": (
        "runtime/cluster/variables/*", "actors/server/lock_tracker.*", "actors/api/cluster/variable_lock.*", "cli/var/var_lock.*", "cli/var/lock_lease.*", "cli/var/child_group.*"),
    "copies of other regions": ("actors/server/regions/*", "runtime/cluster/regions/replica.*", "runtime/cluster/regions/shared_kinds.*"),
    "web UI: what serves it": ("actors/api/ui/*", "cli/ui.*", "subprojects/web-ui/include/*", "actors/api/jobs/job_statuses_endpoint.*"),
    "why": ("cli/why/*",),
    "dev": ("cli/dev/*",),
    "job logs, lines of logs": (
        "runtime/cluster/logs/*", "runtime/host/logs/*", "actors/api/jobs/job_logs.*", "actors/api/allocs/line_query.*", "cli/job/job_logs.*", "cli/job/in_turn.*"),
    "usage's history and advice, metrics' commands": (
        "runtime/workload/usage/usage_*", "actors/client/tools/kept_usage.*", "actors/client/usage_reader.*", "cli/operator/metrics_commands.*"),
    "profiles and samples of the agent": ("runtime/telemetry/cpu_profiler.*", "runtime/telemetry/profile_format.*", "actors/api/agent/pprof_endpoint.*", "cli/operator/debug_*"),
    "HCL1": ("runtime/hcl/syntax/hcl1_parser.*",),
    "search: fuzzy": ("runtime/query/fuzzy.*", "actors/api/cluster/fuzzy_search_endpoint.*"),
    "job restart and start, state and snapshot files": (
        "cli/job/job_restart.*", "cli/job/restart_plan.*", "cli/job/job_start.*", "cli/operator/raft_file_commands.*", "cli/operator/client_state.*", "cli/operator/state_view.*",
        "cli/operator/curl_command.*", "cli/server/check.*", "cli/config_validate.*"),
    "certificates, sprig": ("runtime/template/functions/certificates/*", "runtime/template/functions/sprig_crypto.*", "runtime/template/functions/spew.*"),
    "HTTP client, gRPC probes": ("runtime/net/http/client/*", "runtime/probe/grpc_*", "runtime/probe/hpack.*"),
    "machines in place of flags (docker, ledger, services, templates)": (
        "runtime/docker/*_machine.*", "runtime/workload/node/alloc_ledger.*", "runtime/workload/services/service_convergence.*", "runtime/workload/templates/*",
        "runtime/workload/runs/*"),
}


def code_lines(text, comment):
    """Without blanks and comments. Raw strings count as they stand."""
    lines, is_comment = 0, False
    for line in text.split("\n"):
        line = line.strip()
        if is_comment:
            is_comment = "*/" not in line
        elif line.startswith("/*"):
            is_comment = "*/" not in line
        elif line and not line.startswith(comment):
            lines += 1
    return lines


def count(revision):
    """Path -> lines, of the product's sources in a revision."""
    rows = subprocess.run(["git", "ls-tree", "-r", revision], check=True, capture_output=True, text=True).stdout.splitlines()
    blobs = [(row.split()[2], row.split("\t")[1]) for row in rows]
    blobs = [(blob, path) for blob, path in blobs
             if os.path.splitext(path)[1] in ENDINGS and path.split("/")[0] in FOLDERS]
    asked = "".join(blob + "\n" for blob, _ in blobs).encode()
    data = subprocess.run(["git", "cat-file", "--batch"], input=asked, check=True, capture_output=True).stdout
    result, at = {}, 0
    for _, path in blobs:
        end = data.index(b"\n", at)
        size = int(data[at:end].split()[2])
        result[path] = code_lines(data[end + 1:end + 1 + size].decode(), ENDINGS[os.path.splitext(path)[1]])
        at = end + size + 2
    return result


def matches(path, patterns):
    return any(fnmatch.fnmatchcase(path, pattern) for pattern in patterns)


def table(title, rows, revisions):
    print(f"| {title} | " + " | ".join(revisions) + " |\n|---|" + "---|" * len(revisions))
    for name, figures in rows:
        print(f"| {name} | " + " | ".join(f"{figure:,}" for figure in figures) + " |")
    print()


def main():
    os.chdir(subprocess.run(["git", "rev-parse", "--show-toplevel"], check=True, capture_output=True, text=True).stdout.strip())
    revisions = sys.argv[1:] or ["HEAD"]
    counts = [count(revision) for revision in revisions]
    rows = [(folder + "/", [sum(n for path, n in c.items() if path.startswith(folder + "/")) for c in counts]) for folder in FOLDERS]
    rows.append(("together", [sum(c.values()) for c in counts]))
    table("folder", rows, revisions)
    rows = [(name, [sum(n for path, n in c.items() if matches(path, patterns)) for c in counts]) for name, patterns in SUBJECTS.items()]
    rows.append(("together", [sum(figures) for figures in zip(*(figures for _, figures in rows))]))
    table("subject", rows, revisions)


if __name__ == "__main__":
    main()
