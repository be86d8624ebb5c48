#include "runtime/plugin/bridge/turns.hpp"

#include <string>

#include <doctest/doctest.h>

using nomad::plugin::bridge::Turns;

TEST_CASE("turns: they run in their order, whatever they are") {
  Turns turns{{}};
  std::string ran;
  turns.post([&] { ran += 'a'; });
  turns.offer([&] { ran += 'b'; });
  turns.post([&] { ran += 'c'; });
  CHECK(turns.run() == 0);
  CHECK(ran == "abc");
  CHECK(turns.run() == 0);
  CHECK(ran == "abc");
}

TEST_CASE("turns: what is offered beyond the bound is dropped and counted, answers are not") {
  Turns turns{{.most_offered = 3}};
  int lines = 0, answers = 0;
  for (int i = 0; i < 10; ++i) {
    turns.offer([&] { ++lines; });
    turns.post([&] { ++answers; });
  }
  CHECK(turns.run() == 7);
  CHECK(lines == 3);
  CHECK(answers == 10);
  turns.offer([&] { ++lines; });
  CHECK(turns.run() == 0);
  CHECK(lines == 4);
}

TEST_CASE("turns: more answers than can have been asked for are told of, once") {
  int told = 0, answers = 0;
  Turns turns{{.most = 5, .overflown = [&] { ++told; }}};
  for (int i = 0; i < 10; ++i)
    turns.post([&] { ++answers; });
  CHECK(told == 1);
  turns.offer([&] { ++answers; });
  CHECK(turns.run() == 1);
  CHECK(answers == 5);
}
