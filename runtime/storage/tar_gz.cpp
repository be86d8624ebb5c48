#include "runtime/storage/tar_gz.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>
#include <zlib.h>

#include "runtime/storage/directory.hpp"

namespace nomad::storage {
namespace {

constexpr std::size_t block_bytes = 512;
constexpr std::size_t piece_bytes = 64 * 1024;
using Block = std::array<char, block_bytes>;

// Where the fields of a ustar header are.
constexpr std::size_t name_at = 0, name_bytes = 100, mode_at = 100, uid_at = 108, gid_at = 116,
                      size_at = 124, size_bytes = 12, time_at = 136, sum_at = 148, sum_bytes = 8,
                      type_at = 156, magic_at = 257;

void put(Block& block, std::size_t at, std::string_view text) {
  std::copy(text.begin(), text.end(), block.begin() + static_cast<std::ptrdiff_t>(at));
}

/// The sum of all bytes, with its own field read as spaces.
unsigned header_sum(const Block& block) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < block.size(); ++i)
    sum += i >= sum_at && i < sum_at + sum_bytes ? ' ' : static_cast<unsigned char>(block[i]);
  return sum;
}

Result<std::uint64_t> octal(const Block& block, std::size_t at, std::size_t length) {
  std::uint64_t number = 0;
  for (std::size_t i = at; i < at + length; ++i) {
    const char c = block[i];
    if (c == '\0' || c == ' ') break;
    if (c < '0' || c > '7') return Error{Errc::corrupt, "a number of a file header is none"};
    number = number << 3 | static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

std::uint64_t padding_of(std::uint64_t size) {
  return (block_bytes - size % block_bytes) % block_bytes;
}

}  // namespace

struct TarGzWriter::Parts {
  std::string path;
  gzFile file = nullptr;
  std::uint64_t missing = 0;  ///< Of the current file.
  std::uint64_t padding = 0;  ///< Behind it.

  ~Parts() {
    if (file != nullptr) gzclose(file);
  }

  Result<> put_bytes(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto part = bytes.substr(0, piece_bytes);
      if (gzwrite(file, part.data(), static_cast<unsigned>(part.size()))
          != static_cast<int>(part.size()))
        return errno_error("cannot write \"" + path + "\"", errno);
      bytes.remove_prefix(part.size());
    }
    return {};
  }

  Result<> end_file() {
    if (missing != 0) return Error{Errc::internal, "a file of the archive is incomplete"};
    return put_bytes(std::string(std::exchange(padding, 0), '\0'));
  }
};

TarGzWriter::TarGzWriter(std::unique_ptr<Parts> parts) : parts_{std::move(parts)} {}

TarGzWriter::TarGzWriter(TarGzWriter&&) noexcept = default;
TarGzWriter::~TarGzWriter() = default;

Result<TarGzWriter> TarGzWriter::create(const std::string& path) {
  auto parts = std::make_unique<Parts>();
  parts->path = path;
  const int number = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (number < 0) return errno_error("cannot create \"" + path + "\"", errno);
  parts->file = gzdopen(number, "wb1");
  if (parts->file == nullptr) {
    ::close(number);
    return Error{Errc::io, "cannot compress into \"" + path + "\""};
  }
  return TarGzWriter{std::move(parts)};
}

Result<> TarGzWriter::begin_file(std::string_view name,
                                 std::uint64_t size,
                                 std::int64_t unix_seconds) {
  NOMAD_TRY(parts_->end_file());
  if (size >> 33 != 0) return Error{Errc::too_large, "a file of the archive exceeds 8 GiB"};
  Block block{};
  put(block, name_at, name.substr(0, name_bytes - 1));
  put(block, mode_at, "0000600");
  put(block, uid_at, "0000000");
  put(block, gid_at, "0000000");
  put(block, size_at, fmt::format("{:011o}", size));
  put(block, time_at, fmt::format("{:011o}", unix_seconds));
  block[type_at] = '0';
  put(block, magic_at,
      std::string_view{"ustar\0"
                       "00",
                       8});
  put(block, sum_at, fmt::format("{:06o}", header_sum(block)));
  block[sum_at + 7] = ' ';
  parts_->missing = size;
  parts_->padding = padding_of(size);
  return parts_->put_bytes({block.data(), block.size()});
}

Result<> TarGzWriter::write(std::string_view bytes) {
  if (bytes.size() > parts_->missing)
    return Error{Errc::internal, "a file of the archive grew while it was written"};
  parts_->missing -= bytes.size();
  return parts_->put_bytes(bytes);
}

