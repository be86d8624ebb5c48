#include "runtime/storage/identity_file.hpp"

#include <array>
#include <filesystem>
#include <span>

#include <fcntl.h>

#include <fmt/format.h>

#include "runtime/base/files/replace_file.hpp"
#include "runtime/storage/checksum.hpp"
#include "runtime/storage/file.hpp"

namespace nomad::storage {

namespace {

constexpr std::size_t longest_identity = 1024;

std::string text_of(const NodeIdentityText& identity) {
  const auto lines
      = fmt::format("nomadctl node 1\nid {}\nsecret {}\n", identity.id, identity.secret);
  return fmt::format("{}sum {}\n", lines, checksum(lines));
}

/// What stands between the first `before` in `text` and the end of that line.
std::string word_after(std::string_view text, std::string_view before) {
  const auto at = text.find(before);
  if (at == text.npos) return {};
  text.remove_prefix(at + before.size());
  return std::string{text.substr(0, text.find('\n'))};
}

}  // namespace

Result<std::optional<NodeIdentityText>> read_identity_file(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::exists(path, failure)) return std::optional<NodeIdentityText>{};
  const auto file = NOMAD_TRY(File::open(path, O_RDONLY));
  std::array<char, longest_identity> buffer;
  const auto size = NOMAD_TRY(file.read(std::as_writable_bytes(std::span{buffer}), 0));
  const std::string_view text{buffer.data(), size};
  NodeIdentityText identity{word_after(text, "\nid "), word_after(text, "\nsecret ")};
  if (identity.id.empty() || identity.secret.empty() || text != text_of(identity))
    return Error{Errc::corrupt, "\"" + path + "\" is damaged"};
  return std::optional{std::move(identity)};
}

Result<> write_identity_file(const std::string& path, const NodeIdentityText& identity) {
  return replace_file(path, text_of(identity), Durability::of_disk);
}

}  // namespace nomad::storage
