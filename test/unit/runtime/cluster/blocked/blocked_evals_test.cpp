// Blocked evaluations: which change sets which of them free.
#include "runtime/cluster/blocked/blocked_evals.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"

using namespace nomad;
using namespace nomad::cluster;

namespace {

BlockedEval blocked_eval(std::string id,
                         std::string job,
                         std::vector<std::string> ineligible = {},
                         std::uint64_t snapshot = 10) {
  BlockedEval eval;
  eval.id = std::move(id);
  eval.ns = "default";
  eval.job_id = std::move(job);
  eval.type = "service";
  eval.create_index = eval.modify_index = eval.snapshot_index = snapshot;
  eval.ineligible_classes = std::move(ineligible);
  return eval;
}

std::set<std::string> ids(const std::vector<BlockedEval>& evals) {
  std::set<std::string> result;
  for (const auto& eval : evals)
    result.insert(eval.id);
  return result;
}

}  // namespace

TEST_CASE("a class frees who may run on it, and the escaped") {
  BlockedEvals table;
  CHECK_FALSE(table.block(blocked_eval("not-here", "a", {"v1:1"})));
  CHECK_FALSE(table.block(blocked_eval("here", "b", {"v1:2"})));
  auto escaped = blocked_eval("escaped", "c");
  escaped.escaped = true;
  CHECK_FALSE(table.block(escaped));
  CHECK(ids(table.unblock_class("v1:1", 20)) == std::set<std::string>{"here", "escaped"});
  CHECK(table.stats().blocked == 1);
  CHECK(ids(table.unblock_class("v1:2", 21)) == std::set<std::string>{"not-here"});
}

TEST_CASE("a change between snapshot and block is not missed") {
  BlockedEvals table;
  CHECK(table.unblock_class("v1:1", 20).empty());
  CHECK(table.block(blocked_eval("old", "a", {}, 19)));
  CHECK_FALSE(table.block(blocked_eval("cannot-use-it", "b", {"v1:1"}, 19)));
  CHECK_FALSE(table.block(blocked_eval("knows-it", "c", {}, 20)));
  CHECK(table.stats().blocked == 2);
  table.prune(20);
  CHECK_FALSE(table.block(blocked_eval("after-prune", "d", {}, 19)));
}

TEST_CASE("one blocked evaluation for each job; the older is a duplicate") {
  BlockedEvals table;
  CHECK_FALSE(table.block(blocked_eval("old", "a", {}, 10)));
  CHECK_FALSE(table.block(blocked_eval("new", "a", {}, 12)));
  CHECK(table.take_duplicates(10) == std::vector<std::string>{"old"});
  CHECK_FALSE(table.block(blocked_eval("older", "a", {}, 11)));
  CHECK(table.take_duplicates(10) == std::vector<std::string>{"older"});
  CHECK(ids(table.unblock_class("v1:1", 20)) == std::set<std::string>{"new"});
}

TEST_CASE("system evaluations are kept for each node") {
  BlockedEvals table;
  auto one = blocked_eval("one", "sys", {"c"});
  one.node_id = "n1";
  auto two = blocked_eval("two", "sys", {"c"});
  two.node_id = "n2";
  CHECK_FALSE(table.block(one));
  CHECK_FALSE(table.block(two));
  CHECK(table.take_duplicates(10).empty());
  CHECK(ids(table.unblock_node("n1", 20)) == std::set<std::string>{"one"});
  CHECK(table.unblock_node("n1", 21).empty());
  one.snapshot_index = 20;
  CHECK(table.block(one));  // n1 changed at 21
  CHECK(table.stats().blocked == 1);
  table.untrack("default", "sys");
  CHECK(table.stats().blocked == 0);
}

TEST_CASE("a system evaluation also waits for nodes that it does not name") {
  BlockedEvals table;
  auto eval = blocked_eval("eval", "sys", {"unfit"});
  eval.node_id = "n1";
  CHECK_FALSE(table.block(eval));
  CHECK(table.unblock_class("unfit", 20).empty());
  CHECK(ids(table.unblock_class("fit", 21)) == std::set<std::string>{"eval"});
}

