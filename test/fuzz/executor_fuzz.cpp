// The executor's protocol: whatever bytes come, as they are or as the body of a well-formed frame,
// in pieces of any size, end in messages that can be read to their last field, in the wish for
// more, or in the connection's end. The pieces make no difference.
#include <algorithm>
#include <string_view>
#include <vector>

#include <capnp/pretty-print.h>

#include "runtime/host/executor/protocol.hpp"
#include "test/fuzz/input.hpp"

namespace {

using namespace nomad::host::executor;

/// What a connection came to.
struct Heard {
  std::vector<std::string> messages;  ///< Each with all its fields.
  bool is_over = false;

  friend bool operator==(const Heard&, const Heard&) = default;
};

Heard hear(std::string_view bytes, std::size_t piece) {
  FrameReader reader;
  Heard heard;
  const auto take = [&](Message::Reader message) {
    const auto text = capnp::prettyPrint(message).flatten();
    heard.messages.emplace_back(text.begin(), text.size());
  };
  while (!bytes.empty() && !heard.is_over) {
    reader.append(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    FrameReader::Outcome outcome{};
    do
      outcome = reader.next(take);
    while (outcome == FrameReader::Outcome::message);
    heard.is_over = outcome == FrameReader::Outcome::malformed;
  }
  return heard;
}

void check(std::string_view bytes, std::size_t piece) {
  fuzz::require(hear(bytes, bytes.size() + 1) == hear(bytes, piece), "pieces make no difference");
}

std::string framed(std::string_view body) {
  std::string out;
  for (int shift = 0; shift < 32; shift += 8)
    out += static_cast<char>(body.size() >> shift & 0xff);
  return out.append(body);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0];
  check(fuzz::text_of(data + 1, size - 1), piece);
  std::string frames;
  for (std::span input{data + 1, size - 1}; input.size() >= 2;)
    frames += framed(fuzz::take_piece(input).text());
  check(frames, piece);
  return 0;
}
