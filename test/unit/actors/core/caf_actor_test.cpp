// actors/core/caf_actor.hpp: what follows when a handler throws, who hears of it, who is stopped
// with whom, and what the registry says of it.
#include <algorithm>

#include <doctest/doctest.h>

#include "actors/core/actor_registry.hpp"
#include "actors/core/asker.hpp"
#include "actors/core/newest.hpp"
#include "actors/core/supervise.hpp"
#include "test/support/actor_fixture.hpp"

using namespace nomad;
using namespace std::chrono_literals;
using actor::Policy;

namespace {

struct Add {
  using is_message = void;
  int number = 0;
};

struct Sum {
  using is_message = void;
  int value = 0;
};

struct GetSum {
  using is_message = void;
};

/// Answered when `Release` comes.
struct Hold {
  using is_message = void;
};

struct Release {
  using is_message = void;
};

struct Throw {
  using is_message = void;
};

/// As Throw, but somebody waits for the answer.
struct ThrowAsked {
  using is_message = void;
};

/// As ThrowAsked, after the promise to answer was made.
struct ThrowPromised {
  using is_message = void;
};

struct Tick {
  using is_message = void;
};

struct Heard {
  using is_message = void;
  bool crashed = false;
  bool restarted = false;
  std::string what;
};

using Adder = actor::Interface<void(Add),
                               Sum(GetSum),
                               Sum(Hold),
                               void(Release),
                               void(Throw),
                               Sum(ThrowAsked),
                               Sum(ThrowPromised),
                               void(Tick)>;
using Hearer = actor::Interface<void(Heard)>;
using Top = actor::Interface<void(Add)>;

struct AdderState {
  static constexpr const char* name = "adder";

  int sum = 0;
  std::vector<actor::Promise<Sum>> held;
};

Adder::behavior_type adder(Adder::stateful_pointer<AdderState> self, int first) {
  auto& state = self->state;
  state.sum = first;
  actor::send_self_after(self, 1s, Tick{});
  return {
      [&state](const Add& msg) { state.sum += msg.number; },
      [&state](GetSum) { return Sum{state.sum}; },
      [self](Hold) -> actor::Answer<Sum> {
        self->state.held.push_back(self->make_response_promise<Sum>());
        return self->state.held.back();
      },
      [&state](Release) {
        for (const auto& promise : state.held)
          promise.deliver(Sum{state.sum});
      },
      [](Throw) { throw std::runtime_error{"thrown"}; },
      [](ThrowAsked) -> actor::Answer<Sum> { throw std::runtime_error{"thrown when asked"}; },
      [self](ThrowPromised) -> actor::Answer<Sum> {
        self->state.held.push_back(self->make_response_promise<Sum>());
        throw std::runtime_error{"thrown after a promise"};
      },
      [self](Tick) {
        self->state.sum += 1000;
        actor::send_self_after(self, 1s, Tick{});
      },
  };
}

struct LeaverState {
  static constexpr const char* name = "leaver";
};

/// Throws at each Add; its end is up to `leave`.
Top::behavior_type leaver(Top::stateful_pointer<LeaverState> self, std::function<void()> leave) {
  actor::on_exit(self, std::move(leave));
  return {[](Add) { throw std::runtime_error{"thrown"}; }};
}

struct OwnerFixture : test::ActorFixture {
  Recorder<Heard> heard = record<Heard>();
  Adder adders[2];

  /// An owner of two adders with this policy; they are in `adders`.
  template <Policy policy>
  Top owner() {
    const auto top = [this, listener = heard.handle](Top::pointer self) -> Top::behavior_type {
      for (auto& each : adders)
        each = actor::spawn<policy>(self, adder, 10);
      actor::on_down(self, [self, listener](const actor::Down& down) {
        self->send(listener, Heard{down.crashed, down.restarted, down.reason.what});
      });
      return {[](Add) {}};
    };
    auto made = adopt(actor::spawn(system(), top));
    settle();
    return made;
  }

  int sum_of(const Adder& of) {
    const auto answer = ask<Sum>(of, GetSum{});
    return answer->has_value() && (*answer)->has_value() ? (*answer)->value().value : -1;
  }

  std::vector<actor::ActorInfo> living(std::string_view name) {
    auto all = actor::list_actors(system());
    std::erase_if(all, [name](const auto& each) { return each.name != name; });
    return all;
  }

  std::vector<actor::ActorInfo> adders_living() { return living("adder"); }
};

}  // namespace

