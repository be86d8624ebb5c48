#include "runtime/probe/hpack.hpp"

#include <array>
#include <utility>

namespace nomad::probe {
namespace {

constexpr std::size_t most_recent = 4096;  ///< What a connection begins with; we allow no more.
constexpr std::size_t entry_overhead = 32;

// clang-format off
/// RFC 7541, appendix A, from 1 on.
constexpr std::array<std::pair<std::string_view, std::string_view>, 61> known_fields = {{
    {":authority", ""},
    {":method", "GET"},
    {":method", "POST"},
    {":path", "/"},
    {":path", "/index.html"},
    {":scheme", "http"},
    {":scheme", "https"},
    {":status", "200"},
    {":status", "204"},
    {":status", "206"},
    {":status", "304"},
    {":status", "400"},
    {":status", "404"},
    {":status", "500"},
    {"accept-charset", ""},
    {"accept-encoding", "gzip, deflate"},
    {"accept-language", ""},
    {"accept-ranges", ""},
    {"accept", ""},
    {"access-control-allow-origin", ""},
    {"age", ""},
    {"allow", ""},
    {"authorization", ""},
    {"cache-control", ""},
    {"content-disposition", ""},
    {"content-encoding", ""},
    {"content-language", ""},
    {"content-length", ""},
    {"content-location", ""},
    {"content-range", ""},
    {"content-type", ""},
    {"cookie", ""},
    {"date", ""},
    {"etag", ""},
    {"expect", ""},
    {"expires", ""},
    {"from", ""},
    {"host", ""},
    {"if-match", ""},
    {"if-modified-since", ""},
    {"if-none-match", ""},
    {"if-range", ""},
    {"if-unmodified-since", ""},
    {"last-modified", ""},
    {"link", ""},
    {"location", ""},
    {"max-forwards", ""},
    {"proxy-authenticate", ""},
    {"proxy-authorization", ""},
    {"range", ""},
    {"referer", ""},
    {"refresh", ""},
    {"retry-after", ""},
    {"server", ""},
    {"set-cookie", ""},
    {"strict-transport-security", ""},
    {"transfer-encoding", ""},
    {"user-agent", ""},
    {"vary", ""},
    {"via", ""},
    {"www-authenticate", ""},
}};

/// Appendix B: bits of each byte's code, and of the end. The codes follow from these: the shorter
/// before the longer, of one length by their bytes.
constexpr std::array<std::uint8_t, 257> code_bits = {
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
};
// clang-format on

constexpr int most_code_bits = 30;
constexpr std::uint16_t end_of_text = 256;

/// Which bytes have codes of a length, and which code is the first of them.
struct CodesOfLength {
  std::uint32_t first = 0;
  std::vector<std::uint16_t> symbols{};
};

using Codes = std::array<CodesOfLength, most_code_bits + 1>;

Codes make_codes() {
  Codes codes;
  for (std::uint16_t symbol = 0; symbol < code_bits.size(); ++symbol)
    codes[code_bits[symbol]].symbols.push_back(symbol);
  std::uint32_t next = 0;
  for (std::size_t bits = 1; bits < codes.size(); ++bits) {
    next <<= 1;
    codes[bits].first = next;
    next += static_cast<std::uint32_t>(codes[bits].symbols.size());
  }
  return codes;
}

Error broken(const char* what) {
  return {Errc::corrupt, std::string{"malformed headers of HTTP/2: "} + what};
}

Result<std::string> decode_huffman(std::string_view bytes) {
  static const Codes codes = make_codes();
  std::string text;
  std::uint32_t code = 0;
  std::size_t bits = 0;
  for (const char byte : bytes)
    for (int shift = 7; shift >= 0; --shift) {
      code = code << 1 | (static_cast<std::uint8_t>(byte) >> shift & 1U);
      if (++bits > most_code_bits) return broken("no such code");
      const auto& known = codes[bits];
      if (code < known.first || code - known.first >= known.symbols.size()) continue;
      const auto symbol = known.symbols[code - known.first];
      if (symbol == end_of_text) return broken("no such code");
      text += static_cast<char>(symbol);
      code = 0;
      bits = 0;
    }
  // What fills the last byte is the beginning of the end's code.
  if (bits > 7 || code != (1U << bits) - 1) return broken("text breaks off");
  return text;
}

/// Takes a number off the front whose first byte has `bits` of it.
Result<std::uint64_t> take_number(std::string_view& block, int bits) {
  if (block.empty()) return broken("they break off");
  const std::uint64_t most = (1U << bits) - 1;
  std::uint64_t value = static_cast<std::uint8_t>(block.front()) & most;
  block.remove_prefix(1);
  if (value < most) return value;
  for (unsigned shift = 0; shift <= 28; shift += 7) {
    if (block.empty()) return broken("they break off");
    const auto byte = static_cast<std::uint8_t>(block.front());
    block.remove_prefix(1);
    value += static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
  return broken("a number is too large");
}

Result<std::string> take_text(std::string_view& block) {
  const bool is_compressed = !block.empty() && (block.front() & 0x80) != 0;
  const auto size = NOMAD_TRY(take_number(block, 7));
  if (size > block.size()) return broken("they break off");
  const auto bytes = block.substr(0, size);
  block.remove_prefix(size);
  if (is_compressed) return decode_huffman(bytes);
  return std::string{bytes};
}

void append_text(std::string& out, std::string_view text) {
  auto size = text.size();
  if (size < 0x7f) {
    out += static_cast<char>(size);
  } else {
    out += 0x7f;
    for (size -= 0x7f; size >= 0x80; size >>= 7)
      out += static_cast<char>(size | 0x80);
    out += static_cast<char>(size);
  }
  out += text;
}

std::size_t size_of(const HpackField& field) {
  return field.name.size() + field.value.size() + entry_overhead;
}

}  // namespace

std::string encode_field(std::string_view name, std::string_view value) {
  std::string out(1, '\0');
  append_text(out, name);
  append_text(out, value);
  return out;
}

Result<HpackField> HpackDecoder::indexed(std::uint64_t index) const {
  if (index == 0 || index > known_fields.size() + recent_.size()) return broken("no such field");
  if (index > known_fields.size()) return recent_[index - known_fields.size() - 1];
  const auto& [name, value] = known_fields[index - 1];
  return HpackField{std::string{name}, std::string{value}};
}

Result<HpackField> HpackDecoder::literal(std::string_view& block, int index_bits) const {
  const auto index = NOMAD_TRY(take_number(block, index_bits));
  HpackField field;
  if (index == 0) {
    field.name = NOMAD_TRY(take_text(block));
  } else {
    field.name = NOMAD_TRY(indexed(index)).name;
  }
  field.value = NOMAD_TRY(take_text(block));
  return field;
}

void HpackDecoder::shrink_to(std::size_t bytes) {
  while (recent_bytes_ > bytes) {
    recent_bytes_ -= size_of(recent_.back());
    recent_.pop_back();
  }
}

void HpackDecoder::remember(HpackField field) {
  const auto size = size_of(field);
  shrink_to(size > most_recent_bytes_ ? 0 : most_recent_bytes_ - size);
  if (size > most_recent_bytes_) return;
  recent_bytes_ += size;
  recent_.push_front(std::move(field));
}

Result<std::vector<HpackField>> HpackDecoder::decode(std::string_view block) {
  std::vector<HpackField> fields;
  std::size_t bytes = 0;
  while (!block.empty()) {
    const auto first = static_cast<std::uint8_t>(block.front());
    if ((first & 0xe0) == 0x20) {
      const auto size = NOMAD_TRY(take_number(block, 5));
      if (size > most_recent) return broken("more is to be remembered than we do");
      most_recent_bytes_ = size;
      shrink_to(size);
      continue;
    }
    if ((first & 0x80) != 0) {
      fields.push_back(NOMAD_TRY(indexed(NOMAD_TRY(take_number(block, 7)))));
    } else if ((first & 0x40) != 0) {
      fields.push_back(NOMAD_TRY(literal(block, 6)));
      remember(fields.back());
    } else {
      fields.push_back(NOMAD_TRY(literal(block, 4)));
    }
    bytes += size_of(fields.back());
    if (bytes > most_bytes) return broken("they are too long");
  }
  return fields;
}

}  // namespace nomad::probe
