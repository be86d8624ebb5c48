#include "actors/raft/wal_checkpointer.hpp"

#include <memory>
#include <optional>

#include "runtime/storage/raft_log.hpp"

namespace nomad::raft {
namespace {

Result<Checkpointed> run(std::optional<storage::WalCheckpointer>& connection,
                         const std::string& path) {
  if (!connection) {
    auto opened = storage::WalCheckpointer::open(path);
    if (!opened) return opened.error();
    connection = std::move(*opened);
  }
  NOMAD_TRY(connection->run());
  return Checkpointed{};
}

}  // namespace

WalCheckpointer::behavior_type wal_checkpointer(WalCheckpointer::pointer, std::string path) {
  auto connection = std::make_shared<std::optional<storage::WalCheckpointer>>();
  return {[connection, path = std::move(path)](Checkpoint) -> caf::result<Checkpointed> {
    return actor::answer(run(*connection, path));
  }};
}

}  // namespace nomad::raft
