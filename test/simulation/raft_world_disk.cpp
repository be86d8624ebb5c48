// RaftWorld's disks: writes take time and are durable in order; a crash keeps some prefix of those
// that were not reported yet. Snapshots are files that become visible at once.
#include <algorithm>

#include <fmt/format.h>

#include "test/simulation/raft_world.hpp"

namespace nomad::test {

using namespace raft;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t small_cache = 2'000;
constexpr std::size_t chunk_bytes = 300;

}  // namespace

RaftWorld::Server& RaftWorld::add_server(ServerId id, const Configuration* bootstrap) {
  auto& server = *(servers_[id] = std::make_unique<Server>());
  server.id = std::move(id);
  server.clock_rate = 1 + options_.faults.clock_drift * (2 * random_.fraction() - 1);
  server.clock_offset = delay(0s, 1h);
  if (bootstrap != nullptr) {
    server.disk.hard_state = {.current_term = 1, .voted_for = {}};
    server.disk.log.push_back(
        {.index = 1, .term = 1, .kind = EntryKind::configuration, .payload = encode(*bootstrap)});
  }
  start_core(server);
  return server;
}

/// What `start_raft` does with real files.
void RaftWorld::start_core(Server& server) {
  auto& disk = server.disk;
  StartState start;
  start.hard_state = disk.hard_state;
  Index snapshot_index = 0;
  Term snapshot_term = 0;
  server.state = 0;
  server.registers.clear();
  server.supporters.clear();
  if (disk.snapshot) {
    const auto& meta = disk.snapshot->meta;
    snapshot_index = meta.index;
    snapshot_term = meta.term;
    start.snapshot = meta;
    start.snapshot_bytes = disk.snapshot->file.size();
    start.configs = ConfigHistory{{meta.configuration_index, meta.configuration}};
    restore_from(disk.snapshot->file, server);
    const auto at = std::ranges::find(disk.log, meta.index, &Entry::index);
    const bool continues
        = disk.base == meta.index || (at != disk.log.end() && at->term == meta.term);
    if (!continues && disk.base < meta.index && mistake != Mistake::keep_log_on_install) {
      disk.log.clear();
      disk.base = meta.index;
    }
  }
  if (disk.base > snapshot_index)
    return violated(server.id + " has a hole between its snapshot and its log");
  const bool from_snapshot = disk.base == snapshot_index;
  start.log = from_snapshot ? LogView{snapshot_index, snapshot_term, small_cache}
                            : LogView{disk.base + 1, disk.log.front().term, small_cache};
  for (const auto& entry : disk.log) {
    if (entry.index <= start.log.last_index()) continue;
    if (entry.kind == EntryKind::configuration && entry.index > snapshot_index)
      start.configs.append(entry.index, decode_configuration(entry.payload.view()).value());
    start.log.append(entry);
    start.log.release(entry.index);
  }
  ++server.life;
  server.applied = snapshot_index;
  server.timer.reset();
  server.snapshotting = false;
  server.arriving.clear();
  server.last_role = Role::follower;
  server.last_term = disk.hard_state.current_term;
  server.last_commit = snapshot_index;
  CoreOptions options{.self = server.id};
  options.max_append_bytes = 500;
  options.max_inflight_requests = 8;
  options.chunk_bytes = chunk_bytes;
  options.promote_lag = 20;
  options.max_held_entries = 200;
  server.core.emplace(options, std::move(start), Random{random_.next()}, local(server));
  step(server, Tick{});
}

void RaftWorld::write_next(Server& server) {
  auto& disk = server.disk;
  if (disk.busy || disk.pending.empty()) return;
  disk.busy = true;
  const bool slow = disk.slow_until > now_;
  at(now_ + (slow ? delay(50ms, 2s) : delay(50us, 3ms)), [this, &server, life = server.life] {
    if (server.life != life || !server.core) return;
    auto& pending = server.disk.pending;
    if (std::exchange(server.disk.fails, false)) {
      ++counts_.failed_disks;
      crash(server);
      at(now_ + delay(10ms, 5s), [this, &server] { restart(server); });
      return;
    }
    server.disk.busy = false;
    // Group commit: some of what waits goes together.
    const auto count = 1 + random_.below(pending.size());
    std::uint64_t seq = 0;
    for (std::uint64_t left = count; left > 0; --left) {
      make_durable(server, pending.front().write);
      seq = pending.front().seq;
      pending.pop_front();
    }
    write_next(server);
    if (is_awake(server)) return step(server, Persisted{seq});
    at(server.paused_until, [this, &server, life, seq] {
      if (server.life == life) step(server, Persisted{seq});
    });
  });
}

void RaftWorld::make_durable(Server& server, const LogWrite& write) {
  auto& disk = server.disk;
  if (write.hard_state) disk.hard_state = *write.hard_state;
  if (mistake == Mistake::forget_vote) disk.hard_state.voted_for.clear();
  if (write.reset_to) {
    disk.log.clear();
    disk.base = *write.reset_to;
  }
  if (write.truncate_from)
    while (!disk.log.empty() && disk.log.back().index >= *write.truncate_from)
      disk.log.pop_back();
  for (const auto& entry : write.append) {
    if (entry.index != disk.base + disk.log.size() + 1)
      return violated(fmt::format("{} leaves a hole before entry {}", server.id, entry.index));
    disk.log.push_back(entry);
  }
}

