#include "runtime/cluster/previous_alloc.hpp"

#include <fmt/format.h>

#include "runtime/access/migrate_token.hpp"
#include "runtime/base/text.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::cluster {

namespace {

bool wants_migration(const state::AllocRow& row) {
  if (row.server_terminal || !row.job) return false;
  for (const auto group : row.job->getTaskGroups())
    if (view(group.getName()) == row.alloc->task_group())
      return group.getEphemeralDisk().getMigrate();
  return false;
}

}  // namespace

Result<PreviousAlloc> previous_alloc_of(const state::Snapshot& snapshot,
                                        std::string_view node_id,
                                        std::string_view alloc_id) {
  const auto row = snapshot.alloc(alloc_id);
  if (!row) return Error{Errc::not_found, fmt::format("allocation {} not found", quote(alloc_id))};
  if (row->alloc->node_id() != node_id)
    return Error{Errc::permission_denied,
                 fmt::format("allocation {} is another node's", quote(alloc_id))};
  PreviousAlloc found{.id = std::string{row->alloc->previous()}};
  const auto previous = found.id.empty() ? state::AllocRef{} : snapshot.alloc(found.id);
  if (!previous) {  // There is none, or it has been collected.
    found.ended = true;
    return found;
  }
  found.ended = previous->client_terminal
                || previous->alloc->client_status() == schema::ClientStatus::UNKNOWN;
  const auto disk_owner = snapshot.node(previous->alloc->node_id());
  if (!found.ended || !disk_owner || view(disk_owner->getId()) == node_id || !wants_migration(*row))
    return found;
  found.http_address = copy(disk_owner->getHttpAddr());
  found.tls = disk_owner->getTlsEnabled();
  found.migrate_token = access::migrate_token(found.id, view(disk_owner->getSecretId()));
  return found;
}

}  // namespace nomad::cluster
