#include "actors/api/http/blocking_read.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "actors/roles/no_leader.hpp"
#include "runtime/base/guard.hpp"
#include "runtime/net/http/error_status.hpp"
#include "runtime/net/http/status.hpp"

namespace nomad::api {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned wait_jitter = 16;  ///< A wait may last this part of it longer.

/// One read on its way to its answer. Shared by whoever may call it on: watch, timer, pool.
class PendingRead : public std::enable_shared_from_this<PendingRead> {
public:
  PendingRead(Call call, ReadOptions options, Read read)
      : call_{std::move(call)},
        ns_{std::move(options.ns)},
        min_index_{options.min_index},
        is_stale_allowed_{options.stale},
        read_{std::move(read)} {
    if (min_index_ != 0) {
      const auto extra = static_cast<std::uint64_t>(options.wait.count()) / wait_jitter;
      end_ = std::min(read_.no_later_than,
                      Clock::now() + options.wait
                          + std::chrono::nanoseconds{context_->random_below(extra + 1)});
    }
  }

  /// Reads by the rights that the caller has now, then answers or waits.
  void attempt() {
    safely([this] {
      auto& authenticator = *context_->authenticator;
      if (authenticator.is_fresh(call_.asking.who)) return read_or_wait();
      if (const auto now = authenticator.at_once(call_.asking.who)) return admit(*now);
      authenticator.resolve(call_.asking.who,
                            call_.turns().callback([self = shared_from_this()](
                                                       const Result<access::Principal>& later) {
                              self->safely([&] { self->admit(later); });
                            }));
    });
  }

private:
  /// Calls `step`; if that throws, this is answered: a read that waits holds itself, so nothing
  /// else would end it.
  template <class Step>
  void safely(Step step) {
    if (guarded("http", step)) return;
    release();
    call_.fail(Error{Errc::internal, "the answer could not be made; the agent's log says why"});
  }

  void admit(const Result<access::Principal>& who) {
    if (who) {
      call_.asking.who = *who;
      read_or_wait();
    } else if (release()) {
      refuse_sender(who.error());
    }
  }

  /// At the first look, the token may have been guessed; one that ended while this waited was not.
  void refuse_sender(const Error& why) {
    if (is_armed_) return call_.fail(why);
    refuse_unknown(std::move(call_), why);
  }

  /// Whatever came between the look and the wait is looked at by the rights of then.
  void read_or_wait() {
    {
      const std::lock_guard lock{guard_};
      if (is_done_) return;
    }
    if (refuse()) return;
    auto snapshot = context_->state.store->snapshot();
    if (!is_new_enough(snapshot)) {
      subscribe();
      snapshot = context_->state.store->snapshot();
    }
    const auto& lease = context_->state.lease;
    if (lease && !is_stale_allowed_ && !lease->holds()) return confirm();
    if (is_new_enough(snapshot)) return answer(snapshot);
    if (!wait()) resume();
  }

  /// The namespace of the query, as Nomad judges it; whatever is found is judged by its own. What
  /// is of none, as the route judged it.
  bool refuse() {
    const auto needed = call_.asking.needed;
    if (!access::is_namespaced(needed)) return refuse_by_route();
    if (needed == Capability::any_in_namespace) return false;
    if (read_.by_object) return refuse_without_any(needed);
    // Variables are of paths; a list shows those that are the caller's, if any are. Limits know
    // none.
    if (needed == Capability::variables_list && call_.asking.who.limits() == nullptr) return false;
    const auto path = read_.path ? std::string_view{*read_.path} : std::string_view{};
    const bool is_allowed
        = ns_ == "*" ? has_somewhere(needed) : authorize(call_.asking, {ns_, path}).has_value();
    if (!is_allowed && release()) call_.fail(refusal({ns_, path}));
    return !is_allowed;
  }

  /// Who may see none of any namespace hears the same of what there is and of what there is not.
  bool refuse_without_any(Capability needed) {
    const bool has_any = authorize(call_.asking, {ns_}).has_value() || has_somewhere(needed);
    if (!has_any && release()) call_.fail(refusal({ns_}));
    return !has_any;
  }

  bool refuse_by_route() {
    if (call_.handler_judges) return false;
    auto allowed = authorize(call_.asking, call_.route_target());
    if (allowed && read_.also != Capability::none)
      allowed = authorize(call_.asking.who, read_.also, {});
    if (!allowed && release()) call_.fail(allowed.error());
    return !allowed;
  }

  /// In the caller's own words, where he is kept to something.
  Error refusal(const access::Target& target) const {
    const auto allowed = authorize(call_.asking, target);
    return allowed ? access::permission_denied() : allowed.error();
  }

