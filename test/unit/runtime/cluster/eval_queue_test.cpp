// The eval queue's promises, one by one, and a random run that checks its invariants.
#include "runtime/cluster/eval_queue.hpp"

#include <map>

#include <doctest/doctest.h>

using namespace nomad;
using namespace nomad::cluster;
using namespace std::chrono_literals;

namespace {

const TimePoint start{1000s};
const std::vector<std::string> service{"service"};

EvalEntry eval(std::string id,
               std::string job = "web",
               int priority = 50,
               std::uint64_t index = 10) {
  EvalEntry entry;
  entry.id = std::move(id);
  entry.ns = "default";
  entry.job_id = std::move(job);
  entry.type = "service";
  entry.priority = priority;
  entry.create_index = entry.modify_index = index;
  return entry;
}

struct Fixture {
  EvalQueue queue;
  Random random{7};

  std::string next(const std::vector<std::string>& types = service, TimePoint now = start) {
    last = queue.dequeue(types, now, random);
    return last ? last->eval.id : "";
  }

  std::optional<EvalDelivery> last;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "higher priority goes first, then the older evaluation") {
  queue.enqueue(eval("late", "a", 50, 12), start);
  queue.enqueue(eval("early", "b", 50, 11), start);
  queue.enqueue(eval("urgent", "c", 90, 13), start);
  CHECK(next() == "urgent");
  CHECK(next() == "early");
  CHECK(next() == "late");
  CHECK(next().empty());
}

TEST_CASE_FIXTURE(Fixture, "types that nobody names are given to who asks for all others") {
  auto custom = eval("custom", "a", 80);
  custom.type = "custom";
  queue.enqueue(custom, start);
  queue.enqueue(eval("service", "b", 90), start);
  CHECK(next({"batch", "*"}) == "service");
  CHECK(queue.ack("service", last->token, start));
  CHECK(next({"service"}).empty());
  CHECK(next({"custom", "*"}) == "custom");
  for (auto now = start; last; now += 100s) {
    REQUIRE(queue.nack(last->eval.id, last->token, now));
    queue.advance(now + 99s);
    next({"*"}, now + 99s);
  }
  CHECK_MESSAGE(next({std::string{EvalQueue::failed_queue}}, start + 1000s) == "custom",
                "what has failed is none of these");
}

TEST_CASE_FIXTURE(Fixture, "priority counts across types, and only allowed types are given") {
  auto batch = eval("batch", "a", 80);
  batch.type = "batch";
  queue.enqueue(batch, start);
  queue.enqueue(eval("service", "b", 50), start);
  CHECK(next({"service", "batch"}) == "batch");
  CHECK(next({"system"}).empty());
  CHECK(next({"batch", "service"}) == "service");
}

TEST_CASE_FIXTURE(Fixture, "one evaluation of a job at a time; older ones become cancelable") {
  queue.enqueue(eval("first", "web", 50, 10), start);
  queue.enqueue(eval("second", "web", 50, 11), start);
  queue.enqueue(eval("third", "web", 50, 12), start);
  CHECK(next() == "first");
  const auto token = last->token;
  CHECK(next().empty());
  CHECK(queue.ack("first", token, start).has_value());
  CHECK(next() == "third");
  auto cancelable = queue.take_cancelable(10);
  REQUIRE(cancelable.size() == 1);
  CHECK(cancelable[0].id == "second");
  CHECK(queue.take_cancelable(10).empty());
}

TEST_CASE_FIXTURE(Fixture, "jobs of one id in two namespaces do not wait for each other") {
  auto other = eval("other");
  other.ns = "team";
  queue.enqueue(eval("one"), start);
  queue.enqueue(other, start);
  CHECK_FALSE(next().empty());
  CHECK_FALSE(next().empty());
}

TEST_CASE_FIXTURE(Fixture, "a stale token changes nothing") {
  queue.enqueue(eval("e"), start);
  CHECK(next() == "e");
  CHECK(queue.ack("e", "wrong", start).error()
        == Error{Errc::conflict, "evaluation token does not match"});
  CHECK(queue.nack("e", "wrong", start).error().code == Errc::conflict);
  CHECK(queue.touch("e", "wrong", start).error().code == Errc::conflict);
  CHECK(queue.pause_nack("e", "wrong").error().code == Errc::conflict);
  CHECK(queue.ack("unknown", last->token, start).error()
        == Error{Errc::conflict, "evaluation is not outstanding"});
  CHECK(queue.ack("e", last->token, start).has_value());
}

TEST_CASE_FIXTURE(Fixture, "refused work comes back later and in the end fails") {
  queue.enqueue(eval("e"), start);
  CHECK(next() == "e");
  CHECK(queue.nack("e", last->token, start).has_value());
  CHECK(next().empty());
  queue.advance(start + 999ms);
  CHECK(next().empty());
  queue.advance(start + 1s);
  CHECK(next() == "e");
  CHECK(last->deliveries == 2);
  CHECK(queue.nack("e", last->token, start).has_value());
  queue.advance(start + 19s);
  CHECK(next().empty());
  queue.advance(start + 20s);
  CHECK(next() == "e");
  CHECK(queue.nack("e", last->token, start).has_value());
  CHECK(next().empty());
  CHECK(next({std::string{EvalQueue::failed_queue}}) == "e");
}

TEST_CASE_FIXTURE(Fixture, "the job's claim survives a nack") {
  queue.enqueue(eval("first"), start);
  queue.enqueue(eval("second"), start);
  CHECK(next() == "first");
  CHECK(queue.nack("first", last->token, start).has_value());
  CHECK(next().empty());
  queue.advance(start + 1s);
  CHECK(next() == "first");
}

TEST_CASE_FIXTURE(Fixture, "silence is a nack, unless the time-out is paused") {
  queue.enqueue(eval("e"), start);
  CHECK(next() == "e");
  const auto token = last->token;
  CHECK(queue.next_deadline() == start + 60s);
  CHECK(queue.pause_nack("e", token).has_value());
  CHECK_FALSE(queue.next_deadline());
  CHECK(queue.advance(start + 100s).empty());
  CHECK(queue.resume_nack("e", token, start + 100s).has_value());
  CHECK(queue.advance(start + 159s).empty());
  CHECK(queue.touch("e", token, start + 159s).has_value());
  CHECK(queue.advance(start + 218s).empty());
  CHECK(queue.advance(start + 219s) == std::vector<std::string>{"e"});
  CHECK(queue.ack("e", token, start + 219s).has_error());
}

TEST_CASE_FIXTURE(Fixture, "a delayed evaluation waits, without claiming its job") {
  auto later = eval("later");
  later.not_before = start + 10s;
  queue.enqueue(later, start);
  queue.enqueue(eval("now"), start);
  CHECK(next() == "now");
  const auto token = last->token;
  queue.advance(start + 10s);
  CHECK(next().empty());
  CHECK(queue.ack("now", token, start + 10s).has_value());
  CHECK(next() == "later");
}

TEST_CASE_FIXTURE(Fixture, "an evaluation unblocked while outstanding is taken in at its ack") {
  queue.enqueue(eval("e"), start);
  CHECK(next() == "e");
  const auto token = last->token;
  queue.enqueue(eval("e"), start);
  queue.enqueue(eval("e"), start, token);
  CHECK(next().empty());
  CHECK(queue.ack("e", token, start).has_value());
  CHECK(next() == "e");
  CHECK(queue.nack("e", last->token, start).has_value());
}

TEST_CASE_FIXTURE(Fixture, "clear forgets everything") {
  queue.enqueue(eval("a", "a"), start);
  queue.enqueue(eval("b", "b"), start);
  CHECK_FALSE(next().empty());
  queue.clear();
  CHECK(next().empty());
  CHECK_FALSE(queue.next_deadline());
  CHECK(queue.stats().outstanding == 0);
}

TEST_CASE_FIXTURE(Fixture, "what is outstanding outlives that the rest is taken in anew") {
  queue.enqueue(eval("held", "a", 90), start);
  queue.enqueue(eval("behind", "a", 80), start);
  queue.enqueue(eval("gone", "b"), start);
  CHECK(next() == "held");
  const auto token = last->token;
  queue.clear_undelivered();
  CHECK(next().empty());
  for (const auto* id : {"held", "behind"})
    queue.enqueue(eval(id, "a"), start);
  CHECK(next().empty());
  CHECK(queue.next_deadline() == start + 60s);
  CHECK(queue.pause_nack("held", token).has_value());
  queue.clear_undelivered();
  CHECK_FALSE(queue.next_deadline());
  queue.enqueue(eval("behind", "a"), start);
  CHECK(next().empty());
  CHECK(queue.ack("held", token, start).has_value());
  CHECK(next() == "behind");
}

TEST_CASE("random runs keep the invariants") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Random random{seed};
    EvalQueue queue;
    TimePoint now = start;
    std::map<std::string, EvalEntry> entered;
    std::map<std::string, std::string> outstanding;  // id -> token
    std::size_t finished = 0;
    int ids = 0;
    const std::vector<std::string> types{"service", "batch", std::string{EvalQueue::failed_queue}};
    for (int step = 0; step < 400; ++step) {
      const auto action = random.below(10);
      if (action < 4) {
        const auto priority = static_cast<int>(random.below(3)) * 10;
        auto entry
            = eval("e" + std::to_string(ids), "j" + std::to_string(random.below(5)), priority, 10);
        entry.modify_index = entry.create_index = static_cast<std::uint64_t>(ids++);
        if (random.chance(0.3)) entry.type = "batch";
        if (random.chance(0.2)) entry.not_before = now + std::chrono::seconds{random.below(30)};
        entered.emplace(entry.id, entry);
        queue.enqueue(entry, now);
      } else if (action < 7) {
        if (auto delivery = queue.dequeue(types, now, random)) {
          for (const auto& [id, token] : outstanding)
            REQUIRE(entered.at(id).job_id != delivery->eval.job_id);  // (1)
          outstanding.emplace(delivery->eval.id, delivery->token);
        }
      } else if (action < 9 && !outstanding.empty()) {
        auto it = std::next(outstanding.begin(),
                            static_cast<std::ptrdiff_t>(random.below(outstanding.size())));
        const bool ack = random.chance(0.7);
        const auto outcome
            = ack ? queue.ack(it->first, it->second, now) : queue.nack(it->first, it->second, now);
        REQUIRE(outcome.has_value());
        if (ack) ++finished;
        outstanding.erase(it);
      } else {
        now += std::chrono::seconds{random.below(25)};
        for (const auto& id : queue.advance(now))
          REQUIRE(outstanding.erase(id) == 1);
      }
      const auto stats = queue.stats();
      REQUIRE(stats.outstanding == outstanding.size());
      // (3): nothing is lost, nothing is in two places.
      REQUIRE(stats.ready + stats.outstanding + stats.pending + stats.waiting + stats.cancelable
                  + finished
              == entered.size());
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "an outstanding evaluation is known by its token") {
  queue.enqueue(eval("one"), start);
  CHECK_FALSE(queue.outstanding("one").has_value());
  next();
  CHECK(queue.outstanding("one") == last->token);
}

TEST_CASE_FIXTURE(Fixture, "the next deadline is the sooner of what waits and what may be silent") {
  auto delayed = eval("delayed", "a");
  delayed.not_before = start + 1h;
  queue.enqueue(delayed, start);
  CHECK(queue.next_deadline() == start + 1h);
  queue.enqueue(eval("one", "b"), start);
  next();
  const auto silent_until = *queue.next_deadline();
  CHECK(silent_until < start + 1h);
  CHECK(queue.advance(silent_until) == std::vector<std::string>{"one"});
}

TEST_CASE_FIXTURE(Fixture, "an evaluation that is due now is ready now") {
  auto due = eval("due");
  due.not_before = start;
  queue.enqueue(due, start);
  CHECK(next() == "due");
}

TEST_CASE_FIXTURE(Fixture, "the figures count by type and by state") {
  for (const auto* id : {"a", "b", "c", "d"})
    queue.enqueue(eval(id, id), start);
  auto batch = eval("e", "e");
  batch.type = "batch";
  queue.enqueue(batch, start);
  next();
  next();
  const auto stats = queue.stats();
  CHECK(stats.ready == 3);
  CHECK(stats.outstanding == 2);
  CHECK(stats.by_type.at("service") == std::pair<std::size_t, std::size_t>{2, 2});
  CHECK(stats.by_type.at("batch") == std::pair<std::size_t, std::size_t>{1, 0});
}

TEST_CASE_FIXTURE(Fixture, "types of the same priority take turns, each as often as another") {
  std::map<std::string, int> first;
  for (int round = 0; round < 300; ++round) {
    queue.clear();
    for (const auto* type : {"batch", "service", "system"}) {
      auto one = eval(type, type);
      one.type = type;
      queue.enqueue(one, start);
    }
    ++first[next({"batch", "service", "system"})];
  }
  for (const auto* type : {"batch", "service", "system"})
    CHECK(first[type] > 60);
}

TEST_CASE_FIXTURE(Fixture, "of a job's waiting evaluations the most urgent goes, then the newest") {
  queue.enqueue(eval("first", "web", 50, 10), start);
  next();
  const auto token = last->token;
  queue.enqueue(eval("older", "web", 50, 11), start);
  queue.enqueue(eval("newest", "web", 50, 13), start);
  queue.enqueue(eval("newer", "web", 50, 12), start);
  queue.enqueue(eval("urgent", "web", 60, 9), start);
  REQUIRE(queue.ack("first", token, start));
  CHECK(next() == "urgent");
  CHECK(queue.take_cancelable(9).size() == 3);
}

TEST_CASE_FIXTURE(Fixture, "an evaluation that others of its index wait beside is not lost") {
  queue.enqueue(eval("first", "web"), start);
  next();
  queue.enqueue(eval("b", "web"), start);
  queue.enqueue(eval("a", "web"), start);
  CHECK(queue.stats().pending == 2);
  queue.enqueue(eval("y", "x"), start);
  queue.enqueue(eval("x", "y"), start);
  CHECK(next() == "x");
  CHECK(next() == "y");
}

TEST_CASE_FIXTURE(Fixture, "what is enqueued again with another's token is not taken in") {
  queue.enqueue(eval("one"), start);
  next();
  const auto token = last->token;
  queue.enqueue(eval("one"), start, "another");
  REQUIRE(queue.ack("one", token, start));
  CHECK(next().empty());
}

TEST_CASE_FIXTURE(Fixture, "of 10,000 evaluations of one job at once two are worked on") {
  constexpr std::size_t count = 10'000;
  for (std::size_t i = 0; i < count; ++i)
    queue.enqueue(eval("eval-" + std::to_string(i), "web", 50, 10 + i), start);
  CHECK(next() == "eval-0");
  CHECK(next().empty());
  REQUIRE(queue.ack("eval-0", last ? last->token : "", start).has_error());  // nothing was given
  CHECK(queue.stats().pending == count - 1);
  queue.enqueue(eval("eval-0"), start);  // told again
  CHECK(queue.stats().pending == count - 1);

  const auto token = std::string{*queue.outstanding("eval-0")};
  REQUIRE(queue.ack("eval-0", token, start));
  CHECK(next() == "eval-9999");
  REQUIRE(queue.ack("eval-9999", last->token, start));
  CHECK(next().empty());
  std::size_t cancelled = 0;
  while (true) {
    const auto batch = queue.take_cancelable(1'000);
    if (batch.empty()) break;
    CHECK(batch.size() <= 1'000);
    cancelled += batch.size();
  }
  CHECK(cancelled == count - 2);
  CHECK_FALSE(queue.next_deadline());  // nothing wakes anybody
}
