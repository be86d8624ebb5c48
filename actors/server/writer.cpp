#include "actors/server/writer.hpp"

#include <mutex>
#include <optional>

#include "actors/raft/state_fsm.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/base/clock.hpp"
#include "runtime/base/guard.hpp"
#include "runtime/base/log.hpp"
#include "runtime/object/object.hpp"

namespace nomad::server {
namespace {

/// Of a sequence, in the log and not yet applied: one is applied while the next is made durable.
constexpr std::size_t commands_at_once = 2;

/// Of the commands that name what they change; of the others, nobody can say by looking at them.
std::optional<access::Target> target_of(schema::Command::Reader command) {
  if (command.isGuarded()) return target_of(command.getGuarded().getCommand());
  if (command.isJobRegister())
    return access::Target{view(command.getJobRegister().getJob().getNamespace())};
  if (command.isPeriodicLaunchRegister())
    return access::Target{view(command.getPeriodicLaunchRegister().getLaunch().getNamespace())};
  if (command.isJobDeregister())
    return access::Target{view(command.getJobDeregister().getNamespace())};
  if (command.isJobScale()) return access::Target{view(command.getJobScale().getNamespace())};
  if (command.isJobSubmission())
    return access::Target{view(command.getJobSubmission().getNamespace())};
  if (command.isJobStability())
    return access::Target{view(command.getJobStability().getNamespace())};
  if (command.isJobVersionTagging())
    return access::Target{view(command.getJobVersionTagging().getNamespace())};
  if (command.isCsiVolumeRegister())
    return access::Target{view(command.getCsiVolumeRegister().getVolume().getNamespace())};
  if (command.isCsiVolumeDeregister())
    return access::Target{view(command.getCsiVolumeDeregister().getNamespace())};
  if (command.isServiceDelete() && command.getServiceDelete().getKeys().size() > 0)
    return access::Target{view(command.getServiceDelete().getKeys()[0].getNamespace())};
  if (!command.isVariableApply()) return {};
  const auto variable = command.getVariableApply().getVariable();
  return access::Target{view(variable.getNamespace()), view(variable.getPath())};
}

/// A sequence of commands under way.
struct Sequence : std::enable_shared_from_this<Sequence> {
  Sequence(Writer through,
           const access::Allowed& by,
           std::vector<Object<schema::Command>> given,
           std::function<void(const Result<Committed>&)> done,
           std::function<void(const Committed&)> each_done)
      : writer{std::move(through)},
        allowed{by},
        commands{std::move(given)},
        then{std::move(done)},
        each{std::move(each_done)} {}

  Writer writer;
  const access::Allowed allowed;
  const std::vector<Object<schema::Command>> commands;
  std::function<void(const Result<Committed>&)> then;
  std::function<void(const Committed&)> each;
  std::mutex mutex;  ///< Of what follows: answers come while the first commands are proposed.
  std::size_t next = 0;
  std::size_t in_flight = 0;
  bool failed = false;

  /// The next command that may go, if one may.
  const Object<schema::Command>* take() {
    const std::scoped_lock lock{mutex};
    const bool is_last = next + 1 == commands.size();
    const bool may_go = !failed && next < commands.size() && in_flight < commands_at_once
                        && (!is_last || in_flight == 0);
    if (!may_go) return nullptr;
    ++in_flight;
    return &commands[next++];
  }

  void go_on() {
    while (const auto* command = take())
      writer.propose(allowed, *command, Turns::here(),
                     [self = shared_from_this(), is_last = command == &commands.back()](
                         const Result<Committed>& done) { self->on_done(done, is_last); });
  }

