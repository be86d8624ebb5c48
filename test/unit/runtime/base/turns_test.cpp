#include "runtime/base/turns.hpp"

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

using nomad::Turns;

TEST_CASE("turns: nobody's run nothing, and leave what they were given") {
  int ran = 0;
  Turns::Action action = [&] { ++ran; };
  CHECK_FALSE(Turns{}.try_post(action));
  Turns{}.post([&] { ++ran; });
  REQUIRE(action);
  action();
  CHECK(ran == 1);
}

TEST_CASE("turns: here is where it is posted") {
  std::optional<std::thread::id> ran;
  Turns::here().post([&] { ran = std::this_thread::get_id(); });
  CHECK(ran == std::this_thread::get_id());
}

TEST_CASE("turns: on a strand what is posted by an action comes after it") {
  const auto strand = Turns::strand();
  std::string ran;
  strand.post([&] {
    ran += 'a';
    strand.post([&] {
      ran += 'c';
      strand.post([&] { ran += 'e'; });
    });
    strand.post([&] { ran += 'd'; });
    ran += 'b';
  });
  CHECK(ran == "abcde");
}

TEST_CASE("turns: a strand goes on behind an action that throws") {
  const auto strand = Turns::strand();
  int ran = 0;
  strand.post([] { throw std::runtime_error{"broken on purpose"}; });
  strand.post([&] { ++ran; });
  CHECK(ran == 1);
}

TEST_CASE("turns: a strand runs one action at a time, each thread's in order") {
  constexpr int threads = 4, each = 2000;
  const auto strand = Turns::strand();
  std::vector<int> last(threads, -1);
  int ran = 0, out_of_order = 0;  // without a guard: one at a time touches them
  std::vector<std::thread> posters;
  for (int thread = 0; thread < threads; ++thread)
    posters.emplace_back([&, thread] {
      for (int i = 0; i < each; ++i)
        strand.post([&, thread, i] {
          out_of_order += std::exchange(last[static_cast<std::size_t>(thread)], i) == i - 1 ? 0 : 1;
          ++ran;
        });
    });
  for (auto& poster : posters)
    poster.join();
  CHECK(ran == threads * each);
  CHECK(out_of_order == 0);
}

TEST_CASE("turns: an action may let go of the strand that runs it") {
  auto strand = std::make_unique<Turns>(Turns::strand());
  int ran = 0;
  strand->post([&] {
    strand->post([&] { ++ran; });
    strand.reset();
  });
  CHECK(ran == 1);
}

namespace {

/// Keeps what it is given.
struct Kept final : Turns::Taker {
  std::vector<Turns::Action> actions;

  bool take(Turns::Action& action) override {
    actions.push_back(std::move(action));
    return true;
  }
};

}  // namespace

TEST_CASE("turns: a callback is called in a turn, with what its caller gave") {
  const auto kept = std::make_shared<Kept>();
  std::string heard;
  {
    const auto callback = Turns{kept}.callback(
        [&, own = std::make_unique<int>(7)](std::unique_ptr<int> value, const std::string& text) {
          heard += text + std::to_string(*own + *value);
        });
    const std::string text = "a";
    callback(std::make_unique<int>(1), text);
    callback(std::make_unique<int>(2), "b");
  }
  CHECK(heard.empty());
  for (const auto& action : kept->actions)
    action();
  CHECK(heard == "a8b9");
}
