#include "runtime/net/http/body_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <stdlib.h>

#include "runtime/base/log.hpp"

namespace nomad::net {

namespace fs = std::filesystem;

BodyFile::BodyFile(std::shared_ptr<std::atomic<unsigned>> count, std::uint64_t most_bytes)
    : count_{std::move(count)}, most_bytes_{most_bytes} {}

BodyFile::~BodyFile() {
  if (fd_ >= 0) {
    ::close(fd_);
    if (::unlink(path_.c_str()) != 0)
      log::warn("http", "cannot remove a file", {{"path", path_}, {"error", std::strerror(errno)}});
  }
  --*count_;
}

Result<> BodyFile::append(std::string_view bytes) {
  if (bytes.size() > most_bytes_ - size_)
    return Error{Errc::too_large,
                 "the body is larger than " + std::to_string(most_bytes_) + " bytes"};
  while (!bytes.empty()) {
    const auto written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno_error("cannot write \"" + path_ + "\"", errno);
    size_ += static_cast<std::uint64_t>(written);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<std::string> BodyFile::read(std::uint64_t offset, std::size_t most) const {
  std::string bytes(most, '\0');
  for (;;) {
    const auto got = ::pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("cannot read \"" + path_ + "\"", errno);
    bytes.resize(static_cast<std::size_t>(got));
    return bytes;
  }
}

Result<std::shared_ptr<BodyFiles>> BodyFiles::open(BodyFileOptions options) {
  std::error_code failure;
  fs::remove_all(options.directory, failure);
  if (!failure) fs::create_directories(options.directory, failure);
  if (!failure) fs::permissions(options.directory, fs::perms::owner_all, failure);
  if (failure)
    return Error{Errc::io, "cannot prepare \"" + options.directory + "\": " + failure.message()};
  return std::shared_ptr<BodyFiles>{new BodyFiles{std::move(options)}};
}

Result<std::shared_ptr<BodyFile>> BodyFiles::make() {
  const auto before = count_->fetch_add(1);
  const std::shared_ptr<BodyFile> file{new BodyFile{count_, options_.most_bytes}};
  if (before >= options_.most_files)
    return Error{Errc::overloaded, "too many large requests are under way"};
  file->path_ = options_.directory + "/body-XXXXXX";
  file->fd_ = ::mkostemp(file->path_.data(), O_CLOEXEC);
  if (file->fd_ < 0)
    return errno_error("cannot make a file in \"" + options_.directory + "\"", errno);
  return file;
}

}  // namespace nomad::net
