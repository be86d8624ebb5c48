#include "runtime/base/sorting/sort_stably.hpp"

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

namespace nomad {
namespace {

using Item = std::pair<int, std::string>;

/// `count` of them, of which many are equal by their number, each with a text of its own.
std::vector<Item> some_items(std::mt19937& chance, std::size_t count) {
  std::vector<Item> items;
  for (std::size_t i = 0; i < count; ++i)
    items.emplace_back(static_cast<int>(chance() % (count / 3 + 1)), std::to_string(i));
  return items;
}

TEST_CASE("sort_stably: the order is that of std::stable_sort, whatever is sorted") {
  std::mt19937 chance{7};
  for (std::size_t count = 0; count < 70; ++count) {
    const auto items = some_items(chance, count);
    auto wanted = items;
    std::ranges::stable_sort(wanted, {}, &Item::first);
    auto sorted = items;
    sort_stably(sorted, {}, &Item::first);
    CHECK(sorted == wanted);
    std::ranges::stable_sort(wanted, std::ranges::greater{}, &Item::first);
    sort_stably(sorted, [](const Item& a, const Item& b) { return a.first > b.first; });
    CHECK(sorted == wanted);
  }
}

TEST_CASE("sort_stably: items that can only be moved, and no order that is named") {
  std::vector<std::unique_ptr<int>> items;
  for (const int number : {3, 1, 2})
    items.push_back(std::make_unique<int>(number));
  sort_stably(items, {}, [](const auto& item) { return *item; });
  CHECK(*items[0] == 1);
  CHECK(*items[1] == 2);
  CHECK(*items[2] == 3);
  std::vector<std::string> names{"b", "c", "a"};
  sort_stably(names);
  CHECK(names == std::vector<std::string>{"a", "b", "c"});
}

}  // namespace
}  // namespace nomad
