#include "runtime/storage/snapshot_exchange.hpp"

#include <cerrno>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "runtime/storage/directory.hpp"

namespace nomad::storage {
namespace {

/// An open file that closes itself.
class File {
public:
  static Result<File> open(const std::string& path, int flags) {
    const int number = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
    if (number < 0) return errno_error("cannot open \"" + path + "\"", errno);
    return File{number};
  }

  File(File&& other) noexcept : number_(std::exchange(other.number_, -1)) {}

  File& operator=(File&&) = delete;

  ~File() {
    if (number_ >= 0) ::close(number_);
  }

  int number() const { return number_; }

private:
  explicit File(int number) : number_(number) {}

  int number_;
};

/// Swept away with the other unfinished files after a restart.
std::string arriving_path(const std::string& directory, const raft::SnapshotMeta& meta) {
  return fmt::format("{}/arriving-{:016x}-{:016x}.unfinished", directory, meta.term, meta.index);
}

std::string final_path(const std::string& directory, const raft::SnapshotMeta& meta) {
  return directory + "/" + snapshot_name(meta.term, meta.index);
}

Result<> verify(const std::string& path, const raft::SnapshotMeta& meta) {
  auto reader = SnapshotReader::open(path);
  if (!reader) return reader.error();
  if (!((*reader)->meta() == meta))
    return Error{Errc::corrupt, "\"" + path + "\" is another snapshot than the announced one"};
  return (*reader)->verify();
}

}  // namespace

Result<raft::Bytes> read_snapshot_part(const std::string& path,
                                       std::uint64_t offset,
                                       std::size_t max_bytes) {
  auto file = File::open(path, O_RDONLY);
  if (!file) return file.error();
  std::vector<std::byte> buffer(max_bytes);
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const auto count = ::pread(file->number(), buffer.data() + filled, buffer.size() - filled,
                               static_cast<off_t>(offset + filled));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error("cannot read \"" + path + "\"", errno);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
  }
  return raft::Bytes::copy(std::span{buffer}.first(filled));
}

Result<std::uint64_t> file_size(const std::string& path) {
  std::error_code failure;
  const auto size = std::filesystem::file_size(path, failure);
  if (failure) return Error{Errc::io, "cannot examine \"" + path + "\": " + failure.message()};
  return size;
}

Result<std::uint64_t> store_snapshot_part(const std::string& directory,
                                          const raft::SnapshotMeta& meta,
                                          std::uint64_t offset,
                                          const raft::Bytes& data) {
  NOMAD_TRY(make_directory(directory));
  const auto path = arriving_path(directory, meta);
  auto file = File::open(path, O_WRONLY | O_CREAT | (offset == 0 ? O_TRUNC : 0));
  if (!file) return file.error();
  auto rest = data.view();
  while (!rest.empty()) {
    const auto at = static_cast<off_t>(offset + (data.size() - rest.size()));
    const auto count = ::pwrite(file->number(), rest.data(), rest.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error("cannot write \"" + path + "\"", errno);
    rest = rest.subspan(static_cast<std::size_t>(count));
  }
  return offset + data.size();
}

Result<SnapshotFile> finish_arrived(const std::string& directory, const raft::SnapshotMeta& meta) {
  const auto path = arriving_path(directory, meta);
  std::error_code failure;
  if (auto sound = verify(path, meta); !sound) {
    std::filesystem::remove(path, failure);
    return sound.error();
  }
  NOMAD_TRY(sync_file(path));
  SnapshotFile file{.path = final_path(directory, meta), .index = meta.index, .term = meta.term};
  std::filesystem::rename(path, file.path, failure);
  if (failure) return Error{Errc::io, "cannot rename \"" + path + "\": " + failure.message()};
  NOMAD_TRY(sync_directory(directory));
  return file;
}

}  // namespace nomad::storage
