// SimDisk: what a simulated server has on its disk, and the actors that stand before it in the
// place of the log_writer and the snapshotter. Writes take time and become durable in order; a
// crash keeps some prefix of those that were not reported yet, the last of them possibly torn
// (which the log's checksum turns into: not there).
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>

#include "actors/raft/node_parts.hpp"
#include "test/simulation/sim_system.hpp"

namespace nomad::test {

/// What the disks met.
struct DiskCounts {
  std::uint64_t writes = 0;
  std::uint64_t lost_writes = 0;  ///< That a crash took away before they were durable.
  std::uint64_t torn_writes = 0;  ///< Of them: under way when the server crashed.
  std::uint64_t failed = 0;
  std::uint64_t snapshots = 0;
  std::uint64_t installed_snapshots = 0;
  std::uint64_t refused_snapshots = 0;  ///< Arrived, and did not verify.
};

class SimDisk {
public:
  using Machine = SimSystem::Machine;

  SimDisk(SimSystem& system, Machine machine, DiskCounts& counts, std::uint64_t seed)
      : system_(system), machine_(machine), counts_(counts), random_(seed) {}

  /// The first start of one of the founders.
  void found(const raft::Configuration& members);

  /// What `start_raft` reads at a start, with the newest snapshot in `fsm`.
  Result<raft::StartState> load(raft::Fsm& fsm);

  /// The disk's part of what a node works with, in the machine's present life.
  void serve(raft::NodeParts& parts);

  /// The machine has lost its power; call it before it is switched off.
  void crash();

  void slow_until(Time when) { slow_until_ = when; }

  /// The next write fails.
  void fail() { fails_ = true; }

  /// Arriving snapshots may be damaged on the way; without damages no write fails either.
  void set_damages(bool damages) {
    damages_ = damages;
    fails_ = fails_ && damages;
  }

  /// Of the durable entry at `index`; empty when the log does not hold it.
  std::optional<raft::Term> term_at(raft::Index index) const;

  raft::Index first_index() const { return base_ + 1; }

  raft::Index last_index() const { return base_ + log_.size(); }

  const raft::HardState& hard_state() const { return hard_state_; }

  raft::Index snapshot_index() const { return files_.empty() ? 0 : newest().meta.index; }

private:
  struct File {
    raft::SnapshotMeta meta;
    std::string rows;  ///< Table by table; see `SnapshotText` in the .cpp.
  };

  struct PendingWrite {
    std::uint64_t seq;
    raft::LogWrite write;
  };

  const File& newest() const { return files_.rbegin()->second; }

  raft::LogWriter spawn_writer(const actor::Owner& owner, raft::LogWriterListener listener);
  raft::Snapshotter spawn_snapshotter(const actor::Owner& owner);
  Result<std::vector<raft::Entry>> read(raft::Index first, raft::Index last, std::size_t bytes);
  void write_next();
  void commit();
  void make_durable(const raft::LogWrite& write);
  void truncate_prefix(raft::Index through);
  Result<raft::snapshotter::Arrived> finish_arrived(const raft::SnapshotMeta& meta);

  /// After a time, unless the machine has died meanwhile.
  void later(Time shortest, Time longest, std::function<void()> action);

  SimSystem& system_;
  Machine machine_;
  DiskCounts& counts_;
  Random random_;
  raft::HardState hard_state_;
  raft::Index base_ = 0;  ///< The entry before the first one.
  std::deque<raft::Entry> log_;
  std::map<raft::Index, File> files_;  ///< Snapshots.
  std::string arriving_;
  std::shared_ptr<const raft::Fsm> fsm_;  ///< Of the machine's present life.
  std::deque<PendingWrite> pending_;
  raft::LogWriterListener listener_;
  bool busy_ = false;
  bool fails_ = false;
  bool damages_ = true;
  Time slow_until_{0};
};

}  // namespace nomad::test