  /// Of lists of jobs and what belongs to them, and of volumes; others of all namespaces are empty
  /// for who has nothing.
  bool has_somewhere(Capability needed) const {
    constexpr auto judged = access::bit(Capability::list_jobs) | access::bit(Capability::read_job)
                            | access::bit(Capability::csi_list_volume);
    if ((judged & access::bit(needed)) == 0) return true;
    bool has = false;
    const auto snapshot = context_->state.store->snapshot();
    for (auto cursor = snapshot.rows<state::kind::Namespaces>().lower_bound("");
         cursor.valid() && !has; cursor.next())
      has = authorize(call_.asking, {cursor.key()}).has_value();
    return has;
  }

  /// What `look(view)` makes of the state as this caller may see it.
  template <class Look>
  auto seen(const state::Snapshot& snapshot, const Look& look) const {
    access::Verdicts verdicts{call_.asking.who};
    return look(View{snapshot, verdicts, call_.asking.needed});
  }

  bool is_new_enough(const state::Snapshot& snapshot) {
    if (min_index_ == 0 || seen(snapshot, read_.index) > min_index_ || Clock::now() >= end_)
      return true;
    return read_.is_over && seen(snapshot, read_.is_over);
  }

  /// Must happen before the snapshot is taken, or a change in between would be missed.
  void subscribe() {
    {
      const std::lock_guard lock{guard_};
      is_stale_ = false;
    }
    auto subscription = context_->state.store->watches().subscribe(
        read_.watch, [self = shared_from_this()] { self->wake(); });
    const std::lock_guard lock{guard_};
    if (!is_done_) std::swap(subscription_, subscription);
  }

  /// Called by the watch on the thread that applies, and by the timer.
  void wake() {
    {
      const std::lock_guard lock{guard_};
      is_stale_ = true;
      if (!std::exchange(is_waiting_, false)) return;
    }
    resume();
  }

  void resume() {
    call_.turns().post([self = shared_from_this()] { self->attempt(); });
  }

  /// Lets go of the thread until `wake`; false when that came already, or nothing would bring it.
  bool wait() {
    if (!std::exchange(is_armed_, true)) {
      timer_ = context_->timers.call_after(end_ - Clock::now(),
                                           [self = shared_from_this()] { self->wake(); });
      call_.responder.on_abandoned([self = shared_from_this()] { self->abandon(); });
      rights_ = context_->rights_watch.watch(call_.asking.who, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->wake();
      });
    }
    const std::lock_guard lock{guard_};
    if (is_done_) return true;
    if (is_stale_) return false;
    is_waiting_ = true;
    return true;
  }

  void abandon() {
    if (release()) call_.fail(Error{Errc::cancelled, "the client went away"});
  }

  /// Ends what could still call; nothing happens to this read any more. False when it had ended.
  bool release() {
    state::Watches::Subscription ended;
    {
      const std::lock_guard lock{guard_};
      if (std::exchange(is_done_, true)) return false;
      std::swap(ended, subscription_);
    }
    if (timer_) context_->timers.cancel(timer_);
    return true;
  }

  /// Without the lease only a quorum knows whether this state is the newest.
  void confirm() {
    context_->asker.ask<raft::ReadReady>(
        context_->state.raft, raft::ReadIndex{}, ask_timeout,
        [self = shared_from_this()](const Result<raft::ReadReady>& ready) {
          self->safely([&] { self->confirmed(ready.has_value()); });
        });
  }

  void confirmed(bool is_newest) {
    if (!is_newest) {
      if (release()) call_.fail(no_leader());
      return;
    }
    // The index took its time: what he might do before it may be his no more.
    if (!context_->authenticator->is_fresh(call_.asking.who)) return attempt();
    const auto snapshot = context_->state.store->snapshot();
    if (is_new_enough(snapshot))
      answer(snapshot);
    else if (!wait())
      resume();
  }

  void answer(const state::Snapshot& snapshot) {
    const auto is_heavy = [&](const View& view) { return read_.is_heavy && read_.is_heavy(view); };
    if (seen(snapshot, [this](const View& view) { return answer_from_cache(view); })) return;
    if (!seen(snapshot, is_heavy)) return answer_here(snapshot);
    std::function<void()> job = [self = shared_from_this(), snapshot] {
      self->safely([&] { self->answer_here(snapshot); });
    };
    if (!context_->pool.submit(job) && release()) call_.fail(too_many_queries());
  }

  /// What a rendering is kept under. A restore brings back objects with the indexes that they had,
  /// which others may have had here before, but puts every table's index beyond all of those.
  std::uint64_t version(const View& view) const {
    const auto index = read_.version ? read_.version(view) : read_.index(view);
    return std::max(index, view.least_index());
  }

