#include "runtime/storage/set_aside.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>

#include <fmt/chrono.h>

#include "runtime/storage/directory.hpp"

namespace nomad::storage {

namespace {

constexpr std::array parts_of_database{"", "-wal", "-shm", ".mark"};

bool is_taken(const std::string& name) {
  std::error_code failure;
  for (const auto* part : parts_of_database)
    if (std::filesystem::exists(name + part, failure)) return true;
  return false;
}

}  // namespace

Result<std::string> set_aside(const std::string& database) {
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  const auto name = fmt::format("{}.corrupt-{:%Y%m%dT%H%M%SZ}", database, fmt::gmtime(now));
  auto free_name = name;
  for (int number = 2; is_taken(free_name); ++number)
    free_name = fmt::format("{}-{}", name, number);
  for (const auto* part : parts_of_database) {
    const auto from = database + part;
    if (std::rename(from.c_str(), (free_name + part).c_str()) != 0 && errno != ENOENT)
      return errno_error("cannot rename \"" + from + "\"", errno);
  }
  NOMAD_TRY(sync_directory(directory_of(database)));
  return free_name;
}

}  // namespace nomad::storage
