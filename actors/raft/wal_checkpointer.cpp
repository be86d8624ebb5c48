#include "actors/raft/wal_checkpointer.hpp"

#include <memory>
#include <optional>

#include "actors/core/supervise.hpp"
#include "runtime/storage/raft_log.hpp"

namespace nomad::raft {
namespace {

Result<Checkpointed> run(std::optional<storage::WalCheckpointer>& connection,
                         const std::string& path) {
  if (!connection) {
    connection = NOMAD_TRY(storage::WalCheckpointer::open(path));
  }
  return Checkpointed{NOMAD_TRY(connection->run())};
}

struct CheckpointerState {
  static constexpr const char* name = "wal_checkpointer";
};

WalCheckpointer::behavior_type wal_checkpointer(
    WalCheckpointer::stateful_pointer<CheckpointerState>, std::string path) {
  auto connection = std::make_shared<std::optional<storage::WalCheckpointer>>();
  return {[connection, path = std::move(path)](Checkpoint) -> actor::Answer<Checkpointed> {
    return actor::answer(run(*connection, path));
  }};
}

}  // namespace

WalCheckpointer spawn_wal_checkpointer(const actor::Owner& owner, std::string path) {
  return actor::spawn_detached<actor::Policy::restart>(owner, wal_checkpointer, std::move(path));
}

}  // namespace nomad::raft
