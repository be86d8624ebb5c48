#include "actors/api/jobs/job_logs.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <tuple>

#include "actors/api/allocs/alloc_endpoint.hpp"
#include "actors/api/allocs/line_query.hpp"
#include "actors/api/forward/dispatch.hpp"
#include "actors/api/forward/inner_exchange.hpp"
#include "actors/api/http/json_out.hpp"
#include "actors/api/http/websocket_stream.hpp"
#include "actors/roles/no_leader.hpp"
#include "runtime/base/text.hpp"
#include "runtime/cluster/logs/line_merge.hpp"
#include "runtime/net/http/status.hpp"
#include "runtime/object/flat_json.hpp"

namespace nomad::api {
namespace {

using namespace std::chrono_literals;
using cluster::LineMerge;

constexpr std::size_t lines_enough_queued = 512 * 1024;
constexpr std::size_t taken_at_once = 64 * 1024;
constexpr std::size_t longest_frame = 512 * 1024;  ///< Of a line with all of its bytes escaped.
constexpr int rounds_at_once = 8;
constexpr auto tick_interval = 1s;
constexpr int quiet_ticks = 10;   ///< Then the client hears that it goes on.
constexpr int patient_ticks = 3;  ///< With a log for whose lines all others wait.
constexpr std::size_t most_logs_ever = 10'000;
constexpr std::size_t most_waiting_bytes = JobLogsParts::most_logs * LineMerge::most_waiting_bytes;

/// A task's output.
struct LogId {
  std::string alloc_id;
  std::string task;
  std::string type;

  auto operator<=>(const LogId&) const = default;
};

struct LogOf {
  LogId id;
  std::string alloc_name;
  std::int64_t begun = 0;   ///< When the task began, in Unix nanoseconds.
  bool is_of_past = false;  ///< It was there at the first look.
};

/// What is asked for.
struct JobLogsQuery {
  std::string ns;
  std::string job;
  std::string task;  ///< Empty: all.
  std::vector<std::string> types;
  LineQuery lines;
};

Result<std::vector<std::string>> types_of(std::string_view type) {
  if (type.empty() || type == "stdout") return std::vector<std::string>{"stdout"};
  if (type == "stderr") return std::vector<std::string>{"stderr"};
  if (type == "all") return std::vector<std::string>{"stdout", "stderr"};
  return bad_request("type must be stdout, stderr or all, not \"" + std::string{type} + '"');
}

/// What is read of the job's logs now, the likeliest to be wanted first.
std::vector<LogOf> logs_of(const state::Snapshot& snapshot, const JobLogsQuery& query) {
  std::vector<state::AllocRef> rows;
  for (const auto& entry : snapshot.allocs_by_job(query.ns, query.job))
    rows.push_back(entry.value());
  std::ranges::sort(rows, [](const state::AllocRef& a, const state::AllocRef& b) {
    const auto rank = [](const state::AllocRef& row) {
      return std::tuple{row->alloc->is_client_terminal(), ~row->alloc->create_index(),
                        row->alloc->id()};
    };
    return rank(a) < rank(b);
  });
  std::vector<LogOf> logs;
  for (const auto& row : rows)
    for (const auto entry : row->alloc->task_states()) {
      const auto begun = entry.getValue().getStartedAt();
      if (begun <= 0 || (!query.task.empty() && view(entry.getKey()) != query.task)) continue;
      for (const auto& type : query.types)
        logs.push_back({.id = {std::string{row->alloc->id()}, copy(entry.getKey()), type},
                        .alloc_name = std::string{row->alloc->name()},
                        .begun = begun});
    }
  return logs;
}

/// Nothing runs, and nothing will without another order.
bool has_ended(const state::Snapshot& snapshot, const JobLogsQuery& query) {
  for (const auto& entry : snapshot.allocs_by_job(query.ns, query.job))
    if (!entry.value()->alloc->is_client_terminal()) return false;
  const auto job = snapshot.job(query.ns, query.job);
  return !job || job->getStop() || view(job->getStatus()) == "dead";
}

void append_labels(JsonObject& to, const LogOf& log) {
  to.text("AllocID", log.id.alloc_id)
      .text("AllocName", log.alloc_name)
      .text("Task", log.id.task)
      .text("Type", log.id.type);
}

void append_escaped(std::string& to, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')
                          || c == '-' || c == '_' || c == '.' || c == '~';
    if (is_plain)
      to += c;
    else
      to += fmt::format("%{:02X}", byte);
  }
}

/// A parameter of a node's request.
void add_parameter(net::Request& request, std::string_view name, std::string_view value) {
  request.target += request.query.empty() ? '?' : '&';
  request.target.append(name) += '=';
  append_escaped(request.target, value);
  request.query.emplace_back(name, value);
}

class JobLogs : public std::enable_shared_from_this<JobLogs> {
public:
  JobLogs(Call call, const JobLogsParts& parts, JobLogsQuery query)
      : context_{call.context},
        parts_{parts},
        call_{std::move(call)},
        query_{std::move(query)},
        merge_{query_.lines.tail} {}

