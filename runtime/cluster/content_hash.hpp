// ContentHash: the hash by which regions see that one of theirs differs, over all that users say of
// an object, without its indexes and times. BLAKE2b of 32 bytes over the parts one after the other,
// as Nomad has it: other parts may have the same one, so nothing is decided by it.
#pragma once

#include <array>
#include <string_view>

#include <sodium/crypto_generichash.h>

#include "runtime/object/object.hpp"

namespace nomad::cluster {

class ContentHash {
public:
  ContentHash() { crypto_generichash_init(&state_, nullptr, 0, sum_.size()); }

  void add(std::string_view part) {
    crypto_generichash_update(&state_, reinterpret_cast<const unsigned char*>(part.data()),
                              part.size());
  }

  void add(capnp::Text::Reader part) { add(std::string_view{part.begin(), part.size()}); }

  template <class List>
  void add_each(List parts) {
    for (const auto part : parts)
      add(part);
  }

  /// In the order of the keys, as they are stored.
  template <class Entries>
  void add_entries(Entries entries) {
    for (const auto entry : entries) {
      add(entry.getKey());
      add(entry.getValue());
    }
  }

  /// Valid as long as this.
  capnp::Data::Reader finish() {
    crypto_generichash_final(&state_, sum_.data(), sum_.size());
    return {sum_.data(), sum_.size()};
  }

private:
  crypto_generichash_state state_{};
  std::array<unsigned char, 32> sum_{};
};

}  // namespace nomad::cluster
