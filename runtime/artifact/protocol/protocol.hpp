// What the agent and nomadctl-artifact say to each other (schema/artifact.capnp), as values. Used
// by both sides; bytes of the other one are read with Cap'n Proto's checks and with bounds.
//
// May depend on: runtime/base, artifact/rules.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/artifact/rules/reach.hpp"
#include "runtime/base/result.hpp"

namespace nomad::artifact {

/// The descriptors that the program finds beside standard input.
inline constexpr int report_descriptor = 3;     ///< SOCK_SEQPACKET.
inline constexpr int directory_descriptor = 4;  ///< Where it works.

/// What was fetched, in that directory; whatever else is there is of no use to anybody.
inline constexpr const char* result_name = "out";

/// One report is no longer; longer texts are cut.
inline constexpr std::size_t max_report_bytes = 16 * 1024;
inline constexpr std::size_t max_report_text = 4 * 1024;

/// As `client.artifact` has them.
struct FetchLimits {
  std::chrono::nanoseconds http_read_timeout = std::chrono::minutes{30};
  std::uint64_t http_max_bytes = 100'000'000'000;
  std::chrono::nanoseconds gcs_timeout = std::chrono::minutes{30};
  std::chrono::nanoseconds git_timeout = std::chrono::minutes{30};
  std::chrono::nanoseconds hg_timeout = std::chrono::minutes{30};
  std::chrono::nanoseconds s3_timeout = std::chrono::minutes{30};
  std::uint64_t unpacked_files = 4096;
  std::uint64_t unpacked_bytes = 100'000'000'000;

  /// After which the whole program is killed: a minute after the longest of the others, and half
  /// an hour at least.
  std::chrono::nanoseconds deadline() const;
};

struct Confinement {
  bool files = true;      ///< The host's files are out of reach, but for what programs need.
  std::uint32_t uid = 0;  ///< To become; 0 with gid 0: it stays who it is.
  std::uint32_t gid = 0;
  std::string call_filter{};  ///< struct sock_filter[]; empty: none.
};

struct FetchOrder {
  std::string source;  ///< Interpolated, with the options.
  std::string mode;
  std::vector<std::pair<std::string, std::string>> headers{};
  FetchLimits limits{};
  Confinement confinement{};
  Reach reach{};
  bool insecure = false;  ///< Certificates of servers count for nothing.
};

struct FetchWarning {
  std::string text;
};

struct FetchProgress {
  std::uint64_t received = 0;
  std::uint64_t expected = 0;  ///< 0: the sender does not say.
};

struct FetchFailed {
  std::string text;
};

struct FetchDone {
  bool is_file = false;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

using FetchReport = std::variant<FetchWarning, FetchProgress, FetchFailed, FetchDone>;

std::string write_order(const FetchOrder& order);

/// `corrupt` for anything that is none.
Result<FetchOrder> read_order(std::string_view bytes);

std::string write_report(const FetchReport& report);

/// `corrupt` for anything that is none, or that a newer release says.
Result<FetchReport> read_report(std::string_view bytes);

}  // namespace nomad::artifact