  JobLogs(const JobLogs&) = delete;

  ~JobLogs() { --*parts_.streams; }

  void start() {
    turns_.post([self = shared_from_this()] { self->begin(); });
  }

private:
  struct Log {
    LogOf of;
    std::shared_ptr<InnerExchange> exchange;  ///< Null: it is over.
    std::string partial{};                    ///< Of a frame that has not ended.
    int awaited_ticks = 0;
  };

  template <class Action>
  auto in_turn(Action action) {
    return turns_.callback([weak = weak_from_this(), action](auto&&... given) {
      if (const auto self = weak.lock()) action(*self, std::forward<decltype(given)>(given)...);
    });
  }

  void begin() {
    body_ = call_.responder.stream(
        {.content_type = "application/x-ndjson",
         .headers = {{"Cache-Control", "no-cache"}, {"X-Content-Type-Options", "nosniff"}}});
    itself_ = shared_from_this();
    body_.on_abandoned(in_turn([](JobLogs& self) { self.end(); }));
    rights_ = context_->rights_watch.keep(
        call_.asking.who,
        [ns = query_.ns](const access::Principal& who) -> Result<> {
          NOMAD_TRY(authorize(who, Capability::read_logs, {ns}));
          return {};
        },
        in_turn([](JobLogs& self, const Error& why) { self.refuse(why); }));
    look();
    tick_later();
    pump();
  }

  // -- which logs

  /// Opens those that are not known yet, or has them wait for one to end. With the next tick it is
  /// done again if there may be others: a look sees all of the job's allocations.
  void look() {
    if (is_done_) return;
    const auto key = state::join_key(query_.ns, query_.job);
    if (query_.lines.follow)
      subscription_ = context_->state.store->watches().subscribe(
          {state::watch_key(state::Table::allocs_by_job, key),
           state::watch_key(state::Table::jobs, key)},
          in_turn([](JobLogs& self) { self.look_is_due_ = true; }));
    const auto snapshot = context_->state.store->snapshot();
    job_has_ended_ = has_ended(snapshot, query_);
    std::vector<LogOf> found;
    std::size_t left_out = 0;
    for (auto& log : logs_of(snapshot, query_)) {
      if (known_.contains(log.id)) continue;
      if (known_.size() >= most_logs_ever) {
        ++left_out;
        continue;
      }
      known_.insert(log.id);
      log.is_of_past = is_first_look_;
      found.push_back(std::move(log));
    }
    // What is new is likelier to be wanted than what has been waiting.
    waiting_.insert(waiting_.begin(), std::make_move_iterator(found.begin()),
                    std::make_move_iterator(found.end()));
    open_waiting();
    tell_left_out(left_out);
    is_first_look_ = false;
  }

  /// Once. What waits is read in the end where nothing is followed.
  void tell_left_out(std::size_t left_out) {
    if (query_.lines.follow) left_out += waiting_.size();
    if (left_out == 0 || std::exchange(tells_left_out_, true)) return;
    send_error(nullptr,
               fmt::format("{} logs are read at once, {} others are left out: name a task, "
                           "or read those by `alloc logs`",
                           JobLogsParts::most_logs, left_out));
  }

  /// As many as are read at once; none while too much waits of those that have ended. Where nothing
  /// is followed all of them come in the end, and the tail is of all.
  void open_waiting() {
    while (!is_done_ && !waiting_.empty() && open_ < JobLogsParts::most_logs
           && merge_.waiting_bytes() < most_waiting_bytes) {
      auto next = std::move(waiting_.front());
      waiting_.pop_front();
      open(std::move(next));
    }
    merge_.expect_more(!query_.lines.follow && !waiting_.empty());
  }

  void open(LogOf of) {
    merge_.add();  // numbered as `logs_`
    ++open_;
    logs_.push_back({.of = std::move(of), .exchange = {}});
    auto& log = logs_.back();
    log.exchange
        = std::make_shared<InnerExchange>(in_turn([](JobLogs& self) { self.pump_soon(); }));
    log.exchange->request = request_for(log.of);
    Call inner{context_, net::Responder{log.exchange}, log.of.id.alloc_id};
    inner.asking = {call_.asking.who, Capability::read_logs};
    dispatch(Where::alloc_node, std::move(inner),
             [client = parts_.client](Call here) { here.settle(read_log_lines(here, client)); });
  }

