#include "runtime/host/file_stream.hpp"

#include <algorithm>
#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

namespace nomad::host {

namespace {

Result<std::string> read_chunk(int file,
                               std::uint64_t offset,
                               std::uint64_t limit,
                               const std::string& path) {
  std::string data;
  data.resize(static_cast<std::size_t>(std::min<std::uint64_t>(limit, stream_chunk_bytes)));
  ssize_t got = 0;
  do {
    got = ::pread(file, data.data(), data.size(), static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return errno_error("read " + path, errno);
  data.resize(static_cast<std::size_t>(got));
  return data;
}

}  // namespace

Result<Origin> parse_origin(std::string_view text) {
  if (text == "start" || text.empty()) return Origin::start;
  if (text == "end") return Origin::end;
  return Error{Errc::invalid_argument, "origin must be start or end"};
}

Result<FileStream> FileStream::open(const Beneath& directory,
                                    std::string path,
                                    const StreamOptions& options) {
  auto file = NOMAD_TRY(directory.open_file(path));
  FileStream stream;
  stream.directory_ = &directory;
  stream.path_ = std::move(path);
  stream.file_ = std::move(file);
  stream.follow_ = options.follow;
  stream.limited_ = options.limit != 0;
  stream.remaining_ = options.limit;
  std::uint64_t size = stream.file_.size;
  stream.offset_
      = options.origin == Origin::start ? options.offset : size - std::min(size, options.offset);
  return stream;
}

FileStream::FileStream(FileStream&& other) noexcept
    : directory_(other.directory_),
      path_(std::move(other.path_)),
      file_(std::move(other.file_)),
      offset_(other.offset_),
      remaining_(other.remaining_),
      limited_(other.limited_),
      follow_(other.follow_),
      finished_(other.finished_),
      watcher_(std::exchange(other.watcher_, nullptr)),
      watch_(other.watch_) {}

FileStream::~FileStream() {
  if (watcher_ != nullptr) watcher_->unwatch(watch_);
}

Result<> FileStream::watch(FileWatcher& watcher, std::function<void()> changed) {
  if (!follow_ || watcher_ != nullptr) return {};
  auto watch = NOMAD_TRY(watcher.watch(file_.descriptor.get(), std::move(changed)));
  watcher_ = &watcher;
  watch_ = watch;
  return {};
}

Result<std::optional<StreamChunk>> FileStream::read() {
  std::optional<StreamChunk> chunk;
  if (finished_) return chunk;
  auto data = read_chunk(file_.descriptor.get(), offset_,
                         limited_ ? remaining_ : stream_chunk_bytes, path_);
  if (data.has_error()) return data.error();
  if (!data->empty()) {
    offset_ += data->size();
    remaining_ -= limited_ ? data->size() : 0;
    finished_ = limited_ && remaining_ == 0;
    chunk = StreamChunk{path_, std::move(*data), offset_, ""};
    return chunk;
  }
  if (!follow_) {
    finished_ = true;
    return chunk;
  }

  struct stat status {};

  if (::fstat(file_.descriptor.get(), &status) != 0) return errno_error("stat " + path_, errno);
  if (status.st_nlink == 0) {
    finished_ = true;
    chunk = StreamChunk{path_, "", offset_, "file deleted"};
  } else if (static_cast<std::uint64_t>(status.st_size) < offset_) {
    offset_ = 0;
    chunk = StreamChunk{path_, "", 0, "file truncated"};
  }
  return chunk;
}

}  // namespace nomad::host
