#include "runtime/workload/volumes/volume_row.hpp"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "runtime/workload/volumes/row_fields.hpp"

namespace nomad::workload {
namespace {

constexpr std::string_view row_mark = "1";  ///< The form of a row.
constexpr std::size_t longest_name = 200;

bool is_plain(char sign) {
  return (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z')
         || (sign >= '0' && sign <= '9') || sign == '-' || sign == '_' || sign == '.' || sign == '['
         || sign == ']';
}

/// Nothing that leads elsewhere, no "." at the beginning, and "@" for what follows alone.
std::string escaped(std::string_view name) {
  std::string made;
  for (const char sign : name)
    if (is_plain(sign) && !(made.empty() && sign == '.'))
      made += sign;
    else
      made += fmt::format("%{:02x}", static_cast<unsigned char>(sign));
  return made;
}

/// FNV-1a: names that are cut stay different ones.
std::uint64_t digest_of(std::string_view text) {
  std::uint64_t digest = 14695981039346656037U;
  for (const char sign : text)
    digest = (digest ^ static_cast<unsigned char>(sign)) * 1099511628211U;
  return digest;
}

}  // namespace

std::string file_name_of(std::string_view ns, std::string_view name) {
  auto made = escaped(name);
  if (!ns.empty() && ns != "default") made = fmt::format("@{}@{}", escaped(ns), made);
  if (made.size() <= longest_name) return made;
  return fmt::format("{}@{:016x}", made.substr(0, longest_name - 20), digest_of(made));
}

std::string staging_path(const VolumeRow& row) {
  return fmt::format("staging/{}/{}", file_name_of(row.spec.ns, row.spec.volume),
                     escaped(row.spec.usage));
}

std::string target_path(const VolumeRow& row) {
  return fmt::format("per-alloc/{}/{}/{}", escaped(row.spec.alloc),
                     file_name_of(row.spec.ns, row.spec.volume), escaped(row.spec.usage));
}

std::string write_row(const VolumeRow& row) {
  const auto& spec = row.spec;
  std::vector<std::string> fields{std::string{row_mark}};
  for (const auto number :
       {static_cast<unsigned>(row.phase), static_cast<unsigned>(spec.mode),
        static_cast<unsigned>(spec.access_mode), static_cast<unsigned>(spec.attachment_mode),
        static_cast<unsigned>(row.stages), static_cast<unsigned>(row.touched)})
    fields.push_back(std::to_string(number));
  for (const auto* text : {&spec.alloc, &spec.ns, &spec.volume, &spec.usage, &row.plugin,
                           &row.external, &row.directory})
    fields.push_back(*text);
  return join_fields(fields);
}

Result<VolumeRow> read_row(std::string_view bytes) {
  const auto parts = split_fields(bytes, 14);
  const Error no_row{Errc::corrupt, "it is no row of a volume"};
  if (!parts || parts->front() != row_mark) return no_row;
  std::array<std::uint8_t, 6> numbers{};
  for (std::size_t at = 0; at < numbers.size(); ++at)
    if (!read_number((*parts)[at + 1], numbers[at])) return no_row;
  if (numbers[0] > static_cast<std::uint8_t>(VolumeRow::Phase::releasing)) return no_row;
  const auto text = [&parts](std::size_t at) { return std::string{(*parts)[at]}; };
  return VolumeRow{.spec = {.alloc = text(7),
                            .ns = text(8),
                            .volume = text(9),
                            .usage = text(10),
                            .mode = numbers[1],
                            .access_mode = numbers[2],
                            .attachment_mode = numbers[3]},
                   .phase = static_cast<VolumeRow::Phase>(numbers[0]),
                   .plugin = text(11),
                   .external = text(12),
                   .directory = text(13),
                   .stages = numbers[4] != 0,
                   .touched = numbers[5] != 0};
}

}  // namespace nomad::workload
