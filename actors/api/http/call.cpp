#include "actors/api/http/call.hpp"

#include "actors/api/allocs/file_service.hpp"
#include "actors/api/audit/audited_call.hpp"
#include "actors/api/forward/forward_parts.hpp"
#include "actors/api/forward/leader_watch.hpp"

namespace nomad::api {
namespace {

constexpr std::size_t pool_capacity = 64 * 1024;

/// Of directories: one of a million names takes half a second.
constexpr unsigned listing_threads = 2;
constexpr std::size_t listing_capacity = 512;
constexpr std::size_t listings_of_one_alloc = 16;

/// Whole archives and pieces of them, each on a thread that waits for the disk most of the time.
constexpr unsigned archive_threads = 4;
constexpr std::size_t archive_capacity = 1024;

/// How long what the query pool did not take waits before it is tried again.
constexpr std::chrono::milliseconds retry_pause{50};

/// What a guess of a token costs whoever makes one after the other.
constexpr std::chrono::seconds guess_pause{1};

class AnswerTurns final : public Turns::Taker, public std::enable_shared_from_this<AnswerTurns> {
public:
  AnswerTurns(Turns own, std::shared_ptr<Context> context)
      : own_{std::move(own)}, context_{std::move(context)} {}

  bool take(Turns::Action& action) override {
    if (!own_.try_post(action) && !context_->pool.submit(action))
      context_->timers.call_after(
          retry_pause, [self = shared_from_this(), action = std::move(action)]() mutable {
            self->take(action);
          });
    return true;
  }

private:
  const Turns own_;
  const std::shared_ptr<Context> context_;
};

/// Without ACLs there is nobody whom a label could name.
MeterOptions meter_options(const ApiOptions& options) {
  auto meter = options.metrics.meter;
  meter.labels = meter.labels && options.authenticator && options.authenticator->enforces();
  return meter;
}

}  // namespace

Context::Context(const actor::Owner& owner, const ApiOptions& options)
    : region{options.agent.region},
      bounds{options.jobs.bounds},
      state{options.state},
      authenticator{options.authenticator
                        ? options.authenticator
                        : access::Authenticator::make({})},  // which lets nobody in
      hosts{options.hosts},
      auditor{options.auditor},
      forward{std::make_shared<const ForwardParts>(ForwardParts::of(options))},
      system{owner.system()},
      asker{owner},
      timers{options.workers.alarm},
      rights_watch{authenticator, timers},
      pool{options.workers.query_threads, pool_capacity},
      listings{listing_threads, listing_capacity, listings_of_one_alloc},
      archives{archive_threads, archive_capacity},
      cache{options.workers.cache_bytes},
      meter{options.metrics.registry, options.metrics.callers, meter_options(options)},
      files{std::make_unique<FileService>()},
      leader_watch{std::make_shared<LeaderWatch>(
          timers, [forward = forward] { return forward->leader_address(); })},
      random_{Random::from_system()} {}

Context::~Context() {
  stop();
}

Result<JobGrowth> Context::room_for(std::string_view ns,
                                    std::string_view job_id,
                                    std::uint64_t bytes) {
  if (!state.store) return JobGrowth{};
  const auto snapshot = state.store->snapshot();
  auto growth = JobGrowth::of(snapshot, ns, job_id, bytes);
  NOMAD_TRY(namespaces.check(snapshot, growth, bounds.namespace_bytes, NamespaceUse::Clock::now()));
  return growth;
}

std::uint64_t Context::random_below(std::uint64_t bound) {
  const std::lock_guard lock{random_guard_};
  return random_.below(bound);
}

void Context::stop() {
  for (const auto& end : at_stop)
    end();
  files->stop();
  timers.stop();
  pool.stop();
  listings.stop();
  archives.stop();
  asker.stop();
  if (auditor) auditor->stop();
}

RunBlocking run_blocking(const std::shared_ptr<Context>& context) {
  return [weak = std::weak_ptr{context}](std::function<void()>& job) {
    const auto alive = weak.lock();
    return alive && alive->archives.submit(job);
  };
}

Call::Call(std::shared_ptr<Context> shared, net::Responder answerer, std::string_view rest_of_path)
    : context{std::move(shared)},
      asking{sender_of(answerer.request(), *context->authenticator), Capability::management},
      responder{std::move(answerer)},
      rest{rest_of_path} {}

access::Target Call::route_target() const {
  switch (about) {
    case About::nothing:
      return {};
    case About::node:
      return {.node = rest};
    case About::pool:
      return {.node_pool = rest};
    case About::asked_node:
      break;
  }
  const auto named = request().parameter_or_empty("node_id");
  const auto& forward = context->forward;
  return {.node = named.empty() && forward ? std::string_view{forward->agent.node_id} : named};
}

void Call::become(access::Principal who) {
  asking.who = std::move(who);
  if (audit) audit->knows(asking.who, context->state.store);
}

void Call::is_about(std::string_view object) const {
  if (audit) audit->names(object);
}

std::optional<std::chrono::nanoseconds> Call::count() {
  if (!metered || std::exchange(is_counted_, true)) return {};
  if (asking.who.grant()) return context->meter.count(*metered, asking.who);
  const auto now = context->authenticator->at_once(asking.who);  // of a route that needs no rights
  return context->meter.count(*metered, now && *now ? **now : asking.who);
}

Turns Call::turns() const {
  return Turns{std::make_shared<AnswerTurns>(responder.turns(), context)};
}

namespace {

/// Notes that what `who` has shown is none. Who guesses waits: `go_on` gets the call later. False:
/// he does not, and the call is still there.
bool after_guess(Call& call,
                 const access::Principal& who,
                 std::function<void(const SharedCall&)> go_on) {
  auto& authenticator = *call.context->authenticator;
  authenticator.note_refused(who);
  if (!authenticator.is_guessing(who)) return false;
  auto& timers = call.context->timers;
  timers.call_after(guess_pause,
                    [shared = share(std::move(call)), go_on = std::move(go_on)] { go_on(shared); });
  return true;
}

}  // namespace

void refuse_unknown(Call call, const Error& why) {
  call.count();
  const bool is_none = why.code == Errc::permission_denied;
  const auto who = call.asking.who;
  const bool waits
      = is_none && after_guess(call, who, [why](const SharedCall& refused) { refused->fail(why); });
  if (!waits) call.fail(why);
}

Outcome after_secret(Call& call,
                     const SecretText& secret,
                     bool is_one,
                     std::function<Outcome(Call&)> then) {
  if (is_one) return then(call);
  const auto who = access::Authenticator::with_token(call.asking.who, secret.reveal());
  const bool waits = after_guess(call, who, [then](const SharedCall& shared) {
    shared->turns().post([shared, then] { shared->settle(then(*shared)); });
  });
  return waits ? Outcome{later} : then(call);
}

void when_noted(Call call, std::function<void(Call)> then) {
  if (!call.audit) return then(std::move(call));
  const auto audit = call.audit;
  if (!call.context->auditor->is_enforced()) {
    audit->receive([](const Result<>&) {});
    return then(std::move(call));
  }
  const auto shared = share(std::move(call));
  audit->receive(shared->turns().callback([shared, then = std::move(then)](const Result<>& noted) {
    if (!noted) return shared->fail(Answer::error(not_audited()));
    then(std::move(*shared));
  }));
}

void with_rights_later(Call call,
                       std::function<void(Call)> then,
                       std::function<void(Call, const Error&)> refuse) {
  auto& authenticator = *call.context->authenticator;
  const auto who = call.asking.who;
  const auto shared = share(std::move(call));
  authenticator.resolve(
      who, shared->turns().callback([shared, then = std::move(then), refuse = std::move(refuse)](
                                        const Result<access::Principal>& later) {
        if (!later) return refuse(std::move(*shared), later.error());
        shared->become(*later);
        then(std::move(*shared));
      }));
}

}  // namespace nomad::api
