// DiskFixture: directories of allocations, and archives of their disks.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/disk/disk_snapshot.hpp"
#include "runtime/disk/disk_unpack.hpp"
#include "test/support/temp_dir.hpp"

namespace nomad::test {

namespace fs = std::filesystem;

struct DiskFixture {
  TempDir dir;

  /// A directory of that name with the shared part of an allocation.
  std::string alloc(const std::string& name) {
    fs::create_directories(dir.file(name) + "/alloc/data");
    return dir.file(name);
  }

  static void write(const std::string& path, const std::string& content) {
    fs::create_directories(fs::path{path}.parent_path());
    std::ofstream{path, std::ios::binary} << content;
  }

  static std::string read(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    std::stringstream content;
    content << file.rdbuf();
    return file ? content.str() : "(none)";
  }

  /// All pieces of a snapshot.
  static std::string archive_of(const std::string& root, const std::vector<std::string>& tasks) {
    auto snapshot = disk::DiskSnapshot::open(root, "id", tasks);
    REQUIRE(snapshot.has_value());
    std::string all;
    for (;;) {
      const auto piece = snapshot->next();
      REQUIRE(piece.has_value());
      if (piece->empty()) return all;
      all += *piece;
    }
  }

  /// Gives an archive in pieces of `size`.
  static disk::Source pieces(std::string bytes, std::size_t size = 1000) {
    return [bytes = std::move(bytes), size, at = std::size_t{0}]() mutable -> Result<std::string> {
      auto piece = bytes.substr(std::min(at, bytes.size()), size);
      at += piece.size();
      return piece;
    };
  }

  Result<> unpack(const std::string& bytes, const std::string& into) {
    fs::create_directories(into);
    return disk::unpack_disk(pieces(bytes), into, "id", {}, {.entries = 1000, .free_percent = 0});
  }
};

}  // namespace nomad::test
