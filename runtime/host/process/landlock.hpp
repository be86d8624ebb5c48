// Landlock: files out of reach for this process and all that it starts, by the kernel's own calls
// (there is no library for them).
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/result.hpp"
#include "runtime/host/process/unique_fd.hpp"

namespace nomad::host {

class Landlock {
public:
  enum class Access { read, read_and_run, write_file, own };

  /// The version of the kernel's Landlock; 0: it has none, or it is switched off.
  static int version();

  /// Handles all rights that the kernel knows, signals and abstract sockets of others, too.
  static Result<Landlock> make();

  /// What is at `path`, and below it. One that is not there is passed over.
  Result<> allow(const std::string& path, Access access) const;

  /// The same of an open directory.
  Result<> allow(int descriptor, Access access) const;

  /// What programs and name services of the host need, and nothing that says anything about it:
  /// libraries and programs, certificates, names of hosts and users, a few devices. Where PATH has
  /// other directories, these, too.
  Result<> allow_system() const;

  /// From now on. This thread must have no new privileges.
  Result<> restrict_self() const;

private:
  Landlock(UniqueFd rules, std::uint64_t handled) : rules_{std::move(rules)}, handled_{handled} {}

  UniqueFd rules_;
  std::uint64_t handled_;
};

}  // namespace nomad::host
