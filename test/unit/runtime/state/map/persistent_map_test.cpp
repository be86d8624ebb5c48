#include "runtime/state/map/persistent_map.hpp"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"

using nomad::Random;
using nomad::state::Nothing;
using nomad::state::PersistentMap;

namespace {

/// Counts its living copies, so that a leak or a double destruction shows.
struct Counted {
  static inline std::atomic<long> living{0};

  int number = 0;
  std::unique_ptr<int> copy = std::make_unique<int>(0);

  explicit Counted(int value) : number{value}, copy{std::make_unique<int>(value)} { ++living; }

  Counted(const Counted& other) : Counted{other.number} { CHECK(*other.copy == other.number); }

  Counted(Counted&& other) noexcept : number{other.number}, copy{std::move(other.copy)} {
    ++living;
  }

  Counted& operator=(Counted other) noexcept {
    number = other.number;
    copy = std::move(other.copy);
    return *this;
  }

  ~Counted() { --living; }
};

using Map = PersistentMap<Counted>;
using Model = std::map<std::string, int>;

std::string random_key(Random& random) {
  // Short alphabets and shared beginnings, also bytes that need unsigned order and the empty key.
  static const std::vector<std::string> heads{"", "default", std::string{"default\0web-", 12},
                                              "\xff\xff", std::string{"\0", 1}};
  std::string key = heads[random.below(heads.size())];
  for (auto left = random.below(4); left > 0; --left)
    key += static_cast<char>("ab\0\xff"[random.below(4)]);
  if (random.chance(0.5)) key += std::to_string(random.below(300));
  return key;
}

std::vector<std::pair<std::string, int>> contents(const Map& map) {
  std::vector<std::pair<std::string, int>> found;
  for (const auto& entry : map.all())
    found.emplace_back(entry.key(), entry.value().number);
  return found;
}

std::vector<std::pair<std::string, int>> contents(const Model& model) {
  return {model.begin(), model.end()};
}

void check_searches(const Map& map, const Model& model, const std::string& key) {
  const auto expected = model.find(key);
  const Counted* found = map.find(key);
  REQUIRE((found != nullptr) == (expected != model.end()));
  if (found != nullptr) CHECK(found->number == expected->second);

  auto at_least = model.lower_bound(key);
  auto cursor = map.lower_bound(key);
  REQUIRE(cursor.valid() == (at_least != model.end()));
  if (cursor.valid()) CHECK(cursor.key() == at_least->first);

  auto less = map.before(key);
  REQUIRE(less.valid() == (at_least != model.begin()));
  if (less.valid()) CHECK(less.key() == std::prev(at_least)->first);

  std::vector<std::string> under;
  for (const auto& entry : map.prefix(key))
    under.emplace_back(entry.key());
  std::vector<std::string> expected_under;
  for (auto entry = at_least; entry != model.end() && entry->first.starts_with(key); ++entry)
    expected_under.push_back(entry->first);
  CHECK(under == expected_under);
}

void check_backwards(const Map& map, const Model& model) {
  auto cursor = map.last();
  for (auto entry = model.rbegin(); entry != model.rend(); ++entry) {
    REQUIRE(cursor.valid());
    CHECK(cursor.key() == entry->first);
    cursor.previous();
  }
  CHECK_FALSE(cursor.valid());
}

/// Removes some at once: a stretch of what is there, random keys, or everything.
void erase_some(Map& map, Model& model, Random& random) {
  std::set<std::string> keys;
  const auto kind = random.below(8);
  if (kind == 0)
    for (const auto& [key, value] : model)
      keys.insert(key);
  for (auto i = random.below(20); kind < 4 && i > 0; --i)
    keys.insert(random_key(random));
  auto at = model.lower_bound(random_key(random));
  for (auto i = random.below(60); kind >= 4 && i > 0 && at != model.end(); --i, ++at)
    keys.insert(at->first);
  std::size_t there = 0;
  for (const auto& key : keys)
    there += model.erase(key);
  const std::vector<std::string> ascending{keys.begin(), keys.end()};
  CHECK(map.erase_all(ascending) == there);
}

/// Random changes on a map, with copies kept that must not change.
void run_against_model(std::uint64_t seed, int steps, double insert_share) {
  CAPTURE(seed);
  Random random{seed};
  Map map;
  Model model;
  std::vector<std::pair<Map, Model>> copies;
  for (int step = 0; step < steps; ++step) {
    const std::string key = random_key(random);
    if (random.chance(insert_share)) {
      CHECK(map.insert_or_assign(key, Counted{step}) == model.insert_or_assign(key, step).second);
    } else {
      const bool removed = random.below(2) == 0 ? map.erase(key) : map.erase_known(key);
      CHECK(removed == (model.erase(key) == 1));
    }
    if (random.chance(0.02)) erase_some(map, model, random);
    REQUIRE(map.size() == model.size());
    if (random.chance(0.05)) check_searches(map, model, random_key(random));
    if (random.chance(0.01)) copies.emplace_back(map, model);
    if (copies.size() > 8) copies.erase(copies.begin() + static_cast<long>(random.below(8)));
  }
  CHECK(contents(map) == contents(model));
  check_backwards(map, model);
  for (const auto& [copy, expected] : copies)
    CHECK(contents(copy) == contents(expected));
}

}  // namespace

