#include "actors/core/caf_actor.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <boost/core/demangle.hpp>
#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>
#include <caf/to_string.hpp>

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
    log::error(self->name(), "ended by an exception: {}", reason.what);
    return to_caf(reason);
  }
}

caf::result<caf::message> log_unexpected(caf::scheduled_actor* self, caf::message_view& message) {
  log::error(self->name(), "unexpected message: {}",
             caf::to_string(message.move_content_to_message()));
  return caf::sec::unexpected_message;
}

caf::duration to_caf(Timeout timeout) {
  return timeout == infinite ? caf::duration{caf::infinite} : caf::duration{timeout};
}

/// To an owner from an actor that it does not know yet.
struct Adopt {
  using is_message = void;
  Ref child;
};

/// To an actor that nobody owns: from now on this one does.
struct Belong {
  using is_message = void;
  Ref owner;
};

/// To an owner: a child goes on with a new state.
struct BegunAgain {
  using is_message = void;
  Address child;
  Error reason;
};

/// Unasked crashes within `crash_window` that an actor survives.
constexpr int most_crashes = 5;
constexpr std::chrono::minutes crash_window{1};

/// Without counting references, as CAF's handles would: whoever calls keeps the actor.
caf::abstract_actor* actor_of(caf::actor_control_block* at) {
  return at->get();
}

caf::message_id id_for(Priority priority) {
  return caf::make_message_id(priority == Priority::urgent ? caf::message_priority::high
                                                           : caf::message_priority::normal);
}

Address address_of(const caf::actor_control_block* at) {
  return {at == nullptr ? 0 : at->id()};
}

}  // namespace

caf::error to_caf(const Error& err) {
  return {static_cast<std::uint8_t>(err.code), caf::atom("nomad"), caf::make_message(err.what)};
}

Error from_caf(const caf::error& err) {
  if (err.category() == caf::atom("nomad")) {
    const auto& context = err.context();
    auto what
        = context.match_elements<std::string>() ? context.get_as<std::string>(0) : std::string{};
    return {static_cast<Errc>(err.code()), std::move(what)};
  }
  if (err == caf::sec::request_timeout) return {Errc::timeout, "no answer in time"};
  if (err == caf::sec::request_receiver_down || err == caf::sec::invalid_argument)
    return {Errc::unavailable, "the actor is gone"};
  return {Errc::internal, caf::to_string(err)};
}

caf::actor as_caf(const Ref& ref) {
  return caf::actor_cast<caf::actor>(caf::strong_actor_ptr{ref.get()});
}

// -- mail
// ------------------------------------------------------------------------------------------

Mail::Mail(const Mail& other) : content_(other.content_) {
  if (content_ != nullptr) content_->references.fetch_add(1, std::memory_order_relaxed);
}

Mail::~Mail() {
  if (content_ != nullptr && content_->references.fetch_sub(1, std::memory_order_acq_rel) == 1)
    delete content_;
}

const std::type_info& Mail::type() const {
  return content_ == nullptr ? typeid(void) : content_->type;
}

// -- handles
// ---------------------------------------------------------------------------------------

Ref::Ref(caf::actor_control_block* at) : at_(at) {
  if (at_ != nullptr) caf::intrusive_ptr_add_ref(at_);
}

Ref::Ref(const Ref& other) : Ref(other.at_) {}

Ref::~Ref() {
  if (at_ != nullptr) caf::intrusive_ptr_release(at_);
}

Address Ref::address() const {
  return address_of(at_);
}

void Ref::tell(Mail mail, Priority priority) const {
  if (at_ != nullptr) actor_of(at_)->eq_impl(id_for(priority), nullptr, nullptr, std::move(mail));
}

WeakRef::WeakRef(const Ref& ref) : at_(ref.get()) {
  if (at_ != nullptr) caf::intrusive_ptr_add_weak_ref(at_);
}

WeakRef::WeakRef(const WeakRef& other) : at_(other.at_) {
  if (at_ != nullptr) caf::intrusive_ptr_add_weak_ref(at_);
}

WeakRef::~WeakRef() {
  if (at_ != nullptr) caf::intrusive_ptr_release_weak(at_);
}

Ref WeakRef::lock() const {
  if (at_ == nullptr || !caf::intrusive_ptr_upgrade_weak(at_)) return {};
  Ref strong{at_};
  caf::intrusive_ptr_release(at_);  // `strong` has counted, too
  return strong;
}

// -- promises
// --------------------------------------------------------------------------------------

namespace detail {

class PromiseCore {
public:
  explicit PromiseCore(caf::response_promise promise) : promise_(std::move(promise)) {}

  PromiseCore(const PromiseCore&) = delete;
  PromiseCore& operator=(const PromiseCore&) = delete;

