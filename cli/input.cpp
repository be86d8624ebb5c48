#include "cli/input.hpp"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/host/process/unique_fd.hpp"

namespace nomad::cli {

Result<std::string> read_input(const std::string& path, std::size_t most) {
  const bool is_stdin = path == "-";
  const std::string name = is_stdin ? "stdin" : path;
  const host::UniqueFd file{is_stdin ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  const int from = is_stdin ? STDIN_FILENO : file.get();
  if (from < 0) return errno_error("open " + name, errno);
  std::string text;
  std::string piece(65'536, '\0');
  for (;;) {
    const ssize_t got = ::read(from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("read " + name, errno);
    if (got == 0) return text;
    text.append(piece, 0, static_cast<std::size_t>(got));
    if (text.size() > most)
      return Error{Errc::too_large, fmt::format("{} is larger than {} MiB", name, most >> 20)};
  }
}

}  // namespace nomad::cli