Result<> TarGzWriter::finish() {
  NOMAD_TRY(parts_->end_file());
  NOMAD_TRY(parts_->put_bytes(std::string(2 * block_bytes, '\0')));
  if (gzclose(std::exchange(parts_->file, nullptr)) != Z_OK)
    return errno_error("cannot write \"" + parts_->path + "\"", errno);
  return sync_file(parts_->path);
}

struct TarGzReader::Parts {
  std::string path;
  gzFile file = nullptr;
  std::uint64_t unread = 0;
  std::uint64_t padding = 0;

  ~Parts() {
    if (file != nullptr) gzclose(file);
  }

  /// Fills `to`, or says why not; fewer bytes only at the end of the stream.
  Result<std::size_t> take(char* to, std::size_t size) {
    const int count = gzread(file, to, static_cast<unsigned>(size));
    if (count >= 0 && static_cast<std::size_t>(count) == size) return size;
    int code = Z_OK;
    const char* what = gzerror(file, &code);
    if (code == Z_BUF_ERROR) return too_short();
    if (count < 0 || code != Z_OK)
      return Error{Errc::corrupt, fmt::format("the file is corrupted: {}", what)};
    return static_cast<std::size_t>(count);
  }

  Result<> take_all(char* to, std::size_t size) {
    const auto count = NOMAD_TRY(take(to, size));
    if (count == size) return {};
    return too_short();
  }

  /// Of a short file of another kind the kind is what matters.
  Error too_short() const {
    return {Errc::corrupt,
            gzdirect(file) != 0 ? "the file is not compressed by gzip" : "the file is truncated"};
  }

  /// Reads on to the end, where gzip's checksum is.
  Result<> drain() {
    std::array<char, 4096> rest{};
    for (;;) {
      const auto count = NOMAD_TRY(take(rest.data(), rest.size()));
      if (std::any_of(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(count),
                      [](char c) { return c != '\0'; }))
        return Error{Errc::corrupt, "there is something behind the archive's end"};
      if (count < rest.size()) break;
    }
    if (gzdirect(file) != 0) return Error{Errc::corrupt, "the file is not compressed by gzip"};
    return {};
  }
};

TarGzReader::TarGzReader(std::unique_ptr<Parts> parts) : parts_{std::move(parts)} {}

TarGzReader::TarGzReader(TarGzReader&&) noexcept = default;
TarGzReader::~TarGzReader() = default;

Result<TarGzReader> TarGzReader::open(const std::string& path) {
  auto parts = std::make_unique<Parts>();
  parts->path = path;
  parts->file = gzopen(path.c_str(), "rb");
  if (parts->file == nullptr) return errno_error("cannot open \"" + path + "\"", errno);
  return TarGzReader{std::move(parts)};
}

Result<std::optional<TarGzReader::Entry>> TarGzReader::next() {
  auto& parts = *parts_;
  if (parts.unread != 0) NOMAD_TRY(read([](std::string_view) -> Result<> { return {}; }));
  Block block{};
  NOMAD_TRY(parts.take_all(block.data(), parts.padding));
  parts.padding = 0;
  NOMAD_TRY(parts.take_all(block.data(), block.size()));
  if (gzdirect(parts.file) != 0) return Error{Errc::corrupt, "the file is not compressed by gzip"};
  if (std::all_of(block.begin(), block.end(), [](char c) { return c == '\0'; })) {
    NOMAD_TRY(parts.drain());
    return std::optional<Entry>{};
  }
  const auto sum = octal(block, sum_at, sum_bytes);
  if (!sum || *sum != header_sum(block))
    return Error{Errc::corrupt, "a file header fails its checksum: this is no snapshot archive"};
  if (block[type_at] != '0' && block[type_at] != '\0')
    return Error{Errc::corrupt, "the archive holds something else than files"};
  const auto size = NOMAD_TRY(octal(block, size_at, size_bytes));
  parts.unread = size;
  parts.padding = padding_of(size);
  const std::string_view name{block.data(), name_bytes};
  Entry entry;
  entry.name = name.substr(0, name.find('\0'));
  entry.size = size;
  return std::optional<Entry>{std::move(entry)};
}

Result<> TarGzReader::read(const std::function<Result<>(std::string_view)>& piece) {
  std::string buffer(piece_bytes, '\0');
  while (parts_->unread > 0) {
    const auto size
        = static_cast<std::size_t>(std::min<std::uint64_t>(parts_->unread, buffer.size()));
    NOMAD_TRY(parts_->take_all(buffer.data(), size));
    parts_->unread -= size;
    NOMAD_TRY(piece(std::string_view{buffer}.substr(0, size)));
  }
  return {};
}

}  // namespace nomad::storage
