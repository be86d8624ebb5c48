#include "cli/input.hpp"

#include <cerrno>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/host/process/unique_fd.hpp"

namespace nomad::cli {
Result<std::string> read_input(const std::string& path, std::size_t most) {
  const bool is_stdin = path == "-";
  const std::string name = is_stdin ? "stdin" : path;
  const host::UniqueFd file{is_stdin ? -1 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (!is_stdin && !file) return errno_error("open " + name, errno);
  std::string text;
  std::string piece(65'536, '\0');
  for (;;) {
    ssize_t got = 0;
    if (is_stdin)
      got = std::cin.read(piece.data(), static_cast<std::streamsize>(piece.size())).gcount();
    else
      got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || std::cin.bad()) return errno_error("read " + name, errno);
    if (got == 0) return text;
    text.append(piece, 0, static_cast<std::size_t>(got));
    if (text.size() > most)
      return Error{Errc::too_large, fmt::format("{} is larger than {} MiB", name, most >> 20)};
  }
}

}  // namespace nomad::cli