  /// Who waits shall not wait for ever. On any thread, so without the actor's own execution unit.
  ~PromiseCore() {
    if (!promise_.pending()) return;
    const auto next = promise_.next();
    next->enqueue(caf::make_mailbox_element(
                      caf::strong_actor_ptr{}, promise_.id().response_id(), promise_.stages(),
                      to_caf({Errc::unavailable, "the actor ended before it answered"})),
                  nullptr);
  }

  bool is_open() const { return promise_.pending(); }

  void keep(Outcome outcome) {
    if (!promise_.pending()) return;
    if (outcome.error)
      promise_.deliver(to_caf(*outcome.error));
    else
      promise_.deliver(std::move(outcome.reply));
  }

private:
  caf::response_promise promise_;
};

void keep(const std::shared_ptr<PromiseCore>& core, Outcome outcome) {
  if (core) core->keep(std::move(outcome));
}

bool is_open(const std::shared_ptr<PromiseCore>& core) {
  return core && core->is_open();
}

}  // namespace detail

// -- an actor of its own
// ---------------------------------------------------------------------------

System& Self::system() const {
  return actor_.system();
}

std::string_view Self::name() const {
  return actor_.name();
}

Ref Self::ref() const {
  return actor_.ref();
}

std::chrono::steady_clock::time_point Self::now() const {
  return actor_.clock().now();
}

std::uint64_t Self::seed(std::uint64_t given) const {
  return given + (actor_.incarnation() - 1) * 0x9e37'79b9'7f4a'7c15;
}

bool Self::began_again() const {
  return actor_.incarnation() > 1;
}

void Self::quit() {
  actor_.quit();
}

void Self::quit(const Error& reason) {
  actor_.quit(to_caf(reason));
}

void Self::monitor(const Any& other) {
  if (other && !actor_.owns(other.address())) actor_.monitor(as_caf(other.ref()));
}

void Self::send_mail(const Ref& dest, Mail mail, Priority priority) {
  if (dest.get() == actor_.ctrl()) mail.set_incarnation(actor_.incarnation());
  if (dest)
    actor_of(dest.get())
        ->eq_impl(id_for(priority), caf::strong_actor_ptr{actor_.ctrl()}, actor_.context(),
                  std::move(mail));
}

Timer Self::send_mail_after(std::chrono::nanoseconds delay, Mail mail) {
  mail.set_incarnation(actor_.incarnation());
  return actor_.send_after(delay, std::move(mail));
}

void Self::cancel(const Timer& timer) {
  actor_.cancel(timer);
}

void Self::delegate_mail(const Ref& dest, Mail mail) {
  if (actor_.is_question())
    actor_.delegate(as_caf(dest), std::move(mail));
  else
    send_mail(dest, std::move(mail), Priority::normal);
}

std::shared_ptr<detail::PromiseCore> Self::promise_core() {
  if (!actor_.is_question()) return nullptr;
  return std::make_shared<detail::PromiseCore>(actor_.make_response_promise());
}

/// CAF's clock keeps the timeout of a request, and with it this actor, whether it was answered or
/// not; so the long ones are cancelled.
void Self::ask(Question question, Question::OnReply then, Question::OnError failed) {
  const bool is_long
      = question.timeout != infinite && question.timeout > CafActor::longest_request_timer;
  const auto listen = [&](auto asked) {
    auto* actor = &actor_;
    const auto incarnation = actor_.incarnation();
    const auto answered = [actor, is_long, id = asked.id()] {
      if (is_long) actor->clock().cancel_request_timeout(actor, id);
    };
    asked.then(
        [actor, incarnation, answered, then = std::move(then)](Mail& reply) {
          answered();
          actor->run(incarnation, [&] { then(reply); });
        },
        [actor, incarnation, answered, failed = std::move(failed)](const caf::error& err) {
          answered();
          actor->run(incarnation, [&] { failed(from_caf(err)); });
        });
  };
  const auto dest = as_caf(question.dest);
  const auto timeout = to_caf(question.timeout);
  if (question.priority == Priority::urgent)
    listen(actor_.request<caf::message_priority::high>(dest, timeout, std::move(question.mail)));
  else
    listen(actor_.request(dest, timeout, std::move(question.mail)));
}

// -- outsiders
// -------------------------------------------------------------------------------------

struct Outsider::Core {
  explicit Core(System& system) : self(system) {}

  caf::scoped_actor self;
};

Outsider::Outsider(System& system) : core_(std::make_unique<Core>(system)) {}

Outsider::~Outsider() = default;

void Outsider::wait_for(const Any& other) {
  core_->self->wait_for(as_caf(other.ref()));
}

void Outsider::ask(Question question, Question::OnReply then, Question::OnError failed) {
  core_->self->request(as_caf(question.dest), to_caf(question.timeout), std::move(question.mail))
      .receive([&then](Mail& reply) { then(reply); },
               [&failed](const caf::error& err) { failed(from_caf(err)); });
}

