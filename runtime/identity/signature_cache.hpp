// SignatureCache: signatures by RS256 that were made, by what they sign. They are the same each
// time and cost 0.4 ms; tasks without a `ttl` ask for theirs at each start of their agent. Two
// generations of at most `capacity` each: what was not asked for while one filled up is forgotten.
//
// Not thread-safe. Tests: signature_cache_test.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace nomad::identity {

class SignatureCache {
public:
  /// Of signatures in a generation; about 0.4 kB each.
  explicit SignatureCache(std::size_t capacity = 4'096) : capacity_{capacity} {}

  /// Null: none is kept. It stays until the next call.
  const std::string* find(std::string_view signed_part);

  void keep(std::string_view signed_part, std::string signature);

private:
  using Generation = std::unordered_map<std::string, std::string>;  ///< By digest.

  const std::string* put(std::string digest, std::string signature);

  std::size_t capacity_;
  Generation newer_;
  Generation older_;
};

}  // namespace nomad::identity
