#include "runtime/plugin/frames.hpp"

#include <cstring>
#include <vector>

#include <capnp/serialize.h>
#include <doctest/doctest.h>

#include "runtime/base/random.hpp"
#include "runtime/object/draft.hpp"

using namespace nomad;

namespace {

plugin::Frame log_frame(const std::string& line) {
  Draft<schema::plugin::Frame> draft;
  draft->initLog().setText(text(line));
  return draft.freeze();
}

std::string bytes_of(const plugin::Frame& frame) {
  std::string bytes;
  REQUIRE(plugin::append_frame(bytes, frame));
  return bytes;
}

std::vector<std::string> split(plugin::FrameSplitter& splitter, std::string_view bytes) {
  std::vector<std::string> lines;
  CHECK(splitter.add(bytes, [&](const plugin::Frame& frame, std::size_t) {
    lines.push_back(copy(frame->getLog().getText()));
  }));
  return lines;
}

}  // namespace

TEST_CASE("frames: what comes byte by byte is taken apart as it was sent") {
  const auto bytes = bytes_of(log_frame("one")) + bytes_of(log_frame("two"));
  plugin::FrameSplitter splitter;
  std::vector<std::string> lines;
  for (const char byte : bytes)
    for (auto& line : split(splitter, {&byte, 1}))
      lines.push_back(line);
  CHECK(lines == std::vector<std::string>{"one", "two"});
  CHECK(splitter.waiting() == 0);
}

TEST_CASE("frames: one of several segments is taken, as other languages send it") {
  capnp::MallocMessageBuilder message{8, capnp::AllocationStrategy::FIXED_SIZE};
  message.initRoot<schema::plugin::Frame>().initLog().setText(std::string(200, 'x'));
  const auto words = capnp::messageToFlatArray(message);
  const auto stream = words.asBytes();
  CHECK(message.getSegmentsForOutput().size() > 1);

  const auto frame
      = plugin::decode_frame({reinterpret_cast<const char*>(stream.begin()), stream.size()});

  REQUIRE(frame);
  CHECK(copy((*frame)->getLog().getText()) == std::string(200, 'x'));
}

TEST_CASE("frames: a length that nobody may send ends the conversation at once") {
  plugin::FrameSplitter splitter;
  const std::string huge = "\xff\xff\xff\x7f";
  const auto outcome = splitter.add(huge, [](const plugin::Frame&, std::size_t) {});
  CHECK(outcome.error().code == Errc::corrupt);
  CHECK(splitter.waiting() < 16);
}

TEST_CASE("frames: no bytes crash whoever reads them") {
  const auto good = bytes_of(log_frame("something that is long enough to be damaged"));
  Random random{7};
  for (int round = 0; round < 20'000; ++round) {
    auto bad = good.substr(sizeof(std::uint32_t));
    for (int change = 0; change < 3; ++change)
      bad[random.next() % bad.size()] = static_cast<char>(random.next());
    if (const auto frame = plugin::decode_frame(bad))
      if ((*frame)->isLog()) CHECK((*frame)->getLog().getText().size() < good.size());
  }
}

TEST_CASE("frames: one that is too large is not sent") {
  std::string bytes;
  const auto frame = log_frame(std::string(plugin::most_frame_bytes, 'x'));
  CHECK(plugin::append_frame(bytes, frame).error()
        == Error{Errc::too_large, std::to_string(frame.bytes().size())
                                      + " bytes are more than a plugin takes at once ("
                                      + std::to_string(plugin::most_frame_bytes) + ")"});
  CHECK(bytes.empty());
}

TEST_CASE("frames: bytes that are none say why") {
  const auto said = [](std::string_view bytes) {
    const auto frame = plugin::decode_frame(bytes);
    return frame ? "" : frame.error().what;
  };
  const std::string begin = "what came is no frame: ";
  CHECK(said(std::string(23, '\0')) == begin + "its length is no multiple of 8");
  CHECK(said(std::string(plugin::most_frame_bytes + 8, '\0')) == begin + "it is too long");
  CHECK(said(std::string(24, '\x7f')) == begin + "it has too many segments");
  CHECK(said(std::string(4, '\0') + '\x01' + std::string(19, '\0'))
        == begin + "its length is another than it says");
}
