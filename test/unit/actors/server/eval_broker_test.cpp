// The eval broker as workers see it.
#include "actors/server/eval_broker.hpp"

#include <cstdlib>
#include <set>

#include "runtime/base/clock.hpp"
#include "runtime/base/failpoint.hpp"
#include "server_fixture.hpp"

using namespace nomad;
using namespace nomad::server;
using namespace nomad::test;
using namespace std::chrono_literals;
using eval_broker::Ack;
using eval_broker::Delivery;
using eval_broker::Dequeue;
using eval_broker::Done;
using eval_broker::Nack;

namespace {

struct BrokerFixture : ServerFixture {
  EvalBroker broker = adopt(spawn_eval_broker(system(), store, proposer, {}));

  BrokerFixture() {
    listen(broker);
    tell(broker, Lead{true});
  }

  Answer<Delivery> dequeue() { return ask<Delivery>(broker, Dequeue{{"service"}, 60s}); }

  /// The id that a dequeue was answered with; empty while it is not answered.
  static std::string id_of(const Answer<Delivery>& answer) {
    if (!*answer || !(*answer)->has_value() || !(**answer)->eval) return "";
    return copy((**answer)->eval->getId());
  }

  /// Registers a job whose evaluation is over.
  void register_evaluated(const std::string& job) {
    const auto id = register_job(make_job(job, 1));
    CHECK(settle_delivery(dequeue()));
    write([&](schema::Command::Builder command) {
      auto eval = command.initEvalUpdate().initEvaluations(1)[0];
      fill_eval(eval, id, job);
      eval.setStatus(schema::EvalStatus::COMPLETE);
    });
  }

  bool settle_delivery(const Answer<Delivery>& answer, bool ack = true) {
    const auto& delivery = ***answer;
    const auto id = copy(delivery.eval->getId());
    const auto done = ack ? ask<Done>(broker, Ack{id, delivery.token})
                          : ask<Done>(broker, Nack{id, delivery.token});
    return *done && (*done)->has_value();
  }
};

}  // namespace

TEST_CASE_FIXTURE(BrokerFixture, "a worker that waits gets the next evaluation that is written") {
  const auto waiting = dequeue();
  CHECK_FALSE(waiting->has_value());
  const auto id = register_job(make_job("web", 1));
  CHECK(id_of(waiting) == id);
  CHECK((**waiting)->wait_index <= state().index());
  CHECK(settle_delivery(waiting));
  CHECK_FALSE(settle_delivery(waiting));  // its token is spent
}

TEST_CASE_FIXTURE(BrokerFixture,
                  "one evaluation of a job at a time, superseded ones are cancelled") {
  const auto first_id = register_job(make_job("web", 1));
  const auto first = dequeue();
  CHECK(id_of(first) == first_id);
  const auto second = add_eval("web");
  const auto third = add_eval("web");
  const auto waiting = dequeue();
  CHECK(id_of(waiting).empty());
  CHECK(settle_delivery(first));
  CHECK(id_of(waiting) == third);
  commit();
  CHECK(eval_status(second) == schema::EvalStatus::CANCELED);
}

TEST_CASE_FIXTURE(BrokerFixture, "superseded ones that could not be cancelled are so later") {
  register_job(make_job("web", 1));
  const auto first = dequeue();
  const auto second = add_eval("web");
  add_eval("web");
  CHECK(settle_delivery(first));
  settle();
  CHECK(refuse() == 1);
  commit();
  CHECK(eval_status(second) == schema::EvalStatus::PENDING);
  advance(1s);
  commit();
  CHECK(eval_status(second) == schema::EvalStatus::CANCELED);
}

