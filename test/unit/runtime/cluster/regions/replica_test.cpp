// Copying a kind from another region: whatever happens meanwhile, both end alike.
#include "runtime/cluster/regions/replica.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"

namespace nomad::cluster {

namespace {

RowMark mark(const std::string& key, std::uint64_t index) {
  return {.key = key, .index = index, .hash = "h" + std::to_string(index)};
}

using RowsByKey = std::map<std::string, std::uint64_t>;  // with the index of the original

std::vector<RowMark> marks_in(const RowsByKey& rows,
                              const std::string& after,
                              const std::string& last,
                              std::size_t most = 1000) {
  std::vector<RowMark> marks;
  for (const auto& [key, index] : rows)
    if (key > after && (last.empty() || key <= last) && marks.size() < most)
      marks.push_back(mark(key, index));
  return marks;
}

/// Two regions, and a machine between them whose answers take their time.
struct TwoRegions {
  Random random;
  RowsByKey theirs;
  RowsByKey ours;
  std::uint64_t index = 1;
  std::set<std::string> needed;  // can't be removed here
  Replica replica{{.fetched_at_once = 3, .removed_at_once = 2}};
  Replica::Step step = replica.begin();
  RowsByKey fetched;
  bool is_held = false;

  explicit TwoRegions(std::uint64_t seed) : random{seed} {}

  std::string any_key() { return "k" + std::to_string(random.below(30)); }

  void change_theirs() {
    ++index;
    if (random.chance(0.4))
      theirs.erase(any_key());
    else
      theirs[any_key()] = index;
  }

  MarkPage page(const Replica::List& list) const {
    MarkPage page{.index = index, .marks = marks_in(theirs, list.after, "", 7), .is_last = true};
    const auto rest = marks_in(theirs, list.after, "");
    page.is_last = rest.size() == page.marks.size();
    return page;
  }

  /// One answer. What is asked is read before `meanwhile` and comes after it.
  template <class Meanwhile>
  void advance(Meanwhile meanwhile) {
    is_held = false;
    if (const auto* list = std::get_if<Replica::List>(&step)) {
      is_held = list->held_at == index;
      auto told = page(*list);
      if (is_held) told.marks.clear();
      meanwhile();
      const auto last = Replica::end_of(told);
      step = replica.on_listed(told, marks_in(ours, replica.after(), last));
    } else if (const auto* fetch = std::get_if<Replica::Fetch>(&step)) {
      const auto done = 1 + random.below(fetch->keys.size());
      for (std::size_t i = 0; i < done; ++i)
        if (const auto found = theirs.find(fetch->keys[i]); found != theirs.end())
          fetched.insert(*found);
      meanwhile();
      step = replica.on_fetched(done);
    } else if (const auto* write = std::get_if<Replica::Write>(&step)) {
      std::size_t left = 0;
      for (const auto& key : write->removed) {
        if (needed.contains(key))
          ++left;
        else
          ours.erase(key);
      }
      const bool changed = left < write->removed.size() || !fetched.empty();
      for (const auto& [key, original] : std::exchange(fetched, {}))
        ours[key] = original;
      step = replica.on_written(left, changed);
    } else {
      CHECK(std::get<Replica::Rest>(step).pause.count() > 0);
      step = replica.begin();
    }
  }

  void fail() {
    fetched.clear();
    step = replica.on_failed(random.fraction());
  }

