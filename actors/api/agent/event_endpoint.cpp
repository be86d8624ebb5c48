// /v1/event/stream: what changes, as newline-delimited JSON, one line per index; as a websocket, if
// that is asked for (websocket_stream.hpp), a message per line.
//
// A subscriber remembers the index up to which it has read the buffer. Whenever there is more and
// its client keeps up, a pool thread writes the next batches. One that falls behind the buffer is
// told so and ended, because it must not go on as if it had seen everything. A subscriber must have
// what his topics need when he comes, and each event is judged by its own namespace when it goes.
#include <algorithm>
#include <array>
#include <charconv>
#include <mutex>
#include <optional>

#include "actors/api/allocs/alloc_json.hpp"
#include "actors/api/cluster/node_json.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/routes.hpp"
#include "actors/api/http/websocket_stream.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/access/verdicts.hpp"
#include "runtime/base/guard.hpp"
#include "runtime/base/overloaded.hpp"

namespace nomad::api {
namespace {

using state::Event;

constexpr std::chrono::seconds event_heartbeat{30};
constexpr std::size_t batches_at_once = 16;
constexpr std::size_t enough_queued = 1024 * 1024;

/// What subscribers need for the events of a topic.
Capability needed_for(std::string_view topic) {
  constexpr std::array of_jobs = std::to_array<std::string_view>(
      {"Job", "Evaluation", "Allocation", "Deployment", "Service"});
  if (std::ranges::find(of_jobs, topic) != of_jobs.end()) return Capability::read_job;
  if (topic == "Node") return Capability::node_read;
  if (topic == "CSIVolume") return Capability::csi_read_volume;
  return Capability::management;
}

/// "Job:web": everything of a topic, or what a key names.
struct TopicFilter {
  std::string topic;
  std::string key;

  bool fits(const Event& event) const {
    if (topic != "*" && topic != event.topic()) return false;
    if (key == "*" || key == event.key()) return true;
    for (const auto other : event.filter_keys())
      if (other == key) return true;
    return false;
  }
};

Result<std::vector<TopicFilter>> parse_topics(const net::Request& request) {
  std::vector<TopicFilter> topics;
  for (const auto& [name, value] : request.query) {
    if (name != "topic") continue;
    const auto colon = value.find(':');
    if (colon != std::string::npos && value.find(':', colon + 1) != std::string::npos)
      return Error{Errc::invalid_argument,
                   "Invalid topic query: error parsing topics: Invalid key value pair for topic, "
                   "topic: "
                       + value};
    topics.push_back(
        {value.substr(0, colon), colon == std::string::npos ? "*" : value.substr(colon + 1)});
  }
  if (topics.empty()) topics.push_back({"*", "*"});
  return topics;
}

Result<std::uint64_t> parse_index(const net::Request& request) {
  const auto text = request.parameter_or_empty("index");
  if (text.empty()) return 0;
  std::int64_t index = 0;
  const auto* end = text.data() + text.size();
  const auto [stopped, failure] = std::from_chars(text.data(), end, index);
  if (failure != std::errc{} || stopped != end)
    return Error{Errc::invalid_argument, "Unable to parse index: strconv.Atoi: parsing \""
                                             + std::string{text} + "\": invalid syntax"};
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, index));
}

/// Why a placed allocation is where it is: its metrics stand beside it in the state, and are told
/// as long as it does.
Object<schema::AllocMetric> metrics_of(const state::Snapshot& state, AllocView alloc) {
  const auto row = state.alloc(alloc.id());
  const bool is_same = row && row->alloc->eval_id() == alloc.eval_id()
                       && row->alloc->metric_number() == alloc.metric_number();
  return is_same ? row->metric : Object<schema::AllocMetric>{};
}

void append_event(std::string& out,
                  const state::Snapshot& state,
                  const Event& event,
                  std::uint64_t index) {
  JsonObject object{out};
  const auto keys = event.filter_keys();
  if (keys.empty())
    object.null("FilterKeys");
  else
    append_json_texts(object.raw("FilterKeys"), keys);
  object.number("Index", index).text("Key", event.key()).text("Namespace", event.ns());
  {
    JsonObject payload{object.raw("Payload")};
    const auto topic = event.topic();
    auto& shown = payload.raw(topic == "ACLAuthMethod" ? "AuthMethod" : topic);
    std::visit(Overloaded{[&](const Object<schema::Allocation>& alloc) {
                            append_event_alloc(shown, alloc.reader(), metrics_of(state, *alloc),
                                               signing_key_of(state, *alloc));
                          },
                          [&](const Object<schema::Node>& node) { append_node(shown, *node); },
                          [&](const auto& other) { append_json(shown, other); }},
               event.payload);
  }
  object.text("Topic", event.topic()).text("Type", event.type);
}

