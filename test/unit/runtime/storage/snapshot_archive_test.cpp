// Snapshot archives: whole ones come back, and nothing that is not one does.
#include "runtime/storage/snapshot_archive.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <doctest/doctest.h>
#include <zlib.h>

#include "runtime/storage/snapshot_file.hpp"
#include "runtime/storage/tar_gz.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::storage;
namespace fs = std::filesystem;

namespace {

struct Archive {
  test::TempDir home;
  std::string path = home.file("saved.snap");
  std::string out = home.file("state");

  Archive() {
    auto writer = SnapshotWriter::create(
        home.path(), {.index = 42,
                      .term = 3,
                      .configuration = {.cluster_id = "c", .members = {}, .removed = {}}});
    REQUIRE(writer.has_value());
    REQUIRE((*writer)->begin_table("jobs").has_value());
    const std::string value(50'000, 'j');
    REQUIRE((*writer)->row("web", std::as_bytes(std::span{value})).has_value());
    const auto file = (*writer)->finish();
    REQUIRE(file.has_value());
    const auto made = write_archive(file->path, path, 1'700'000'000'000);
    REQUIRE(made.has_value());
    CHECK(made->id == "3-42-1700000000000");
  }

  std::string bytes() const {
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

  /// Reads an archive of these bytes.
  Result<ArchiveMeta> read(const std::string& bytes) const {
    const auto other = home.file("other.snap");
    std::ofstream{other, std::ios::binary} << bytes;
    auto outcome = read_archive(other, out);
    if (!outcome) CHECK_FALSE(fs::exists(out));
    return outcome;
  }

  /// An archive of these files.
  std::string pack(const std::vector<std::pair<std::string, std::string>>& files) const {
    const auto other = home.file("packed.snap");
    auto writer = TarGzWriter::create(other);
    REQUIRE(writer.has_value());
    for (const auto& [name, content] : files) {
      REQUIRE(writer->begin_file(name, content.size(), 1).has_value());
      REQUIRE(writer->write(content).has_value());
    }
    REQUIRE(writer->finish().has_value());
    std::ifstream file{other, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

  /// The files of the archive.
  std::vector<std::pair<std::string, std::string>> unpack() const {
    auto reader = TarGzReader::open(path);
    REQUIRE(reader.has_value());
    std::vector<std::pair<std::string, std::string>> files;
    for (auto entry = reader->next(); entry && *entry; entry = reader->next()) {
      files.emplace_back((*entry)->name, "");
      REQUIRE(reader
                  ->read([&](std::string_view piece) -> Result<> {
                    files.back().second += piece;
                    return {};
                  })
                  .has_value());
    }
    return files;
  }
};

}  // namespace

TEST_CASE("archive: comes back with its snapshot") {
  const Archive archive;

  const auto meta = read_archive(archive.path, archive.out);

  REQUIRE(meta.has_value());
  CHECK(meta->index == 42);
  CHECK(meta->term == 3);
  CHECK(meta->cluster_id == "c");
  CHECK(meta->size == fs::file_size(archive.out));
  CHECK((*SnapshotReader::open(archive.out))->verify().has_value());
  CHECK(file_digest(archive.path)->starts_with("sha-256="));
}

TEST_CASE("archive: one that is cut short anywhere is refused") {
  const Archive archive;
  const auto whole = archive.bytes();

  for (std::size_t size = 0; size < whole.size(); size += 1 + whole.size() / 97) {
    const auto outcome = archive.read(whole.substr(0, size));
    REQUIRE(outcome.has_error());
    CHECK(outcome.error().code == Errc::corrupt);
  }
  CHECK(archive.read(whole.substr(0, whole.size() / 2)).error().what == "the file is truncated");
  CHECK(archive.read(whole.substr(0, whole.size() - 1)).has_error());
}

/// Compression has more than one form of the same bytes, so some changes change nothing.
TEST_CASE("archive: one with a changed byte is refused, unless it says the same") {
  const Archive archive;
  const auto whole = archive.bytes();
  const auto state = archive.unpack()[1].second;
  unsigned refused = 0;

  for (std::size_t at = 12; at < whole.size(); at += 1 + whole.size() / 101) {
    auto changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    if (archive.read(changed).has_error()) {
      ++refused;
      continue;
    }
    std::ifstream file{archive.out, std::ios::binary};
    CHECK((std::string{std::istreambuf_iterator<char>{file}, {}} == state));
  }
  CHECK(refused > 40);
}

TEST_CASE("archive: what is none, or another program's, is refused with its reason") {
  const Archive archive;
  CHECK(archive.read("just text, no archive at all").has_error());
  CHECK(archive.read("").has_error());
  CHECK(archive.read(archive.pack({{"other.txt", "x"}})).error().what.find("no part of one")
        != std::string::npos);
  CHECK(archive.read(archive.pack({{"meta.json", "{}"}})).error().what
        == "the archive is incomplete");
  const auto nomads = archive.pack({{"meta.json", R"({"Version":1,"ID":"2-30","Index":30})"},
                                    {"state.bin", "x"},
                                    {"SHA256SUMS", "x"}});
  CHECK(archive.read(nomads).error().what.find("not made by nomadctl") != std::string::npos);
  CHECK(archive.read(archive.pack({{"meta.json", std::string(1'000'000, ' ')}})).error().what
        == "meta.json is too large: the file is corrupted");
  CHECK(read_archive(archive.home.file("missing"), archive.out).error().code == Errc::io);
}

TEST_CASE("archive: one of a newer version is refused as such") {
  const Archive archive;
  auto files = archive.unpack();
  REQUIRE(files.size() == 3);
  auto& meta = files[0].second;
  meta.replace(meta.find("\"Version\":1"), 11, "\"Version\":9");

  const auto outcome = archive.read(archive.pack(files));

  REQUIRE(outcome.has_error());
  CHECK(outcome.error().what
        == "the snapshot has format version 9, this server reads up to 1: it was made by a newer "
           "version");
  meta.replace(meta.find("\"Version\":9"), 11, "\"Version\":0");
  CHECK(archive.read(archive.pack(files)).error().what == "meta.json names no format version");
}

TEST_CASE("archive: an exchanged part is refused") {
  const Archive archive;
  auto files = archive.unpack();
  auto changed = files;
  changed[0].second.replace(changed[0].second.find("\"Index\":42"), 10, "\"Index\":43");
  CHECK(archive.read(archive.pack(changed)).error().what.find("SHA-256") != std::string::npos);

  files[1].second[5000] ^= 1;
  CHECK(archive.read(archive.pack(files)).error().what.find("SHA-256") != std::string::npos);
}

TEST_CASE("archive: nothing larger than allowed is unpacked") {
  const Archive archive;

  const auto outcome = read_archive(archive.path, archive.out, 1000);

  REQUIRE(outcome.has_error());
  CHECK(outcome.error()
        == Error{Errc::too_large, "the snapshot's state has "
                                      + std::to_string(archive.unpack()[1].second.size())
                                      + " bytes, more than 1000"});
  CHECK_FALSE(fs::exists(archive.out));
}
