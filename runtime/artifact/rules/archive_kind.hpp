// ArchiveKind: which archive a name or the parameter `archive` stands for, by go-getter's list.
#pragma once

#include <optional>
#include <string_view>

namespace nomad::artifact {

struct ArchiveKind {
  enum class Container { none, tar, zip };  ///< None: one compressed file.
  enum class Filter { none, gzip, bzip2, xz, zstd };

  std::string_view name;  ///< "tar.gz"
  Container container = Container::none;
  Filter filter = Filter::none;

  bool holds_one_file() const { return container == Container::none; }

  friend bool operator==(const ArchiveKind&, const ArchiveKind&) = default;
};

/// By the longest ending that is known; empty for a path that is no archive's.
std::optional<ArchiveKind> archive_of_path(std::string_view path);

/// "tar.gz" and its like; empty for another name.
std::optional<ArchiveKind> archive_by_name(std::string_view name);

}  // namespace nomad::artifact
