#include "runtime/hcl/functions/grapheme.hpp"

#include <memory>

#include <unicode/brkiter.h>
#include <unicode/locid.h>
#include <unicode/utext.h>

#include "runtime/hcl/value/utf8.hpp"

namespace nomad::hcl {

namespace {

/// Marks that may continue a cluster; everything else ends one without asking the rules.
bool is_plain(unsigned char c) {
  return c < 0x80 && c != '\r';
}

icu::BreakIterator* iterator() {
  UErrorCode status = U_ZERO_ERROR;
  thread_local const std::unique_ptr<icu::BreakIterator> clusters{
      icu::BreakIterator::createCharacterInstance(icu::Locale::getRoot(), status)};
  return clusters.get();
}

}  // namespace

std::size_t grapheme_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (is_plain(byte(at)) && (at + 1 == text.size() || byte(at + 1) < 0x80)) return 1;
  if (byte(at) == '\r') return at + 1 < text.size() && text[at + 1] == '\n' ? 2 : 1;
  // The rules look at neighbours only; a window keeps each step's cost small. A cluster longer than
  // the window is cut, at a character.
  constexpr std::size_t window = 512;
  std::size_t end = std::min(text.size(), at + window);
  while (end < text.size() && end > at + 1 && (byte(end) & 0xC0) == 0x80)
    --end;
  const std::string_view part = text.substr(at, end - at);
  icu::BreakIterator* clusters = iterator();
  UErrorCode status = U_ZERO_ERROR;
  UText* utext
      = utext_openUTF8(nullptr, part.data(), static_cast<std::int64_t>(part.size()), &status);
  if (U_FAILURE(status) != 0 || clusters == nullptr) return decode_utf8(text, at).length;
  clusters->setText(utext, status);
  const std::int32_t next = clusters->next();
  utext_close(utext);
  return next > 0 ? static_cast<std::size_t>(next) : decode_utf8(text, at).length;
}

std::size_t count_graphemes_exactly(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += grapheme_length(text, at))
    ++count;
  return count;
}

}  // namespace nomad::hcl
