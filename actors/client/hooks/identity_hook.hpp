// IdentityHook ("identity"): gives a task the identities that its job says it shows: the default
// one as NOMAD_TOKEN or `secrets/nomad_token`, those with a name as NOMAD_TOKEN_<name> or
// `secrets/nomad_<name>.jwt`, or in a file below the task's directory. A start waits until all are
// signed. Those that end are renewed in time and their files replaced; then the task is told as
// `change_mode` says. What a running process has in its environment stays as it was: the next start
// has the newest. When that is, is decided by workload::IdentityMachine.
//
// Files are the task's user's alone (0600), or everybody's who may enter the directory where he is
// not known. The agent writes down no token besides; only when each came and how long it lasts, in
// `.identities` beside the task's directory, so that the next agent renews it in time.
//
// Identities of services ("group_identities": those of the group's; those of a task's come with the
// task's) show nowhere unless they say `file`. They are among the NodeIdentities, renewed, for the
// hooks that register services elsewhere, and there before these are asked.
//
// A file that can't be written is tried again by itself, and is a task's event after some tries.
// The IdentitySigner tells when the wall clock was set, for who verifies goes by that.
//
// Owns:   the decisions, the tokens, the environment of the newest start, a timer; what it has put
//         among the NodeIdentities.
// Takes:  what the role Hook lists. A Cancel ends the wait for the servers. An update may bring
//         services other identities. ClockMoved.
// Parent: alloc_runner, task_runner, report: the next phase finds a new one, which has all signed
//         anew.
// Ends:   by the parent's exit message.
#pragma once

#include <functional>

#include "actors/client/hooks/hook.hpp"
#include "actors/client/tools/blocking_pool.hpp"
#include "actors/client/tools/identity_files.hpp"
#include "actors/client/tools/identity_signer.hpp"
#include "actors/client/tools/node_identities.hpp"
#include "runtime/base/random.hpp"

namespace nomad::client {

struct IdentityHookParts {
  IdentitySigner signer;
  std::shared_ptr<NodeIdentities> node_identities;
  BlockingPool steps;
  UnixClock unix_now;
  IdentityDisk disk{};
  /// Of the chance that spreads renewals, drawn for each task.
  std::function<Random()> random = Random::from_system;
};

HookEntry identity_hook(IdentityHookParts parts);
HookEntry group_identities_hook(IdentityHookParts parts);

}  // namespace nomad::client
