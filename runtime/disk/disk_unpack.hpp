// Unpacks the archive of an ephemeral disk that another node has sent. The archive is not believed:
// nothing is written outside the directory or through a link in it, modes have no more than nine
// bits, hard links and devices are passed over as in Nomad, and the file system keeps some room.
#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "runtime/base/result.hpp"

namespace nomad::disk {

/// Gives the next bytes of the archive; "" at its end.
using Source = std::function<Result<std::string>()>;

struct UnpackLimits {
  std::uint64_t entries = 1'000'000;
  double free_percent = 5;  ///< Of the file system, which has to stay free.
};

/// Unpacks into `directory`, which exists and is empty. Owners are kept if the agent is root. After
/// an error the directory holds a part that is good for nothing. `cancelled` when `stopped`;
/// `unavailable` with the sender's words when that failed; `rejected` for a member that would lie
/// outside; `overloaded` beyond the limits; `corrupt` for what is no archive.
Result<> unpack_disk(const Source& source,
                     const std::string& directory,
                     const std::string& alloc_id,
                     const std::stop_token& stopped,
                     const UnpackLimits& limits = {});

}  // namespace nomad::disk