TEST_CASE_FIXTURE(OwnerFixture, "owner: who may begin anew does, under its handle") {
  owner<Policy::restart>();
  tell(adders[0], Add{5});
  CHECK(sum_of(adders[0]) == 15);
  tell(adders[0], Throw{});
  CHECK(sum_of(adders[0]) == 10);
  CHECK(sum_of(adders[1]) == 10);
  REQUIRE(heard.seen->size() == 1);
  CHECK(heard.seen->front().restarted);
  CHECK(heard.seen->front().what == "thrown");
}

TEST_CASE_FIXTURE(OwnerFixture, "owner: what an actor owed is answered when its state goes") {
  owner<Policy::restart>();
  const auto held = ask<Sum>(adders[0], Hold{});
  CHECK_FALSE(held->has_value());
  const auto bad = ask<Sum>(adders[0], ThrowAsked{});
  REQUIRE(bad->has_value());
  CHECK((*bad)->error() == Error{Errc::internal, "thrown when asked"});
  REQUIRE(held->has_value());
  CHECK((*held)->error().code == Errc::unavailable);
}

TEST_CASE_FIXTURE(OwnerFixture, "owner: who asks what throws hears it, promise or not") {
  SUBCASE("who begins anew") {
    owner<Policy::restart>();
  }
  SUBCASE("who ends") {
    owner<Policy::report>();
  }
  const auto held = ask<Sum>(adders[0], Hold{});
  const auto bad = ask<Sum>(adders[0], ThrowPromised{});
  REQUIRE(bad->has_value());
  CHECK((*bad)->error() == Error{Errc::internal, "thrown after a promise"});
  REQUIRE(held->has_value());
  CHECK((*held)->error().code == Errc::unavailable);
}

TEST_CASE_FIXTURE(OwnerFixture, "owner: timers of an earlier state are void") {
  owner<Policy::restart>();
  advance(500ms);
  tell(adders[0], Throw{});
  advance(700ms);  // only the earlier state's would have fired
  CHECK(sum_of(adders[0]) == 10);
  advance(1s);
  CHECK(sum_of(adders[0]) == 1010);
}

TEST_CASE_FIXTURE(OwnerFixture, "owner: bad questions end nobody, crashes without end do") {
  owner<Policy::restart>();
  for (int i = 0; i < 20; ++i)
    ask<Sum>(adders[0], ThrowAsked{});
  CHECK(sum_of(adders[0]) == 10);
  for (int i = 0; i < 5; ++i)
    tell(adders[0], Throw{});
  CHECK(sum_of(adders[0]) == 10);
  advance(61s);
  tell(adders[0], Throw{});
  CHECK(sum_of(adders[0]) == 10);  // they were long ago
  for (int i = 0; i < 5; ++i)
    tell(adders[0], Throw{});
  CHECK(sum_of(adders[0]) == -1);
  CHECK(sum_of(adders[1]) == -1);  // nor can the owner go on
}

TEST_CASE_FIXTURE(OwnerFixture, "owner: six crashes within any minute are too many") {
  owner<Policy::restart>();
  tell(adders[0], Throw{});
  advance(50s);
  for (int i = 0; i < 4; ++i)
    tell(adders[0], Throw{});
  advance(15s);
  tell(adders[0], Throw{});  // the first was more than a minute ago
  CHECK(sum_of(adders[0]) == 10);
  tell(adders[0], Throw{});
  CHECK(sum_of(adders[0]) == -1);
}

TEST_CASE_FIXTURE(OwnerFixture, "owner: news that throw are no bad questions") {
  owner<Policy::restart>();
  int taken = 0;
  const auto teller = adopt(
      actor::spawn(system(), [&taken, to = adders[0]](Top::pointer self) -> Top::behavior_type {
        return {[self, to, &taken](Add) {
          actor::tell_news(self, to, Throw{}, actor::Priority::normal, [&taken] { ++taken; });
        }};
      }));
  for (int i = 0; i < 5; ++i)
    tell(teller, Add{});
  CHECK(sum_of(adders[0]) == 10);
  tell(teller, Add{});
  CHECK(sum_of(adders[0]) == -1);
  CHECK(taken == 6);  // nobody waits for one that has failed
}

TEST_CASE_FIXTURE(OwnerFixture, "owner: who is told to end does not begin anew") {
  std::function<void()> leave = [] {};
  SUBCASE("its exit handler throws") {
    leave = [] { throw std::runtime_error{"thrown at the end"}; };
  }
  SUBCASE("it throws before it has finished") {}
  const auto leaving = adopt(actor::spawn<Policy::restart>(system(), leaver, leave));
  actor::stop(leaving);
  settle();
  tell(leaving, Add{});
  CHECK(living("leaver").empty());
}

