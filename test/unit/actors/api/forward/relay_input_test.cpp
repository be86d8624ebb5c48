#include "actors/api/forward/relay_input.hpp"

#include <string>

#include <doctest/doctest.h>

using nomad::Bytes;
using nomad::api::RelayInput;

namespace {

/// Takes `room` bytes.
class NarrowStream : public nomad::net::RpcStream {
public:
  bool write(Bytes bytes) override {
    if (bytes.size() > room) return false;
    room -= bytes.size();
    got += bytes.text();
    return true;
  }

  void end() override { got += "<end>"; }

  void on_data(std::function<void(Bytes, bool)>) override {}

  void taken(std::size_t) override {}

  void on_writable(std::function<void()>) override {}

  void on_closed(std::function<void()>) override {}

  std::size_t room = 1000;
  std::string got;
};

struct InputFixture {
  std::shared_ptr<NarrowStream> stream = std::make_shared<NarrowStream>();
  RelayInput input;
  std::size_t taken = 0;

  void begin() {
    input.begin(stream, [this](std::size_t count) { taken += count; });
  }
};

}  // namespace

TEST_CASE_FIXTURE(InputFixture,
                  "relay input: bytes go on and are acknowledged when they have gone") {
  begin();
  input.add("hello ", false);
  input.add("world", false);
  CHECK(stream->got == "hello world");
  CHECK(taken == 11);
  input.add("", true);
  CHECK(stream->got == "hello world<end>");
  CHECK(stream.use_count() == 1);
}

TEST_CASE_FIXTURE(InputFixture, "relay input: what came before the stream waits for it") {
  input.add("early", true);
  input.send();
  CHECK(taken == 0);
  begin();
  input.send();
  CHECK(stream->got == "early<end>");
  CHECK(taken == 5);
}

TEST_CASE_FIXTURE(InputFixture, "relay input: a stream that is full is waited for, in order") {
  begin();
  stream->room = 4;
  input.add("abcd", false);
  input.add("efgh", false);
  input.add("ij", true);
  CHECK(stream->got == "abcd");
  CHECK(taken == 4);
  stream->room = 5;
  input.send();
  CHECK(stream->got == "abcdefgh");
  CHECK(taken == 8);
  stream->room = 100;
  input.send();
  CHECK(stream->got == "abcdefghij<end>");
  CHECK(taken == 10);
}

TEST_CASE_FIXTURE(InputFixture, "relay input: what is dropped is not used again") {
  begin();
  stream->room = 0;
  input.add("abcd", false);
  input.drop();
  stream->room = 100;
  input.send();
  input.add("more", true);
  CHECK(stream->got == "");
  CHECK(taken == 0);
  CHECK(stream.use_count() == 1);
}
