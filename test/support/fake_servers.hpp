// FakeServers: servers on the real scheduler, for tests and benchmarks of a whole client node. They
// accept everything, hand out the allocations they were given, and count what they hear.
#pragma once

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "actors/roles/server_link.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"

namespace nomad::test {

/// What the servers want and have heard; shared with the thread of the test.
struct ServerBoard {
  std::mutex lock;
  std::vector<client::server_link::AssignedAlloc> assigned;
  std::map<std::string, Object<schema::Allocation>> heard;
  std::size_t sends = 0;
  std::size_t updates = 0;

  std::size_t count(schema::ClientStatus status) {
    const std::lock_guard guard{lock};
    return static_cast<std::size_t>(std::count_if(
        heard.begin(), heard.end(),
        [status](const auto& item) { return item.second->getClientStatus() == status; }));
  }
};

/// The board changed: answer who waits.
struct BoardChanged {
  using is_message = void;
};

using FakeServersActor = actor::WithInternal<client::ServerLink, void(BoardChanged)>;

struct FakeServersState {
  static constexpr const char* name = "fake_servers";
  std::shared_ptr<ServerBoard> board;
  actor::Promise<client::server_link::AssignedAllocs> held;
  std::uint64_t index = 1;

  void answer() {
    if (!held.pending()) return;
    client::server_link::AssignedAllocs set{.index = ++index, .complete = true, .allocs = {}};
    {
      const std::lock_guard guard{board->lock};
      set.allocs = board->assigned;
    }
    auto promise = std::exchange(held, {});
    promise.deliver(std::move(set));
  }
};

inline FakeServersActor::behavior_type fake_servers(
    FakeServersActor::stateful_pointer<FakeServersState> self, std::shared_ptr<ServerBoard> board) {
  using namespace client::server_link;
  self->state.board = std::move(board);
  return {
      [self](const RegisterNode&) {
        return Registered{++self->state.index, std::chrono::seconds{10}};
      },
      [](const Heartbeat&) { return Lease{.ttl = std::chrono::seconds{10}}; },
      [self](const WatchAllocs& msg) -> actor::Answer<AssignedAllocs> {
        self->state.held = self->make_response_promise<AssignedAllocs>();
        auto promise = self->state.held;
        if (msg.min_index == 0) self->state.answer();
        return promise;
      },
      [self](const UpdateAllocs& msg) {
        auto& board = *self->state.board;
        const std::lock_guard guard{board.lock};
        ++board.sends;
        board.updates += msg.allocs.size();
        for (const auto& alloc : msg.allocs)
          board.heard[copy(alloc->getId())] = alloc;
        return Updated{++self->state.index};
      },
      [self](const RegisterServices&) { return Updated{++self->state.index}; },
      [self](const DeregisterServices&) { return Updated{++self->state.index}; },
      [self](const EmitEvents&) { return Updated{++self->state.index}; },
      [](const DrainNode&) { return NodeDrain{}; },
      [](const AwaitPrevious&) { return Previous{.ended = true}; },
      [](const WatchData&) -> actor::Answer<Data> {
        return Error{Errc::unavailable, "these servers have no data"};
      },
      [self](BoardChanged) { self->state.answer(); },
  };
}

/// A job of one group and one task, and allocation `number` of it.
inline Object<schema::Job> simple_job(const std::string& id,
                                      const std::string& type,
                                      const std::string& driver,
                                      const std::string& config) {
  Draft<schema::Job> draft;
  draft->setId(text(id));
  draft->setName(text(id));
  draft->setNamespace("default");
  draft->setType(text(type));
  draft->setCreateIndex(1);
  auto group = draft->initTaskGroups(1)[0];
  group.setName("group");
  group.initRestartPolicy().setMode("fail");
  auto task = group.initTasks(1)[0];
  task.setName("task");
  task.setDriver(text(driver));
  task.setConfig(text(config));
  task.setKillTimeout(5'000'000'000);
  return draft.freeze();
}

/// Ids differ from one owner (a process, a directory) to the next: cgroups are named after them.
inline std::string numbered_id(int number, std::size_t owner) {
  return fmt::format("{:08x}-aaaa-bbbb-cccc-{:012x}", number, owner & 0xffffffffffff);
}

inline Object<schema::Allocation> simple_alloc(const Object<schema::Job>& job,
                                               int number,
                                               std::size_t owner,
                                               schema::DesiredStatus desired
                                               = schema::DesiredStatus::RUN,
                                               std::uint64_t index = 1) {
  Draft<schema::Allocation> draft;
  draft->setId(text(numbered_id(number, owner)));
  draft->setNamespace("default");
  draft->setName(text(fmt::format("{}.group[{}]", view(job->getId()), number)));
  draft->setJobId(job->getId());
  draft->setJobCreateIndex(1);
  draft->setTaskGroup("group");
  draft->setDesiredStatus(desired);
  draft->setAllocModifyIndex(index);
  auto task = draft->initAllocatedResources().initTasks(1)[0];
  task.setKey("task");
  task.initValue().initMemory().setMemoryMb(10);
  return draft.freeze();
}

}  // namespace nomad::test
