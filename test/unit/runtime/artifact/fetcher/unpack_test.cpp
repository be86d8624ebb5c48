#include "runtime/artifact/fetcher/unpack.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <sys/stat.h>

#include <archive.h>
#include <archive_entry.h>
#include <doctest/doctest.h>

#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::artifact;
namespace fs = std::filesystem;

namespace {

struct Entry {
  std::string path;
  unsigned type = AE_IFREG;
  std::string content{};  ///< Or the target of a link.
  unsigned mode = 0644;
  bool hard = false;
};

using Setup = std::function<int(archive*)>;

void write_archive(const std::string& file,
                   const std::vector<Entry>& entries,
                   const Setup& format = ::archive_write_set_format_pax_restricted,
                   const Setup& filter = ::archive_write_add_filter_none) {
  auto* const out = ::archive_write_new();
  format(out);
  filter(out);
  REQUIRE(::archive_write_open_filename(out, file.c_str()) == ARCHIVE_OK);
  for (const auto& entry : entries) {
    auto* const made = ::archive_entry_new();
    ::archive_entry_set_pathname(made, entry.path.c_str());
    ::archive_entry_set_filetype(made, entry.type);
    ::archive_entry_set_perm(made, static_cast<mode_t>(entry.mode));
    ::archive_entry_set_mtime(made, 1'000'000'000, 0);
    if (entry.hard)
      ::archive_entry_set_hardlink(made, entry.content.c_str());
    else if (entry.type == AE_IFLNK)
      ::archive_entry_set_symlink(made, entry.content.c_str());
    else
      ::archive_entry_set_size(made, static_cast<la_int64_t>(entry.content.size()));
    ::archive_write_header(out, made);
    if (entry.type == AE_IFREG && !entry.hard)
      ::archive_write_data(out, entry.content.data(), entry.content.size());
    ::archive_entry_free(made);
  }
  ::archive_write_close(out);
  ::archive_write_free(out);
}

std::string content_of(const std::string& file) {
  std::ostringstream text;
  text << std::ifstream{file}.rdbuf();
  return std::move(text).str();
}

/// A directory with an archive "a" and an empty directory "out".
struct Unpacking : test::TempDir {
  Unpacking() { fs::create_directory(out()); }

  std::string archive() const { return file("a"); }

  std::string out(const std::string& name = "") const { return file("out") + "/" + name; }

  Result<std::uint64_t> unpack(const char* kind = "tar", const UnpackLimits& limits = {}) const {
    return artifact::unpack(archive(), *archive_by_name(kind), out(), limits);
  }
};

unsigned mode_of(const std::string& path) {
  struct stat status {};

  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status.st_mode & 07777U;
}

}  // namespace

TEST_CASE("unpack: trees come out as they went in, in all formats") {
  const std::vector<Entry> tree{{"d", AE_IFDIR, "", 0750},
                                {"d/run", AE_IFREG, "#!/bin/sh", 0755},
                                {"e/f/deep", AE_IFREG, std::string(300'000, 'x')},
                                {"d/link", AE_IFLNK, "../e"}};
  const std::vector<std::pair<const char*, Setup>> tars{
      {"tar", ::archive_write_add_filter_none},
      {"tar.gz", ::archive_write_add_filter_gzip},
      {"tbz2", ::archive_write_add_filter_bzip2},
      {"tar.xz", ::archive_write_add_filter_xz},
      {"tar.zst", ::archive_write_add_filter_zstd}};
  const auto look = [](const Unpacking& location) {
    CHECK(content_of(location.out("d/run")) == "#!/bin/sh");
    CHECK(mode_of(location.out("d/run")) == 0755);
    CHECK(mode_of(location.out("d")) == 0750);
    CHECK(fs::file_size(location.out("e/f/deep")) == 300'000);
    CHECK(fs::read_symlink(location.out("d/link")) == "../e");
  };
  for (const auto& [kind, filter] : tars) {
    const auto& shown = kind;
    CAPTURE(shown);
    const Unpacking location;
    write_archive(location.archive(), tree, ::archive_write_set_format_pax_restricted, filter);
    const auto members = location.unpack(kind);
    REQUIRE_MESSAGE(members, members.error().what);
    CHECK(*members == 4);
    look(location);
  }
  const Unpacking location;
  write_archive(location.archive(), tree, ::archive_write_set_format_zip);
  REQUIRE(location.unpack("zip"));
  look(location);
}

TEST_CASE("unpack: a single file, compressed or alone in an archive") {
  for (const auto& [kind, filter] :
       std::vector<std::pair<const char*, Setup>>{{"gz", ::archive_write_add_filter_gzip},
                                                  {"bz2", ::archive_write_add_filter_bzip2},
                                                  {"xz", ::archive_write_add_filter_xz},
                                                  {"zst", ::archive_write_add_filter_zstd}}) {
    const Unpacking location;
    write_archive(location.archive(), {{"x", AE_IFREG, "hello"}}, ::archive_write_set_format_raw,
                  filter);
    REQUIRE(unpack_file(location.archive(), *archive_by_name(kind), location.out("f"), {}));
    CHECK(content_of(location.out("f")) == "hello");
    CHECK(
        location.unpack(kind).error()
        == Error{Errc::rejected, std::string{kind}
                                     + "-compressed files can only unarchive to a single file: set "
                                       "mode = \"file\""});
  }
  const Unpacking location;
  write_archive(location.archive(), {{"/any/where", AE_IFREG, "hello", 0700}});
  REQUIRE(unpack_file(location.archive(), *archive_by_name("tar"), location.out("f"), {}));
  CHECK(content_of(location.out("f")) == "hello");
  CHECK(mode_of(location.out("f")) == 0700);
  write_archive(location.archive(), {{"a", AE_IFREG, "1"}, {"b", AE_IFREG, "2"}});
  CHECK(unpack_file(location.archive(), *archive_by_name("tar"), location.out("g"), {}).error()
        == Error{Errc::rejected,
                 "expected a single file in the archive: set mode = \"dir\" to unpack all of it"});
  std::ofstream{location.archive()} << "this is not compressed";
  CHECK(unpack_file(location.archive(), *archive_by_name("gz"), location.out("h"), {}).error()
        == Error{Errc::corrupt, "the file is not compressed as gz"});
}

TEST_CASE("unpack: what leads out is refused, and nothing outside is touched") {
  const std::vector<std::vector<Entry>> bad{
      {{"/etc/nomadctl-test", AE_IFREG, "x"}},
      {{"../escaped", AE_IFREG, "x"}},
      {{"d/../../escaped", AE_IFREG, "x"}},
      {{"link", AE_IFLNK, "/etc"}},
      {{"link", AE_IFLNK, ".."}},
      {{"d", AE_IFDIR}, {"d/up", AE_IFLNK, ".."}, {"l", AE_IFLNK, "d/up/.."}},
      {{"h", AE_IFREG, "/etc/passwd", 0644, true}},
      {{"h", AE_IFREG, "../a", 0644, true}},
      {{"dev", AE_IFCHR}},
      {{"dev", AE_IFBLK}},
      {{"fifo", AE_IFIFO}},
      {{"su", AE_IFREG, "x", 04755}},
      {{"sg", AE_IFREG, "x", 02755}},
  };
  for (const auto& entries : bad) {
    CAPTURE(entries.back().path);
    const Unpacking location;
    write_archive(location.archive(), entries);
    const auto outcome = location.unpack();
    REQUIRE(!outcome);
    CHECK(outcome.error().code == Errc::rejected);
    CHECK(!fs::exists(location.file("escaped")));
    CHECK(!fs::exists("/etc/nomadctl-test"));
  }
}

TEST_CASE("unpack: nothing is written through a link of the archive itself") {
  const Unpacking location;
  write_archive(location.archive(),
                {{"d", AE_IFDIR}, {"l", AE_IFLNK, "d"}, {"l/inside", AE_IFREG, "x"}});
  CHECK(!location.unpack());
  CHECK(!fs::exists(location.out("d/inside")));
  const Unpacking other;
  write_archive(other.archive(), {{"f", AE_IFREG, "old"},
                                  {"l", AE_IFLNK, "f"},
                                  {"l", AE_IFREG, "new"},
                                  {"h", AE_IFREG, "f", 0644, true}});
  REQUIRE(other.unpack());
  CHECK(content_of(other.out("f")) == "old");
  CHECK(content_of(other.out("l")) == "new");
  CHECK(fs::hard_link_count(other.out("h")) == 2);
}

TEST_CASE("unpack: bombs are refused before they fill the disk") {
  const Unpacking location;
  write_archive(location.archive(), {{"zeros", AE_IFREG, std::string(20'000'000, '\0')}},
                ::archive_write_set_format_pax_restricted, ::archive_write_add_filter_gzip);
  CHECK(location.unpack("tar.gz", {.bytes = 1'000'000}).error().code == Errc::too_large);
  CHECK(location.unpack("tar.gz", {.ratio = 100, .ratio_from = 1'000'000}).error().code
        == Errc::too_large);
  write_archive(location.archive(), {{"zeros", AE_IFREG, std::string(20'000'000, '\0')}},
                ::archive_write_set_format_raw, ::archive_write_add_filter_gzip);
  CHECK(unpack_file(location.archive(), *archive_by_name("gz"), location.out("z"),
                    {.bytes = 1'000'000})
            .error()
            .code
        == Errc::too_large);
  CHECK(fs::file_size(location.out("z")) < 2'000'000);
  write_archive(location.archive(), {{"a"}, {"b"}, {"c"}});
  CHECK(location.unpack("tar", {.files = 2}).error().what.find("too many files")
        != std::string::npos);
}

TEST_CASE("unpack: what is no archive, or ends too soon, says so") {
  const Unpacking location;
  std::ofstream{location.archive()} << "no archive";
  for (const char* kind : {"tar", "zip", "tar.gz", "tar.xz"})
    CHECK_MESSAGE(location.unpack(kind).error().code == Errc::corrupt, kind);
  write_archive(location.archive(), {{"f", AE_IFREG, std::string(100'000, 'x')}});
  fs::resize_file(location.archive(), 50'000);
  CHECK(location.unpack().error().code == Errc::corrupt);
  write_archive(location.archive(), {});
  CHECK(location.unpack().error() == Error{Errc::corrupt, "empty archive"});
  const Unpacking linked;
  write_archive(linked.archive(), {{"d", AE_IFDIR}, {"h", AE_IFREG, "d", 0644, true}});
  CHECK(linked.unpack().error()
        == Error{Errc::rejected, "the archive's member \"h\" is a hard link to no file"});
}