TEST_CASE_FIXTURE(BrokerFixture, "refused work comes again after a while, and in the end fails") {
  const auto id = register_job(make_job("web", 1));
  auto delivery = dequeue();
  for (const auto delay : {1s, 20s}) {
    REQUIRE(id_of(delivery) == id);
    CHECK(settle_delivery(delivery, false));
    delivery = dequeue();
    advance(delay - 10ms);
    CHECK(id_of(delivery).empty());
    advance(20ms);
  }
  REQUIRE(id_of(delivery) == id);
  CHECK(settle_delivery(delivery, false));
  commit();
  CHECK(eval_status(id) == schema::EvalStatus::FAILED);
  CHECK(view(state().eval(id)->getStatusDescription()) == "evaluation reached delivery limit (3)");
  const auto follow_up = state().eval(view(state().eval(id)->getNextEval()));
  REQUIRE(follow_up);
  CHECK(follow_up->getTriggeredBy() == schema::EvalTrigger::FAILED_FOLLOW_UP);
}

TEST_CASE_FIXTURE(BrokerFixture, "a silent worker's evaluation is delivered again") {
  const auto id = register_job(make_job("web", 1));
  const auto silent = dequeue();
  REQUIRE(id_of(silent) == id);
  advance(60s);
  advance(1s);
  const auto next = dequeue();
  CHECK(id_of(next) == id);
  CHECK((**next)->token != (**silent)->token);
  CHECK_FALSE(settle_delivery(silent));
  CHECK(settle_delivery(next));
}

TEST_CASE_FIXTURE(BrokerFixture, "a blocked evaluation is delivered when a node may take it") {
  register_job(make_job("web", 1));
  CHECK(settle_delivery(dequeue()));
  const auto id = make_uuid(random);
  write([&](schema::Command::Builder command) {
    auto eval = command.initEvalUpdate().initEvaluations(1)[0];
    fill_eval(eval, id, "web");
    eval.setStatus(schema::EvalStatus::BLOCKED);
    eval.setSnapshotIndex(index);
  });
  const auto waiting = dequeue();
  CHECK(id_of(waiting).empty());
  add_node();
  CHECK(id_of(waiting) == id);
}

TEST_CASE_FIXTURE(BrokerFixture, "a blocked one that is outstanding is not lost") {
  register_job(make_job("web", 1));
  const auto delivery = dequeue();
  const auto id = id_of(delivery);
  write([&](schema::Command::Builder command) {  // its worker blocks it before it acknowledges
    auto eval = command.initEvalUpdate().initEvaluations(1)[0];
    fill_eval(eval, id, "web");
    eval.setStatus(schema::EvalStatus::BLOCKED);
    eval.setSnapshotIndex(index);
  });
  add_node();  // room comes in between
  const auto waiting = dequeue();
  CHECK(id_of(waiting).empty());
  CHECK(settle_delivery(delivery));
  CHECK(id_of(waiting) == id);
}

TEST_CASE_FIXTURE(BrokerFixture, "a new leader finds everything in the state") {
  tell(broker, Lead{false});
  const auto urgent = register_job(make_job("a", 1), 80);
  const auto normal = register_job(make_job("b", 1), 50);
  tell(broker, Lead{true});
  CHECK(id_of(dequeue()) == urgent);
  CHECK(id_of(dequeue()) == normal);
}

TEST_CASE_FIXTURE(BrokerFixture, "who waits for a leader need not ask again") {
  tell(broker, Lead{false});
  const auto early = dequeue();
  const auto id = register_job(make_job("a", 1), 80);
  CHECK(!early->has_value());
  tell(broker, Lead{true});
  CHECK(id_of(early) == id);

  const auto waiting = dequeue();
  tell(broker, Lead{false});
  register_job(make_job("b", 1), 80);
  CHECK(!waiting->has_value());
  tell(broker, Lead{true});
  CHECK(!id_of(waiting).empty());
}

TEST_CASE_FIXTURE(BrokerFixture, "a worker that asks again has given up what it asked before") {
  tell(broker, Lead{false});
  const auto ask_as = [this](const std::string& worker) {
    return ask<Delivery>(broker, Dequeue{{"service"}, 60s, worker});
  };
  const auto before = ask_as("first");
  const auto other = ask_as("second");
  const auto now = ask_as("first");
  REQUIRE(before->has_value());
  REQUIRE((*before)->has_value());
  CHECK_FALSE((**before)->eval);
  CHECK_FALSE(other->has_value());
  tell(broker, Lead{true});
  const auto a = register_job(make_job("a", 1));
  CHECK(id_of(other) == a);
  const auto b = register_job(make_job("b", 1));
  CHECK(id_of(now) == b);
}