TEST_CASE("failed attempts and untrack") {
  BlockedEvals table;
  auto attempts = blocked_eval("attempts", "b", {"c"}, 30);
  attempts.max_plan_attempts = true;
  CHECK_FALSE(table.block(attempts));
  CHECK(ids(table.unblock_failed()) == std::set<std::string>{"attempts"});
  CHECK_FALSE(table.block(blocked_eval("x", "web", {}, 40)));
  CHECK_FALSE(table.block(blocked_eval("y", "web2", {}, 40)));
  table.untrack("default", "web");
  CHECK(ids(table.unblock_class("v", 50)) == std::set<std::string>{"y"});
}

TEST_CASE("random: no wake-up is lost") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    Random random{seed};
    BlockedEvals table;
    std::map<std::string, BlockedEval> waiting;  // by id, what must still be tracked
    std::uint64_t index = 10;
    for (int step = 0; step < 300; ++step) {
      ++index;
      if (random.chance(0.6)) {
        std::vector<std::string> ineligible;
        for (char c = 'a'; c < 'e'; ++c)
          if (random.chance(0.5)) ineligible.emplace_back(1, c);
        auto eval = blocked_eval("e" + std::to_string(step), "j" + std::to_string(step), ineligible,
                                 index);
        eval.escaped = random.chance(0.2);
        REQUIRE_FALSE(table.block(eval));
        waiting.emplace(eval.id, eval);
      } else {
        const std::string changed(1, static_cast<char>('a' + random.below(5)));
        std::set<std::string> expected;
        for (const auto& [id, eval] : waiting) {
          const auto& not_here = eval.ineligible_classes;
          if (eval.escaped || std::ranges::find(not_here, changed) == not_here.end())
            expected.insert(id);
        }
        REQUIRE(ids(table.unblock_class(changed, index)) == expected);
        for (const auto& id : expected)
          waiting.erase(id);
      }
      REQUIRE(table.stats().blocked == waiting.size());
    }
  }
}

TEST_CASE("who waits for a quota is free when there is more of it, and not before") {
  BlockedEvals table;
  const auto waits_for = [](const char* id, const char* quota) {
    auto eval = blocked_eval(id, id);
    eval.quota = quota;
    eval.needs_nodes = false;
    eval.escaped = true;
    return eval;
  };
  CHECK_FALSE(table.block(waits_for("a", "small")));
  CHECK_FALSE(table.block(waits_for("b", "large")));
  CHECK(table.stats().quota_limit == 2);
  CHECK(table.unblock_class("class", 20).empty());
  CHECK(ids(table.unblock_quota("small", 21)) == std::set<std::string>{"a"});
  CHECK(table.stats().quota_limit == 1);
  CHECK(table.block(waits_for("late", "small")));  // of a snapshot before the change
  CHECK_FALSE(table.block(waits_for("other", "medium")));
}

TEST_CASE("who lacks room on nodes and in a quota is free when there is more of either") {
  BlockedEvals table;
  auto eval = blocked_eval("a", "a");
  eval.quota = "small";
  CHECK_FALSE(table.block(eval));
  CHECK(ids(table.unblock_class("class", eval.snapshot_index + 1)) == std::set<std::string>{"a"});
  CHECK(table.unblock_quota("small", eval.snapshot_index + 1).empty());
  eval.snapshot_index += 2;
  CHECK_FALSE(table.block(eval));
  CHECK(ids(table.unblock_quota("small", 90)) == std::set<std::string>{"a"});
  CHECK(table.unblock_class("class", 91).empty());
  table.note_quota("small", 95);
  CHECK(table.block(eval));
}

TEST_CASE("a tracker that begins anew is told what grew before") {
  BlockedEvals table;
  table.note_change("class", "node", 15);
  CHECK(table.block(blocked_eval("old", "old", {}, 14)));
  CHECK_FALSE(table.block(blocked_eval("new", "new", {}, 15)));
  CHECK_FALSE(table.block(blocked_eval("not-here", "not-here", {"class"}, 14)));
}

TEST_CASE("displaced ones are handed out in portions") {
  BlockedEvals table;
  for (int i = 0; i < 25; ++i)
    table.block(
        blocked_eval("e" + std::to_string(i), "one job", {}, 10 + static_cast<unsigned>(i)));
  CHECK(table.take_duplicates(10).front() == "e0");
  CHECK(table.take_duplicates(10).size() == 10);
  CHECK(table.take_duplicates(10).size() == 4);
}