  /// As if the client had asked for it. A log that was not there is wanted from its begin on.
  net::Request request_for(const LogOf& log) const {
    const auto& asked = call_.request();
    net::Request request;
    request.method = "GET";
    request.path = "/v1/client/fs/lines/" + log.id.alloc_id;
    request.target = request.path;
    request.remote = asked.remote;
    request.received = std::chrono::steady_clock::now();
    request.needs_token = asked.needs_token;
    request.limits = asked.limits;
    request.who = asked.who;
    request.hops = asked.hops;
    add_parameter(request, "namespace", query_.ns);
    add_parameter(request, "task", log.id.task);
    add_parameter(request, "type", log.id.type);
    add_parameter(request, "follow", query_.lines.follow ? "true" : "false");
    add_parameter(request, "begun", std::to_string(log.begun));
    for (const auto& [name, value] : asked.query) {
      const bool says_how_much = name == "tail" || name == "origin";
      if (name == "since" || name == "grep" || (says_how_much && log.is_of_past))
        add_parameter(request, name, value);
    }
    return request;
  }

  // -- what they tell

  void pump_soon() {
    if (!std::exchange(pump_is_due_, true))
      turns_.post([self = shared_from_this()] { self->pump(); });
  }

  void pump() {
    pump_is_due_ = false;
    for (int round = 0; round < rounds_at_once; ++round) {
      if (is_done_ || is_waiting_) return;
      if (body_.queued() > lines_enough_queued) return wait_for_client();
      open_waiting();
      bool has_news = false;
      for (std::size_t number = 0; number < logs_.size(); ++number)
        if (logs_[number].exchange && merge_.wants(number)) has_news = take(number) || has_news;
      has_news = send_lines() || has_news;
      if (!has_news) return end_if_over();
    }
    pump_soon();  // others have their turns in between
  }

  /// Whether something came.
  bool take(std::size_t number) {
    auto taken = logs_[number].exchange->take_some(taken_at_once);
    if (taken.bytes.empty() && !taken.has_ended) return false;
    if (taken.answer) refused(number, *taken.answer);
    if (is_done_) return false;
    cut(number, taken.bytes);
    if (taken.broke_off) send_error(&logs_[number].of, "the connection to its node broke off");
    if (taken.has_ended) close(number);
    return true;
  }

  /// A task that has written nothing yet has no log: nothing is missing.
  void refused(std::size_t number, const net::Response& answer) {
    const bool is_empty
        = answer.status == net::status::not_found && answer.body.starts_with("log entry for task ");
    if (!is_empty) send_error(&logs_[number].of, answer.body);
  }

  void close(std::size_t number) {
    if (!std::exchange(logs_[number].exchange, {})) return;
    --open_;
    merge_.ended(number);
  }

  /// What is told may find out that the client is gone, which ends all logs.
  void cut(std::size_t number, std::string_view bytes) {
    for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
      auto frame = std::exchange(logs_[number].partial, {});
      frame += bytes.substr(0, end);
      bytes.remove_prefix(end + 1);
      tell(number, frame);
      if (is_done_) return;
    }
    logs_[number].partial += bytes;
    if (logs_[number].partial.size() <= longest_frame) return;
    logs_[number].partial.clear();
    logs_[number].exchange->abandon();
    close(number);
    send_error(&logs_[number].of, "its node sent a line that is too long");
  }

  void tell(std::size_t number, std::string_view frame) {
    const auto parsed = FlatJson::read(frame);
    if (!parsed || !parsed->root().is(JsonKind::object))
      return send_error(&logs_[number].of, "its node sent what is no line");
    std::optional<std::int64_t> time;
    std::string_view by;
    std::string_view line;
    for (const auto& [name, value] : parsed->root().members()) {
      if (name == "Live") merge_.told_all(number);
      if (name == "Error") send_error(&logs_[number].of, value.text());
      if (name == "Time") time = value.whole<std::int64_t>();
      if (name == "TimeBy") by = value.text();
      if (name == "Line") line = value.text();
    }
    if (!time) return;
    std::string text;
    {
      JsonObject out{text};
      append_labels(out, logs_[number].of);
      out.number("Time", *time).text("TimeBy", by).text("Line", line);
    }
    merge_.tell({.source = number, .time = *time, .text = std::move(text) + '\n'});
  }

  /// Whether any went out.
  bool send_lines() {
    const auto lines = merge_.take(lines_enough_queued);
    std::string all;
    for (const auto& line : lines)
      all += line.text;
    if (!all.empty()) send(all);
    if (query_.lines.follow && merge_.has_told_all() && !std::exchange(is_live_, true))
      send("{\"Live\":true}\n");
    return !all.empty();
  }

