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
#include "actors/roles/node_door.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/workload/alloc_update.hpp"
#include "test/support/door.hpp"
#include "test/support/eventually.hpp"

namespace nomad::test {

/// What the servers want and have heard; shared with the thread of the test.
struct ServerBoard {
  std::mutex lock;
  std::vector<AssignedAlloc> assigned;
  std::map<std::string, Object<schema::Allocation>> heard;
  std::size_t sends = 0;
  std::size_t updates = 0;

  std::size_t count(schema::ClientStatus status) {
    const std::lock_guard guard{lock};
    return static_cast<std::size_t>(std::count_if(
        heard.begin(), heard.end(),
        [status](const auto& item) { return item.second->client_status() == status; }));
  }
};

/// The board changed: answer who waits.
struct BoardChanged {
  using is_message = void;
};

using FakeServersActor = actor::WithInternal<NodeDoor, void(BoardChanged)>;

struct FakeServersState {
  static constexpr const char* name = "fake_servers";
  std::shared_ptr<ServerBoard> board;
  actor::Promise<door::Reply> held;
  std::uint64_t index = 1;

  actor::Answer<door::Reply> hear(FakeServersActor::pointer self, const door::Ask& msg) {
    switch (msg->which()) {
      case door::Question::REGISTER:
      case door::Question::HEARTBEAT:
        return to_reply(Lease{std::chrono::seconds{10}});
      case door::Question::WATCH_ALLOCS: {
        held = self->make_response_promise<door::Reply>();
        auto promise = held;
        if (msg->getWatchAllocs() == 0) answer();
        return promise;
      }
      case door::Question::UPDATE_ALLOCS:
        note(msg);
        return door::done(++index);
      case door::Question::AWAIT_PREVIOUS:
        return to_reply(Previous{.ended = true});
      case door::Question::WATCH_DATA:
        return Error{Errc::unavailable, "these servers have no data"};
      default:
        return door::done(++index);
    }
  }

  void note(const door::Ask& report) const {
    const std::lock_guard guard{board->lock};
    ++board->sends;
    board->updates += report.rows.size();
    for (const auto& row : report.rows) {
      const auto alloc = row.as<schema::Allocation>().value();
      board->heard[std::string{alloc->id()}] = alloc;
    }
    note_change();
  }

  void answer() {
    if (!held.pending()) return;
    AssignedAllocs set{.index = ++index, .complete = true, .allocs = {}};
    {
      const std::lock_guard guard{board->lock};
      set.allocs = board->assigned;
    }
    auto promise = std::exchange(held, {});
    promise.deliver(to_reply(set));
  }
};

inline FakeServersActor::behavior_type fake_servers(
    FakeServersActor::stateful_pointer<FakeServersState> self, std::shared_ptr<ServerBoard> board) {
  self->state.board = std::move(board);
  return {[self](const door::Ask& msg) { return self->state.hear(self, msg); },
          [self](BoardChanged) { self->state.answer(); }};
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
