#include "test/simulation/sim_disk.hpp"

#include <cstring>

#include <fmt/format.h>

#include "actors/core/supervise.hpp"
#include "runtime/base/failpoint.hpp"
#include "test/mistakes/mistake.hpp"

namespace nomad::test {

using namespace raft;
using namespace std::chrono_literals;

namespace {

using SnapshotterSelf = actor::WithInternal<Snapshotter, void(Run)>;

constexpr std::size_t small_cache = 20'000;

/// A snapshot's file: tables of rows with their lengths, and a sum at the end.
class SnapshotText : public SnapshotSink {
public:
  Result<> begin_table(std::string_view name) override {
    put('T', name, {});
    return {};
  }

  Result<> row(std::string_view key, std::span<const std::byte> value) override {
    put('R', key, {reinterpret_cast<const char*>(value.data()), value.size()});
    return {};
  }

  std::string finish() {
    const auto sum = std::hash<std::string>{}(text_);
    text_.append(reinterpret_cast<const char*>(&sum), sizeof sum);
    return std::move(text_);
  }

  static bool is_sound(std::string_view file) {
    std::size_t sum = 0;
    if (file.size() < sizeof sum) return false;
    std::memcpy(&sum, file.data() + file.size() - sizeof sum, sizeof sum);
    return sum == std::hash<std::string_view>{}(file.substr(0, file.size() - sizeof sum));
  }

private:
  void put(char kind, std::string_view key, std::string_view value) {
    text_ += fmt::format("{} {} {}\n", kind, key.size(), value.size());
    text_ += key;
    text_ += value;
  }

  std::string text_;
};

class SnapshotTextRows : public SnapshotRows {
public:
  explicit SnapshotTextRows(const std::string& file) {
    std::size_t at = 0;
    const auto end = file.size() - sizeof(std::size_t);
    std::vector<Row>* rows = nullptr;
    while (at < end) {
      char kind = 0;
      std::size_t key = 0;
      std::size_t value = 0;
      int length = 0;
      std::sscanf(file.c_str() + at, "%c %zu %zu%n", &kind, &key, &value, &length);
      at += static_cast<std::size_t>(length) + 1;
      const auto name = file.substr(at, key);
      if (kind == 'T') {
        names_.push_back(name);
        rows = &tables_[name];
      } else if (rows != nullptr) {
        rows->push_back({name, Bytes::copy(std::string_view{file}.substr(at + key, value))});
      }
      at += key + value;
    }
  }

  Result<std::vector<std::string>> tables() override { return names_; }

  Result<> read(std::string_view table, const SnapshotRows::Row& row) override {
    const auto found = tables_.find(std::string{table});
    if (found == tables_.end())
      return Error{Errc::corrupt, fmt::format("the snapshot has no table {}", table)};
    for (const auto& each : found->second)
      NOMAD_TRY(row(each.key, each.value.view()));
    return {};
  }

private:
  struct Row {
    std::string key;
    Bytes value;
  };

