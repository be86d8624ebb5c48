#include "runtime/plugin/sdk/commands.hpp"

namespace nomad::plugin {

using schema::plugin::Frame;

void refuse_request(const DriverReply& reply, const Error& why) {
  const bool recoverable
      = why.code == Errc::unavailable || why.code == Errc::overloaded || why.code == Errc::timeout;
  reply(FillAnswer{[&why, recoverable](schema::plugin::DriverAnswer::Builder to) {
    auto failure = to.initFailed();
    failure.setCode(static_cast<std::uint8_t>(why.code));
    failure.setMessage(text_of(why.what));
    failure.setRecoverable(recoverable);
  }});
}

void Commands::begin(std::uint64_t number,
                     Driver& driver,
                     schema::plugin::ExecTask::Reader order,
                     const DriverReply& reply) {
  const auto plan = driver.exec(order);
  if (!plan) return refuse_request(reply, plan.error());
  CommandTold told{
      .output = [this, number](unsigned stream, std::string_view bytes,
                               bool last) { tell_output(number, stream, bytes, last); },
      .input_taken =
          [this, number](std::size_t bytes) {
            wire_.tell([&](Frame::Builder frame) {
              auto to = frame.initExecTaken();
              to.setNumber(number);
              to.setBytes(static_cast<std::uint32_t>(bytes));
            });
          },
      .ended = [this, number](const CommandEnd& how) { end(number, how); }};
  Result<std::shared_ptr<Command>> started{nullptr};
  if (plan->elsewhere)
    started = plan->elsewhere(order.getTty(), std::move(told));
  else if (auto process = ExecProcess::start(agent_, *plan, order.getTty(), std::move(told)))
    started = std::move(*process);
  else
    started = process.error();
  if (!started) return refuse_request(reply, started.error());
  running_[number] = *started;
  reply(FillAnswer{[](schema::plugin::DriverAnswer::Builder to) { to.setExec(); }});
}

void Commands::tell_output(std::uint64_t number,
                           unsigned stream,
                           std::string_view bytes,
                           bool last) {
  wire_.tell([&](Frame::Builder frame) {
    auto to = frame.initExecBytes();
    to.setNumber(number);
    to.setStream(static_cast<std::uint8_t>(stream));
    to.setBytes({reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()});
    to.setLast(last);
  });
}

void Commands::end(std::uint64_t number, const CommandEnd& how) {
  running_.erase(number);
  wire_.tell([&](Frame::Builder frame) {
    auto to = frame.initExecEnded();
    to.setNumber(number);
    auto result = to.initResult();
    result.setCode(how.code);
    result.setSignal(how.signal);
    result.setError(text_of(how.error));
  });
}

void Commands::take(Frame::Reader frame) {
  const auto number = frame.isExecBytes()   ? frame.getExecBytes().getNumber()
                      : frame.isExecTaken() ? frame.getExecTaken().getNumber()
                      : frame.isExecSize()  ? frame.getExecSize().getNumber()
                                            : frame.getCloseExec();
  const auto found = running_.find(number);
  if (found == running_.end()) return;
  const auto command = found->second;
  if (frame.isExecBytes()) {
    const auto bytes = frame.getExecBytes().getBytes();
    command->input({reinterpret_cast<const char*>(bytes.begin()), bytes.size()},
                   frame.getExecBytes().getLast());
  } else if (frame.isExecTaken()) {
    command->taken(frame.getExecTaken().getBytes());
  } else if (frame.isExecSize()) {
    command->resize(frame.getExecSize().getRows(), frame.getExecSize().getColumns());
  } else {
    running_.erase(found);
    command->close();
  }
}

}  // namespace nomad::plugin
