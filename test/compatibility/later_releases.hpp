// The part of docs/compatibility.md about what releases after 1.6 have: written by hand, since no
// table of ours names what is not there.
#pragma once

#include <string_view>

inline constexpr std::string_view later_releases = R"(
## Later releases

What Nomad has got after 1.6, as far as a job, a command or a program can ask for it, and what becomes of it here. "Left out" says why: *not missed*
is what nobody has asked for yet, and would be taken if somebody did. What is here is as in the release that is named ([HTTP](HTTP.md#what-later-releases-have)).

| since | what | state | |
|---|---|---|---|
| 1.7 | identities with a name, `aud`, `ttl`, files; published keys, RS256 | works | `extra_claims` is left out: nothing verifies what a job says of itself |
| 1.7 | Vault and Consul by identities; several clusters of each | left out | there is neither yet |
| 1.7 | actions (`action {}`, `job action`) | works | |
| 1.7 | locks of variables, `var lock` | works | |
| 1.7 | NUMA (`resources { numa {} }`) | left out | cores are reserved, not placed by their memory: not missed |
| 1.7 | the Task API; agents that listen at a Unix socket | partly | every task has its socket, and `-address unix://…` works; an agent itself listens on TCP alone: put a proxy before it |
| 1.7 | `-json`, `-t` of `job status` | works | |
| 1.7.3 | `memory_max = -1` of raw_exec | left out | leave `memory_max` out |
| 1.8 | `disconnect {}`, `prevent_reschedule_on_lost` | works | |
| 1.8 | `/v1/jobs/statuses`, `ui {}` of a job | works | |
| 1.8 | `schedule {}` of a task, `alloc pause` | works | of Enterprise there |
| 1.8 | `operator autopilot health`, `operator raft transfer-leadership` (1.7) | works | |
| 1.8 | `cgroup_v1_override`, `cgroup_v2_override`, `oom_score_adj` (1.8.1) of raw_exec | left out | tasks are in cgroups of the agent's making, by which it finds and ends them |
| 1.8.2 | `job scale -check-index` | left out | `job run -check-index` has it; the count alone is never lost, for it is set and not added |
| 1.8.3 | `job inspect -hcl` | works | |
| 1.8.3 | finer words for ACL policies | left out | `submit-job`, `operator`, `agent` as in 1.6 |
| 1.8.4 | network modes that a namespace allows; size of the secrets directory (`resources { secrets }`) | left out | [admission policies](security.md) can judge a job's networks |
| 1.9 | tags of versions, `job tag`, `-diff-tag`, `-diff-version` | works | |
| 1.9 | `ignore_collision` of ports | works | |
| 1.9 | IPv6 in the bridge, `preferred_address_family`, arguments for CNI plugins | left out | networks of the bridge are IPv4; a CNI configuration has its own: not missed |
| 1.9 | root keys published before they are used (`-prepublish`), Vault's transit engine, a key in a file | works | KMS of clouds are left out: none can be tried here |
| 1.9 | `operator snapshot redact` | left out | snapshots hold no key in the clear ([why](internals/keyring.md#why-encrypt-wraps)) |
| 1.9.2 | `POST /v1/job/:id/dispatch/payload` | left out | `dispatch` takes the payload as base64: a webhook needs a line of shell: not missed |
| 1.9.2 | `work_dir`, `denied_host_uids`, `denied_host_gids`, `denied_envvars` (1.10) of exec, raw_exec and java | left out | a shell's `cd`; `client { options }` with `user.denylist` and `env.denylist`; docker has `work_dir` |
| 1.9.6 | `failures_before_warning`, `weights`, `notes` of checks | left out | of Consul |
| 1.10 | host volumes that are made by request, `volume create -type host`, claims (`sticky`) | left out | host volumes of the configuration work, and CSI volumes |
| 1.10 | `-group` of `alloc exec`, `alloc logs`, `alloc fs` | works | with `-job` |
| 1.10 | links to the web UI behind commands, `-ui` | left out | `ui` opens it; scripts get no more lines than those of 1.6 |
| 1.10 | events of host volumes made by request | left out | there are none; CSI volumes have events; variables' (2.0) are left out, for their paths are secrets to some |
| 1.10.1 | `job dispatch -priority` | works | |
| 1.10.2 | `job start`, `once` of templates | works | |
| 1.10.2 | policies for the identities of a whole namespace | works | `acl policy apply -namespace` |
| 1.10.2 | `client { node_max_allocs }`, `default_ineligible` (2.0.3), `gc_volumes_on_node_gc` | left out | reserve resources; `node eligibility -disable`; not missed |
| 1.10.4 | logs of the past, `monitor export` | left out | journald and log files are there to be read: no agent hands out files of its host |
| 1.11 | deployments of system jobs | works | |
| 1.11 | `job run -preserve-resources` | works | |
| 1.11 | identities of clients, `node intro`, `node identity` | left out | certificates and a node's secret say who a client is |
| 1.11 | `secret {}` blocks, `common_plugin_dir` | left out | templates and `nomadVar` |
| 1.11 | plans' annotations and related evaluations in `eval status` | partly | `eval status -verbose` has the related ones; `operator decisions` has more than the annotations |
| 2.0 | `max_run_duration` of a group | left out | `timeout` of coreutils before the command: not missed yet |
| 2.0.1 | `exec -it` as one flag; commands that go on when the agent is away for a moment | left out | `-i -t`; several addresses in `NOMAD_ADDR` |
| 2.0.3 | reload by request (`/v1/agent/reload`), client tokens with an own secret | left out | SIGHUP; a token's secret is drawn here |
| 2.0.5 | `job plan -json-output`, `run_on_first_render` | partly | `run_on_first_render` works; the plan as JSON is `/v1/job/:id/plan` |
| | `operator utilization`, `windows service`, `raft migrate-backend`, `setup consul`, `setup vault` | left out | of Enterprise, of Windows, of other backends, of what is not there |
)";
