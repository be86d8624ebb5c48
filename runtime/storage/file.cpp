#include "runtime/storage/file.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "runtime/base/files/replace_file.hpp"

namespace nomad::storage {

Result<File> File::open(const std::string& path, int flags) {
  const int number = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (number < 0) return disk_error("cannot open \"" + path + "\"", errno);
  return File{number, path};
}

File::File(File&& other) noexcept
    : number_(std::exchange(other.number_, -1)), path_(std::move(other.path_)) {}

File::~File() {
  if (number_ >= 0) ::close(number_);
}

Result<std::size_t> File::read(std::span<std::byte> into, std::uint64_t offset) const {
  std::size_t filled = 0;
  while (filled < into.size()) {
    const auto count = ::pread(number_, into.data() + filled, into.size() - filled,
                               static_cast<off_t>(offset + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return disk_error("cannot read \"" + path_ + "\"", errno);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return filled;
}

Result<> File::write(std::span<const std::byte> bytes, std::uint64_t offset) const {
  while (!bytes.empty()) {
    const auto count = ::pwrite(number_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return disk_error("cannot write \"" + path_ + "\"", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return {};
}

Result<> File::sync() const {
  if (::fdatasync(number_) != 0) return disk_error("cannot sync \"" + path_ + "\"", errno);
  return {};
}

Result<> File::shrink(std::uint64_t bytes) const {
  if (::ftruncate(number_, static_cast<off_t>(bytes)) != 0)
    return disk_error("cannot shrink \"" + path_ + "\"", errno);
  return {};
}

Result<> File::allocate(std::uint64_t bytes) const {
  int failure = 0;
  do {
    failure = ::posix_fallocate(number_, 0, static_cast<off_t>(bytes));
  } while (failure == EINTR);
  if (failure != 0) return disk_error("cannot allocate \"" + path_ + "\"", failure);
  return {};
}

}  // namespace nomad::storage