void RaftWorld::crash(Server& server) {
  ++counts_.crashes;
  auto& pending = server.disk.pending;
  auto kept = random_.below(pending.size() + 1);
  if (server.disk.busy && kept == 0) ++counts_.torn_writes;
  for (const auto& write : pending) {
    if (kept-- == 0) break;
    make_durable(server, write.write);
  }
  counts_.lost_writes += pending.size() - std::min<std::size_t>(pending.size(), kept + 1);
  pending.clear();
  server.disk.busy = false;
  server.core.reset();
  server.proposals.clear();
  server.reads.clear();
  ++server.life;
}

void RaftWorld::restart(Server& server) {
  if (server.core || violation_) return;
  server.paused_until = now_;
  start_core(server);
}

void RaftWorld::save_snapshot(Server& server) {
  if (server.snapshotting || server.applied == 0) return;
  const auto& known = server.disk.snapshot;
  if (known && known->meta.index >= server.applied) return;
  server.snapshotting = true;
  const auto meta = server.core->snapshot_meta(server.applied);
  const Snapshot made{meta, file_of(meta, server, random_.below(2'000))};
  at(now_ + delay(1ms, 300ms), [this, &server, life = server.life, made] {
    if (server.life != life || !server.core) return;
    server.snapshotting = false;
    auto& disk = server.disk;
    if (disk.snapshot && disk.snapshot->meta.index >= made.meta.index) return;
    disk.older = std::exchange(disk.snapshot, made);
    ++counts_.snapshots;
    const auto trailing = random_.below(12);
    const auto through = made.meta.index > trailing ? made.meta.index - trailing : 0;
    step(server,
         SnapshotSaved{.meta = made.meta, .bytes = made.file.size(), .truncate_through = through});
  });
}

/// Some time after the snapshot is there, or never if it crashes before.
void RaftWorld::cut_log(Server& server, Index through) {
  at(now_ + delay(0ms, 50ms), [&server, life = server.life, through] {
    if (server.life != life) return;
    while (!server.disk.log.empty() && server.disk.log.front().index <= through) {
      server.disk.base = server.disk.log.front().index;
      server.disk.log.pop_front();
    }
  });
}

void RaftWorld::store_chunk(Server& server, StoreChunk chunk) {
  at(now_ + delay(100us, 5ms), [this, &server, life = server.life, chunk = std::move(chunk)] {
    if (server.life != life || !server.core) return;
    if (chunk.offset == 0) server.arriving.clear();
    if (chunk.offset != server.arriving.size())
      return violated(server.id + " stores a chunk of a snapshot in the wrong place");
    server.arriving += chunk.data.text();
    step(server, ChunkStored{.index = chunk.meta.index,
                             .term = chunk.meta.term,
                             .next_offset = server.arriving.size()});
  });
}

void RaftWorld::install(Server& server, SnapshotMeta meta) {
  at(now_ + delay(1ms, 100ms), [this, &server, life = server.life, meta = std::move(meta)] {
    if (server.life != life || !server.core) return;
    if (!server.arriving.starts_with(fmt::format("{} {} ", meta.index, meta.term)))
      return violated(server.id + " has collected a file that is not the announced snapshot");
    const auto file = std::exchange(server.arriving, {});
    const bool refused = faulty_ && random_.chance(0.1);  // as if verification had failed
    if (refused) ++counts_.refused_snapshots;
    if (refused) return step(server, SnapshotInstalled{.meta = meta, .bytes = 0, .ok = false});
    server.disk.older = std::exchange(server.disk.snapshot, Snapshot{meta, file});
    restore_from(file, server);
    server.applied = meta.index;
    ++counts_.installed_snapshots;
    if (committed_[meta.index].state != server.state)
      return violated(server.id + " has installed a snapshot of another state");
    step(server, SnapshotInstalled{.meta = meta, .bytes = file.size(), .ok = true});
  });
}

void RaftWorld::fetch(Server& server, const LogFetch& wanted) {
  at(now_ + delay(50us, 2ms), [this, &server, life = server.life, wanted] {
    if (server.life != life || !server.core) return;
    LogFetched answer{.peer = wanted.peer, .first = wanted.first, .entries = {}};
    std::size_t bytes = 0;
    for (const auto& entry : server.disk.log) {
      if (entry.index < wanted.first || entry.index > wanted.last) continue;
      if (answer.entries.empty() && entry.index != wanted.first) break;
      answer.entries.push_back(entry);
      bytes += cost(entry);
      if (bytes >= wanted.max_bytes) break;
    }
    step(server, std::move(answer));
  });
}

void RaftWorld::fetch(Server& server, const ChunkFetch& wanted) {
  at(now_ + delay(50us, 2ms), [this, &server, life = server.life, wanted] {
    if (server.life != life || !server.core) return;
    ChunkFetched answer{
        .peer = wanted.peer, .index = wanted.index, .offset = wanted.offset, .data = {}};
    for (const auto& snapshot : {server.disk.snapshot, server.disk.older})
      if (snapshot && snapshot->meta.index == wanted.index && snapshot->meta.term == wanted.term
          && wanted.offset < snapshot->file.size())
        answer.data
            = Bytes::copy(std::string_view{snapshot->file}.substr(wanted.offset, wanted.max_bytes));
    step(server, std::move(answer));
  });
}

}  // namespace nomad::test
