#include "runtime/cluster/logs/line_merge.hpp"

#include <algorithm>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"

using nomad::Random;
using nomad::cluster::LineMerge;

namespace {

constexpr std::size_t plenty = 1 << 20;

std::string texts(const std::vector<LineMerge::Line>& lines) {
  std::string all;
  for (const auto& line : lines)
    all += line.text + ' ';
  return all;
}

}  // namespace

TEST_CASE(
    "line merge: lines go out by their times once every source has one here, or has no more") {
  LineMerge merge;
  const auto a = merge.add();
  const auto b = merge.add();
  merge.tell({a, 10, "a10"});
  merge.tell({a, 30, "a30"});
  CHECK(merge.take(plenty).empty());
  CHECK(merge.is_awaited(b));

  merge.tell({b, 20, "b20"});
  CHECK(texts(merge.take(plenty)) == "a10 b20 ");
  CHECK(merge.is_awaited(b));

  merge.told_all(b);
  CHECK(texts(merge.take(plenty)) == "a30 ");
  CHECK(merge.is_awaited(a));
  CHECK_FALSE(merge.is_over());
  merge.ended(a);
  merge.ended(b);
  CHECK(merge.is_over());
}

TEST_CASE("line merge: nobody waits for news, nor for who was given up") {
  LineMerge merge;
  const auto a = merge.add();
  const auto slow = merge.add();
  merge.told_all(a);
  merge.tell({a, 10, "news"});
  CHECK(merge.take(plenty).empty());
  merge.give_up(slow);
  CHECK(texts(merge.take(plenty)) == "news ");
  merge.tell({slow, 5, "late"});
  CHECK(texts(merge.take(plenty)) == "late ");
}

TEST_CASE("line merge: a tail has so many lines of each source, those added later too") {
  LineMerge merge{2};
  merge.expect_more(true);
  const auto first = merge.add();
  merge.tell({first, 10, "a"});
  merge.tell({first, 30, "c"});
  merge.tell({first, 20, "d"});
  merge.ended(first);
  CHECK(merge.take(plenty).empty());
  CHECK(merge.waiting_bytes() == 0);

  const auto later = merge.add();
  merge.expect_more(false);
  merge.tell({later, 15, "b"});
  CHECK(merge.waiting_bytes() > 0);
  merge.ended(later);
  CHECK(texts(merge.take(plenty)) == "b c d ");
  CHECK(merge.is_over());
}

TEST_CASE("line merge: a source keeps its own order whatever its times say") {
  LineMerge merge;
  const auto a = merge.add();
  for (const auto* text : {"first", "second", "third"})
    merge.tell({a, text[0] == 's' ? 1 : 9, text});
  merge.ended(a);
  CHECK(texts(merge.take(plenty)) == "first second third ");
  CHECK(merge.is_over());
}

TEST_CASE("line merge: a source that has told enough is asked for no more, until some is taken") {
  LineMerge merge;
  const auto a = merge.add();
  const auto b = merge.add();
  while (merge.wants(a))
    merge.tell({a, 1, std::string(1000, 'x')});
  merge.tell({b, 2, "b"});
  CHECK(merge.wants(b));

  const auto some = merge.take(10'000);

  CHECK(some.size() <= 11);
  CHECK(merge.wants(a));
}

TEST_CASE("line merge: of a tail the last lines go out when all has been told, and then the news") {
  LineMerge merge{2};
  const auto a = merge.add();
  const auto b = merge.add();
  for (int time = 1; time <= 5; ++time)
    merge.tell({a, time * 10, "a" + std::to_string(time * 10)});
  merge.told_all(a);
  merge.tell({a, 60, "news"});
  CHECK(merge.take(plenty).empty());
  merge.tell({b, 45, "b45"});
  CHECK(merge.take(plenty).empty());
  merge.told_all(b);

  CHECK(texts(merge.take(plenty)) == "a40 b45 a50 news ");

  merge.tell({b, 70, "b70"});
  CHECK(texts(merge.take(plenty)) == "b70 ");
}

TEST_CASE("line merge: a tail of no lines, and one that is longer than may be kept") {
  LineMerge none{0};
  const auto a = none.add();
  none.tell({a, 1, "old"});
  none.told_all(a);
  CHECK(none.take(plenty).empty());
  none.tell({a, 2, "new"});
  CHECK(texts(none.take(plenty)) == "new ");

  LineMerge all{1'000'000};
  const auto b = all.add();
  for (int i = 0; i < 100; ++i) {
    all.tell({b, i, std::string(100'000, 'x')});
    CHECK(all.take(plenty).empty());
  }
  all.ended(b);
  std::size_t bytes = 0;
  std::int64_t last = 0;
  while (!all.is_over())
    for (const auto& line : all.take(plenty)) {
      bytes += line.text.size();
      last = line.time;
    }
  CHECK(bytes <= LineMerge::most_tail_bytes);
  CHECK(bytes > LineMerge::most_tail_bytes / 2);
  CHECK(last == 99);
}

TEST_CASE("line merge: whatever comes in whatever order, nothing is lost and history is in order") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    Random random{seed};
    const auto count = 1 + random.below(5);
    LineMerge merge;
    std::vector<std::int64_t> next(count, 0);
    std::vector<bool> has_ended(count, false);
    for (std::size_t i = 0; i < count; ++i)
      merge.add();
    std::size_t told = 0;
    std::vector<std::int64_t> out;
    while (!merge.is_over()) {
      const auto source = random.below(count);
      if (!has_ended[source]) {
        if (random.below(8) == 0) {
          has_ended[source] = true;
          merge.ended(source);
        } else {
          next[source] += static_cast<std::int64_t>(random.below(10));
          merge.tell({source, next[source], "x"});
          ++told;
        }
      }
      for (const auto& line : merge.take(random.below(500)))
        out.push_back(line.time);
    }
    CHECK(out.size() == told);
    CHECK(std::ranges::is_sorted(out));
  }
}
