#include "runtime/storage/snapshot_exchange.hpp"

#include <filesystem>
#include <vector>

#include <fcntl.h>

#include <fmt/format.h>

#include "runtime/storage/directory.hpp"
#include "runtime/storage/file.hpp"
#include "runtime/storage/reserve.hpp"
#include "runtime/storage/snapshot_format.hpp"

namespace nomad::storage {
namespace {

/// Swept away with the other unfinished files after a restart.
std::string arriving_path(const std::string& directory, const raft::SnapshotMeta& meta) {
  return fmt::format("{}/arriving-{:016x}-{:016x}.unfinished", directory, meta.term, meta.index);
}

std::string final_path(const std::string& directory, const raft::SnapshotMeta& meta) {
  return directory + "/" + snapshot_name(meta.term, meta.index);
}

Result<> verify(const std::string& path, const raft::SnapshotMeta& meta, const TakeRows& take) {
  auto reader = NOMAD_TRY(SnapshotReader::open(path));
  if (!(reader->meta() == meta))
    return Error{Errc::corrupt, "\"" + path + "\" is another snapshot than the announced one"};
  NOMAD_TRY(reader->verify());
  return take(*reader);
}

Result<> write_part(const std::string& path, std::uint64_t offset, const raft::Bytes& data) {
  if (offset >= snapshot_format::stretch) NOMAD_TRY(require_room(directory_of(path)));
  auto file = NOMAD_TRY(File::open(path, O_WRONLY | O_CREAT | (offset == 0 ? O_TRUNC : 0)));
  return file.write(data.view(), offset);
}

}  // namespace

Result<raft::Bytes> read_snapshot_part(const std::string& path,
                                       std::uint64_t offset,
                                       std::size_t max_bytes) {
  auto file = NOMAD_TRY(File::open(path, O_RDONLY));
  std::vector<std::byte> buffer(max_bytes);
  const auto count = NOMAD_TRY(file.read(buffer, offset));
  return raft::Bytes::copy(std::span{buffer}.first(count));
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
  if (auto written = write_part(path, offset, data); !written) {
    // It begins anew; until then a full disk needs the room for other things.
    std::error_code failure;
    std::filesystem::remove(path, failure);
    return written.error();
  }
  return offset + data.size();
}

Result<SnapshotFile> finish_arrived(const std::string& directory,
                                    const raft::SnapshotMeta& meta,
                                    const TakeRows& take) {
  const auto path = arriving_path(directory, meta);
  std::error_code failure;
  if (auto sound = verify(path, meta, take); !sound) {
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
