// Map-shaped lists: lists of {key, value} that are sorted by key, so that they are searched by
// halves. The JSON codec sorts what it reads; code that fills one itself sorts first (a std::map
// already is).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/object/draft.hpp"

namespace nomad {

/// The place of `key` in the sorted map-shaped `entries`, if it is there.
template <class List>
std::optional<unsigned> find_entry(const List& entries, std::string_view key) {
  unsigned low = 0;
  unsigned high = entries.size();
  while (low < high) {
    const unsigned middle = low + (high - low) / 2;
    if (view(entries[middle].getKey()) < key)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < entries.size() && view(entries[low].getKey()) == key) return low;
  return std::nullopt;
}

/// The text under `key` in a list of TextEntry, if it is there.
template <class List>
std::optional<std::string_view> find_text(const List& entries, std::string_view key) {
  const auto position = find_entry(entries, key);
  if (!position) return std::nullopt;
  return view(entries[*position].getValue());
}

/// Fills a list of TextEntry that was initialized with `values.size()` elements, in their order.
template <class ListBuilder, class Map = std::map<std::string, std::string>>
void fill_entries(ListBuilder entries, const Map& values) {
  unsigned next = 0;
  for (const auto& [key, value] : values) {
    entries[next].setKey(text(key));
    entries[next++].setValue(text(value));
  }
}

/// Adds to a map what it has no key of.
template <class List, class Map>
void read_entries(const List& entries, Map& to) {
  for (const auto entry : entries)
    to.emplace(copy(entry.getKey()), copy(entry.getValue()));
}

inline std::vector<std::string> texts_of(capnp::List<capnp::Text>::Reader from) {
  std::vector<std::string> texts;
  texts.reserve(from.size());
  for (const auto one : from)
    texts.push_back(copy(one));
  return texts;
}

}  // namespace nomad
