#include "actors/api/audit/audit_feed.hpp"

#include <utility>

namespace nomad::api {

AuditFeed::Delivery& AuditFeed::Delivery::operator=(Delivery&& other) noexcept {
  if (this != &other) {
    (*this)(Error{Errc::unavailable, "the audit log was stopped"});
    done_ = std::exchange(other.done_, nullptr);
  }
  return *this;
}

AuditFeed::Delivery::~Delivery() {
  (*this)(Error{Errc::unavailable, "the audit log was stopped"});
}

void AuditFeed::Delivery::operator()(const Result<>& outcome) {
  if (const auto done = std::exchange(done_, nullptr)) done(outcome);
}

void AuditFeed::add(std::string event, Done done) {
  Delivery delivery{std::move(done)};
  std::function<void()> wake;
  {
    const std::scoped_lock lock{guard_};
    if (is_closed_) return;  // which the delivery tells
    if (waiting_.events.size() < most_events && bytes_ + event.size() <= most_bytes) {
      if (waiting_.events.empty()) wake = wake_;
      bytes_ += event.size();
      waiting_.events.push_back(std::move(event));
      waiting_.deliveries.push_back(std::move(delivery));
      delivery = Delivery{nullptr};
    } else {
      ++waiting_.lost;
    }
  }
  delivery(Error{Errc::overloaded, "too much waits for the audit log"});
  if (wake) wake();
}

AuditFeed::Taken AuditFeed::take() {
  const std::scoped_lock lock{guard_};
  bytes_ = 0;
  return std::exchange(waiting_, {});
}

void AuditFeed::count_lost(std::uint64_t events) {
  const std::scoped_lock lock{guard_};
  waiting_.lost += events;
}

void AuditFeed::close() {
  Taken dropped;  // tells its deliveries without the lock
  const std::scoped_lock lock{guard_};
  is_closed_ = true;
  dropped = std::exchange(waiting_, {});
}

void AuditFeed::set_wake(std::function<void()> wake) {
  bool waits = false;
  {
    const std::scoped_lock lock{guard_};
    wake_ = wake;
    waits = !waiting_.events.empty();
  }
  if (waits && wake) wake();
}

}  // namespace nomad::api
