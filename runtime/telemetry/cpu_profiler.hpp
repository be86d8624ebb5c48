// CpuProfiler: where this process spends its running time. The kernel counts the time of all
// threads and interrupts the one that runs when a period is over; the signal's handler notes its
// stack. One at a time in a process: the timer and SIGPROF are the process's.
//
// Threads: start and stop from any, one after the other.
#pragma once

#include <memory>

#include "runtime/telemetry/profile_format.hpp"

namespace nomad::telemetry {

class CpuProfiler {
public:
  /// Stacks that are kept; later ones are left out.
  static constexpr std::size_t most_samples = 32'768;
  static constexpr std::size_t most_frames = 64;

  /// `overloaded` while another one runs.
  static Result<CpuProfiler> start(Nanoseconds period = std::chrono::milliseconds{10});

  CpuProfiler(CpuProfiler&&) noexcept;
  CpuProfiler& operator=(CpuProfiler&&) = delete;
  ~CpuProfiler();  ///< Stops.

  /// What it has seen, equal stacks together. Once.
  CpuProfile stop();

private:
  struct Parts;
  explicit CpuProfiler(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

/// The executable parts of /proc/self/maps that are of files.
std::vector<ProfileMapping> code_mappings();

/// Names of the functions of this process, by address.
class FunctionNames {
public:
  /// Reads the symbols of the program's own file; without them, those that libraries export are
  /// known alone.
  FunctionNames();

  /// Readable, as it is written in the source; "" if it is not known.
  std::string at(std::uint64_t address) const;

private:
  struct Symbol {
    std::uint64_t start = 0;
    std::uint64_t size = 0;
    std::string name;
  };

  std::vector<Symbol> symbols_{};  ///< By their start.
};

}  // namespace nomad::telemetry
