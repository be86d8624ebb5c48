// Damage: flips bits in copies of files, one at a time, in every region of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include "test/support/temp_dir.hpp"

namespace nomad::test {

inline std::string read_file(const std::string& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

inline void write_file(const std::string& path, const std::string& content) {
  std::ofstream{path, std::ios::binary | std::ios::trunc} << content;
}

/// Calls `look(copy, file, offset)` for copies of the directory `from`, each with one bit of
/// `file` flipped: every byte of the first 128, and of what follows one in each `stride`.
inline void with_flipped_bits(
    const std::string& from,
    const std::string& file,
    std::size_t stride,
    const std::function<void(const std::string& copy, std::size_t offset)>& look) {
  const auto sound = read_file(from + "/" + file);
  for (std::size_t offset = 0; offset < sound.size();
       offset += offset < 128 ? 1 : std::min(stride, sound.size())) {
    TempDir copy;
    std::filesystem::copy(from, copy.path(), std::filesystem::copy_options::recursive);
    auto damaged = sound;
    damaged[offset] = static_cast<char>(damaged[offset] ^ (1 << offset % 8));
    write_file(copy.file(file), damaged);
    look(copy.path(), offset);
  }
}

}  // namespace nomad::test
