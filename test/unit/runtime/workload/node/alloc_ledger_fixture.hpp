// Allocations and jobs for the tests of the ledger, and its actions in words.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "runtime/base/overloaded.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/node/alloc_ledger.hpp"

namespace nomad::test {

/// An allocation as the servers have it.
struct LedgerAlloc {
  std::string id;
  std::uint64_t index = 1;
  std::uint64_t version = 0;  ///< Of its job.
  schema::ClientStatus status = schema::ClientStatus::PENDING;
  bool fits = true;
  bool stops = false;
  std::string deployment{};
  std::optional<Nanoseconds> patience{};  ///< How long it may be without servers.

  workload::AssignedAlloc assigned() const {
    Draft<schema::Job> job;
    job->setNamespace("default");
    job->setId("web");
    job->setVersion(version);
    auto group = job->initTaskGroups(1)[0];
    group.setName("group");
    group.initTasks(1)[0].setName("task");
    // An even version says it by the older field.
    if (patience && version % 2 == 0)
      group.getStopAfterClientDisconnect().setValue(patience->count());
    else if (patience)
      group.initDisconnect().getStopOnClientAfter().setValue(patience->count());
    Draft<schema::Allocation> alloc;
    alloc->setId(text(id));
    alloc->setNamespace("default");
    alloc->setName(text(fits ? "fits" : "unfit"));
    alloc->setJobId("web");
    alloc->setJobVersion(version);
    alloc->setTaskGroup("group");
    alloc->setAllocModifyIndex(index);
    alloc->setClientStatus(status);
    alloc->setDeploymentId(text(deployment));
    alloc->setDesiredStatus(stops ? schema::DesiredStatus::STOP : schema::DesiredStatus::RUN);
    return {alloc.freeze(), job.freeze()};
  }
};

inline workload::LedgerTraits ledger_traits(workload::GcLimits gc) {
  return {.node_id = "n1", .gc = gc, .fits = [](auto alloc, auto) -> Result<> {
            if (alloc.name() == "fits") return {};
            return Error{Errc::rejected, "it does not fit"};
          }};
}

}  // namespace nomad::test
