#include "runtime/artifact/rules/archive_kind.hpp"

#include <string>

#include <doctest/doctest.h>

using namespace nomad::artifact;
using Container = ArchiveKind::Container;
using Filter = ArchiveKind::Filter;

TEST_CASE("archive kind: each name of go-getter's list, as a name and as an ending") {
  for (const auto& wanted : {
           ArchiveKind{"bz2", Container::none, Filter::bzip2},
           {"gz", Container::none, Filter::gzip},
           {"xz", Container::none, Filter::xz},
           {"zst", Container::none, Filter::zstd},
           {"tar", Container::tar, Filter::none},
           {"tar.bz2", Container::tar, Filter::bzip2},
           {"tar.gz", Container::tar, Filter::gzip},
           {"tar.xz", Container::tar, Filter::xz},
           {"tar.zst", Container::tar, Filter::zstd},
           {"tbz2", Container::tar, Filter::bzip2},
           {"tgz", Container::tar, Filter::gzip},
           {"txz", Container::tar, Filter::xz},
           {"tzst", Container::tar, Filter::zstd},
           {"zip", Container::zip, Filter::none},
       }) {
    const std::string name{wanted.name};
    CAPTURE(name);
    CHECK(archive_by_name(name) == wanted);
    CHECK(archive_of_path("dist/app-1.2." + name) == wanted);
    CHECK(wanted.holds_one_file() == (wanted.container == Container::none));
  }
}

TEST_CASE("archive kind: an ending stands behind a dot, and something before it") {
  CHECK(archive_of_path("/.gz"));  // as go-getter: the dot counts, whatever is before it
  CHECK(archive_of_path(".gz")->name == "gz");
  for (const char* path : {"", "gz", "tar.gz.txt", "appgz", "app.", "app.GZ", "zip", "app.rar"})
    CHECK_MESSAGE(!archive_of_path(path), path);
  CHECK(archive_of_path("tar.gz")->name == "gz");  // a file with the name "tar"
  CHECK(archive_of_path("mytar.gz")->name == "gz");
  CHECK(archive_of_path("a.tar.gz")->name == "tar.gz");
  for (const char* name : {"", "rar", ".zip", "ZIP", "tar.gz "})
    CHECK_MESSAGE(!archive_by_name(name), name);
}
