// DriverLink: how the runner of a task asks its driver, which may die at any moment and be followed
// by another (driver_manager.hpp).
//
// What an order is to change has to be changed: one that a driver took into its grave, or that
// comes while there is none, waits for the next driver. A start is refused while there is none,
// because the restart policy decides then; one that was lost is repeated once, for its run may
// exist, and after that the run is destroyed. Whoever only wants to know hears at once that nobody
// knows.
//
// The task's runner owns it and calls it in its own turns.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "actors/client/drivers/driver_manager.hpp"
#include "actors/client/drivers/driver_objects.hpp"
#include "actors/core/actor.hpp"

namespace nomad::client {

class DriverLink {
public:
  /// To the runner itself: whether the driver has died is to be known by now.
  struct VerdictDue {
    using is_message = void;
    std::uint64_t number = 0;
  };

  enum class Purpose : std::uint8_t {
    order,
    start,
    reattach,  ///< Asked of each new driver anyway.
  };

  using Then = std::function<void(driver::Answered&)>;
  using Failed = std::function<void(const driver::Refusal&)>;

  DriverLink(actor::Self* self, std::string name, KnownDriver driver)
      : self_{self}, name_{std::move(name)}, driver_{std::move(driver)} {}

  DriverLink(const DriverLink&) = delete;
  DriverLink& operator=(const DriverLink&) = delete;

  schema::plugin::Capabilities::Reader capabilities() const { return driver_.capabilities(); }

  /// What the driver said that it is; empty until one has said it.
  const Object<schema::plugin::DriverDescription>& description() const {
    return driver_.description;
  }

  /// Why nothing comes of a question that the driver does not answer.
  driver::Refusal silence(const Error& err) const;

  /// Has `agent` hear what is told of the task, from the next question on.
  void serve(const DriverManager& manager, const driver::TaskId& id, const TaskAgent& agent);

  /// One of the two is called, in a later turn.
  void ask(driver::Ask order,
           actor::Timeout timeout,
           driver::DriverAnswer::Which expected,
           Purpose purpose,
           Then then,
           Failed failed);

  /// For who only wants to know.
  void ask_once(driver::Ask question,
                actor::Timeout timeout,
                driver::DriverAnswer::Which expected,
                Then then,
                Failed failed);

  /// The driver has died (an empty handle), or another has followed it.
  void replace(const KnownDriver& driver);

  /// Asks the new driver what was waiting for it.
  void resume();

  void verdict_due(VerdictDue msg);

private:
  struct Order {
    driver::Ask order;
    actor::Timeout timeout{0};
    driver::DriverAnswer::Which expected{};
    Purpose purpose = Purpose::order;
    Then then;
    Failed failed;
    bool lost = false;         ///< A driver died over it before.
    Error why{};               ///< How the last one did.
    std::uint64_t number = 0;  ///< While it waits.
  };

  using OrderPtr = std::shared_ptr<Order>;

  void send(const OrderPtr& order);
  void lose(const OrderPtr& order, const Driver& asked, const Error& why);
  void again(const OrderPtr& order);
  void give_up(const Order& order, const Error& why);

  actor::Self* self_;
  std::string name_;
  KnownDriver driver_;
  std::vector<OrderPtr> waiting_;
  std::uint64_t last_number_ = 0;
};

}  // namespace nomad::client
