#include "runtime/csi/frames.hpp"

#include <vector>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::csi;

namespace {

Answer answer_numbered(std::uint64_t number) {
  Draft<schema::csi::Answer> draft;
  draft->setNumber(number);
  draft->setText("some words");
  return draft.freeze();
}

}  // namespace

TEST_CASE("csi frames: come whole, in whatever parts they came") {
  std::string bytes;
  for (const std::uint64_t number : {1, 2, 3})
    REQUIRE(append_frame(bytes, answer_numbered(number)).has_value());
  for (const std::size_t part : {std::size_t{1}, std::size_t{7}, bytes.size()}) {
    FrameSplitter splitter;
    std::vector<std::uint64_t> numbers;

    for (std::size_t at = 0; at < bytes.size(); at += part)
      CHECK(splitter
                .add(std::string_view{bytes}.substr(at, part),
                     [&](std::string_view frame) -> Result<> {
                       numbers.push_back(
                           NOMAD_TRY(object_in<schema::csi::Answer>(frame))->getNumber());
                       return {};
                     })
                .has_value());

    CHECK(numbers == std::vector<std::uint64_t>{1, 2, 3});
  }
}

TEST_CASE("csi frames: one that is too long is refused before it is kept") {
  FrameSplitter splitter;
  const std::string length{"\xff\xff\xff\x7f", 4};

  const auto outcome = splitter.add(length, [](std::string_view) { return Result<>{}; });

  CHECK(outcome.error().what == "a frame of 2147483647 bytes, of which 16777216 are the most");
}

TEST_CASE("csi frames: what is too much is not sent") {
  Draft<schema::csi::Answer> draft;
  const std::string much(most_frame_bytes, 'x');
  draft->setText({much.c_str(), much.size()});
  std::string to;

  CHECK(append_frame(to, draft.freeze()).error()
        == Error{Errc::too_large, "more than is asked or answered at once"});
  CHECK(to.empty());
}

TEST_CASE("csi frames: bytes that are no object are refused") {
  CHECK(object_in<schema::csi::Answer>(std::string(64, '\xff')).error().code == Errc::corrupt);
  CHECK(object_in<schema::csi::Answer>("short").error().code == Errc::corrupt);
}
