// An allocation as reconciling sees it, for tests.
#pragma once

#include <functional>
#include <utility>

#include "runtime/object/draft.hpp"
#include "runtime/scheduler/reconcile/reconcile.hpp"

namespace nomad::test {

using EditAlloc = std::function<void(schema::Allocation::Builder)>;

/// "a", named "web.api[0]", of `job`: runs on the node "n" and was changed `now`, unless `edit`
/// says otherwise.
inline scheduler::AllocEntry running_alloc(const Object<schema::Job>& job,
                                           std::int64_t now,
                                           const EditAlloc& edit = {}) {
  Draft<schema::Allocation> draft;
  draft->setId("a");
  draft->setName("web.api[0]");
  draft->setTaskGroup("api");
  draft->setNodeId("n");
  draft->setDesiredStatus(schema::DesiredStatus::RUN);
  draft->setClientStatus(schema::ClientStatus::RUNNING);
  draft->setModifyTime(now);
  if (edit) edit(*draft);
  state::AllocRow row;
  row.alloc = draft.freeze();
  row.job = job;
  row.client_terminal = is_client_terminal(row.alloc->client_status());
  row.server_terminal = row.alloc->desired_status() != schema::DesiredStatus::RUN;
  return {state::AllocRef::make(std::move(row))};
}

}  // namespace nomad::test