// -- supervision
// -----------------------------------------------------------------------------------

std::string_view to_string(Policy policy) {
  switch (policy) {
    case Policy::report:
      return "report";
    case Policy::end_owner:
      return "end_owner";
    case Policy::restart:
      return "restart";
  }
  return "";
}

Owner::Owner(Ref ref) : system_{ref.get()->home_system}, ref_{std::move(ref)} {}

void on_down(Self* self, std::function<void(const Down&)> handler) {
  self->caf_actor().set_on_down(std::move(handler));
}

void on_exit(Self* self, std::function<void()> handler) {
  self->caf_actor().set_on_exit(std::move(handler));
}

void stop(const Ref& actor) {
  if (actor) caf::anon_send_exit(as_caf(actor), caf::exit_reason::user_shutdown);
}

void kill(const Ref& actor) {
  if (actor) caf::anon_send_exit(as_caf(actor), caf::exit_reason::kill);
}

Ref spawn_boot(const Owner& owner, std::unique_ptr<Boot> boot, Thread thread) {
  const auto above = owner.ref();
  const auto spawned = thread == Thread::own
                           ? owner.system().spawn<CafActor, caf::detached>(std::move(boot), above)
                           : owner.system().spawn<CafActor>(std::move(boot), above);
  const Ref child{caf::actor_cast<caf::actor_control_block*>(spawned)};
  if (owner.self() != nullptr)
    owner.self()->caf_actor().adopt(child);
  else
    above.tell(Mail::of(Adopt{child}), Priority::urgent);
  return child;
}

void give(const Any& child, const Any& owner) {
  child.ref().tell(Mail::of(Belong{owner.ref()}), Priority::urgent);
}

namespace {

struct RootState {
  static constexpr const char* name = "root";
};

}  // namespace

Any spawn_root(System& system, std::function<void(const Error&)> on_fatal) {
  const auto root = [on_fatal](Any::stateful_pointer<RootState> self) -> Any::behavior_type {
    self->caf_actor().outlive_children();
    on_down(self, [self, on_fatal](const Down& down) {
      if (!down.crashed || down.restarted) return;
      on_fatal(down.reason);
      on_down(self, [](const Down&) {});
    });
    return {};
  };
  return spawn(system, root);
}

// -- the actor itself
// ------------------------------------------------------------------------------

CafActor::CafActor(caf::actor_config& config, std::unique_ptr<Boot> boot, const Ref& owner)
    : caf::event_based_actor(config),
      name_(boot->name()),
      boot_(std::move(boot)),
      owner_(owner),
      stats_(std::make_shared<ActorStats>()) {
  stats_->system = &system();
  stats_->id = id();
  stats_->owner = owner.address().id;
  stats_->name = name_;
  stats_->policy = boot_->policy();
  register_actor(stats_);
  set_default_handler(log_unexpected);
  set_exit_handler([this](caf::exit_msg& message) { told_to_exit(message); });
  set_error_handler([this](caf::error& err) {
    log::error(name_, "ended by an unhandled error: {}", from_caf(err).what);
    quit(std::move(err));
  });
  set_exception_handler([this](std::exception_ptr& thrown) { return log_exception(this, thrown); });
  set_down_handler([this](caf::down_msg& message) { other_ended(message); });
  boot_->make(*this);
}

const char* CafActor::name() const {
  return name_;
}

Ref CafActor::ref() {
  return Ref{ctrl()};
}

caf::behavior CafActor::make_behavior() {
  handlers_ = boot_->begin();
  return {[this](Mail& mail) { return take(mail); }};
}

void CafActor::on_exit() {
  stop_children();
  handlers_.clear();
  waiting_.clear();
  on_down_ = nullptr;
  on_exit_ = nullptr;
  boot_.reset();
  unregister_actor(*stats_);
}

void CafActor::enqueue(caf::mailbox_element_ptr element, caf::execution_unit* host) {
  stats_->queued[element->mid.is_urgent_message() ? 1 : 0].fetch_add(1, std::memory_order_relaxed);
  caf::event_based_actor::enqueue(std::move(element), host);
}

caf::resumable::resume_result CafActor::resume(caf::execution_unit* host, std::size_t most) {
  turn_began_ = ticks();
  return caf::event_based_actor::resume(host, most);
}

