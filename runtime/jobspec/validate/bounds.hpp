// Bounds: how large a job, and what else the state keeps for its callers, may be.
//
// Whoever may register may fill the servers' memory otherwise, and what a node can't be told, or no
// program can be started with, would wait there for good. The defaults are far above what people
// write; operators raise them by `limits`. 0 is no bound.
// Tests: validate_test.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/result.hpp"

namespace nomad::jobspec {

struct Bounds {
  std::uint64_t job_bytes = std::uint64_t{4} << 20;  ///< `job_max_kb`: all texts of a job.
  /// `job_env_max_kb`: the environment of a task, and each block of meta. Linux starts no program
  /// with more than 2 MiB of it.
  std::uint64_t env_bytes = std::uint64_t{1} << 20;
  /// `namespace_jobs_max_mb`: all jobs of a namespace, as they are now.
  std::uint64_t namespace_bytes = std::uint64_t{1} << 30;
  /// `text_max_kb`: messages and meta of scaling, meta of a dispatch or a drain.
  std::uint64_t text_bytes = std::uint64_t{64} << 10;

  /// Whether a text, or several together, that a request has for `field` are short enough.
  Result<> check_text(std::string_view field, std::uint64_t bytes) const;

  /// The same of the entries of meta, which may be no texts for programs either.
  template <class Entries>
  Result<> check_meta(const Entries& meta) const {
    std::uint64_t bytes = 0;
    for (const auto& [key, value] : meta) {
      NOMAD_TRY(check_key("Meta", key));
      NOMAD_TRY(check_null("Meta", value));
      bytes += key.size() + value.size();
    }
    return check_text("Meta", bytes);
  }

  /// Refuses control characters as well, which names and keys may not have.
  static Result<> check_key(std::string_view field, std::string_view key);

  /// Refuses null characters: what has them is cut where a program, a path or a label begins.
  static Result<> check_null(std::string_view field, std::string_view text);
};

}  // namespace nomad::jobspec
