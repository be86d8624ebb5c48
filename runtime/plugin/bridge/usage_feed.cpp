#include "runtime/plugin/bridge/usage_feed.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/plugin/bridge/replies.hpp"
#include "runtime/plugin/bridge/task_objects.hpp"

namespace nomad::plugin::bridge {
namespace {

using namespace std::chrono_literals;

constexpr Nanoseconds shortest_interval = 500ms;
constexpr Nanoseconds longest_interval = 1h;
constexpr Nanoseconds patience = 5s;

void answer(const DriverReply& reply, const drivers::TaskStats& usage) {
  reply(FillAnswer{
      [&usage](schema::plugin::DriverAnswer::Builder to) { fill_usage(to.initUsage(), usage); }});
}

}  // namespace

void UsageFeed::ask(Nanoseconds interval, const DriverReply& reply) {
  const auto wanted = interval.count() == 0
                          ? Nanoseconds{0}
                          : std::clamp(interval, shortest_interval, longest_interval);
  const bool is_fresh
      = last_ && interval_ == wanted && wanted.count() > 0 && host_.now() - last_at_ <= 2 * wanted;
  if (is_fresh && stream_) return answer(reply, *last_);
  asked_.push_back(reply);
  if (stream_ && interval_ == wanted && wanted.count() > 0) return;  // its first one is to come
  interval_ = wanted;
  open(wanted.count() > 0 ? wanted : 1s);
}

void UsageFeed::open(Nanoseconds interval) {
  close();
  drivers::TaskStatsRequest request;
  request.set_task_id(task_id_);
  set_duration(*request.mutable_collection_interval(), interval);
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
             if (const auto self = weak.lock(); self && self->number_ == number)
               self->ended(status);
           },
       .next = unhurried(host_)},
      [this](auto* context, auto* asked, auto* reactor) {
        remote_.driver().async()->TaskStats(context, asked, reactor);
      });
  if (asked_.empty()) return;
  host_.after(patience, [weak, number] {
    const auto self = weak.lock();
    if (!self || self->number_ != number || self->asked_.empty()) return;
    for (const auto& reply : std::exchange(self->asked_, {}))
      refuse(reply, {{Errc::timeout, "the driver has not said in time what the task uses"}, true});
    if (self->interval_.count() == 0) self->close();
  });
}

void UsageFeed::close() {
  ++number_;
  if (const auto stream = std::exchange(stream_, nullptr)) stream->cancel();
}

void UsageFeed::take(const drivers::TaskStats& usage) {
  last_ = usage;
  last_at_ = host_.now();
  const auto asked = std::exchange(asked_, {});
  for (const auto& reply : asked)
    answer(reply, usage);
  if (interval_.count() == 0)
    close();
  else if (asked.empty())  // an answer is told already
    told_.usage(usage);
}

void UsageFeed::ended(const grpc::Status& status) {
  stream_.reset();
  // One that ends in order has nothing more to say: the task's end is to come.
  if (status.ok() && asked_.empty()) return;
  fail(status.ok()
           ? Refusal{{Errc::unavailable, "the driver has ended what it tells of the task's usage"},
                     true}
           : refusal_of("TaskStats", status));
}

void UsageFeed::fail(const Refusal& why) {
  const auto asked = std::exchange(asked_, {});
  for (const auto& reply : asked)
    refuse(reply, why);
  if (interval_.count() == 0) return;
  if (asked.empty()) told_.failed(why);
  if (!why.recoverable) {
    interval_ = Nanoseconds{0};
    return;
  }
  host_.after(interval_, [weak = weak_from_this(), number = number_] {
    const auto self = weak.lock();
    if (self && self->number_ == number && !self->stream_ && self->interval_.count() > 0)
      self->open(self->interval_);
  });
}

void UsageFeed::end() {
  interval_ = Nanoseconds{0};
  close();
  for (const auto& reply : std::exchange(asked_, {}))
    refuse(reply, {{Errc::not_found, "the task has ended"}, false});
}

}  // namespace nomad::plugin::bridge
