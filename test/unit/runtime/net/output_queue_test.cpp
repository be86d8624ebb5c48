#include "runtime/net/output_queue.hpp"

#include <doctest/doctest.h>

using nomad::net::OutputQueue;

namespace {

/// Takes it all, `piece` bytes at a time.
std::string drain(OutputQueue& queue, std::size_t piece) {
  std::string all;
  while (!queue.empty()) {
    const auto [first, second] = queue.parts();
    const auto both = std::string{first}.append(second).substr(0, piece);
    REQUIRE_FALSE(first.empty());
    all += both;
    queue.take(both.size());
  }
  return all;
}

std::shared_ptr<const std::string> shared(std::size_t size, char c) {
  return std::make_shared<const std::string>(size, c);
}

}  // namespace

TEST_CASE("output_queue: bytes leave in their order, however they came") {
  for (const std::size_t piece : {1, 3, 5, 1000}) {
    OutputQueue queue;
    CHECK(queue.empty());
    queue.text() += "head";
    queue.append(shared(4, 'b'));
    CHECK(queue.size() == 8);
    queue.take(5);
    queue.text() += "tail";  // behind a body that has begun to leave
    queue.append(shared(2, 'c'));
    queue.append(shared(2, 'd'));
    CHECK(drain(queue, piece) == "bbbtailccdd");
    CHECK(queue.taken() == 16);
  }
}

TEST_CASE("output_queue: a shared body is not copied, and let go when it has left") {
  OutputQueue queue;
  auto body = shared(1'000'000, 'x');
  const std::weak_ptr<const std::string> watched = body;
  queue.text() += "head";
  queue.append(std::move(body));
  CHECK(queue.parts()[1].data() == watched.lock()->data());
  queue.take(1'000'003);
  CHECK_FALSE(watched.expired());
  CHECK(queue.parts()[0] == "x");
  queue.take(1);
  CHECK(watched.expired());
  CHECK(queue.empty());
}

TEST_CASE("output_queue: an idle one keeps little memory") {
  OutputQueue queue;
  queue.text().append(1'000'000, 'x');
  queue.take(1'000'000);
  CHECK(queue.text().capacity() < 100'000);
}
