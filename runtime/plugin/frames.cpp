#include "runtime/plugin/frames.hpp"

#include <cstdint>
#include <cstring>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <fmt/format.h>
#include <kj/exception.h>

namespace nomad::plugin {
namespace {

constexpr std::size_t length_bytes = sizeof(std::uint32_t);
constexpr std::size_t word_bytes = sizeof(capnp::word);
constexpr std::uint32_t most_segments = 64;

std::uint32_t number_at(std::string_view bytes, std::size_t position) {
  std::uint32_t number = 0;
  std::memcpy(&number, bytes.data() + position, sizeof number);
  return number;
}

Error no_frame(std::string_view why) {
  return {Errc::corrupt, fmt::format("what came is no frame: {}", why)};
}

/// Several segments as one: what plugins of other languages may send.
Result<Frame> join_segments(std::string_view bytes) {
  auto words = kj::heapArray<capnp::word>(bytes.size() / word_bytes);
  std::memcpy(words.begin(), bytes.data(), bytes.size());
  try {
    capnp::ReaderOptions limits;
    limits.traversalLimitInWords = 8 * words.size() + 64;
    limits.nestingLimit = 64;
    capnp::FlatArrayMessageReader reader{words, limits};
    capnp::MallocMessageBuilder joined{static_cast<capnp::uint>(words.size() + 1)};
    joined.setRoot(reader.getRoot<schema::plugin::Frame>());
    const auto segments = joined.getSegmentsForOutput();
    if (segments.size() != 1) return no_frame("it is larger than it says");
    const auto all = segments[0].asBytes();
    return Frame::from_bytes({reinterpret_cast<const std::byte*>(all.begin()), all.size()});
  } catch (const kj::Exception& failure) {
    return no_frame(failure.getDescription().cStr());
  }
}

}  // namespace

bool is_answer(schema::plugin::Frame::Reader frame) {
  using Kind = schema::plugin::Frame;
  switch (frame.which()) {
    case Kind::DONE:
    case Kind::FAILED:
    case Kind::HOOK_ANSWER:
    case Kind::DRIVER_ANSWER:
    case Kind::FACTS:
    case Kind::DECISION:
      return true;
    default:
      return false;
  }
}

Result<Frame> decode_frame(std::string_view bytes) {
  if (bytes.size() < 2 * word_bytes || bytes.size() % word_bytes != 0)
    return no_frame("its length is no multiple of 8");
  if (bytes.size() > most_frame_bytes) return no_frame("it is too long");
  const auto segments = number_at(bytes, 0);
  if (segments >= most_segments) return no_frame("it has too many segments");
  if (segments != 0) return join_segments(bytes);
  const auto words = std::size_t{number_at(bytes, sizeof(std::uint32_t))};
  if ((words + 1) * word_bytes != bytes.size())
    return no_frame("its length is another than it says");
  const auto body = bytes.substr(word_bytes);
  return Frame::from_bytes({reinterpret_cast<const std::byte*>(body.data()), body.size()});
}

Result<> append_frame(std::string& to, const Frame& frame) {
  const auto body = frame.bytes();
  if (body.size() + word_bytes > most_frame_bytes)
    return Error{Errc::too_large, fmt::format("{} bytes are more than a plugin takes at once ({})",
                                              body.size(), most_frame_bytes)};
  const std::uint32_t head[] = {static_cast<std::uint32_t>(body.size() + word_bytes), 0,
                                static_cast<std::uint32_t>(body.size() / word_bytes)};
  to.append(reinterpret_cast<const char*>(head), sizeof head);
  to.append(reinterpret_cast<const char*>(body.data()), body.size());
  return {};
}

Result<> FrameSplitter::add(std::string_view bytes,
                            const std::function<void(Frame, std::size_t)>& take) {
  rest_.append(bytes);
  std::size_t begin = 0;
  while (rest_.size() - begin >= length_bytes) {
    const std::size_t size = number_at(rest_, begin);
    if (size > most_frame_bytes)
      return no_frame(
          fmt::format("it would have {} bytes, at most {} are taken", size, most_frame_bytes));
    if (rest_.size() - begin - length_bytes < size) break;
    take(NOMAD_TRY(decode_frame(std::string_view{rest_}.substr(begin + length_bytes, size))),
         length_bytes + size);
    begin += length_bytes + size;
  }
  rest_.erase(0, begin);
  if (rest_.empty()) rest_.shrink_to_fit();
  return {};
}

}  // namespace nomad::plugin
