#include "runtime/artifact/rules/checksum.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/base/text.hpp"

namespace nomad::artifact {
namespace {

struct KnownKind {
  Checksum::Kind kind;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<KnownKind, 4> kinds{{
    {Checksum::Kind::md5, "md5", 16},
    {Checksum::Kind::sha1, "sha1", 20},
    {Checksum::Kind::sha256, "sha256", 32},
    {Checksum::Kind::sha512, "sha512", 64},
}};

Error wrong(std::string_view why) {
  return {Errc::invalid_argument, "invalid checksum: " + std::string{why}};
}

Result<Checksum> of_kind(std::string_view name, std::string_view digits) {
  const auto* const known = std::ranges::find(kinds, to_lower(name), &KnownKind::name);
  if (known == kinds.end()) return wrong("unsupported checksum type: " + std::string{name});
  if (!std::ranges::all_of(digits, is_hex_digit) || digits.size() != 2 * known->bytes)
    return wrong("\"" + std::string{digits} + "\" has not the " + std::to_string(2 * known->bytes)
                 + " hexadecimal digits of " + std::string{known->name});
  return Checksum{known->kind, to_lower(digits)};
}

Result<Checksum> by_length(std::string_view digits) {
  for (const auto& known : kinds)
    if (digits.size() == 2 * known.bytes) return of_kind(known.name, digits);
  return wrong("Unknown type for checksum " + std::string{digits});
}

struct Line {
  Checksum checksum;
  std::string name;  ///< Empty: of whichever file.
};

/// Nothing of a line that has no checksum: there are comments and empty ones.
std::optional<Line> parse_line(std::string_view line) {
  const auto parts = fields(line);
  if (parts.empty()) return std::nullopt;
  if (parts.size() == 4) {  // MD5 (file) = digits
    const auto name = parts[1];
    const auto sum = of_kind(parts[0], parts[3]);
    if (!sum || name.size() <= 2 || !name.starts_with('(') || !name.ends_with(')'))
      return std::nullopt;
    return Line{*sum, std::string{name.substr(1, name.size() - 2)}};
  }
  const auto sum = by_length(parts[0]);
  if (!sum) return std::nullopt;
  return Line{*sum, parts.size() == 2 ? std::string{parts[1]} : std::string{}};
}

/// The path of `to` as seen from the directory of `from`.
std::string relative_path(const std::string& from, const std::string& to) {
  const auto directory = from.substr(0, from.rfind('/') + 1);
  const auto above = split(directory, '/');
  const auto target = split(to, '/');
  std::size_t same = 0;
  while (same + 1 < above.size() && same + 1 < target.size() && above[same] == target[same])
    ++same;
  std::vector<std::string_view> parts(above.size() - 1 - same, "..");
  parts.insert(parts.end(), target.begin() + static_cast<std::ptrdiff_t>(same), target.end());
  return join(parts, "/");
}

}  // namespace

std::string_view to_string(Checksum::Kind kind) {
  return std::ranges::find(kinds, kind, &KnownKind::kind)->name;
}

Result<ChecksumSpec> parse_checksum(std::string_view given) {
  const auto text = trim(given);
  const auto colon = text.find(':');
  if (colon == text.npos) return ChecksumSpec{NOMAD_TRY(by_length(text)), {}};
  if (text.substr(0, colon) == "file") {
    const auto file = trim(text.substr(colon + 1));
    if (file.empty()) return wrong("file: names no file");
    return ChecksumSpec{{}, std::string{file}};
  }
  return ChecksumSpec{NOMAD_TRY(of_kind(text.substr(0, colon), text.substr(colon + 1))), {}};
}

Result<Checksum> find_checksum(std::string_view text, const Url& artifact, const Url& from) {
  const auto name = artifact.base_name();
  const auto path = percent_decode(artifact.path);
  const auto relative = relative_path(percent_decode(from.path), path);
  const std::array<std::string, 6> meant{name,     "*" + name,      "?" + name,
                                         relative, "./" + relative, path};
  for (const auto line : split(text, '\n')) {
    const auto found = parse_line(line);
    if (!found) continue;
    if (found->name.empty() || std::ranges::find(meant, found->name) != meant.end())
      return found->checksum;
  }
  return Error{Errc::not_found, "no checksum found in: " + from.shown()};
}

}  // namespace nomad::artifact
