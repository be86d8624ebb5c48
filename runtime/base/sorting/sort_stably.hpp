// Sorting without an instance of std::stable_sort, which is 3 kB of code for each type and order:
// the places are sorted, by one function for the whole program, and the items follow. For lists
// that are short or seldom sorted: a comparison is an indirect call.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

namespace nomad {

namespace detail {

/// Whether of two items, which `context` has, the one at `left` comes first.
using ComesFirst = bool (*)(const void* context, std::size_t left, std::size_t right);

/// The places of `count` items in their order.
inline std::vector<std::size_t> stable_order(std::size_t count,
                                             ComesFirst first,
                                             const void* context) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t left, std::size_t right) {
    return first(context, left, right);
  });
  return order;
}

}  // namespace detail

/// Sorts `items` (a container with places) as std::ranges::stable_sort does: by `less` of what
/// `projection` makes of two of them; equal ones stay in their order.
template <class Items, class Less = std::ranges::less, class Projection = std::identity>
void sort_stably(Items& items, Less less = {}, Projection projection = {}) {
  const auto first = [&](std::size_t left, std::size_t right) -> bool {
    return std::invoke(less, std::invoke(projection, items[left]),
                       std::invoke(projection, items[right]));
  };
  auto order = detail::stable_order(
      items.size(),
      [](const void* context, std::size_t left, std::size_t right) {
        return (*static_cast<const decltype(first)*>(context))(left, right);
      },
      &first);
  // Each ring of places that follow each other: an item goes where it is wanted, until the last one
  // has its place.
  for (std::size_t start = 0; start < order.size(); ++start) {
    auto at = start;
    for (auto from = order[at]; from != start; from = order[at]) {
      std::swap(items[at], items[from]);
      order[at] = at;
      at = from;
    }
    order[at] = at;
  }
}

}  // namespace nomad
