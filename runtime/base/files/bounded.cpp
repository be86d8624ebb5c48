#include "runtime/base/files/bounded.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <dirent.h>

namespace nomad {
namespace {

Error system_error(const std::string& path, int number) {
  return {number == ENOENT ? Errc::not_found : Errc::io,
          path + ": " + std::generic_category().message(number)};
}

}  // namespace

Result<std::string> read_whole_file(const std::string& path, std::size_t most) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return system_error(path, errno);
  const std::unique_ptr<const int, void (*)(const int*)> closed{
      &file, [](const int* descriptor) { ::close(*descriptor); }};
  std::string content;
  std::array<char, 16 * 1024> part;
  for (;;) {
    const auto got = ::read(file, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error(path, errno);
    if (got == 0) return content;
    content.append(part.data(), static_cast<std::size_t>(got));
    if (content.size() > most)
      return Error{Errc::too_large, path + " has more than " + std::to_string(most) + " bytes"};
  }
}

Result<std::vector<std::string>> names_in(const std::string& folder, std::size_t most) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open{::opendir(folder.c_str()), ::closedir};
  if (!open) return system_error(folder, errno);
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (names.size() == most)
      return Error{Errc::too_large, folder + " has more than " + std::to_string(most) + " entries"};
    names.emplace_back(name);
  }
  if (errno != 0) return system_error(folder, errno);
  std::ranges::sort(names);
  return names;
}

}  // namespace nomad