TEST_CASE_FIXTURE(BrokerFixture, "a wait that is over is answered with nothing") {
  const auto waiting = dequeue();
  advance(61s);
  REQUIRE(waiting->has_value());
  REQUIRE((*waiting)->has_value());
  CHECK_FALSE((**waiting)->eval);
}

TEST_CASE_FIXTURE(BrokerFixture, "a new leader knows what became free before it led") {
  const auto node = add_node();
  const auto register_blocked = [&](const char* job) {
    register_evaluated(job);
    const auto id = make_uuid(random);
    write([&](schema::Command::Builder command) {
      auto eval = command.initEvalUpdate().initEvaluations(1)[0];
      fill_eval(eval, id, job);
      eval.setStatus(schema::EvalStatus::BLOCKED);
      eval.setSnapshotIndex(index);
    });
    return id;
  };
  const auto waits = register_blocked("waits");
  tell(broker, Lead{false});
  tell(broker, Lead{true});
  const auto waiting = dequeue();
  CHECK(id_of(waiting).empty());  // nothing has changed since
  tell(broker, Lead{false});
  add_node();  // nobody leads: the broker hears nothing of it
  tell(broker, Lead{true});
  CHECK(id_of(waiting) == waits);

  tell(broker, Lead{false});
  const auto alloc = make_uuid(random);
  write([&](schema::Command::Builder command) {
    auto placed = command.initPlanResults().initPlans(1)[0].initPlaced(1)[0];
    placed.setId(text(alloc));
    placed.setNamespace("default");
    placed.setJobId("waits");
    placed.setJobCreateIndex(state().job("default", "waits")->getCreateIndex());
    placed.setNodeId(text(node));
    placed.setTaskGroup("api");
    placed.setClientStatus(schema::ClientStatus::RUNNING);
  });
  write([&](schema::Command::Builder command) {
    auto eval = command.initEvalUpdate().initEvaluations(1)[0];
    fill_eval(eval, waits, "waits");
    eval.setStatus(schema::EvalStatus::COMPLETE);
  });
  tell(broker, Lead{true});
  const auto later = register_blocked("later");
  tell(broker, Lead{false});
  write([&](schema::Command::Builder command) {
    auto ended = command.initAllocClientUpdate().initAllocations(1)[0];
    ended.setId(text(alloc));
    ended.setNodeId(text(node));
    ended.setClientStatus(schema::ClientStatus::COMPLETE);
  });
  tell(broker, Lead{true});
  CHECK(id_of(dequeue()) == later);
}

TEST_CASE_FIXTURE(BrokerFixture, "a paused broker hands nothing out, and goes on where it was") {
  const auto pause = [&](bool paused) {
    write([&](schema::Command::Builder command) {
      command.initSchedulerConfiguration().setPauseEvalBroker(paused);
    });
  };
  const auto first_id = register_job(make_job("first", 1));
  const auto first = dequeue();
  REQUIRE(id_of(first) == first_id);
  pause(true);
  const auto second_id = register_job(make_job("second", 1));
  const auto waiting = dequeue();
  CHECK(id_of(waiting).empty());
  CHECK_FALSE(settle_delivery(first));  // what it had is given out again later
  pause(false);
  CHECK(id_of(waiting) == first_id);
  CHECK(id_of(dequeue()) == second_id);
}

TEST_CASE_FIXTURE(BrokerFixture, "a pause outlives the leader") {
  write([&](schema::Command::Builder command) {
    command.initSchedulerConfiguration().setPauseEvalBroker(true);
  });
  register_job(make_job("web", 1));
  tell(broker, Lead{false});
  tell(broker, Lead{true});
  CHECK(id_of(dequeue()).empty());
}

