// A profile as pprof reads it: profile.proto, gzipped. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
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

/// `name_of` gives the function at an address; "" where it is not known: pprof asks the file then.
Result<std::string> write_profile(const CpuProfile& profile,
                                  const std::function<std::string(std::uint64_t)>& name_of);

}  // namespace nomad::telemetry
