#include "actors/agent/server_identity.hpp"

#include <filesystem>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/base/ids.hpp"
#include "runtime/storage/directory.hpp"

namespace nomad::agent {
namespace {

namespace fs = std::filesystem;

std::string id_file(const std::string& directory) {
  return directory + "/node-id";
}

/// The log of an id that is given up.
Result<> put_log_aside(const std::string& directory) {
  const auto log = directory + "/raft";
  const auto aside = directory + "/raft.left";
  std::error_code failure;
  const bool has_log = fs::exists(log, failure);
  if (!has_log && !failure) return {};
  if (!failure) fs::remove_all(aside, failure);
  if (!failure) fs::rename(log, aside, failure);
  if (failure) return Error{Errc::io, fmt::format("{}: {}", aside, failure.message())};
  return storage::sync_directory(directory);
}

/// The id in an open file; empty when there is none yet.
Result<std::string> read_id(int file, const std::string& path) {
  char text[64] = {};
  const auto count = read(file, text, sizeof text - 1);
  if (count < 0) return errno_error(path, errno);
  std::string id{text, static_cast<std::size_t>(count)};
  if (!id.empty() && !is_uuid(id))
    return Error{Errc::corrupt, fmt::format("{}: holds no server id", path)};
  return id;
}

Result<std::string> make_id(int file, const std::string& path) {
  auto random = Random::from_system();
  auto id = make_uuid(random);
  if (write(file, id.data(), id.size()) != static_cast<ssize_t>(id.size()) || fsync(file) != 0)
    return errno_error(path, errno);
  NOMAD_TRY(storage::sync_directory(storage::directory_of(path)));
  return id;
}

}  // namespace

Result<ServerIdentity> server_identity(const std::string& directory) {
  const auto path = id_file(directory);
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return errno_error(path, errno);
  auto id = read_id(file, path);
  if (id && id->empty()) {
    // First the log, or a crash in between would leave a new id with the old one's log.
    const auto is_clear = put_log_aside(directory);
    id = is_clear ? make_id(file, path) : Result<std::string>{is_clear.error()};
  }
  close(file);
  if (!id) return id.error();
  std::error_code failure;
  const bool has_left = fs::exists(directory + "/raft.left", failure);
  if (failure)
    return Error{Errc::io, fmt::format("{}/raft.left: {}", directory, failure.message())};
  return ServerIdentity{*id, has_left};
}

Result<> retire_identity(const std::string& directory) {
  const auto path = id_file(directory);
  if (unlink(path.c_str()) != 0) return errno_error("cannot remove " + path, errno);
  return storage::sync_directory(directory);
}

}  // namespace nomad::agent
