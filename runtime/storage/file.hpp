// File: an open file that closes itself, read and written at places, whole or with an error that
// names the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "runtime/base/result.hpp"

namespace nomad::storage {

class File {
public:
  /// As open(2), always O_CLOEXEC; a new file is 0600.
  static Result<File> open(const std::string& path, int flags);

  File(File&& other) noexcept;
  File& operator=(File&&) = delete;
  ~File();

  /// Fills `into` from `offset`; returns fewer bytes at the end of the file only.
  Result<std::size_t> read(std::span<std::byte> into, std::uint64_t offset) const;

  /// All of `bytes`. A full disk or quota is `overloaded`.
  Result<> write(std::span<const std::byte> bytes, std::uint64_t offset) const;

  /// Makes what was written durable (fdatasync).
  Result<> sync() const;

  /// Takes the space up to `bytes` from the file system; `overloaded` when it has no more.
  Result<> allocate(std::uint64_t bytes) const;

  /// Gives back what is behind the first `bytes`.
  Result<> shrink(std::uint64_t bytes) const;

private:
  File(int number, std::string path) : number_(number), path_(std::move(path)) {}

  int number_;
  std::string path_;
};

}  // namespace nomad::storage