TEST_CASE_FIXTURE(OwnerFixture, "owner: who reports ends alone, and its owner hears of it") {
  owner<Policy::report>();
  tell(adders[0], Throw{});
  CHECK(sum_of(adders[0]) == -1);
  CHECK(sum_of(adders[1]) == 10);
  REQUIRE(heard.seen->size() == 1);
  CHECK(heard.seen->front().crashed);
  CHECK_FALSE(heard.seen->front().restarted);
}

TEST_CASE_FIXTURE(OwnerFixture, "owner: an end that ends the owner ends all that it owns") {
  std::vector<Error> fatal;
  const auto root = adopt(
      actor::spawn_root(system(), [&fatal](const Error& error) { fatal.push_back(error); }));
  const auto top = [this](Top::pointer self) -> Top::behavior_type {
    for (auto& each : adders)
      each = actor::spawn<Policy::end_owner>(self, adder, 10);
    return {[](Add) {}};
  };
  adopt(actor::spawn(root, top));
  settle();
  tell(adders[0], Throw{});
  CHECK(adders_living().empty());
  REQUIRE(fatal.size() == 1);
  CHECK(fatal.front().what == "adder: thrown");
}

TEST_CASE_FIXTURE(OwnerFixture, "owner: the root says what ended, and goes on") {
  std::vector<Error> fatal;
  const auto root = adopt(
      actor::spawn_root(system(), [&fatal](const Error& error) { fatal.push_back(error); }));
  const auto first = actor::spawn<Policy::end_owner>(root, adder, 10);
  const auto second = actor::spawn<Policy::restart>(root, adder, 10);
  settle();
  tell(second, Throw{});
  CHECK(fatal.empty());
  tell(first, Throw{});
  REQUIRE(fatal.size() == 1);
  CHECK(sum_of(second) == 10);
}

TEST_CASE_FIXTURE(OwnerFixture, "owner: who is stopped stops what it owns") {
  const auto top = owner<Policy::report>();
  CHECK(adders_living().size() == 2);
  actor::stop(top);
  settle();
  CHECK(adders_living().empty());
}

TEST_CASE_FIXTURE(OwnerFixture, "owner: an actor that nobody owns can be given to somebody") {
  const auto top = owner<Policy::report>();
  const auto alone = actor::spawn<Policy::end_owner>(system(), adder, 1);
  actor::give(alone, top);
  settle();
  CHECK(adders_living().back().owner == top.address().id);
  tell(alone, Throw{});
  CHECK(adders_living().empty());
}

TEST_CASE_FIXTURE(OwnerFixture, "owner: who comes to an owner that has ended is stopped") {
  const auto top = owner<Policy::report>();
  actor::stop(top);
  SUBCASE("in the owner's mailbox at its end") {}
  SUBCASE("after the owner's end") {
    settle();
  }
  adopt(actor::spawn<Policy::end_owner>(top, adder, 1));
  const auto alone = adopt(actor::spawn<Policy::end_owner>(system(), adder, 1));
  actor::give(alone, top);
  settle();
  CHECK(adders_living().empty());
}

TEST_CASE_FIXTURE(OwnerFixture, "actor registry: says who lives, whose it is and what it did") {
  const auto top = owner<Policy::restart>();
  tell(adders[0], Add{5});
  tell(adders[0], Throw{});
  actor::tell(adders[0], Add{1});
  actor::tell_urgent(adders[0], Add{1});
  const auto found = adders_living();
  REQUIRE(found.size() == 2);
  CHECK(found[0].owner == top.address().id);
  CHECK(found[0].policy == Policy::restart);
  CHECK(found[0].handled == 2);
  CHECK(found[0].restarts == 1);
  CHECK(found[0].waiting == 1);
  CHECK(found[0].waiting_urgent == 1);
  CHECK(found[0].longest > 0ns);
  CHECK(found[1].handled == 0);
}

TEST_CASE("actor registry: who seems to have begun more than was queued has nothing to do") {
  actor::ActorStats stats;
  stats.queued[1] = 5;
  CHECK(stats.waiting(1, 3) == 2);
  CHECK(stats.waiting(1, 5) == 0);
  CHECK(stats.waiting(1, 7) == 0);
}

TEST_CASE_FIXTURE(OwnerFixture, "asker: what a callback throws is no other question's business") {
  actor::Asker asker{system(), 1};
  owner<Policy::restart>();
  int answers = 0;
  for (int i = 0; i < 3; ++i)
    asker.ask<Sum>(adders[0], GetSum{}, 1s, [&answers, i](const Result<Sum>& sum) {
      if (i == 1) throw std::runtime_error{"no answer"};
      answers += sum ? 1 : 0;
    });
  settle();
  CHECK(answers == 2);
  asker.stop();
  settle();
}
