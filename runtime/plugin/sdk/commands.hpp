// Commands: those that run beside the tasks of a session's drivers, each under the number of the
// question that has begun it, and their bytes as frames. Internal to the SDK.
#pragma once

#include <map>
#include <memory>

#include "runtime/plugin/sdk/exec_process.hpp"
#include "runtime/plugin/sdk/wire.hpp"

namespace nomad::plugin {

/// What a driver refuses is an answer; an error in its place would say that it is broken.
void refuse_request(const DriverReply& reply, const Error& why);

class Commands {
public:
  Commands(Wire& wire, Agent& agent) : wire_{wire}, agent_{agent} {}

  Commands(const Commands&) = delete;
  Commands& operator=(const Commands&) = delete;

  /// Begins what the driver makes of the order.
  void begin(std::uint64_t number,
             Driver& driver,
             schema::plugin::ExecTask::Reader order,
             const DriverReply& reply);

  /// Bytes and orders for one that runs; for others they are passed over.
  void take(schema::plugin::Frame::Reader frame);

private:
  void tell_output(std::uint64_t number, unsigned stream, std::string_view bytes, bool last);
  void end(std::uint64_t number, const CommandEnd& how);

  Wire& wire_;
  Agent& agent_;
  std::map<std::uint64_t, std::shared_ptr<Command>> running_;
};

}  // namespace nomad::plugin