TEST_CASE_FIXTURE(BrokerFixture, "a delay is not begun anew by a new leader") {
  const auto id = make_uuid(random);
  const auto now = unix_now();
  register_evaluated("web");
  write([&](schema::Command::Builder command) {
    auto eval = command.initEvalUpdate().initEvaluations(1)[0];
    fill_eval(eval, id, "web");
    eval.setCreateTime(now - std::chrono::nanoseconds{50s}.count());
    eval.setWait(std::chrono::nanoseconds{60s}.count());
  });
  tell(broker, Lead{false});
  tell(broker, Lead{true});
  const auto waiting = dequeue();
  advance(5s);
  CHECK(id_of(waiting).empty());
  advance(6s);
  CHECK(id_of(waiting) == id);
}

TEST_CASE_FIXTURE(ServerFixture, "a new leader writes the agent's scheduler configuration, once") {
  Draft<schema::SchedulerConfiguration> defaults;
  defaults->setSchedulerAlgorithm("spread");
  EvalBrokerOptions options;
  options.default_configuration = defaults.freeze();
  const auto broker = adopt(spawn_eval_broker(system(), store, proposer, options));
  tell(broker, Lead{true});
  commit();
  CHECK(view(state().scheduler_configuration()->getSchedulerAlgorithm()) == "spread");
  write([](schema::Command::Builder command) {
    command.initSchedulerConfiguration().setSchedulerAlgorithm("binpack");
  });
  tell(broker, Lead{false});
  tell(broker, Lead{true});
  commit();
  CHECK(view(state().scheduler_configuration()->getSchedulerAlgorithm()) == "binpack");
}

TEST_CASE_FIXTURE(BrokerFixture, "what is applied reaches a slow broker by one message") {
  hold("eval_broker");
  for (int i = 0; i < 100; ++i)
    add_eval("web" + std::to_string(i));
  CHECK(fullest("eval_broker") == 1);

  hold("");
  std::size_t delivered = 0;
  for (; !id_of(dequeue()).empty(); ++delivered)
    continue;
  CHECK(delivered == 100);
}

TEST_CASE_FIXTURE(BrokerFixture,
                  "a broker that throws at news hears of the next ones"
                      * doctest::skip(std::getenv("NOMAD_FAILPOINTS") == nullptr)) {
  REQUIRE(failpoint::configure("throw_in:eval_broker=error@1").has_value());
  add_eval("dropped");
  REQUIRE(failpoint::configure("").has_value());
  tell(broker, Lead{true});
  CHECK_FALSE(id_of(dequeue()).empty());  // by the state
  const auto next = add_eval("next");
  CHECK(id_of(dequeue()) == next);
}

TEST_CASE_FIXTURE(BrokerFixture, "a broker that is too far behind takes in the state anew") {
  const auto waiting = dequeue();
  const auto first = register_job(make_job("web", 1));
  CHECK(id_of(waiting) == first);
  const auto token = (**waiting)->token;
  CHECK(*ask<Done>(broker, eval_broker::PauseNack{first, token}));
  const auto silent = dequeue();
  const auto third = add_eval("silent");
  CHECK(id_of(silent) == third);
  hold("eval_broker");
  const auto second = add_eval("other");
  const OutcomeFeed::Outcomes many(OutcomeFeed::most_waiting,
                                   std::make_shared<const state::Outcome>());
  listeners.front()->add(many);
  listeners.front()->add(many);
  CHECK(fullest("eval_broker") == 1);

  hold("");
  CHECK(id_of(dequeue()) == second);
  const auto next = dequeue();
  CHECK(id_of(next).empty());  // What workers have is theirs, while they are not silent for long.
  advance(55s);
  CHECK(id_of(next).empty());
  advance(6s);
  CHECK(id_of(dequeue()) == third);
  CHECK(settle_delivery(waiting));
  CHECK_FALSE(settle_delivery(silent));
}
