#include "actors/raft/snapshotter.hpp"

#include <cerrno>
#include <cstring>

#include <sys/resource.h>
#include <unistd.h>

#include "actors/core/supervise.hpp"
#include "runtime/base/log.hpp"
#include "runtime/storage/snapshot_exchange.hpp"
#include "runtime/storage/snapshot_file.hpp"

namespace nomad::raft {
namespace {

using namespace snapshotter;

/// A third of what threads at normal priority get of a busy processor.
constexpr int niceness = 5;

/// The actor has this thread to itself. A snapshot has time; whoever waits for a write has none.
void give_way() {
  if (setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), niceness) != 0)
    log::warn("raft", "cannot lower the priority of snapshots", {{"error", std::strerror(errno)}});
}

struct SnapshotterState {
  static constexpr const char* name = "snapshotter";

  std::string directory;
  std::size_t keep = 1;
  std::shared_ptr<const Fsm> fsm;

  /// Of the new file, which takes the place of old ones.
  Result<std::uint64_t> add(const storage::SnapshotFile& file) const {
    NOMAD_TRY(storage::remove_old_snapshots(directory, keep));
    return storage::file_size(file.path);
  }

  Result<Saved> save(const SaveSnapshot& msg) const {
    give_way();
    auto writer = NOMAD_TRY(storage::SnapshotWriter::create(directory, msg.meta));
    NOMAD_TRY(msg.source->write(*writer));
    const auto file = NOMAD_TRY(writer->finish());
    const auto bytes = NOMAD_TRY(add(file));
    return Saved{.path = file.path, .bytes = bytes};
  }

  Result<Part> read(const ReadPart& msg) const {
    const auto files = NOMAD_TRY(storage::list_snapshots(directory));
    for (const auto& file : files) {
      if (file.index != msg.index || file.term != msg.term) continue;
      auto data = NOMAD_TRY(storage::read_snapshot_part(file.path, msg.offset, msg.max_bytes));
      return Part{std::move(data)};
    }
    return Part{};
  }

  Result<Stored> store(const StorePart& msg) const {
    const auto size
        = NOMAD_TRY(storage::store_snapshot_part(directory, msg.meta, msg.offset, msg.data));
    return Stored{size};
  }

  Result<Arrived> finish(const FinishArrived& msg) const {
    std::shared_ptr<PreparedState> state;
    const auto file = NOMAD_TRY(
        storage::finish_arrived(directory, msg.meta, [&](SnapshotRows& rows) -> Result<> {
          state = NOMAD_TRY(fsm->prepare(rows));
          return {};
        }));
    const auto bytes = NOMAD_TRY(add(file));
    return Arrived{.bytes = bytes, .state = std::move(state)};
  }
};

Snapshotter::behavior_type snapshotter_actor(Snapshotter::stateful_pointer<SnapshotterState> self,
                                             std::string directory,
                                             std::size_t keep,
                                             std::shared_ptr<const Fsm> fsm) {
  self->state.directory = std::move(directory);
  self->state.keep = keep;
  self->state.fsm = std::move(fsm);
  return {
      [self](const SaveSnapshot& msg) -> actor::Answer<Saved> {
        return actor::answer(self->state.save(msg));
      },
      [self](const ReadPart& msg) -> actor::Answer<Part> {
        return actor::answer(self->state.read(msg));
      },
      [self](const StorePart& msg) -> actor::Answer<Stored> {
        return actor::answer(self->state.store(msg));
      },
      [self](const FinishArrived& msg) -> actor::Answer<Arrived> {
        return actor::answer(self->state.finish(msg));
      },
  };
}

}  // namespace

Snapshotter spawn_snapshotter(const actor::Owner& owner,
                              std::string directory,
                              std::size_t keep,
                              std::shared_ptr<const Fsm> fsm) {
  return actor::spawn_detached(owner, snapshotter_actor, std::move(directory), keep,
                               std::move(fsm));
}

}  // namespace nomad::raft
