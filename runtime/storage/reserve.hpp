// Reserve: a file that only takes up room, so that there is some left when the disk is full: given
// back, it lets what is under way end well. It is there again when the disk has twice that much.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/result.hpp"

namespace nomad::storage {

class Reserve {
public:
  static constexpr std::uint64_t bytes = std::uint64_t{16} << 20;

  explicit Reserve(std::string path) : path_(std::move(path)) {}

  /// Takes the room from the file system, if as much is left besides; `overloaded` if not, and then
  /// none is taken.
  Result<> take();

  /// Gives the room back. False: there was none.
  bool give_back();

private:
  std::string path_;
};

/// `overloaded` when less than twice the reserve is left where `directory` is. What is large and
/// can wait asks as it goes on, and leaves the last room of the disk to the log.
Result<> require_room(const std::string& directory);

}  // namespace nomad::storage
