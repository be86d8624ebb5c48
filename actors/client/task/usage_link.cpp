#include "actors/client/task/usage_link.hpp"

#include <utility>

#include "runtime/base/ids.hpp"
#include "runtime/base/log.hpp"

namespace nomad::client {
namespace {

constexpr auto usage_timeout = std::chrono::minutes{1};

void pass_over(const Result<client_api::TaskUsage>& /*usage*/) {}

}  // namespace

void UsageLink::driver_has_run() {
  auto run_id = task_->live_run();
  if (run_id.empty()) return;  // It has ended meanwhile.
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
        if (stream_.listens_to(run_id)) stream_.heard(usage, now());
        known(std::move(usage));
      },
      [known](const driver::Refusal& why) { known(why.error); });
  look_later();
}

void UsageLink::heard(schema::plugin::Notice::Reader notice) {
  const auto run_id = view(notice.getRunId());
  if (task_->live_run() != run_id || !stream_.listens_to(run_id)) return;
  if (notice.isUsage()) return stream_.heard(driver::read_usage(notice.getUsage()), now());
  const auto why = driver::read_failure(notice.getUsageFailed());
  const auto id = task_->id();
  if (why.recoverable) {
    log::debug("client", "task {} of allocation {}: its usage could not be read: {}", id.task,
               short_id(id.alloc_id), why.error.what);
    return;
  }
  log::warn("client", "task {} of allocation {}: its driver can't tell what it uses: {}", id.task,
            short_id(id.alloc_id), why.error.what);
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
