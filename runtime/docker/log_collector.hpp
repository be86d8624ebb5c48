// LogCollector: a container's logs, from the engine's stream into the task's files, so that no line
// is lost or there twice when the agent dies and another goes on.
//
// Beside the files it keeps a record: where they are, a position (LogCursor), and how large the
// files were at that moment. It is written each second in which something came, and when a file is
// full. Who goes on asks for all from that position, and passes over as many bytes as were written
// after it. The record alone says where a container's logs go once its start is over: what the
// engine says of the container may be a job's words, or its image's.
//
// One thread at a time: that of a blocking step for `open`, that of the engine's stream while one
// is followed, the driver's between two streams. Files are written into the page cache.
//
// May depend on: runtime/base, runtime/host, runtime/workload/runs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/docker/engine.hpp"
#include "runtime/docker/log_stream.hpp"
#include "runtime/host/executor/log_writer.hpp"
#include "runtime/workload/runs/log_machine.hpp"

namespace nomad::docker {

struct LogCollectorOptions {
  std::string alloc_root{};  ///< What a record names goes before it; so the sizes.
  std::string task{};
  std::uint32_t max_files = 10;
  std::uint64_t max_bytes = 10 * 1024 * 1024;
  std::string position_file{};
  bool is_terminal = false;
};

class LogCollector {
public:
  using Clock = std::chrono::steady_clock;

  explicit LogCollector(LogCollectorOptions options);

  /// Opens the files. Of a container that was just made: at its beginning; else those that the
  /// record names, where it says; `not_found` if nobody keeps the logs.
  Result<> open(bool is_new);

  /// What to ask the engine for: "1700000000.000000001"; "0" for all.
  std::string since() const;

  /// The next bytes of the stream. An error ends it. Another stream, which was asked for by
  /// `since`, begins after `restart`.
  Result<> take(std::string_view bytes);

  /// The stream has broken off. What comes is that of the next one.
  void restart();

  /// Keeps the position if a second has passed since the last time.
  void save_if_due(Clock::time_point now);
  void save();

  /// Nothing is kept any more. Any thread.
  void close() { is_closed_ = true; }

  /// What could not be written, and why, once; "" if nothing was dropped.
  std::string take_complaint();

private:
  struct Side {
    std::unique_ptr<host::executor::LogWriter> writer;
    std::uint64_t to_skip = 0;  ///< Bytes that were written after the position was kept.
  };

  Result<> open_side(Side& side, const char* stream);
  void write(const LogMessage& message);
  std::uint64_t bytes_after(const Side& side, std::uint64_t index, std::uint64_t size) const;
  bool is_skipping() const;

  /// How large the newest files were.
  struct Sizes {
    std::uint64_t out_index = 0, out_size = 0, err_index = 0, err_size = 0;
  };

  Result<Sizes> load();

  LogCollectorOptions options_;
  Side out_;
  Side err_;
  LogCursor cursor_;
  LogPosition kept_{};
  FrameSplitter frames_;
  MessageSplitter messages_;
  bool changed_ = false;
  std::atomic<bool> is_closed_{false};
  Clock::time_point saved_{};
  std::string complaint_;
};

/// What follows from the end of a stream, and what the user is told of it. An engine gives a stream
/// an end when the container has ended, often before that is heard of; and engines lose their own
/// files out of sight where one follows another, so that only the rest is all.
std::pair<workload::LogMachine::Stop, std::string> log_stop(const EngineOutcome& outcome,
                                                            bool is_rest);

}  // namespace nomad::docker