  bool answer_from_cache(const View& view) {
    if (!read_.cacheable) return false;
    const auto kept = context_->cache.find(call_.request().target, version(view),
                                           call_.request().accepts_gzip(), call_.asking.who);
    if (!kept) return false;
    Answer answer;
    answer.shared_body = kept->body;
    answer.shared_gzip = kept->gzip;
    answer.next_token = kept->next_token;
    send(std::move(answer), read_.index(view));
    return true;
  }

  void answer_here(const state::Snapshot& snapshot) {
    access::Verdicts verdicts{call_.asking.who};
    const View view{snapshot, verdicts, call_.asking.needed};
    const auto index = read_.index(view);
    Early early{*this, index};
    auto answer = read_.list ? read_.list(view, may_begin_early(view) ? &early : nullptr)
                             : read_.answer(view);
    if (early.has_begun()) {
      if (read_.cacheable)
        context_->cache.note(call_.request().target, version(view),
                             early.bytes() + answer.body.size());
      return early.end(std::move(answer));
    }
    if (read_.cacheable && answer.status == net::status::ok)
      if (auto kept = context_->cache.offer(call_.request().target, version(view), answer.body,
                                            answer.next_token, verdicts.all()))
        answer.shared_body = kept->body;
    send(std::move(answer), index);
  }

  /// The list's body on its way to the client from its first piece on.
  class Early final : public EarlyBody {
  public:
    Early(PendingRead& read, std::uint64_t index) : read_{read}, index_{index} {}

    /// What an exception ended is no whole body.
    ~Early() override { body_.abort(); }

    bool send(std::string piece) override {
      if (!has_begun_) {
        has_begun_ = true;
        if (!read_.release()) return false;
        Answer head = Answer::json({});
        read_.tell_of_state(head, index_);
        body_ = read_.call_.stream(std::move(head));
      }
      bytes_ += piece.size();
      return body_.give(std::move(piece));
    }

    bool has_begun() const { return has_begun_; }

    std::size_t bytes() const { return bytes_; }

    /// The client sees it break off if there is an error in the place of the rest.
    void end(Answer last) {
      if (last.status == net::status::ok) {
        body_.give(std::move(last.body));
        body_.close();
      } else {
        body_.abort();
      }
      read_.call_.note_time();
    }

  private:
    PendingRead& read_;
    const std::uint64_t index_;
    bool has_begun_ = false;
    std::size_t bytes_ = 0;
    net::BodyStream body_;
  };

  /// What will be kept is made as a whole.
  bool may_begin_early(const View& view) const {
    return call_.responder.takes_pieces() && !call_.request().parameter("pretty")
           && !(read_.cacheable && context_->cache.wants(call_.request().target, version(view)));
  }

  void send(Answer answer, std::uint64_t index) {
    if (!release()) return;
    if (answer.status == net::http_status(Errc::permission_denied))
      return call_.send(std::move(answer));  // the index is not for him either
    tell_of_state(answer, index);
    call_.send(std::move(answer));
  }

  void tell_of_state(Answer& answer, std::uint64_t index) const {
    answer.index = index;
    answer.is_read = true;
    if (const auto& leader = context_->state.leader; leader && is_stale_allowed_) {
      answer.known_leader = !leader->known().leader.empty();
      answer.last_contact
          = std::chrono::duration_cast<std::chrono::milliseconds>(leader->last_contact());
    }
  }

  Call call_;
  const std::shared_ptr<Context> context_{call_.context};  ///< Also once the call went elsewhere.
  // Of the options what is needed while it waits.
  const std::string ns_;
  const std::uint64_t min_index_;
  const bool is_stale_allowed_;
  const Read read_;
  Clock::time_point end_;
  bool is_armed_ = false;
  net::TimerQueue::Id timer_;
  RightsWatch::Watching rights_;

  std::mutex guard_;
  state::Watches::Subscription subscription_;
  bool is_waiting_ = false;
  bool is_stale_ = true;  ///< What was read last may have changed, and nobody watches it.
  bool is_done_ = false;
};

}  // namespace

Outcome read_state(Call& call, const std::function<Result<Read>(const ReadOptions&)>& make) {
  auto options = NOMAD_TRY(parse_read_options(call.request()));
  if (!options.region.empty() && options.region != call.context->region)
    return bad_request("No path to region");
  if (!call.context->state.store) return no_leader();
  auto read = NOMAD_TRY(make(options));
  std::make_shared<PendingRead>(std::move(call), std::move(options), std::move(read))->attempt();
  return later;
}

}  // namespace nomad::api