  /// Of one command "nothing was done" may be said that is not true of all.
  void on_done(const Result<Committed>& done, bool is_last) {
    bool others_went = false;
    {
      const std::scoped_lock lock{mutex};
      --in_flight;
      if (failed) return;
      failed = !done;
      others_went = next > 1;
    }
    if (done && each) each(*done);
    if (!done && done.error().code == Errc::no_leader && others_went)
      then(Error{Errc::unavailable,
                 done.error().what + " (the request may have been carried out in part)"});
    else if (!done || is_last)
      then(done);
    else
      go_on();
  }
};

}  // namespace

void DecidedAnew::enter(std::function<void(Turn)> go) {
  {
    const std::scoped_lock lock{mutex_};
    if (is_busy_ || !waiting_.empty()) return waiting_.push_back(std::move(go));
    is_busy_ = true;
  }
  go(turn());
}

void DecidedAnew::leave() {
  {
    const std::scoped_lock lock{mutex_};
    is_busy_ = false;
    if (std::exchange(is_passing_on_, true)) return;
  }
  while (auto next = take())
    guarded("server", [&] { next(turn()); });
}

/// Empty when the turn is somebody's, or nobody waits for it.
std::function<void(DecidedAnew::Turn)> DecidedAnew::take() {
  const std::scoped_lock lock{mutex_};
  is_passing_on_ = !is_busy_ && !waiting_.empty();
  if (!is_passing_on_) return {};
  is_busy_ = true;
  auto next = std::move(waiting_.front());
  waiting_.pop_front();
  return next;
}

DecidedAnew::Turn DecidedAnew::turn() {
  return {this, [self = shared_from_this()](void*) { self->leave(); }};
}

Writer::Writer(std::shared_ptr<const state::Store> store,
               raft::Proposer proposer,
               std::shared_ptr<const raft::LeaderView> leader,
               std::shared_ptr<Random> chance)
    : store_{std::move(store)},
      proposer_{std::move(proposer)},
      leader_{std::move(leader)},
      chance_{std::move(chance)} {}

void Writer::propose(const access::Allowed& allowed,
                     const Object<schema::Command>& command,
                     const Turns& turns,
                     std::function<void(const Result<Committed>&)> then) const {
  propose_raw(allowed, command, turns,
              [then = std::move(then)](const Result<raft::Applied>& applied) {
                then(to_committed(applied));
              });
}

void Writer::propose_raw(const access::Allowed& allowed,
                         const Object<schema::Command>& command,
                         const Turns& turns,
                         std::function<void(const Result<raft::Applied>&)> then) const {
  raft::ProposalCallback answer = turns.callback(std::move(then));
  if (const auto checked = check_allowed(allowed, *command); !checked)
    return answer(checked.error());
  proposer_.propose(raft::payload_of(command), std::move(answer));
}

Result<> Writer::check_allowed(const access::Allowed& allowed,
                               schema::Command::Reader command) const {
  const auto target = target_of(command);
  if (!target || allowed.is_for(*target)) return {};
  log::error("server", "a command stands on another permission", {{"namespace", target->ns}});
  return Error{Errc::internal, "the permission is not for what is written"};
}

void Writer::propose_all(const access::Allowed& allowed,
                         std::vector<Object<schema::Command>> commands,
                         const Turns& turns,
                         std::function<void(const Result<Committed>&)> then,
                         std::function<void(const Committed&)> each) const {
  std::make_shared<Sequence>(*this, allowed, std::move(commands), turns.callback(std::move(then)),
                             std::move(each))
      ->go_on();
}

void Writer::attempt(const std::shared_ptr<Attempts>& write) const {
  if (const auto ready = check_ready(); !ready) return write->end(ready.error());
  const auto reads = std::make_shared<state::ReadSet>();
  const auto snapshot = store_->snapshot();
  const auto index = snapshot.index();
  ++write->made;
  const auto command = write->decide(snapshot.noting(reads), seed());
  if (!command) return write->end(command.error());
  if (!*command) return write->end(End{index, {}});
  propose_raw(write->allowed(), reads->guard(*command, snapshot.tables()), Turns::here(),
              [self = *this, write, index](const Result<raft::Applied>& applied) {
                if (is_stale(applied)) return self.attempt_anew(write);
                write->end(End{index, applied});
              });
}

void Writer::attempt_anew(const std::shared_ptr<Attempts>& write) const {
  if (write->made >= most_decisions) return write->end(given_up());
  const auto go = [self = *this, write] {
    if (!write->run) return self.attempt(write);
    const auto runs = write->run([self, write] { self.attempt(write); });
    if (!runs) write->end(runs.error());
  };
  if (write->turn) return go();
  anew_->enter([write, go](DecidedAnew::Turn turn) {
    write->turn = std::move(turn);
    go();
  });
}

Result<Committed> Writer::committed(const Result<End>& end) {
  if (!end) return end.error();
  return end->applied ? to_committed(*end->applied) : Committed{end->index, {}};
}

bool Writer::is_stale(const Result<raft::Applied>& applied) {
  if (!applied || !applied->outcome.error) return false;
  const auto outcome = std::static_pointer_cast<const state::Outcome>(applied->outcome.value);
  return outcome && outcome->stale;
}

Error Writer::given_up() {
  return {Errc::conflict,
          "what this change is about was changed by others each time it was decided; try again"};
}

cluster::EvalSeed Writer::seed() const {
  thread_local Random of_thread = Random::from_system();
  return {unix_now(), chance_ ? chance_.get() : &of_thread};
}

Result<> Writer::check_ready() const {
  if (!leader_->is_ready()) return no_leader();
  return {};
}

}  // namespace nomad::server
