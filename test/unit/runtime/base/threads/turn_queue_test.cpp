#include "runtime/base/threads/turn_queue.hpp"

#include <string>

#include <doctest/doctest.h>

using nomad::TurnQueue;
using nomad::Turns;

TEST_CASE("turn queue: they run in their order, whatever they are") {
  const auto queue = std::make_shared<TurnQueue>(TurnQueue::Limits{});
  const Turns turns{queue};
  std::string ran;
  turns.post([&] { ran += 'a'; });
  queue->offer([&] { ran += 'b'; });
  turns.post([&] { ran += 'c'; });
  CHECK(queue->run() == 0);
  CHECK(ran == "abc");
  CHECK(queue->run() == 0);
  CHECK(ran == "abc");
}

TEST_CASE("turn queue: what is offered beyond the bound is dropped and counted, answers are not") {
  const auto queue = std::make_shared<TurnQueue>(TurnQueue::Limits{.most_offered = 3});
  const Turns turns{queue};
  int lines = 0, answers = 0;
  for (int i = 0; i < 10; ++i) {
    queue->offer([&] { ++lines; });
    turns.post([&] { ++answers; });
  }
  CHECK(queue->run() == 7);
  CHECK(lines == 3);
  CHECK(answers == 10);
  queue->offer([&] { ++lines; });
  CHECK(queue->run() == 0);
  CHECK(lines == 4);
}

TEST_CASE("turn queue: more answers than can have been asked for are told of, once") {
  int told = 0, answers = 0;
  const auto queue
      = std::make_shared<TurnQueue>(TurnQueue::Limits{.most = 5, .overflown = [&] { ++told; }});
  const Turns turns{queue};
  for (int i = 0; i < 10; ++i)
    turns.post([&] { ++answers; });
  CHECK(told == 1);
  queue->offer([&] { ++answers; });
  CHECK(queue->run() == 1);
  CHECK(answers == 5);
}
