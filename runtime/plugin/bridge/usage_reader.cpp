#include "runtime/plugin/bridge/usage_reader.hpp"

#include <utility>

#include "runtime/plugin/bridge/replies.hpp"

namespace nomad::plugin::bridge {
namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds patience = 5s;

}  // namespace

void UsageReader::read(Nanoseconds interval, Then then) {
  if (interval != interval_) close();
  interval_ = interval;
  if (last_ && agent_.now() - last_at_ <= 2 * interval) return then(&*last_, {});
  asked_.push_back(std::move(then));
  if (!stream_) open();
  if (asked_.size() > 1) return;
  agent_.after(patience, [weak = weak_from_this(), wait = ++waits_] {
    const auto self = weak.lock();
    if (!self || self->waits_ != wait || self->asked_.empty()) return;
    if (self->interval_.count() == 0) self->close();
    self->fail({{Errc::timeout, "the driver has not said in time what the task uses"}, true});
  });
}

void UsageReader::open() {
  drivers::TaskStatsRequest request;
  request.set_task_id(task_id_);
  set_duration(*request.mutable_collection_interval(), interval_.count() > 0 ? interval_ : 1s);
  const auto weak = weak_from_this();
  const auto number = ++number_;
  stream_ = AnswerStream<drivers::TaskStatsRequest, drivers::TaskStatsResponse>::open(
      remote_.turns(), std::move(request),
      {.answer =
           [weak, number](const drivers::TaskStatsResponse& response) {
             if (const auto self = weak.lock(); self && self->number_ == number)
               self->take(response.stats());
           },
       .ended =
           [weak, number](const grpc::Status& status) {
             const auto self = weak.lock();
             if (!self || self->number_ != number) return;
             self->stream_.reset();
             self->last_.reset();
             self->fail(status.ok()
                            ? Refusal{{Errc::unavailable,
                                       "the driver has ended what it tells of the task's usage"},
                                      true}
                            : refusal_of("TaskStats", status));
           },
       .next = unhurried(agent_)},
      [this](auto* context, auto* asked, auto* reactor) {
        remote_.driver().async()->TaskStats(context, asked, reactor);
      });
}

void UsageReader::close() {
  ++number_;
  last_.reset();
  if (const auto stream = std::exchange(stream_, nullptr)) stream->cancel();
}

void UsageReader::take(const drivers::TaskStats& usage) {
  last_ = usage;
  last_at_ = agent_.now();
  for (const auto& then : std::exchange(asked_, {}))
    then(&usage, {});
  if (interval_.count() == 0) close();
}

void UsageReader::fail(const Refusal& why) {
  for (const auto& then : std::exchange(asked_, {}))
    then(nullptr, why);
}

void UsageReader::end() {
  close();
  fail({{Errc::not_found, "the task has ended"}, false});
}

}  // namespace nomad::plugin::bridge