  /// Nothing happens any more but answers, until one of them is held without left-overs.
  bool comes_to_rest() {
    for (int i = 0; i < 1000; ++i) {
      if (replica.is_level() && replica.left() == 0 && std::holds_alternative<Replica::List>(step)
          && std::get<Replica::List>(step).held_at == index)
        return true;
      advance([] {});
    }
    return false;
  }
};

}  // namespace

TEST_CASE("replica: what is here alone goes, and what differs is fetched") {
  const auto difference = compare_rows({mark("b", 2), mark("c", 3), mark("d", 4)},
                                       {mark("a", 1), mark("b", 2), mark("c", 2), mark("e", 5)});
  CHECK(difference.surplus == std::vector<std::string>{"a", "e"});
  CHECK(difference.missing == std::vector<std::string>{"c", "d"});
  auto other_hash = mark("b", 2);
  other_hash.hash = "x";
  CHECK(compare_rows({mark("b", 2)}, {other_hash}).missing.size() == 1);
}

TEST_CASE("replica: rows go before others come, and then news are waited for") {
  Replica replica;
  CHECK(std::get<Replica::List>(replica.begin()).held_at == 0);
  auto step
      = replica.on_listed({.index = 7, .marks = {mark("b", 2)}, .is_last = true}, {mark("a", 1)});
  CHECK(std::get<Replica::Write>(step).removed == std::vector<std::string>{"a"});
  step = replica.on_written(0, true);
  CHECK(std::get<Replica::Fetch>(step).keys == std::vector<std::string>{"b"});
  CHECK_FALSE(replica.is_level());
  step = replica.on_fetched(1);
  CHECK(std::get<Replica::Write>(step).removed.empty());
  step = replica.on_written(0, true);
  CHECK(std::get<Replica::List>(step).held_at == 7);
  CHECK(replica.is_level());
  // Nothing was new for as long as it was held.
  step = replica.on_listed({.index = 7, .marks = {}, .is_last = false}, {});
  CHECK(std::get<Replica::List>(step).held_at == 7);
}

TEST_CASE("replica: pauses grow with failures, and end with them") {
  Replica replica{{.first_pause = std::chrono::milliseconds{100},
                   .longest_pause = std::chrono::milliseconds{300}}};
  const auto pause = [&](double chance) {
    return std::get<Replica::Rest>(replica.on_failed(chance)).pause.count();
  };
  CHECK(pause(1) == 100);
  CHECK(pause(1) == 200);
  CHECK(pause(1) == 300);
  CHECK(pause(0) == 150);
  // That keys are told says nothing of rows, nor a write that changes nothing.
  const MarkPage page{.index = 1, .marks = {mark("a", 1)}, .is_last = true};
  for (int i = 0; i < 3; ++i) {
    replica.on_listed(page, {});
    CHECK(pause(1) == 300);
    replica.on_listed(page, {});
    replica.on_fetched(1);
    replica.on_written(1, false);
    CHECK(pause(1) == 300);
  }
  replica.on_listed(page, {});
  replica.on_fetched(1);
  replica.on_written(0, true);
  CHECK(pause(1) == 100);
  CHECK(pause(1) == 200);
  // Nor is one level for long whose question is not held.
  replica.on_listed(page, {mark("a", 1)});
  CHECK(replica.is_level());
  CHECK(pause(1) == 300);
  replica.on_listed(page, {mark("a", 1)});
  replica.on_listed({.index = 1, .marks = {}, .is_last = false}, {});
  CHECK(pause(1) == 100);
}

TEST_CASE("replica: any order of changes, answers, failures and new leaders ends alike") {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    TwoRegions world{seed};
    for (int i = 0; i < 60; ++i) {
      const auto what = world.random.below(20);
      if (what == 0)
        world.fail();
      else if (what == 1)
        world.replica = Replica{{.fetched_at_once = 3, .removed_at_once = 2}},
        world.step = world.replica.begin(), world.fetched.clear();
      else if (what == 2)
        world.needed.insert(world.any_key());
      else if (what < 8)
        world.change_theirs();
      else
        world.advance([&] {
          if (world.random.chance(0.3)) world.change_theirs();
        });
    }
    if (world.random.chance(0.5)) {
      // What is still needed stays, and goes when it is not.
      for (int i = 0; i < 200; ++i)
        world.advance([] {});
      auto expected = world.theirs;
      for (const auto& [key, index] : world.ours)
        if (world.needed.contains(key)) expected.try_emplace(key, index);
      CHECK(world.ours == expected);
    }
    world.needed.clear();
    REQUIRE(world.comes_to_rest());
    CHECK(world.ours == world.theirs);
  }
}

}  // namespace nomad::cluster
