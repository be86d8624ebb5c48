#include "actors/client/task/driver_link.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace nomad::client {
namespace {

constexpr auto verdict_wait = std::chrono::seconds{5};
constexpr auto destroy_timeout = std::chrono::minutes{1};

/// The driver threw, ended, or is not there.
bool is_death(const Error& err) {
  return err.code == Errc::unavailable || err.code == Errc::internal;
}

}  // namespace

void DriverLink::serve(const DriverManager& manager,
                       const driver::TaskId& id,
                       const TaskAgent& agent) {
  actor::send_urgent(self_, manager, driver_manager::Serve{id, agent});
}

void DriverLink::ask(driver::Ask order,
                     actor::Timeout timeout,
                     driver::DriverAnswer::Which expected,
                     Purpose purpose,
                     Then then,
                     Failed failed) {
  send(std::make_shared<Order>(Order{.order = std::move(order),
                                     .timeout = timeout,
                                     .expected = expected,
                                     .purpose = purpose,
                                     .then = std::move(then),
                                     .failed = std::move(failed)}));
}

void DriverLink::ask_once(driver::Ask question,
                          actor::Timeout timeout,
                          driver::DriverAnswer::Which expected,
                          Then then,
                          Failed failed) {
  self_->request(driver_.driver, timeout, std::move(question))
      .then(
          [then, failed, expected](driver::Answered& answer) {
            if (const auto refusal = driver::refusal_of(answer, expected))
              failed(*refusal);
            else
              then(answer);
          },
          [this, failed](const Error& err) { failed(silence(err)); });
}

driver::Refusal DriverLink::silence(const Error& err) const {
  return {.error = err.within(fmt::format("task driver \"{}\" does not answer", name_)),
          .recoverable = true};
}

void DriverLink::send(const OrderPtr& order) {
  self_->request(driver_.driver, order->timeout, driver::Ask{order->order})
      .then(
          [order](driver::Answered& answer) {
            if (const auto refusal = driver::refusal_of(answer, order->expected))
              order->failed(*refusal);
            else
              order->then(answer);
          },
          [this, order, asked = driver_.driver](const Error& err) {
            if (is_death(err))
              lose(order, asked, err);
            else
              give_up(*order, err);
          });
}

/// `asked` died over the order, or was none, or has only dropped it.
void DriverLink::lose(const OrderPtr& order, const Driver& asked, const Error& why) {
  if (!asked && order->purpose == Purpose::start)
    return order->failed(silence({Errc::unavailable, "it has ended, and another is to follow"}));
  if (driver_.driver && driver_.driver.address() != asked.address()) return again(order);
  order->why = why;
  order->number = ++last_number_;
  waiting_.push_back(order);
  if (driver_.driver)
    self_->send_mail_after(verdict_wait, actor::Mail::of(VerdictDue{order->number}));
}

void DriverLink::again(const OrderPtr& order) {
  if (order->purpose == Purpose::reattach) return;
  if (order->purpose == Purpose::start && std::exchange(order->lost, true))
    give_up(*order, order->why);
  else
    send(order);
}

/// What may have been started is ended before anything else is.
void DriverLink::give_up(const Order& order, const Error& why) {
  if (order.purpose == Purpose::start)
    ask(
        driver::destroy_task(driver::read_id(order.order.request->getStartTask().getId())),
        destroy_timeout, driver::DriverAnswer::DONE, Purpose::order, [](driver::Answered&) {},
        [](const driver::Refusal&) {});
  order.failed(silence(why));
}

void DriverLink::replace(const KnownDriver& driver) {
  driver_.driver = driver.driver;
  if (driver.description) driver_ = driver;
}

void DriverLink::resume() {
  for (const auto& order : std::exchange(waiting_, {}))
    again(order);
}

void DriverLink::verdict_due(VerdictDue msg) {
  const auto found = std::ranges::find_if(
      waiting_, [&](const OrderPtr& order) { return order->number == msg.number; });
  if (found == waiting_.end() || !driver_.driver) return;
  const auto order = *found;
  waiting_.erase(found);
  give_up(*order, order->why);
}

}  // namespace nomad::client
