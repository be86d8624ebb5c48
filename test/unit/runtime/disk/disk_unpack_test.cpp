// Archives that one should not believe.
#include "runtime/disk/disk_unpack.hpp"

#include <sys/stat.h>

#include <archive.h>
#include <archive_entry.h>

#include "disk_fixture.hpp"

using namespace nomad;
using test::DiskFixture;

namespace {

struct Member {
  std::string name;
  mode_t type = S_IFREG;
  std::string content = {};  ///< Or where a link leads to.
};

/// A tar archive of what a sender of ours would not send.
std::string tar_of(const std::vector<Member>& members) {
  std::string bytes;
  auto* tar = ::archive_write_new();
  ::archive_write_set_format_gnutar(tar);
  ::archive_write_set_bytes_per_block(tar, 0);
  ::archive_write_open(
      tar, &bytes, nullptr,
      [](archive*, void* to, const void* from, std::size_t size) -> la_ssize_t {
        static_cast<std::string*>(to)->append(static_cast<const char*>(from), size);
        return static_cast<la_ssize_t>(size);
      },
      nullptr);
  for (const auto& member : members) {
    auto* entry = ::archive_entry_new();
    ::archive_entry_set_pathname(entry, member.name.c_str());
    ::archive_entry_set_perm(entry, 0644);
    if (member.type == 0) {
      ::archive_entry_set_filetype(entry, AE_IFREG);
      ::archive_entry_set_hardlink(entry, member.content.c_str());
    } else {
      ::archive_entry_set_filetype(entry, member.type);
      if (member.type == S_IFLNK) ::archive_entry_set_symlink(entry, member.content.c_str());
      if (member.type == S_IFREG)
        ::archive_entry_set_size(entry, static_cast<la_int64_t>(member.content.size()));
    }
    ::archive_write_header(tar, entry);
    if (member.type == S_IFREG)
      ::archive_write_data(tar, member.content.data(), member.content.size());
    ::archive_entry_free(entry);
  }
  ::archive_write_free(tar);
  return bytes;
}

}  // namespace

TEST_CASE_FIXTURE(DiskFixture, "disk_unpack: no member leaves the directory") {
  const auto to = dir.file("new");
  for (const auto* name : {"../escaped", "alloc/../../escaped", "/tmp/escaped-of-nomadctl", ".."}) {
    CAPTURE(name);
    CHECK(unpack(tar_of({{.name = name, .content = "x"}}), to).error().code == Errc::rejected);
  }
  CHECK_FALSE(test::fs::exists(dir.file("escaped")));
  CHECK_FALSE(test::fs::exists("/tmp/escaped-of-nomadctl"));
}

TEST_CASE_FIXTURE(DiskFixture, "disk_unpack: nothing is written through a link") {
  test::fs::create_directories(dir.file("outside"));
  const auto to = dir.file("new");
  CHECK_FALSE(unpack(tar_of({{"alloc", S_IFLNK, dir.file("outside")},
                             {.name = "alloc/data", .content = "x"}}),
                     to)
                  .has_value());
  CHECK(test::fs::is_empty(dir.file("outside")));
  CHECK_FALSE(unpack(tar_of({{"file", S_IFLNK, dir.file("outside/made")},
                             {.name = "file", .content = "x"}}),
                     dir.file("another"))
                  .has_value());
  CHECK_FALSE(test::fs::exists(dir.file("outside/made")));
}

TEST_CASE_FIXTURE(DiskFixture, "disk_unpack: what is there already is not written over") {
  CHECK(unpack(tar_of({{.name = "d", .content = "x"}, {.name = "d/f", .content = "x"}}),
               dir.file("a"))
            .error()
            .what
        == "opening the directory d: Not a directory");
  CHECK(unpack(tar_of({{.name = "l", .content = "x"}, {"l", S_IFLNK, "x"}}), dir.file("b"))
            .error()
            .what
        == "making the link l: File exists");
}

TEST_CASE_FIXTURE(DiskFixture, "disk_unpack: hard links and devices are passed over") {
  write(dir.file("outside"), "not theirs");
  const auto to = dir.file("new");
  REQUIRE(unpack(tar_of({{"link", 0, dir.file("outside")},
                         {"pipe", S_IFIFO},
                         {"device", S_IFCHR},
                         {.name = "file", .content = "x"}}),
                 to)
              .has_value());
  CHECK(read(to + "/file") == "x");
  for (const auto* name : {"/link", "/pipe", "/device"})
    CHECK_FALSE(test::fs::exists(to + name));
}

TEST_CASE_FIXTURE(DiskFixture,
                  "disk_unpack: a sender that breaks off, noise, and a cancel are errors") {
  const auto root = alloc("old");
  write(root + "/alloc/data/file", std::string(100'000, 'x'));
  const auto whole = archive_of(root, {});
  CHECK_FALSE(unpack(whole.substr(0, 50'000), dir.file("a")).has_value());
  const auto noise = unpack(std::string(20'000, 'q'), dir.file("b")).error();
  CHECK(noise.code == Errc::corrupt);
  CHECK(noise.what == "the archive cannot be read: Unrecognized archive format");

  test::fs::create_directories(dir.file("c"));
  const auto broken = [] { return Result<std::string>{Error{Errc::unavailable, "cut off"}}; };
  CHECK(disk::unpack_disk(broken, dir.file("c"), "id", {}).error().what == "cut off");

  std::stop_source stop;
  stop.request_stop();
  CHECK(disk::unpack_disk(pieces(whole), dir.file("c"), "id", stop.get_token()).error().code
        == Errc::cancelled);
}

TEST_CASE_FIXTURE(DiskFixture, "disk_unpack: bounds on files and on what stays free") {
  const auto root = alloc("old");
  for (int i = 0; i < 10; ++i)
    write(root + "/alloc/data/" + std::to_string(i), "x");
  const auto whole = archive_of(root, {});
  test::fs::create_directories(dir.file("new"));
  CHECK(disk::unpack_disk(pieces(whole), dir.file("new"), "id", {}, {.entries = 5}).error()
        == Error{Errc::overloaded, "the archive has more than 5 files"});
  test::fs::create_directories(dir.file("full"));
  const auto full
      = disk::unpack_disk(pieces(whole), dir.file("full"), "id", {}, {.free_percent = 100.5});
  CHECK(full.error().what == "less than 100 % of the disk would be free");
}