/// Everything that reaches an actor passes here: messages, answers, timers, ends of others.
caf::invoke_message_result CafActor::consume(caf::mailbox_element& element) {
  auto& begun = stats_->begun[element.mid.is_urgent_message() ? 1 : 0];
  begun.store(begun.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const auto result = caf::event_based_actor::consume(element);
  const auto end = ticks();
  const auto took = end - std::exchange(turn_began_, end);
  if (took > stats_->longest.load(std::memory_order_relaxed))
    stats_->longest.store(took, std::memory_order_relaxed);
  return result;
}

Timer CafActor::send_after(std::chrono::nanoseconds delay, Mail mail) {
  if (delay <= longest_tick) {
    delayed_send(this, delay, std::move(mail));
    return {};
  }
  const Timer timer{clock().now() + delay, ++last_timer_};
  waiting_.emplace(timer, std::move(mail));
  arm();
  return timer;
}

void CafActor::arm() {
  if (waiting_.empty()) return;
  const auto now = clock().now();
  const auto next = std::min(waiting_.begin()->first.due, now + longest_tick);
  if (tick_ && *tick_ <= next) return;
  tick_ = next;
  delayed_send(this, next - now, Mail::of(Tick{next}));
}

void CafActor::tick(const Tick& tick) {
  if (tick_ == tick.at) tick_.reset();
  const auto now = clock().now();
  while (!waiting_.empty() && waiting_.begin()->first.due <= now)
    send(this, std::move(waiting_.extract(waiting_.begin()).mapped()));
  arm();
}

bool CafActor::is_question() {
  const auto* element = current_mailbox_element();
  return element != nullptr && element->mid.is_request() && !element->mid.is_answered();
}

Handler* CafActor::find(const std::type_info& type) const {
  // Within one library a type has one name, so its address tells; across libraries the text does.
  for (const auto& handler : handlers_)
    if (handler->type().name() == type.name()) return handler.get();
  for (const auto& handler : handlers_)
    if (handler->type() == type) return handler.get();
  return nullptr;
}

caf::result<Mail> CafActor::take(Mail& mail) {
  if (mail.incarnation() != 0 && mail.incarnation() != incarnation_) return caf::delegated<Mail>{};
  try {
    NOMAD_FAILPOINT_THROW(name_);
    auto* handler = find(mail.type());
    if (handler == nullptr) return take_unknown(mail);
    auto outcome = handler->handle(mail);
    if (outcome.later || !is_question()) return caf::delegated<Mail>{};
    if (outcome.error) return to_caf(*outcome.error);
    return std::move(outcome.reply);
  } catch (...) {
    fail();
    return caf::delegated<Mail>{};
  }
}

caf::result<Mail> CafActor::take_unknown(Mail& mail) {
  if (const auto* adopted = mail.get<Adopt>()) {
    adopt(adopted->child);
  } else if (const auto* due = mail.get<Tick>()) {
    tick(*due);
  } else if (const auto* belongs = mail.get<Belong>()) {
    owner_ = WeakRef{belongs->owner};
    stats_->owner = belongs->owner.address().id;
    belongs->owner.tell(Mail::of(Adopt{ref()}), Priority::urgent);
  } else if (const auto* begun = mail.get<BegunAgain>()) {
    tell_of({.source = begun->child, .crashed = true, .restarted = true, .reason = begun->reason});
  } else {
    log::error(name_, "unexpected message: {}", boost::core::demangle(mail.type().name()));
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
  const bool was_asked = element != nullptr && element->mid.is_request();
  if (is_question()) make_response_promise().deliver(to_caf(reason));
  if (boot_->policy() != Policy::restart || (!was_asked && !may_begin_again())) throw;
  begin_again(reason);
}

/// Answers to bad questions don't count: whoever repeats one must not end what serves others.
bool CafActor::may_begin_again() {
  const auto now = clock().now();
  if (now - crashes_since_ > crash_window) {
    crashes_since_ = now;
    crashes_ = 0;
  }
  return ++crashes_ <= most_crashes;
}

void CafActor::begin_again(const Error& reason) {
  log::error(name_, "begins anew after an exception: {}", reason.what);
  ++incarnation_;
  stats_->restarts.fetch_add(1, std::memory_order_relaxed);
  stop_children();
  handlers_.clear();
  waiting_.clear();
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
  const auto& boot = *static_cast<const CafActor*>(adopted)->stats_;
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
    log::error(name_, "ends, because {} has ended: {}", child.mapped().name, reason.what);
    return quit(to_caf(reason.within(child.mapped().name)));
  }
  tell_of({.source = {message.source.id()}, .crashed = crashed, .reason = reason});
}

void CafActor::tell_of(const Down& down) {
  if (on_down_)
    run(incarnation_, [&] { std::function<void(const Down&)>{on_down_}(down); });
  else if (down.crashed && !down.restarted)
    log::warn(name_, "a monitored actor ended: {}", down.reason.what);
}

void CafActor::told_to_exit(caf::exit_msg& message) {
  if (!message.reason) return;
  killed_ = message.reason == caf::exit_reason::kill;
  if (killed_ || !on_exit_) return quit(std::move(message.reason));
  run(incarnation_, [&] { on_exit_(); });
}

}  // namespace nomad::actor
