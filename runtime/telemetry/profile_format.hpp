// A profile as pprof reads it: profile.proto, gzipped. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/base/result.hpp"

namespace nomad::telemetry {

/// Where the program was, so often.
struct ProfileSample {
  std::vector<std::uint64_t> stack;  ///< Addresses of code, the innermost first.
  std::uint64_t count = 0;
};

/// A part of memory that has code of a file.
struct ProfileMapping {
  std::uint64_t start = 0;
  std::uint64_t limit = 0;   ///< Behind its last byte.
  std::uint64_t offset = 0;  ///< Of its first byte in the file.
  std::string file;
};

/// Of the time that a program's threads have run.
struct CpuProfile {
  std::vector<ProfileSample> samples;
  std::vector<ProfileMapping> mappings;
  std::int64_t began = 0;  ///< Unix nanoseconds.
  Nanoseconds duration{0};
  Nanoseconds period{0};  ///< Running time that each sample stands for.
};

/// One in so many bytes that are asked for is a sample.
inline constexpr std::size_t heap_sample_bytes = 512 * 1024;

/// Samples of what was asked for at a place in the program.
struct HeapSample {
  std::vector<std::uint64_t> stack;  ///< As ProfileSample has it, but addresses of calls.
  std::uint64_t allocs = 0;
  std::uint64_t alloc_bytes = 0;
  std::uint64_t live = 0;  ///< Of these nobody has freed.
  std::uint64_t live_bytes = 0;
};

/// Of the memory that a program has asked for since it began, and has not freed.
struct HeapProfile {
  std::vector<HeapSample> samples;
  std::vector<ProfileMapping> mappings;
  std::int64_t at = 0;  ///< Unix nanoseconds.
};

/// What pprof shows first.
enum class HeapView : std::uint8_t { in_use, allocated };

/// So many, and so many bytes, are behind `count` samples of `bytes` together: large pieces are
/// always one, small ones seldom.
std::pair<std::uint64_t, std::uint64_t> scaled_up(std::uint64_t count, std::uint64_t bytes);

/// The values are those behind the samples. `name_of` as below.
Result<std::string> write_profile(const HeapProfile& profile,
                                  HeapView view,
                                  const std::function<std::string(std::uint64_t)>& name_of);

/// `name_of` gives the function at an address; "" where it is not known: pprof asks the file then.
Result<std::string> write_profile(const CpuProfile& profile,
                                  const std::function<std::string(std::uint64_t)>& name_of);

}  // namespace nomad::telemetry
