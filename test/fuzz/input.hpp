// What fuzz targets share: the input as text or as words, and a way to stop the run at a broken
// promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "runtime/base/bytes.hpp"

namespace fuzz {

/// Ends the program when `holds` is false, which the fuzzer counts as a finding.
inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// As bytes arrive: at the boundary of a word, and whole words of them.
inline nomad::Bytes words_of(std::span<const std::uint8_t> input) {
  return nomad::Bytes::copy(std::as_bytes(input.first(input.size() / 8 * 8)));
}

/// Takes the next piece off the input, as long as its first two bytes say: little end first, in
/// words. So one input is several messages or commands.
inline nomad::Bytes take_piece(std::span<const std::uint8_t>& input) {
  if (input.size() < 2) return {};
  const auto wanted = static_cast<std::size_t>(input[0] | input[1] << 8) * 8;
  input = input.subspan(2);
  const auto piece = input.first(wanted < input.size() ? wanted : input.size());
  input = input.subspan(piece.size());
  return words_of(piece);
}

}  // namespace fuzz
