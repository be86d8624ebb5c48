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

#include "runtime/base/log.hpp"

namespace nomad::actor {
namespace {

/// Normal ends: the actor quit by itself or was told to.
bool is_orderly(const caf::error& reason) {
  return !reason || reason == caf::exit_reason::normal || reason == caf::exit_reason::user_shutdown
         || reason == caf::exit_reason::kill || reason == caf::exit_reason::unreachable;
}

caf::error log_exception(caf::scheduled_actor* self, std::exception_ptr& thrown) {
  std::string what = "unknown exception";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& err) {
    what = err.what();
  } catch (...) {
    log::error(self->name(), "a handler threw something that is no std::exception");
  }
  log::error(self->name(), "ended by an exception: {}", what);
  return to_caf({Errc::internal, std::move(what)});
}

caf::result<caf::message> log_unexpected(caf::scheduled_actor* self, caf::message_view& message) {
  log::error(self->name(), "unexpected message: {}",
             caf::to_string(message.move_content_to_message()));
  return caf::sec::unexpected_message;
}

caf::duration to_caf(Timeout timeout) {
  return timeout == infinite ? caf::duration{caf::infinite} : caf::duration{timeout};
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
  if (at_ == nullptr) return;
  if (priority == Priority::urgent)
    caf::anon_send<caf::message_priority::high>(as_caf(*this), std::move(mail));
  else
    caf::anon_send(as_caf(*this), std::move(mail));
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

void Self::quit() {
  actor_.quit();
}

void Self::quit(const Error& reason) {
  actor_.quit(to_caf(reason));
}

void Self::monitor(const Any& other) {
  if (other) actor_.monitor(as_caf(other.ref()));
}

void Self::send_mail(const Ref& dest, Mail mail, Priority priority) {
  if (priority == Priority::urgent)
    actor_.send<caf::message_priority::high>(as_caf(dest), std::move(mail));
  else
    actor_.send(as_caf(dest), std::move(mail));
}

Timer Self::send_mail_after(std::chrono::nanoseconds delay, Mail mail) {
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
    const auto answered = [actor = is_long ? &actor_ : nullptr, id = asked.id()] {
      if (actor != nullptr) actor->clock().cancel_request_timeout(actor, id);
    };
    asked.then(
        [answered, then = std::move(then)](Mail& reply) {
          answered();
          then(reply);
        },
        [answered, failed = std::move(failed)](const caf::error& err) {
          answered();
          failed(from_caf(err));
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

void on_down(Self* self, std::function<void(const Down&)> handler) {
  self->caf_actor().set_down_handler([handler = std::move(handler)](caf::down_msg& message) {
    const bool crashed = !is_orderly(message.reason);
    handler({.source = {message.source.id()},
             .crashed = crashed,
             .reason = crashed ? from_caf(message.reason) : Error{}});
  });
}

void on_exit(Self* self, std::function<void()> handler) {
  auto* actor = &self->caf_actor();
  actor->set_exit_handler([actor, handler = std::move(handler)](caf::exit_msg& message) {
    if (message.reason == caf::exit_reason::kill)
      actor->quit(std::move(message.reason));
    else
      handler();
  });
}

void stop(const Ref& actor) {
  if (actor) caf::anon_send_exit(as_caf(actor), caf::exit_reason::user_shutdown);
}

void kill(const Ref& actor) {
  if (actor) caf::anon_send_exit(as_caf(actor), caf::exit_reason::kill);
}

Ref spawn_boot(System& system, std::unique_ptr<Boot> boot, Thread thread) {
  const auto spawned = thread == Thread::own
                           ? system.spawn<CafActor, caf::detached>(std::move(boot))
                           : system.spawn<CafActor>(std::move(boot));
  return Ref{caf::actor_cast<caf::actor_control_block*>(spawned)};
}

Ref spawn_boot(Self* parent, std::unique_ptr<Boot> boot, Thread thread, Tie tie) {
  auto& actor = parent->caf_actor();
  const auto spawned = [&]() -> caf::actor {
    if (tie == Tie::linked) {
      if (thread == Thread::own)
        return actor.spawn<CafActor, caf::linked + caf::detached>(std::move(boot));
      return actor.spawn<CafActor, caf::linked>(std::move(boot));
    }
    if (thread == Thread::own)
      return actor.spawn<CafActor, caf::monitored + caf::detached>(std::move(boot));
    return actor.spawn<CafActor, caf::monitored>(std::move(boot));
  }();
  return Ref{caf::actor_cast<caf::actor_control_block*>(spawned)};
}

// -- the actor itself
// ------------------------------------------------------------------------------

CafActor::CafActor(caf::actor_config& config, std::unique_ptr<Boot> boot)
    : caf::event_based_actor(config), name_(boot->name()), boot_(std::move(boot)) {
  set_default_handler(log_unexpected);
  set_exit_handler([this](caf::exit_msg& message) {
    if (message.reason) quit(std::move(message.reason));
  });
  set_error_handler([this](caf::error& err) {
    log::error(name_, "ended by an unhandled error: {}", from_caf(err).what);
    quit(std::move(err));
  });
  set_exception_handler([this](std::exception_ptr& thrown) { return log_exception(this, thrown); });
  set_down_handler([this](caf::down_msg& message) {
    if (!is_orderly(message.reason))
      log::warn(name_, "a monitored actor ended: {}", from_caf(message.reason).what);
  });
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
  handlers_.clear();
  waiting_.clear();
  boot_.reset();
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
  auto* handler = find(mail.type());
  if (handler == nullptr) {
    if (const auto* due = mail.get<Tick>()) {
      tick(*due);
      return caf::delegated<Mail>{};
    }
    log::error(name_, "unexpected message: {}", boost::core::demangle(mail.type().name()));
    return caf::sec::unexpected_message;
  }
  auto outcome = handler->handle(mail);
  if (outcome.later || !is_question()) return caf::delegated<Mail>{};
  if (outcome.error) return to_caf(*outcome.error);
  return std::move(outcome.reply);
}

}  // namespace nomad::actor
