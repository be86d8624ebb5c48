#include "actors/api/forward/body_transfer.hpp"

#include <deque>
#include <filesystem>
#include <optional>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"
#include "test/support/temp_dir.hpp"

using namespace nomad;
using namespace nomad::api;

namespace {

/// One end of a stream that the test moves by hand.
class HandStream : public net::RpcStream {
public:
  bool write(Bytes bytes) override {
    if (!is_open || written.size() >= room) return false;
    written += bytes.text();
    return true;
  }

  void end() override { has_ended = true; }

  void on_data(std::function<void(Bytes, bool)> callback) override { data = std::move(callback); }

  void taken(std::size_t count) override { acknowledged += count; }

  void on_writable(std::function<void()> callback) override { writable = std::move(callback); }

  void on_closed(std::function<void()>) override {}

  std::size_t room = ~std::size_t{0};
  bool is_open = true;
  std::string written;
  bool has_ended = false;
  std::size_t acknowledged = 0;
  std::function<void(Bytes, bool)> data;
  std::function<void()> writable;
};

struct Fixture {
  test::TempDir dir;
  std::shared_ptr<net::BodyFiles> files;
  std::shared_ptr<HandStream> stream = std::make_shared<HandStream>();
  std::deque<std::function<void()>> jobs;
  bool is_full = false;

  Fixture() {
    auto made = net::BodyFiles::open(
        {.directory = dir.file("uploads"), .most_bytes = 1'000'000, .wants = {}});
    REQUIRE(made.has_value());
    files = *made;
  }

  RunBlocking run() {
    return [this](std::function<void()>& job) {
      if (is_full) return false;
      jobs.push_back(std::move(job));
      return true;
    };
  }

  void work() {
    while (!jobs.empty()) {
      const auto job = std::move(jobs.front());
      jobs.pop_front();
      job();
    }
  }

  std::shared_ptr<net::BodyFile> file_of(const std::string& content) {
    auto file = *files->make();
    REQUIRE(file->append(content).has_value());
    return file;
  }

  bool has_files() const {
    namespace fs = std::filesystem;
    return fs::directory_iterator{dir.file("uploads")} != fs::directory_iterator{};
  }
};

std::string noise(std::size_t size) {
  Random random{5};
  std::string bytes;
  while (bytes.size() < size)
    bytes += static_cast<char>(random.next() & 0xff);
  return bytes;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "body_transfer: all of a file is sent, at the stream's pace") {
  const auto content = noise(500'000);
  stream->room = 100'000;
  send_body(stream, file_of(content), run(), [](const Error&) { FAIL("it can be read"); });
  CHECK(stream->written.empty());  // not on the caller's thread
  work();
  CHECK(stream->written.size() < 200'000);
  int turns = 0;
  while (!stream->has_ended && ++turns < 100) {
    stream->room += 100'000;
    stream->writable();
    stream->writable();  // it may be told more often than there is room
    CHECK(jobs.size() == 1);
    work();
  }
  CHECK(stream->written == content);
  CHECK(stream->has_ended);
  CHECK(turns > 2);
  stream->writable = nullptr;
  CHECK_FALSE(has_files());
}

TEST_CASE_FIXTURE(Fixture, "body_transfer: who sends lets the file go when the stream is gone") {
  stream->room = 10;
  send_body(stream, file_of(noise(500'000)), run(), [](const Error&) {});
  work();
  stream.reset();
  CHECK_FALSE(has_files());
}

TEST_CASE_FIXTURE(Fixture, "body_transfer: who sends says when nobody can read for it") {
  std::optional<Error> failure;
  is_full = true;
  send_body(stream, file_of("abc"), run(), [&failure](const Error& error) { failure = error; });
  REQUIRE(failure.has_value());
  CHECK(failure->code == Errc::overloaded);
  CHECK_FALSE(stream->has_ended);
}

TEST_CASE_FIXTURE(Fixture, "body_transfer: what comes is written, then acknowledged") {
  std::optional<Result<>> outcome;
  const auto file = *files->make();
  receive_body(stream, file, run(), [&outcome](const Result<>& done) { outcome = done; });
  stream->data(Bytes::copy("hello "), false);
  stream->data(Bytes::copy("world"), false);
  CHECK(stream->acknowledged == 0);
  CHECK(jobs.size() == 1);
  work();
  CHECK(stream->acknowledged == 11);
  CHECK_FALSE(outcome.has_value());
  stream->data({}, true);
  work();
  REQUIRE(outcome.has_value());
  CHECK(outcome->has_value());
  CHECK(*file->read(0, 100) == "hello world");
}

TEST_CASE_FIXTURE(Fixture, "body_transfer: what is too large is told once, and not acknowledged") {
  int told = 0;
  receive_body(stream, *files->make(), run(), [&told](const Result<>& done) {
    ++told;
    CHECK(done.error().code == Errc::too_large);
  });
  stream->data(Bytes::copy(noise(600'000)), false);
  work();
  CHECK(stream->acknowledged == 600'000);
  stream->data(Bytes::copy(noise(600'000)), false);
  stream->data(Bytes::copy("x"), true);
  work();
  CHECK(stream->acknowledged == 600'000);
  CHECK(told == 1);
}

TEST_CASE_FIXTURE(Fixture, "body_transfer: a stream that closes before the end leaves no file") {
  bool is_told = false;
  receive_body(stream, *files->make(), run(), [&is_told](const Result<>&) { is_told = true; });
  stream->data(Bytes::copy("half"), false);
  work();
  CHECK(has_files());
  stream->data = nullptr;
  CHECK_FALSE(has_files());
  CHECK_FALSE(is_told);
}

TEST_CASE_FIXTURE(Fixture, "body_transfer: who receives says when nobody can write for it") {
  std::optional<Result<>> outcome;
  is_full = true;
  receive_body(stream, *files->make(), run(), [&outcome](const Result<>& done) { outcome = done; });
  stream->data(Bytes::copy("abc"), false);
  REQUIRE(outcome.has_value());
  CHECK(outcome->error().code == Errc::overloaded);
}
