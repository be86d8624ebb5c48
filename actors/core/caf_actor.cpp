#include "actors/core/caf_actor.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <boost/core/demangle.hpp>
#include <caf/send.hpp>
#include <caf/to_string.hpp>
#include <fmt/format.h>

#include "actors/core/caf_bridge.hpp"
#include "actors/core/ticks.hpp"
#include "runtime/base/failpoint.hpp"
#include "runtime/base/guard.hpp"
#include "runtime/base/log.hpp"

namespace nomad::actor {
namespace {

/// Normal ends: the actor quit by itself or was told to.
bool is_orderly(const caf::error& reason) {
  return !reason || reason == caf::exit_reason::normal || reason == caf::exit_reason::user_shutdown
         || reason == caf::exit_reason::kill || reason == caf::exit_reason::unreachable;
}

caf::error log_exception(caf::scheduled_actor* self, std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (...) {
    const auto reason = thrown_now();
    log::error("actor", "ended by an exception", {{"actor", self->name()}, {"error", reason}});
    return to_caf(reason);
  }
}

caf::result<caf::message> log_unexpected(caf::scheduled_actor* self, caf::message_view& message) {
  log::error(
      "actor", "unexpected message",
      {{"actor", self->name()}, {"message", caf::to_string(message.move_content_to_message())}});
  return caf::sec::unexpected_message;
}

constexpr auto tick_type = caf::atom("nomad_tick");

bool is_tick(const caf::mailbox_element& element) {
  const auto& content = element.content();
  return content.type_token() == caf::make_type_token<caf::timeout_msg>()
         && content.get_as<caf::timeout_msg>(0).type == tick_type;
}

/// Whether the sender waits for the answer itself.
bool is_asked(const caf::mailbox_element& element) {
  return element.mid.is_request() && !element.content().match_elements<Mail, CafActor::News>();
}

}  // namespace

CafActor::CafActor(caf::actor_config& config, std::unique_ptr<Boot> boot, const Ref& owner)
    : caf::event_based_actor(config), boot_(std::move(boot)), owner_(owner) {
  stats_.system = &system();
  stats_.id = id();
  stats_.owner = owner.address().id;
  stats_.name = boot_->name();
  stats_.policy = boot_->policy();
  set_default_handler(log_unexpected);
  set_exit_handler([this](caf::exit_msg& message) { told_to_exit(message); });
  set_error_handler([this](caf::error& err) {
    log::error("actor", "ended by an unhandled error",
               {{"actor", stats_.name}, {"error", from_caf(err)}});
    quit(std::move(err));
  });
  set_exception_handler([this](std::exception_ptr& thrown) { return log_exception(this, thrown); });
  set_down_handler([this](caf::down_msg& message) { other_ended(message); });
  boot_->make(*this);
  register_actor(stats_);  // Last: nobody would take it out again if the state could not be made.
}

CafActor::~CafActor() {
  unregister_actor(stats_);
}

const char* CafActor::name() const {
  return stats_.name;
}

Ref CafActor::ref() {
  return Ref{ctrl()};
}

caf::behavior CafActor::make_behavior() {
  handlers_ = boot_->begin();
  return {[this](Mail& mail) { return take(mail); },
          [this](Mail& mail, News) { return take(mail); }};
}

void CafActor::on_exit() {
  stop_children();
  handlers_.reset();
  waiting_.clear();
  on_down_ = nullptr;
  on_exit_ = nullptr;
  boot_.reset();
  unregister_actor(stats_);
}

/// What the actor counts itself is looked at only when it seems to be far behind: its cache line is
/// not the senders'. It may have begun more than this thread has seen to be queued.
bool CafActor::is_full(std::size_t priority) {
  const auto is_behind
      = [&](std::uint64_t begun) { return stats_.waiting(priority, begun) >= most_waiting; };
  auto& seen = stats_.seen_begun[priority];
  if (!is_behind(seen.load(std::memory_order_relaxed))) return false;
  const auto begun = stats_.begun[priority].load(std::memory_order_acquire);
  seen.store(begun, std::memory_order_relaxed);
  return is_behind(begun);
}

/// Any thread. Who passed the question on is not in the way of the answer.
void CafActor::refuse(caf::mailbox_element& question) const {
  const auto next = question.stages.empty() ? question.sender : question.stages.back();
  if (!question.stages.empty()) question.stages.pop_back();
  if (!next) return;
  next->enqueue(caf::make_mailbox_element(
                    caf::strong_actor_ptr{}, question.mid.response_id(), std::move(question.stages),
                    to_caf({Errc::overloaded, fmt::format("{} has too much to do", stats_.name)})),
                nullptr);
}

void CafActor::enqueue(caf::mailbox_element_ptr element, caf::execution_unit* host) {
  const std::size_t priority = element->mid.is_urgent_message() ? 1 : 0;
  if (element->mid.is_request() && is_full(priority) && is_asked(*element)) return refuse(*element);
  stats_.queued[priority].fetch_add(1, std::memory_order_relaxed);
  caf::event_based_actor::enqueue(std::move(element), host);
}

caf::resumable::resume_result CafActor::resume(caf::execution_unit* host, std::size_t most) {
  turn_began_ = ticks();
  return caf::event_based_actor::resume(host, most);
}

/// Everything that reaches an actor passes here: messages, answers, timers, ends of others.
caf::invoke_message_result CafActor::consume(caf::mailbox_element& element) {
  auto& begun = stats_.begun[element.mid.is_urgent_message() ? 1 : 0];
  begun.store(begun.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  auto result = caf::invoke_message_result::consumed;
  if (is_tick(element))
    tick();
  else
    result = caf::event_based_actor::consume(element);
  const auto end = ticks();
  const auto took = end - std::exchange(turn_began_, end);
  if (took > stats_.longest.load(std::memory_order_relaxed))
    stats_.longest.store(took, std::memory_order_relaxed);
  return result;
}

Timer CafActor::wait(std::chrono::nanoseconds delay, Waiting what) {
  const Timer timer{clock().now() + delay, ++last_timer_};
  waiting_.emplace(timer, std::move(what));
  arm();
  return timer;
}

void CafActor::arm() {
  if (waiting_.empty()) return;
  const auto now = clock().now();
  const auto next = std::min(waiting_.begin()->first.due, now + longest_tick);
  if (tick_ && *tick_ <= next) return;
  tick_ = next;
  clock().set_ordinary_timeout(next, this, tick_type, 0);  // In place of the one before.
}

void CafActor::tick() {
  const auto now = clock().now();
  if (tick_ && *tick_ <= now) tick_.reset();
  while (!waiting_.empty() && waiting_.begin()->first.due <= now) {
    auto due = std::move(waiting_.extract(waiting_.begin()).mapped());
    if (auto* mail = std::get_if<Mail>(&due))
      send(this, std::move(*mail));
    else
      eq_impl(std::get<caf::message_id>(due), caf::strong_actor_ptr{ctrl()}, context(),
              caf::error{caf::sec::request_timeout});
  }
  arm();
}

bool CafActor::is_question() {
  const auto* element = current_mailbox_element();
  return element != nullptr && element->mid.is_request() && !element->mid.is_answered();
}

caf::result<Mail> CafActor::take(Mail& mail) {
  if (mail.incarnation() != 0 && mail.incarnation() != incarnation_) return caf::delegated<Mail>{};
  try {
    NOMAD_FAILPOINT_THROW(stats_.name);
    const auto* handler = handlers_ ? handlers_->find(mail.type()) : nullptr;
    if (handler == nullptr) return take_unknown(mail);
    auto outcome = handler->handle(*handlers_, mail);
    present_.reset();
    if (outcome.later || !is_question()) return caf::delegated<Mail>{};
    if (outcome.error) return to_caf(*outcome.error);
    return std::move(outcome.reply);
  } catch (...) {
    fail();
    return caf::delegated<Mail>{};
  }
}

caf::result<Mail> CafActor::take_unknown(Mail& mail) {
  if (const auto* turn = mail.get<Turn>()) {
    turn->action();
  } else if (auto* adopted = mail.get<Adopt>()) {
    adopt(std::exchange(adopted->child, {}));
  } else if (const auto* belongs = mail.get<Belong>()) {
    owner_ = WeakRef{belongs->owner};
    stats_.owner = belongs->owner.address().id;
    belongs->owner.tell(Mail::of(Adopt{ref()}), Priority::urgent);
  } else if (const auto* begun = mail.get<BegunAgain>()) {
    tell_of({.source = begun->child, .crashed = true, .restarted = true, .reason = begun->reason});
  } else {
    log::error("actor", "unexpected message",
               {{"actor", stats_.name}, {"message", boost::core::demangle(mail.type().name())}});
    return caf::sec::unexpected_message;
  }
  return caf::delegated<Mail>{};
}

// -- crashes
// ---------------------------------------------------------------------------------------

/// What to do about the exception that is being handled; throws it again if this is the end.
void CafActor::fail() {
  const auto reason = thrown_now();
  const auto* element = current_mailbox_element();
  const bool was_asked = element != nullptr && is_asked(*element);
  if (is_question()) make_response_promise().deliver(to_caf(reason));
  detail::keep(std::exchange(present_, nullptr), {.reply = {}, .error = reason, .later = false});
  const bool may_go_on = boot_->policy() == Policy::restart && !leaves_;
  if (!may_go_on || (!was_asked && !may_begin_again())) throw;
  begin_again(reason);
}

/// Answers to bad questions don't count: whoever repeats one must not end what serves others.
bool CafActor::may_begin_again() {
  const auto now = clock().now();
  if (!crashes_) {
    crashes_ = std::make_unique<Crashes>();
    crashes_->times.fill(std::chrono::steady_clock::time_point::min());
  }
  auto& oldest = crashes_->times[crashes_->next++ % Crashes::most];
  return std::exchange(oldest, now) < now - Crashes::window;
}

void CafActor::begin_again(const Error& reason) {
  log::error("actor", "begins anew after an exception",
             {{"actor", stats_.name}, {"error", reason}});
  ++incarnation_;
  stats_.restarts.fetch_add(1, std::memory_order_relaxed);
  stop_children();
  handlers_.reset();
  // What it asked is still forgotten in time.
  std::erase_if(waiting_,
                [](const auto& each) { return std::holds_alternative<Mail>(each.second); });
  on_down_ = nullptr;
  on_exit_ = nullptr;
  boot_->forget();
  boot_->make(*this);
  handlers_ = boot_->begin();
  owner_.lock().tell(Mail::of(BegunAgain{ref().address(), reason}), Priority::normal);
}

// -- owners and what they own
// ----------------------------------------------------------------------

void CafActor::adopt(const Ref& child) {
  const auto actor = as_caf(child);
  const auto* adopted = caf::actor_cast<caf::abstract_actor*>(actor);
  const auto& boot = static_cast<const CafActor*>(adopted)->stats_;
  children_.insert_or_assign(actor.id(), Child{WeakRef{child}, boot.name, boot.policy});
  monitor(actor);
}

void CafActor::stop_children() {
  for (auto child = children_.rbegin(); child != children_.rend(); ++child) {
    const auto ref = child->second.ref.lock();
    if (killed_)
      kill(ref);
    else
      stop(ref);
  }
  children_.clear();
}

void CafActor::other_ended(const caf::down_msg& message) {
  const auto child = children_.extract(message.source.id());
  const bool crashed = !is_orderly(message.reason);
  const auto reason = crashed ? from_caf(message.reason) : Error{};
  const bool must_end = !child.empty() && child.mapped().policy != Policy::report;
  if (crashed && must_end && !outlives_children_) {
    log::error("actor", "ends, because an actor that it needs has ended",
               {{"actor", stats_.name}, {"child", child.mapped().name}, {"error", reason}});
    return quit(to_caf(reason.within(child.mapped().name)));
  }
  tell_of({.source = {message.source.id()}, .crashed = crashed, .reason = reason});
}

void CafActor::tell_of(const Down& down) {
  if (on_down_)
    run(incarnation_, [&] { std::function<void(const Down&)>{on_down_}(down); });
  else if (down.crashed && !down.restarted)
    log::warn("actor", "an actor of its own has ended",
              {{"actor", stats_.name}, {"error", down.reason}});
}

void CafActor::told_to_exit(caf::exit_msg& message) {
  if (!message.reason) return;
  leaves_ = true;
  killed_ = message.reason == caf::exit_reason::kill;
  if (killed_ || !on_exit_) return quit(std::move(message.reason));
  run(incarnation_, [&] { on_exit_(); });
}

}  // namespace nomad::actor
