#include "runtime/host/executor/protocol.hpp"

#include <cstring>
#include <vector>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

namespace nomad::host::executor {

std::string frame(std::uint32_t id, const std::function<void(Message::Builder)>& fill) {
  capnp::MallocMessageBuilder builder{256};
  auto message = builder.initRoot<Message>();
  message.setId(id);
  fill(message);
  kj::Array<capnp::word> words = capnp::messageToFlatArray(builder);
  auto bytes = words.asChars();
  auto size = static_cast<std::uint32_t>(bytes.size());
  std::string framed;
  framed.reserve(4 + bytes.size());
  for (int shift = 0; shift < 32; shift += 8)
    framed += static_cast<char>(size >> shift & 0xff);
  framed.append(bytes.begin(), bytes.size());
  return framed;
}

FrameReader::Outcome FrameReader::next(const std::function<void(Message::Reader)>& receive) {
  if (buffer_.size() < 4) return Outcome::nothing;
  std::size_t size = 0;
  for (int i = 3; i >= 0; --i)
    size = size << 8 | static_cast<unsigned char>(buffer_[static_cast<std::size_t>(i)]);
  if (size > max_message_bytes || size == 0 || size % sizeof(capnp::word) != 0)
    return Outcome::malformed;
  if (buffer_.size() < 4 + size) return Outcome::nothing;

  std::vector<capnp::word> words(size / sizeof(capnp::word));
  std::memcpy(words.data(), buffer_.data() + 4, size);
  // Assigning the rest, instead of erasing, gives the memory of a large message back.
  buffer_ = buffer_.substr(4 + size);
  try {
    capnp::ReaderOptions options;
    options.traversalLimitInWords = 4 * words.size() + 1024;
    options.nestingLimit = 8;
    capnp::FlatArrayMessageReader reader{kj::arrayPtr(words.data(), words.size()), options};
    receive(reader.getRoot<Message>());
  } catch (const kj::Exception&) {
    return Outcome::malformed;
  }
  return Outcome::message;
}

}  // namespace nomad::host::executor
