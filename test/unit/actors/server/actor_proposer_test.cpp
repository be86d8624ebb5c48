// actors/server/actor_proposer.hpp: an actor that began anew hears when what it had proposed before
// is settled.
#include "actors/server/actor_proposer.hpp"

#include "actors/core/supervise.hpp"
#include "server_fixture.hpp"

using namespace nomad;
using namespace nomad::test;
using namespace std::chrono_literals;

namespace {

struct Write {
  using is_message = void;
};

struct Throw {
  using is_message = void;
};

using TestWriter = actor::Interface<void(Write), void(Throw)>;

struct TestWriterState {
  static constexpr const char* name = "writer";

  std::optional<server::ActorProposer> writes;
};

/// Adds the state's index to `settled` when everything is, after each new beginning.
TestWriter::behavior_type writer(TestWriter::stateful_pointer<TestWriterState> self,
                                 raft::Proposer proposer,
                                 std::function<void()> settled) {
  auto& writes = self->state.writes.emplace(self, std::move(proposer), access::own_work("writer"));
  if (self->began_again()) writes.when_settled(settled);
  return {
      [self](Write) {
        const auto command = server::make_command([](schema::Command::Builder command) {
          ServerFixture::fill_node(command.initNodeRegister().initNode(), "node");
        });
        self->state.writes->propose(command, [](const Result<server::Committed>&) {});
      },
      [](Throw) { throw std::runtime_error{"broken on purpose"}; },
  };
}

struct ProposerFixture : ServerFixture {
  int settled = 0;
  bool knew_the_node = false;
  TestWriter writer_actor = adopt(actor::spawn<actor::Policy::restart>(
      system(), writer, proposer, std::function<void()>{[this] {
        ++settled;
        knew_the_node = static_cast<bool>(state().node("node"));
      }}));

  /// Answers what is proposed by now with `reason`.
  void fail(const Error& reason) {
    for (auto& proposal : log->take())
      proposal.callback(reason);
    settle();
  }
};

}  // namespace

TEST_CASE_FIXTURE(ProposerFixture,
                  "actor proposer: what was under way is settled before it is told") {
  tell(writer_actor, Write{});
  tell(writer_actor, Throw{});
  advance(10s);
  CHECK(settled == 0);
  commit();
  CHECK(settled == 1);
  CHECK(knew_the_node);
}

TEST_CASE_FIXTURE(ProposerFixture,
                  "actor proposer: a full log is asked again, a lost one settles all") {
  tell(writer_actor, Throw{});
  fail({Errc::overloaded, "too many proposals"});
  CHECK(settled == 0);
  advance(100ms);
  CHECK(settled == 0);
  fail(no_leader());
  CHECK(settled == 1);
}
