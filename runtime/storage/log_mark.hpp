// LogMark: what the mark of a Raft log says: whose it is, and the term, the vote and the last entry
// that were made durable. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runtime/base/result.hpp"
#include "runtime/raft/log_write.hpp"

namespace nomad::storage {

struct LogMark {
  std::uint64_t owner = 0;  ///< `sum_of` the server's id; 0: not said yet.
  raft::Term term = 0;
  std::uint64_t vote = 0;    ///< `sum_of` the id voted for in `term`; 0: none.
  raft::Index last = 0;      ///< Up to here everything is in the log, or in a snapshot.
  raft::Term last_term = 0;  ///< Of the entry at `last`; 0: not known.

  /// 0 for an empty id.
  static std::uint64_t sum_of(std::string_view id);

  /// What holds when `writes` are durable.
  LogMark after(std::span<const raft::LogWrite> writes) const;

  /// What holds before, after and while they are: writes that drop entries promise less on their
  /// way.
  LogMark during(std::span<const raft::LogWrite> writes) const;

  /// Whether a server that has acknowledged this may have this term and vote now; if not, why.
  Result<> check(const raft::HardState& state) const;

  std::string encode() const;
  static Result<LogMark> decode(std::string_view bytes);

  friend bool operator==(const LogMark&, const LogMark&) = default;
};

}  // namespace nomad::storage
