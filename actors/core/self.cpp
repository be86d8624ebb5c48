#include "actors/core/self.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <caf/scoped_actor.hpp>

#include "actors/core/caf_actor.hpp"
#include "actors/core/caf_bridge.hpp"

namespace nomad::actor {

namespace {

/// What users may let an actor wait is longer than any clock goes on.
constexpr std::chrono::nanoseconds longest_delay = std::chrono::hours{24 * 365 * 100};

}  // namespace

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

void Self::send_mail(const Ref& dest, Mail mail, Priority priority) {
  if (dest.get() == actor_.ctrl()) mail.set_incarnation(actor_.incarnation());
  if (dest)
    actor_of(dest.get())
        ->eq_impl(to_caf(priority), caf::strong_actor_ptr{actor_.ctrl()}, actor_.context(),
                  std::move(mail));
}

Timer Self::send_mail_after(std::chrono::nanoseconds delay, Mail mail) {
  mail.set_incarnation(actor_.incarnation());
  return actor_.send_after(std::min(delay, longest_delay), std::move(mail));
}

void Self::cancel(const Timer& timer) {
  actor_.cancel(timer);
}

void Self::delegate_mail(const Ref& dest, Mail mail) {
  const auto* present = actor_.current_mailbox_element();
  const bool is_urgent = present != nullptr && present->mid.is_urgent_message();
  if (!actor_.is_question())
    send_mail(dest, std::move(mail), is_urgent ? Priority::urgent : Priority::normal);
  else if (is_urgent)
    actor_.delegate<caf::message_priority::high>(as_caf(dest), std::move(mail));
  else
    actor_.delegate(as_caf(dest), std::move(mail));
}

/// CAF's clock keeps the timeout of a request, and with it this actor, whether it was answered or
/// not; so it is not told of any.
void Self::ask(Question question, Question::OnReply then, Question::OnError failed) {
  const bool may_end = question.timeout != infinite;
  const auto listen = [&](auto asked) {
    auto* actor = &actor_;
    const auto incarnation = actor_.incarnation();
    const auto end = may_end ? actor->time_out_after(question.timeout, asked.id()) : Timer{};
    asked.then(
        [actor, incarnation, end, then = std::move(then)](Mail& reply) {
          actor->cancel(end);
          actor->run(incarnation, [&] { then(reply); });
        },
        [actor, incarnation, end, failed = std::move(failed)](const caf::error& err) {
          actor->cancel(end);
          actor->run(incarnation, [&] { failed(from_caf(err)); });
        });
  };
  const auto dest = as_caf(question.dest);
  if (question.priority == Priority::urgent)
    listen(
        actor_.request<caf::message_priority::high>(dest, caf::infinite, std::move(question.mail)));
  else
    listen(actor_.request(dest, caf::infinite, std::move(question.mail)));
}

struct BlockingAsker::Core {
  explicit Core(System& system) : self(system) {}

  caf::scoped_actor self;
};

BlockingAsker::BlockingAsker(System& system) : core_(std::make_unique<Core>(system)) {}

BlockingAsker::~BlockingAsker() = default;

void BlockingAsker::wait_for(const Any& other) {
  core_->self->wait_for(as_caf(other.ref()));
}

void BlockingAsker::ask(Question question, Question::OnReply then, Question::OnError failed) {
  core_->self->request(as_caf(question.dest), to_caf(question.timeout), std::move(question.mail))
      .receive([&then](Mail& reply) { then(reply); },
               [&failed](const caf::error& err) { failed(from_caf(err)); });
}

}  // namespace nomad::actor
