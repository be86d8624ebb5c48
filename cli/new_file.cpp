#include "cli/new_file.hpp"

#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace nomad::cli {

Result<NewFile> NewFile::create(std::string path, mode_t mode) {
  host::UniqueFd file{
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode)};
  if (!file) return errno_error(path, errno);
  return NewFile{std::move(path), std::move(file)};
}

Result<> NewFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return not_written();
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

Result<> NewFile::finish() {
  if (::fsync(file_.get()) != 0 && errno != EINVAL) return not_written();
  return {};
}

Error NewFile::not_written() {
  auto why = errno_error(path_, errno);
  ::unlink(path_.c_str());  // where that fails, too, the file tells by its size
  return why;
}

Result<> write_new(const std::string& path, std::string_view text, mode_t mode) {
  auto file = NOMAD_TRY(NewFile::create(path, mode));
  NOMAD_TRY(file.write(text));
  return file.finish();
}

}  // namespace nomad::cli
