#include "runtime/storage/mark_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include <fcntl.h>

#include <fmt/format.h>

#include "runtime/storage/checksum.hpp"

namespace nomad::storage {
namespace {

constexpr std::uint64_t seed_of_marks = 0x6d61'726b'0000'0001;
constexpr std::size_t sector = 512;

struct Slot {
  std::uint64_t sequence = 0;  ///< From 1.
  std::uint64_t length = 0;
  std::array<char, MarkFile::max_bytes> content{};
  std::array<char, 8> unused{};
  std::uint64_t sum = 0;

  std::uint64_t right_sum() const {
    return checksum({reinterpret_cast<const char*>(this), sector - sizeof sum}, seed_of_marks);
  }

  bool is_sound() const { return sum == right_sum() && sequence != 0 && length <= content.size(); }
};

static_assert(sizeof(Slot) == sector);

/// A block of the disk or a page for each slot.
constexpr std::size_t distance = 4'096;

}  // namespace

Result<MarkFile> MarkFile::open(const std::string& path) {
  MarkFile mark{NOMAD_TRY(File::open(path, O_RDWR | O_CREAT))};
  NOMAD_TRY(mark.load(path));
  return mark;
}

Result<MarkFile> MarkFile::begin_anew(const std::string& path) {
  return MarkFile{NOMAD_TRY(File::open(path, O_RDWR | O_CREAT))};
}

Result<> MarkFile::load(const std::string& path) {
  std::array<std::byte, 2 * distance> bytes{};
  if (const auto size = file_->read(bytes, 0); !size) return size.error();
  const bool is_blank
      = std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{}; });
  if (is_blank) return {};
  for (const auto at : {std::size_t{0}, distance}) {
    Slot slot;
    std::memcpy(&slot, bytes.data() + at, sizeof slot);
    if (!slot.is_sound() || slot.sequence < sequence_) continue;
    sequence_ = slot.sequence;
    content_ = std::string{slot.content.data(), slot.length};
  }
  if (!content_) return Error{Errc::corrupt, "\"" + path + "\": neither slot's checksum matches"};
  return {};
}

Result<> MarkFile::write(std::string content, bool durable) {
  if (content.size() > max_bytes)
    return Error{Errc::internal, "a mark of " + std::to_string(content.size()) + " bytes"};
  Slot slot;
  slot.sequence = sequence_ + 1;
  slot.length = content.size();
  std::memcpy(slot.content.data(), content.data(), content.size());
  slot.sum = slot.right_sum();
  const bool is_first = !content_;
  // Both slots take their place at once, so that a full disk does not stop a mark later.
  if (file_ && is_first) NOMAD_TRY(file_->write(std::array<std::byte, 2 * distance>{}, 0));
  if (file_)
    NOMAD_TRY(file_->write(std::as_bytes(std::span{&slot, 1}), slot.sequence % 2 * distance));
  if (file_ && (durable || is_first)) NOMAD_TRY(file_->sync());
  sequence_ = slot.sequence;
  content_ = std::move(content);
  return {};
}

Result<MarkFile> open_mark(const std::string& database, std::string_view remedy) {
  auto mark = MarkFile::open(database + ".mark");
  if (!mark && mark.error().code == Errc::corrupt)
    return lost_data(database, mark.error().what, remedy);
  std::error_code failure;
  const auto size = std::filesystem::file_size(database, failure);
  if (mark && mark->content() && (failure || size == 0))
    return lost_data(database, "it is empty", remedy);
  return mark;
}

Error lost_data(const std::string& database, std::string_view what, std::string_view remedy) {
  return {Errc::corrupt,
          fmt::format("\"{0}\" (with \"{0}-wal\" and \"{0}.mark\") is damaged: {1}. Nothing was "
                      "changed. {2}",
                      database, what, remedy)};
}

}  // namespace nomad::storage