  void send_error(const LogOf* log, std::string_view what) {
    std::string frame;
    {
      JsonObject out{frame};
      if (log != nullptr) append_labels(out, *log);
      out.text("Error", trim(what, file_space));
    }
    send(frame + '\n');
  }

  void send(std::string_view text) {
    ticks_since_sent_ = 0;
    if (!is_done_ && !body_.write(text)) end(false);
  }

  /// An empty piece is drained when everything before it is.
  void wait_for_client() {
    is_waiting_ = true;
    const bool taken = body_.write({}, in_turn([](JobLogs& self) {
                                     self.is_waiting_ = false;
                                     self.pump();
                                   }));
    if (!taken) end(false);
  }

  // -- time and end

  void tick_later() {
    context_->timers.call_after(tick_interval, in_turn([](JobLogs& self) { self.tick(); }));
  }

  void tick() {
    if (is_done_) return;
    for (std::size_t number = 0; number < logs_.size(); ++number) {
      auto& log = logs_[number];
      const bool is_awaited = log.exchange && merge_.is_awaited(number) && !is_waiting_;
      log.awaited_ticks = is_awaited ? log.awaited_ticks + 1 : 0;
      if (log.awaited_ticks >= patient_ticks) merge_.give_up(number);
    }
    if (++ticks_since_sent_ >= quiet_ticks) send("{}\n");
    tick_later();
    if (std::exchange(look_is_due_, false)) look();
    pump();
  }

  void end_if_over() {
    if (merge_.is_over() && waiting_.empty() && (!query_.lines.follow || job_has_ended_)) end();
  }

  /// He may not read them any more.
  void refuse(const Error& why) {
    if (is_done_) return;
    break_off(call_, body_, why);
    end();
  }

  void end(bool properly = true) {
    if (std::exchange(is_done_, true)) return;
    subscription_ = {};
    waiting_.clear();
    for (auto& log : logs_)
      if (const auto exchange = std::exchange(log.exchange, {})) exchange->abandon();
    if (!properly) body_.abort();
    body_.close();
    itself_.reset();
  }

  const std::shared_ptr<Context> context_;
  const JobLogsParts parts_;
  Call call_;
  const JobLogsQuery query_;
  const Turns turns_ = Turns::strand();
  std::shared_ptr<JobLogs> itself_;  ///< Until it ends.
  net::BodyStream body_;
  RightsWatch::Watching rights_;
  state::Watches::Subscription subscription_;
  std::set<LogId> known_;      ///< Those that are read, were, or wait; `most_logs_ever`.
  std::deque<LogOf> waiting_;  ///< Until one of `most_logs` ends; the likeliest first.
  std::vector<Log> logs_;      ///< By their number in `merge_`.
  std::size_t open_ = 0;
  LineMerge merge_;
  bool is_first_look_ = true;
  bool look_is_due_ = false;
  bool tells_left_out_ = false;
  bool job_has_ended_ = false;
  bool is_live_ = false;
  bool is_waiting_ = false;  ///< For the client.
  bool pump_is_due_ = false;
  bool is_done_ = false;
  int ticks_since_sent_ = 0;
};

Result<JobLogsQuery> query_of(const Call& call) {
  const auto& request = call.request();
  const auto options = NOMAD_TRY(parse_read_options(request));
  if (options.all_namespaces()) return bad_request("the namespace of the job must be named");
  return JobLogsQuery{.ns = options.ns,
                      .job = call.rest,
                      .task = std::string{request.parameter_or_empty("task")},
                      .types = NOMAD_TRY(types_of(request.parameter_or_empty("type"))),
                      .lines = NOMAD_TRY(parse_line_query(request, unix_now()))};
}

Outcome stream_job_logs(Call& call, const JobLogsParts& parts) {
  auto query = NOMAD_TRY(query_of(call));
  NOMAD_TRY(authorize(call.asking, {query.ns}));
  if (!call.context->state.store) return no_leader();
  const auto snapshot = call.context->state.store->snapshot();
  const auto allocs = snapshot.allocs_by_job(query.ns, query.job);
  if (!snapshot.job(query.ns, query.job) && allocs.begin() == allocs.end())
    return not_found("job not found");
  if (++*parts.streams > JobLogsParts::most_streams) {
    --*parts.streams;
    return Error{
        Errc::overloaded,
        fmt::format("the logs of {} jobs are being read: end one stream, or read those of an "
                    "allocation",
                    JobLogsParts::most_streams)};
  }
  std::make_shared<JobLogs>(std::move(call), parts, std::move(query))->start();
  return later;
}

}  // namespace

Outcome job_logs(Call& call, const JobLogsParts& parts) {
  return stream_as_asked(call, [&parts](Call& known) { return stream_job_logs(known, parts); });
}

}  // namespace nomad::api
