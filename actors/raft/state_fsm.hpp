// StateFsm: the state store as the state machine that Raft drives. It checks and applies commands,
// writes and restores snapshots, and tells whoever leads what an applied batch means for it.
//
// Owned by the agent's wiring; its writing side belongs to the Raft node.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/raft/fsm.hpp"
#include "runtime/state/store.hpp"
#include "runtime/telemetry/registry.hpp"

namespace nomad::raft {

class StateFsm : public Fsm {
public:
  /// Called on the writer's thread after a batch is published, with those of its outcomes that
  /// concern a leader, if there are any: post and return. They are shared with the proposers'
  /// answers.
  using Listener = std::function<void(std::vector<std::shared_ptr<const state::Outcome>>)>;

  explicit StateFsm(std::shared_ptr<state::Store> store) : store_(std::move(store)) {}

  /// Who is told from now on; empty: nobody. Thread-safe.
  void set_listener(Listener listener);

  Result<> check(std::span<const std::byte> payload) const override;
  std::uint32_t known_commands() const override;
  std::uint32_t common_commands() const override;
  std::uint32_t kind_of(std::span<const std::byte> payload) const override;
  CommandParts parts_of(std::span<const std::byte> payload) const override;

  /// A guarded command without its guard; one with later parts without these.
  std::optional<Bytes> earlier_form(std::span<const std::byte> payload) const override;
  bool takes_long(std::span<const Entry> commands) const override;
  std::vector<Outcome> apply(std::span<const Entry> entries, Index applied) override;

  void answered() override { store_->free_replaced(); }

  std::unique_ptr<SnapshotSource> snapshot() const override;
  Result<std::shared_ptr<PreparedState>> prepare(SnapshotRows& rows) const override;
  void install(PreparedState& prepared, Index applied) override;

  /// From now on the times of `apply` go there, under Nomad's names. Before it is used.
  void measure_in(std::shared_ptr<telemetry::Registry> registry);

private:
  std::shared_ptr<state::Store> store_;
  std::shared_ptr<telemetry::Registry> metrics_;
  telemetry::Sample* batch_time_ = nullptr;
  std::vector<telemetry::Sample*> times_;  ///< By the command's number; of some there is none.
  std::mutex mutex_;                       ///< Of `listener_`.
  Listener listener_;
};

/// The payload of an entry that carries `command`. Shares the object's bytes.
Bytes payload_of(const Object<schema::Command>& command);

/// The state of a snapshot, checked. Tables of earlier versions may be missing; one that this
/// version does not know is `corrupt`.
Result<state::Tables> read_tables(SnapshotRows& rows);

}  // namespace nomad::raft
