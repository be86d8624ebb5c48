#include "runtime/artifact/artifact_key.hpp"

#include "runtime/artifact/rules/digest.hpp"

namespace nomad::artifact {
namespace {

/// With its length, so that no two lists of texts are the same bytes.
void add(Digest& digest, std::string_view text) {
  digest.add(std::to_string(text.size()) + ":");
  digest.add(text);
}

void add(Digest& digest, const std::map<std::string, std::string>& entries) {
  add(digest, std::to_string(entries.size()));
  for (const auto& [key, value] : entries) {
    add(digest, key);
    add(digest, value);
  }
}

}  // namespace

std::string key_of(const Definition& definition) {
  constexpr std::size_t digits = 32;
  Digest digest{Checksum::Kind::sha256};
  add(digest, definition.source);
  add(digest, definition.options);
  add(digest, definition.headers);
  add(digest, definition.mode);
  add(digest, definition.destination);
  // Keys of those without are as earlier releases made them: a running task fetches nothing anew.
  if (definition.insecure) add(digest, "insecure");
  if (definition.chown) add(digest, "chown");
  return digest.finish().substr(0, digits);
}

}  // namespace nomad::artifact
