#include "runtime/base/random.hpp"

#include <bit>
#include <cstdlib>

#include <sys/random.h>

namespace nomad {

Random::Random(std::uint64_t seed) {
  for (auto& word : state_) {
    seed += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    word = z ^ (z >> 31);
  }
}

Random Random::from_system() {
  std::uint64_t words[4];
  if (getrandom(words, sizeof words, 0) != sizeof words) std::abort();  // no entropy: cannot happen
  Random random{0};
  for (int i = 0; i < 4; ++i)
    random.state_[i] = words[i];
  return random;
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  if (bound == 0) return 0;
  const std::uint64_t limit = -bound % bound;  // rejects what would favour small numbers
  for (;;) {
    const std::uint64_t drawn = next();
    if (drawn >= limit) return drawn % bound;
  }
}

double Random::fraction() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

}  // namespace nomad
