#include "runtime/artifact/rules/archive_kind.hpp"

#include <algorithm>
#include <array>

namespace nomad::artifact {
namespace {

using enum ArchiveKind::Container;
using Filter = ArchiveKind::Filter;

constexpr std::array<ArchiveKind, 14> kinds{{
    {"bz2", none, Filter::bzip2},
    {"gz", none, Filter::gzip},
    {"xz", none, Filter::xz},
    {"zst", none, Filter::zstd},
    {"tar", tar, Filter::none},
    {"tar.bz2", tar, Filter::bzip2},
    {"tar.gz", tar, Filter::gzip},
    {"tar.xz", tar, Filter::xz},
    {"tar.zst", tar, Filter::zstd},
    {"tbz2", tar, Filter::bzip2},
    {"tgz", tar, Filter::gzip},
    {"txz", tar, Filter::xz},
    {"tzst", tar, Filter::zstd},
    {"zip", zip, Filter::none},
}};

}  // namespace

std::optional<ArchiveKind> archive_of_path(std::string_view path) {
  std::optional<ArchiveKind> found;
  for (const auto& kind : kinds) {
    if (!path.ends_with(kind.name) || path.size() == kind.name.size()
        || path[path.size() - kind.name.size() - 1] != '.')
      continue;
    if (!found || found->name.size() < kind.name.size()) found = kind;
  }
  return found;
}

std::optional<ArchiveKind> archive_by_name(std::string_view name) {
  const auto* const found = std::ranges::find(kinds, name, &ArchiveKind::name);
  if (found == kinds.end()) return {};
  return *found;
}

}  // namespace nomad::artifact
