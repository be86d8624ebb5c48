#include "runtime/net/output_queue.hpp"

#include <vector>

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

TEST_CASE("output_queue: bodies and texts in turn are counted, none copied") {
  OutputQueue queue;
  std::string all;
  std::vector<std::weak_ptr<const std::string>> bodies;
  for (std::size_t i = 0; i < 20; ++i) {
    const std::string text(i % 3, static_cast<char>('a' + i));
    queue.text() += text;
    auto body = shared(i % 5, static_cast<char>('A' + i));
    all += text + *body;
    bodies.push_back(body);
    queue.append(std::move(body));
    CHECK(queue.size() == all.size());
  }
  queue.text() += "end";
  all += "end";

  CHECK(queue.size() == all.size());
  CHECK(drain(queue, 4) == all);
  CHECK(queue.size() == 0);
  for (const auto& body : bodies)
    CHECK(body.expired());
}