TEST_CASE("PersistentMap: behaves as std::map under random changes, and copies never change") {
  const std::uint64_t first_seed = Random::from_system().next() >> 16;
  MESSAGE("first seed " << first_seed);
  for (std::uint64_t seed = first_seed; seed < first_seed + 12; ++seed) {
    run_against_model(seed, 3000, 0.7);
    run_against_model(seed, 3000, 0.45);
  }
  CHECK(Counted::living == 0);
}

TEST_CASE("PersistentMap: empties completely, in any order") {
  Random random{7};
  Map map;
  std::vector<std::string> keys;
  for (int i = 0; i < 5000; ++i) {
    keys.push_back(std::to_string(random.next()));
    map.insert_or_assign(keys.back(), Counted{i});
  }
  const Map copy = map;

  while (!keys.empty()) {
    std::swap(keys[random.below(keys.size())], keys.back());
    REQUIRE(map.erase(keys.back()));
    keys.pop_back();
  }

  CHECK(map.empty());
  CHECK_FALSE(map.first().valid());
  CHECK_FALSE(map.last().valid());
  CHECK(copy.size() == 5000);
  CHECK(contents(copy).size() == 5000);
}

TEST_CASE("PersistentMap: ranges are half open, prefixes end at their successor") {
  PersistentMap<Nothing> set;
  for (const char* key : {"a", "ab", "abc", "ac", "b", "\xff", "\xff\xff"})
    set.insert_or_assign(key, {});
  const auto keys = [](auto range) {
    std::string joined;
    for (const auto& entry : range)
      joined += std::string{entry.key()} + ",";
    return joined;
  };

  CHECK(keys(set.range("ab", "b")) == "ab,abc,ac,");
  CHECK(keys(set.range("b", "ab")).empty());
  CHECK(keys(set.range("b", "b")).empty());
  CHECK(keys(set.prefix("ab")) == "ab,abc,");
  CHECK(keys(set.prefix("\xff")) == "\xff,\xff\xff,");
  CHECK(keys(set.prefix("x")).empty());
  CHECK(set.prefix("x").empty());
  CHECK(set.size() == 7);
}

TEST_CASE("PersistentMap: a batch of changes copies a shared path once") {
  PersistentMap<Nothing> set;
  for (int i = 0; i < 1000; ++i)
    set.insert_or_assign("key" + std::to_string(i), {});
  const PersistentMap<Nothing> copy = set;
  CHECK(copy.same_root(set));

  set.insert_or_assign("key5", {});
  CHECK(copy.same_root(copy));
  set.insert_or_assign("new", {});

  CHECK_FALSE(copy.same_root(set));
  CHECK(copy.size() == 1000);
  CHECK_FALSE(copy.contains("new"));
  CHECK(set.contains("new"));
}

TEST_CASE("PersistentMap: keys of megabytes are keys like others") {
  PersistentMap<Nothing> set;
  const std::string long_key(3 << 20, 'x');
  for (int i = 0; i < 60; ++i)
    set.insert_or_assign(long_key + std::to_string(i), {});

  CHECK(set.size() == 60);
  CHECK(set.contains(long_key + "59"));
  CHECK_FALSE(set.contains(long_key));
  for (int i = 0; i < 60; ++i)
    CHECK(set.erase(long_key + std::to_string(i)));
  CHECK(set.empty());
}

TEST_CASE("PersistentMap: a key is compared where it lies as it is when it was made") {
  Random random{7};
  PersistentMap<Nothing> map;
  for (int i = 0; i < 500; ++i)
    map.insert_or_assign(random_key(random), {});
  for (const auto& entry : map.all()) {
    const std::string key{entry.key()};
    for (std::size_t size = 0; size <= key.size(); ++size)
      REQUIRE(entry.key_begins_with(key.substr(0, size)));
    for (int i = 0; i < 20; ++i) {
      const auto other = random_key(random);
      REQUIRE(entry.key_begins_with(other) == key.starts_with(other));
      REQUIRE(entry.key_is(other) == (key == other));
    }
    REQUIRE(entry.key_is(key));
    REQUIRE_FALSE(entry.key_is(key + '\0'));
  }
}