/// Whether `who` may follow such events of a namespace.
Result<> may_follow(const access::Principal& who,
                    const std::vector<TopicFilter>& topics,
                    std::string_view ns) {
  for (const auto& filter : topics) {
    const auto needed = needed_for(filter.topic);
    NOMAD_TRY(authorize(who, needed, {.ns = access::is_namespaced(needed) ? ns : ""}));
  }
  return {};
}

/// One client of the stream. Shared by whoever may wake it.
class Subscriber : public std::enable_shared_from_this<Subscriber> {
public:
  Subscriber(Call call,
             net::BodyStream body,
             std::vector<TopicFilter> topics,
             std::string ns,
             std::uint64_t index)
      : context_{call.context},
        events_{context_->state.store->events()},
        who_{call.asking.who},
        call_{std::move(call)},
        body_{std::move(body)},
        topics_{std::move(topics)},
        ns_{std::move(ns)},
        after_{events_.start_at(index)} {}

  void start() {
    body_.on_abandoned([self = shared_from_this()] { self->end(); });
    rights_ = context_->rights_watch.watch(who_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->schedule();
    });
    send("{}\n");
    beat_later();
    schedule();
  }

private:
  /// Has the pool write what there is; once at a time. What throws ends the stream, which could not
  /// go on without what it leaves out.
  void schedule() {
    {
      const std::lock_guard lock{guard_};
      if (is_done_ || std::exchange(is_scheduled_, true)) return;
    }
    submit([self = shared_from_this()] { self->pump(); });
  }

  void submit(const std::function<void()>& step) {
    std::function<void()> job = [self = shared_from_this(), step] {
      if (!guarded("http", step)) self->end(false);
    };
    if (!context_->pool.submit(job))
      context_->timers.call_after(std::chrono::milliseconds{50}, std::move(job));
  }

  /// Sees to the rights first, which may have changed since the last time; who may not follow what
  /// he follows any more, or is nobody by now, has seen the last of it.
  void pump() {
    {
      const std::lock_guard lock{guard_};
      if (is_done_) return;
    }
    auto& authenticator = *context_->authenticator;
    if (authenticator.is_fresh(who_)) return send_news();
    authenticator.resolve(who_, [self = shared_from_this()](Result<access::Principal> who) {
      if (!who && who.error().code == Errc::overloaded) return self->pump_later();
      if (!who) return self->refuse(who.error());
      if (const auto allowed = may_follow(*who, self->topics_, self->ns_); !allowed)
        return self->refuse(allowed.error());
      {
        const std::lock_guard lock{self->guard_};
        self->who_ = std::move(*who);
      }
      self->submit([self] { self->send_news(); });
    });
  }

  /// Nobody had time to say what his rights are.
  void pump_later() {
    context_->timers.call_after(RightsWatch::look_again_after, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->submit([self] { self->pump(); });
    });
  }

  void send_news() {
    {
      const std::lock_guard lock{guard_};
      if (is_done_) return;
    }
    const auto page = events_.read_after(after_, batches_at_once);
    if (!page) {
      send("event stream: the subscriber was too slow and lost events; subscribe again\n");
      end();
      return;
    }
    for (const auto& batch : page->batches)
      if (const auto line = render(*batch); !line.empty() && !send(line)) return end(false);
    after_ = page->next_after;
    {
      const std::lock_guard lock{guard_};
      is_scheduled_ = false;
    }
    if (queued() > enough_queued)
      wait_for_client();
    else
      wait_for_events();
  }

  void wait_for_events() {
    const auto waiter = events_.wait(after_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->schedule();
    });
    const std::lock_guard lock{guard_};
    // One that waits for the same is left by a look at the rights; it is the older one, even if
    // what came meanwhile has another thread here before this one.
    if (const auto older = std::min(waiter_, waiter); older != 0) events_.forget(older);
    waiter_ = std::max(waiter_, waiter);
    if (is_done_ && waiter_ != 0) events_.forget(waiter_);
  }

  /// An empty piece is drained when everything before it is.
  void wait_for_client() {
    bool taken = false;
    {
      const std::lock_guard lock{guard_};
      taken = body_.write({}, [self = shared_from_this()] { self->schedule(); });
    }
    if (!taken) end(false);
  }

  /// The line of a batch; "" when nothing in it is wanted.
  std::string render(const state::Store::Events::Batch& batch) const {
    access::Verdicts verdicts{who_};
    const auto state = context_->state.store->snapshot();
    std::string out = "{\"Events\":[";
    bool is_first = true;
    for (const auto& event : batch.events) {
      if (!wants(event) || !verdicts.judge(needed_for(event.topic()), event.ns())) continue;
      if (!is_first) out += ',';
      is_first = false;
      append_event(out, state, event, batch.index);
    }
    if (is_first) return {};
    return out + "],\"Index\":" + std::to_string(batch.index) + "}\n";
  }

  bool wants(const Event& event) const {
    const auto ns = event.ns();
    if (!ns.empty() && ns_ != "*" && ns != ns_) return false;
    return std::any_of(topics_.begin(), topics_.end(),
                       [&event](const TopicFilter& filter) { return filter.fits(event); });
  }

  bool send(std::string_view text) {
    const std::lock_guard lock{guard_};
    return body_.write(text);
  }

  std::size_t queued() {
    const std::lock_guard lock{guard_};
    return body_.queued();
  }

  void beat_later() {
    context_->timers.call_after(event_heartbeat, [weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      if (!self->send("{}\n")) return self->end(false);
      self->beat_later();
    });
  }

  void end(bool properly = true) {
    if (auto ended = let_go(); ended && !properly) ended->body.abort();
  }

  void refuse(const Error& why) {
    if (auto ended = let_go()) break_off(ended->call, ended->body, why);
  }

  struct Ended {
    Call call;
    net::BodyStream body;
  };

  /// What it was answered by, once: whose exchange holds this until it is abandoned or over.
  std::optional<Ended> let_go() {
    std::optional<Ended> ended;
    std::uint64_t waiter = 0;
    {
      const std::lock_guard lock{guard_};
      if (std::exchange(is_done_, true)) return ended;
      ended.emplace(Ended{std::move(call_), std::move(body_)});
      waiter = waiter_;
    }
    if (waiter != 0) events_.forget(waiter);
    return ended;
  }

  std::shared_ptr<Context> context_;
  state::Store::Events& events_;
  std::mutex guard_;
  access::Principal who_;  ///< Changed by `pump` alone, under the lock.
  Call call_;
  net::BodyStream body_;
  const std::vector<TopicFilter> topics_;
  const std::string ns_;
  std::uint64_t after_;  ///< Only `pump` uses it, one at a time.
  std::uint64_t waiter_ = 0;
  RightsWatch::Watching rights_;
  bool is_scheduled_ = false;
  bool is_done_ = false;
};

Outcome stream_events(Call& call) {
  const auto index = NOMAD_TRY(parse_index(call.request()));
  auto topics = NOMAD_TRY(parse_topics(call.request()));
  const auto options = NOMAD_TRY(parse_read_options([&] {
    net::Request plain;  // `index` means something else here
    for (const auto& [name, value] : call.request().query)
      if (name != "index") plain.query.emplace_back(name, value);
    return plain;
  }()));
  NOMAD_TRY(may_follow(call.asking.who, topics, options.ns));
  if (!call.context->state.store) return no_leader();
  auto body = call.responder.stream(
      {.content_type = "application/json", .headers = {{"Cache-Control", "no-cache"}}});
  std::make_shared<Subscriber>(std::move(call), std::move(body), std::move(topics), options.ns,
                               index)
      ->start();
  return later;
}

Outcome event_stream(Call& call) {
  return stream_as_asked(call, stream_events);
}

}  // namespace

void add_event_routes(Routes& routes) {
  routes.exact("/v1/event/stream",
               {{Methods::get, Capability::any_in_namespace, event_stream, Where::server}});
}

}  // namespace nomad::api