  std::vector<std::string> names_;
  std::map<std::string, std::vector<Row>> tables_;
};

}  // namespace

void SimDisk::later(Time shortest, Time longest, std::function<void()> action) {
  const auto spread = static_cast<std::uint64_t>((longest - shortest).count());
  const auto takes = shortest + Time{static_cast<std::int64_t>(random_.below(spread + 1))};
  system_.at(system_.now() + takes,
             [this, life = system_.life(machine_), action = std::move(action)] {
               if (system_.life(machine_) != life) return;
               try {
                 system_.on(machine_, action);
               } catch (const SimulatedCrash&) {
                 return;  // a failpoint has switched the machine off
               }
             });
}

void SimDisk::found(const Configuration& members) {
  hard_state_ = {.current_term = 1, .voted_for = {}};
  log_.push_back(
      {.index = 1, .term = 1, .kind = EntryKind::configuration, .payload = encode(members)});
}

Result<StartState> SimDisk::load(Fsm& fsm) {
  StartState start;
  start.hard_state = hard_state_;
  Index snapshot_index = 0;
  Term snapshot_term = 0;
  if (!files_.empty()) {
    const auto& file = newest();
    snapshot_index = file.meta.index;
    snapshot_term = file.meta.term;
    SnapshotTextRows rows{file.rows};
    NOMAD_TRY(fsm.restore(rows, snapshot_index));
    start.snapshot = file.meta;
    start.snapshot_bytes = file.rows.size();
    start.configs = ConfigHistory{{file.meta.configuration_index, file.meta.configuration}};
    const auto held = term_at(snapshot_index);
    const bool continues = base_ == snapshot_index || held == snapshot_term;
    if (!continues && base_ < snapshot_index) {
      log_.clear();
      base_ = snapshot_index;
    }
  }
  if (base_ > snapshot_index)
    return Error{Errc::corrupt, "the entries behind the snapshot are missing"};
  start.log = base_ == snapshot_index ? LogView{snapshot_index, snapshot_term, small_cache}
                                      : LogView{base_ + 1, log_.front().term, small_cache};
  for (const auto& entry : log_) {
    if (entry.index <= start.log.last_index()) continue;
    if (entry.kind == EntryKind::configuration && entry.index > snapshot_index)
      start.configs.append(entry.index, decode_configuration(entry.payload.view()).value());
    start.log.append(entry);
    start.log.release(entry.index);
  }
  busy_ = false;
  arriving_.clear();
  pending_.clear();
  return start;
}

void SimDisk::serve(NodeParts& parts) {
  parts.read_log
      = [this](Index first, Index last, std::size_t bytes) { return read(first, last, bytes); };
  fsm_ = parts.fsm;
  parts.spawn_log_writer = [this](const actor::Owner& owner, LogWriterListener listener) {
    return spawn_writer(owner, std::move(listener));
  };
  parts.spawn_snapshotter = [this](const actor::Owner& owner) { return spawn_snapshotter(owner); };
}

LogWriter SimDisk::spawn_writer(const actor::Owner& owner, LogWriterListener listener) {
  listener_ = std::move(listener);
  return system_.own(
      machine_, actor::spawn(owner, [this](LogWriter::pointer) -> LogWriter::behavior_type {
        return {
            [this](log_writer::Write& msg) {
              pending_.push_back({msg.seq, std::move(msg.write)});
              write_next();
              if (mistake == Mistake::forget_fsync)
                actor::tell_urgent(listener_, log_writer::Written{msg.seq});
            },
            [this](log_writer::TruncatePrefix msg) {
              later(0ms, 50ms, [this, through = msg.through] { truncate_prefix(through); });
            },
        };
      }));
}

void SimDisk::write_next() {
  if (busy_ || pending_.empty()) return;
  busy_ = true;
  if (slow_until_ > system_.now())
    later(20ms, 1500ms, [this] { commit(); });
  else
    later(50us, 3ms, [this] { commit(); });
}

/// Group commit: some of what waits goes together.
void SimDisk::commit() {
  busy_ = false;
  if (pending_.empty()) return;
  if (std::exchange(fails_, false)) {
    ++counts_.failed;
    actor::tell_urgent(listener_, log_writer::WriteFailed{{Errc::io, "simulated disk error"}});
    return;
  }
  NOMAD_FAILPOINT("raft.before_fsync");
  std::uint64_t seq = 0;
  for (auto left = 1 + random_.below(pending_.size()); left > 0; --left) {
    ++counts_.writes;
    make_durable(pending_.front().write);
    seq = pending_.front().seq;
    pending_.pop_front();
  }
  NOMAD_FAILPOINT("raft.after_fsync");
  actor::tell_urgent(listener_, log_writer::Written{seq});
  write_next();
}

void SimDisk::make_durable(const LogWrite& write) {
  if (write.hard_state) hard_state_ = *write.hard_state;
  if (write.reset_to) {
    log_.clear();
    base_ = *write.reset_to;
  }
  if (write.truncate_from)
    while (!log_.empty() && log_.back().index >= *write.truncate_from)
      log_.pop_back();
  for (const auto& entry : write.append)
    log_.push_back(entry);
}

void SimDisk::truncate_prefix(Index through) {
  while (!log_.empty() && log_.front().index <= through && log_.front().index <= snapshot_index()) {
    base_ = log_.front().index;
    log_.pop_front();
  }
}

void SimDisk::crash() {
  auto kept = random_.below(pending_.size() + 1);
  if (busy_ && kept == 0) ++counts_.torn_writes;
  counts_.lost_writes += pending_.size() - kept;
  for (const auto& write : pending_) {
    if (kept-- == 0) break;
    make_durable(write.write);
  }
  if (mistake == Mistake::forget_synced)
    for (auto forgotten = random_.below(6); forgotten > 0 && log_.size() > 1; --forgotten)
      log_.pop_back();
  pending_.clear();
  arriving_.clear();
  busy_ = false;
}

std::optional<Term> SimDisk::term_at(Index index) const {
  if (index <= base_ || index > last_index()) return std::nullopt;
  return log_[index - base_ - 1].term;
}

Result<std::vector<Entry>> SimDisk::read(Index first, Index last, std::size_t bytes) {
  std::vector<Entry> entries;
  if (first <= base_ || first > last_index()) return Error{Errc::not_found, "not in the log"};
  std::size_t read = 0;
  for (auto index = first; index <= std::min(last, last_index()) && (read < bytes || read == 0);
       ++index) {
    entries.push_back(log_[index - base_ - 1]);
    read += entries.back().payload.size() + 32;
  }
  return entries;
}

Result<snapshotter::Arrived> SimDisk::finish_arrived(const SnapshotMeta& meta) {
  const auto file = std::exchange(arriving_, {});
  if (!SnapshotText::is_sound(file) || (damages_ && random_.chance(0.1))) {
    ++counts_.refused_snapshots;
    return Error{Errc::corrupt, "the arrived snapshot does not verify"};
  }
  SnapshotTextRows rows{file};
  auto state = NOMAD_TRY(fsm_->prepare(rows));
  ++counts_.installed_snapshots;
  files_[meta.index] = {meta, file};
  while (files_.size() > 2)
    files_.erase(files_.begin());
  return snapshotter::Arrived{file.size(), std::move(state)};
}

Snapshotter SimDisk::spawn_snapshotter(const actor::Owner& owner) {
  return system_.own(
      machine_,
      actor::spawn(owner, [this](SnapshotterSelf::pointer self) -> SnapshotterSelf::behavior_type {
        return {
            [this, self](const snapshotter::SaveSnapshot& msg) {
              auto promise = self->make_response_promise<snapshotter::Saved>();
              SnapshotText text;
              const auto written = msg.source->write(text);
              auto rows = text.finish();
              if (mistake == Mistake::short_snapshot) rows = SnapshotText{}.finish();
              later(
                  1ms, 300ms,
                  [this, handle = SnapshotterSelf{self}, promise, written, meta = msg.meta, rows] {
                    Result<snapshotter::Saved> saved
                        = snapshotter::Saved{std::to_string(meta.index), rows.size()};
                    if (!written) saved = written.error();
                    if (saved) {
                      ++counts_.snapshots;
                      files_[meta.index] = {meta, rows};
                    }
                    while (files_.size() > 2)
                      files_.erase(files_.begin());
                    actor::tell(handle,
                                Run{[promise, saved]() mutable { actor::answer(promise, saved); }});
                  });
              return promise;
            },
            [this](const snapshotter::ReadPart& msg) {
              const auto found = files_.find(msg.index);
              if (found == files_.end() || found->second.meta.term != msg.term
                  || msg.offset >= found->second.rows.size())
                return snapshotter::Part{};
              return snapshotter::Part{Bytes::copy(
                  std::string_view{found->second.rows}.substr(msg.offset, msg.max_bytes))};
            },
            [this](const snapshotter::StorePart& msg) {
              if (msg.offset == 0) arriving_.clear();
              if (msg.offset == arriving_.size()) arriving_ += msg.data.text();
              return snapshotter::Stored{arriving_.size()};
            },
            [this, self](const snapshotter::FinishArrived& msg) {
              auto promise = self->make_response_promise<snapshotter::Arrived>();
              later(1ms, 100ms, [this, handle = SnapshotterSelf{self}, promise, meta = msg.meta] {
                const auto done = finish_arrived(meta);
                actor::tell(handle,
                            Run{[promise, done]() mutable { actor::answer(promise, done); }});
              });
              return promise;
            },
            [](const Run& msg) { msg.action(); },
        };
      }));
}

}  // namespace nomad::test
