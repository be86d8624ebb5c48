// UnpackPolicy: what of an archive may be unpacked, and how much. An archive is not believed: its
// members lie below the directory or it is refused as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::artifact {

struct UnpackLimits {
  std::uint64_t files = 4096;             ///< 0: any number.
  std::uint64_t bytes = 100'000'000'000;  ///< Of what is unpacked, all together; 0: any.
  /// How many times larger than the archive it may become. gzip can't do more than 1,032.
  std::uint64_t ratio = 2'000;
  /// What a small archive of zeros may become: the ratio is looked at from here on.
  std::uint64_t ratio_from = 1024ULL * 1024 * 1024;
};

struct Member {
  enum class Kind { file, directory, symbolic_link, hard_link, other };

  std::string_view path;
  Kind kind = Kind::file;
  std::string_view target{};  ///< Of a link.
  std::uint32_t mode = 0;     ///< st_mode without the type.
};

/// A member as it is to be made.
struct Admitted {
  std::vector<std::string> path;    ///< Without "." and "..", empty: the directory itself.
  std::vector<std::string> target;  ///< Of a hard link, the same.
  std::uint32_t mode = 0;           ///< Nine bits.
};

/// The parts of a relative path that leads nowhere but down. `rejected` otherwise.
Result<std::vector<std::string>> parts_within(std::string_view path);

/// Whether a symbolic link `depth` directories below the top leads to something below the top,
/// whatever links of this kind lie on its way: it may climb as far as the top first, and descends
/// from there.
bool stays_within(std::string_view target, std::size_t depth);

class UnpackPolicy {
public:
  UnpackPolicy(const UnpackLimits& limits, std::uint64_t packed_bytes)
      : limits_{limits}, packed_{packed_bytes} {}

  /// `rejected` for a member that would lie or lead outside, for devices, FIFOs and sockets, and
  /// for files with the bits setuid or setgid; `too_large` beyond the number of files.
  Result<Admitted> admit(const Member& member);

  /// More was unpacked. `too_large` beyond the bytes or the ratio.
  Result<> add(std::uint64_t bytes);

  std::uint64_t bytes() const { return bytes_; }

  std::uint64_t members() const { return members_; }

private:
  UnpackLimits limits_;
  std::uint64_t packed_;
  std::uint64_t members_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace nomad::artifact
