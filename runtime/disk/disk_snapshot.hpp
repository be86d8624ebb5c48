// DiskSnapshot: the ephemeral disk of an allocation as a tar archive, made piece by piece for who
// moves it to another node. Members are named relative to the allocation's directory:
// "alloc/data/…", "<task>/local/…"; directories, symbolic links and regular files only, as Nomad's.
//
// A sender that fails says so in a last member, so that nobody takes half of a disk for the whole.
//
// Not thread-safe. Calls block on the file system.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::disk {

/// The member that tells the receiver why the archive is not whole: its content is the error.
std::string error_member(std::string_view alloc_id);

class DiskSnapshot {
public:
  /// `root` is the directory of allocation `alloc_id`; `not_found` if there is none.
  static Result<DiskSnapshot> open(std::string root,
                                   std::string alloc_id,
                                   std::vector<std::string> tasks);

  DiskSnapshot(DiskSnapshot&&) noexcept;
  DiskSnapshot& operator=(DiskSnapshot&&) noexcept;
  ~DiskSnapshot();

  /// The next piece of the archive, some 256 KiB; "" at its end. An error of the disk becomes the
  /// last member; what is returned then is the archive's own error, after which it is over.
  Result<std::string> next();

private:
  struct Work;
  explicit DiskSnapshot(std::unique_ptr<Work> work);

  std::unique_ptr<Work> work_;
};

}  // namespace nomad::disk
