// What a client does about the servers' answer.
#include "runtime/workload/alloc_diff.hpp"

#include <map>

#include <doctest/doctest.h>

using nomad::workload::AllocDiff;
using nomad::workload::AssignedIndex;

namespace {

AllocDiff diff_allocs(const std::map<std::string, std::uint64_t>& known,
                      const std::vector<AssignedIndex>& assigned,
                      bool complete) {
  return nomad::workload::diff_allocs(
      {.index_of = [&known](const std::string& id) -> std::optional<std::uint64_t> {
         const auto found = known.find(id);
         if (found == known.end()) return std::nullopt;
         return found->second;
       },
       .each =
           [&known](const std::function<void(const std::string&)>& take) {
             for (const auto& [id, index] : known)
               take(id);
           }},
      assigned, complete);
}

}  // namespace

TEST_CASE("alloc_diff: unknown ones are added, newer ones updated, others left alone") {
  const auto diff
      = diff_allocs({{"a", 5}, {"b", 5}, {"c", 5}}, {{"a", 5}, {"b", 6}, {"c", 4}, {"d", 1}}, true);
  CHECK(diff.added == std::vector<std::size_t>{3});
  CHECK(diff.updated == std::vector<std::size_t>{1});
  CHECK(diff.removed.empty());
}

TEST_CASE("alloc_diff: only a complete answer removes") {
  CHECK(diff_allocs({{"a", 5}}, {}, false).removed.empty());
  CHECK(diff_allocs({{"a", 5}}, {}, true).removed == std::vector<std::string>{"a"});
}
