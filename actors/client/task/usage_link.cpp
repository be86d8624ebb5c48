#include "actors/client/task/usage_link.hpp"

#include <utility>

#include <fmt/format.h>

#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"

namespace nomad::client {
namespace {

constexpr auto usage_timeout = std::chrono::minutes{1};

void pass_over(const Result<client_api::TaskUsage>& /*usage*/) {}

/// What is kept of it. Resident memory, where the driver knows that: what caches hold can be had
/// back.
workload::UsageSample sample_of(const client_api::TaskUsage& usage) {
  const auto memory = usage.memory.rss != 0 ? usage.memory.rss : usage.memory.usage;
  return {.cpu_mhz = usage.cpu.total_ticks,
          .memory = static_cast<double>(memory),
          .network = usage.network};
}

}  // namespace

void UsageLink::driver_has_run() {
  auto run_id = task_->live_run();
  if (run_id.empty()) return;  // It has ended meanwhile.
  const auto run = std::hash<std::string>{}(run_id);
  if (std::exchange(run_, run) != run && history_) history_->restarted(now());
  stream_.run_is(std::move(run_id));
  if (stream_.is_to_begin(now())) ask(pass_over);
}

void UsageLink::read(const Known& known) {
  if (task_->live_run().empty()) return known(Error{Errc::not_found, "Task not running"});
  stream_.asked(now());
  if (stream_.failure()) return known(*stream_.failure());
  if (const auto* const newest = stream_.newest(now()))
    return known(client_api::TaskUsage{*newest});
  ask(known);
}

/// Begins or ends the stream besides, as it is wanted.
void UsageLink::ask(const Known& known) {
  link_->ask_once(
      driver::task_stats(task_->id(), stream_.take_interval(now())), usage_timeout,
      driver::DriverAnswer::USAGE,
      [this, known, run_id = task_->live_run()](driver::Answered& answer) {
        auto usage = driver::read_usage(answer.answer->getUsage());
        heard(run_id, usage);
        known(std::move(usage));
      },
      [known](const driver::Refusal& why) { known(why.error); });
  look_later();
}

void UsageLink::heard(const std::string& run_id, client_api::TaskUsage usage) {
  if (!stream_.listens_to(run_id)) return;
  if (keeps_) {
    if (!history_) history_ = std::make_shared<workload::UsageHistory>();
    history_->add(sample_of(usage), now());
  }
  stream_.heard(std::move(usage), now());
}

void UsageLink::heard(schema::plugin::Notice::Reader notice) {
  const auto run_id = copy(notice.getRunId());
  if (task_->live_run() != run_id || !stream_.listens_to(run_id)) return;
  if (notice.isUsage()) return heard(run_id, driver::read_usage(notice.getUsage()));
  const auto why = driver::read_failure(notice.getUsageFailed());
  const auto id = task_->id();
  if (why.recoverable) {
    log::debug("client", "the usage of a task could not be read",
               {{"alloc", id.alloc_id}, {"task", id.task}, {"error", why.error}});
    return;
  }
  const auto level = stream_.is_wanted_often(now()) ? log::Level::warn : log::Level::debug;
  log::write(level, "client", "the driver can't tell what a task uses",
             {{"alloc", id.alloc_id}, {"task", id.task}, {"error", why.error}});
  stream_.failed(why.error);
}

void UsageLink::look_later() {
  const auto delay = stream_.look_in(now());
  if (!delay || std::exchange(looks_, true)) return;
  self_->send_mail_after(*delay, actor::Mail::of(LookDue{}));
}

void UsageLink::look_due() {
  looks_ = false;
  if (task_->live_run().empty()) return;  // The stream has ended with it.
  if (stream_.is_to_end(now()))
    ask(pass_over);
  else
    look_later();
}

}  // namespace nomad::client
