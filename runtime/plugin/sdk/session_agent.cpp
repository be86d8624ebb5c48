#include "runtime/plugin/sdk/session_agent.hpp"

namespace nomad::plugin {

using schema::plugin::Frame;

namespace {

/// A line longer than this is no event, and ends its subscription.
constexpr std::size_t most_line_bytes = std::size_t{16} << 20;

void fill_request(schema::plugin::ApiRequest::Builder to,
                  const std::string& method,
                  const std::string& path,
                  const std::string& body) {
  to.setMethod(text_of(method));
  to.setPath(text_of(path));
  to.setBody({reinterpret_cast<const kj::byte*>(body.data()), body.size()});
}

ApiAnswer answer_of(schema::plugin::ApiAnswer::Reader from) {
  const auto body = from.getBody();
  return {.status = from.getStatus(),
          .index = from.getIndex(),
          .body = {reinterpret_cast<const char*>(body.begin()), body.size()}};
}

}  // namespace

void SessionAgent::log(Level level, std::string_view line) {
  wire_.tell([&](Frame::Builder frame) {
    auto to = frame.initLog();
    to.setLevel(static_cast<schema::plugin::LogLine::Level>(level));
    to.setText(text_of(std::string{line}));
  });
}

void SessionAgent::request(std::string method,
                           std::string path,
                           std::string body,
                           ApiAnswered then) {
  wire_.ask([&](Frame::Builder frame) { fill_request(frame.initRequest(), method, path, body); },
            [then = std::move(then)](const Result<Frame::Reader>& answer) {
              if (!then) return;
              if (!answer)
                then(answer.error());
              else if (answer->isApiAnswer())
                then(answer_of(answer->getApiAnswer()));
              else
                then(Error{Errc::corrupt, "the agent answered something else"});
            });
}

std::uint64_t SessionAgent::subscribe(std::string path,
                                      std::function<void(std::string_view line)> line,
                                      std::function<void(const Error& why)> ended) {
  const auto subscription = std::make_shared<Subscription>(
      Subscription{.line = std::move(line), .ended = std::move(ended), .rest = {}});
  const auto number = std::make_shared<std::uint64_t>(0);
  *number = wire_.ask(
      [&](Frame::Builder frame) { fill_request(frame.initSubscribe(), "GET", path, {}); },
      [this, number](const Result<Frame::Reader>& answer) {
        if (!answer) return end_stream(*number, answer.error());
        const auto head = answer->isApiAnswer() ? answer_of(answer->getApiAnswer()) : ApiAnswer{};
        if (head.status != 200)
          end_stream(*number,
                     {Errc::rejected, "status " + std::to_string(head.status) + ": " + head.body});
      });
  streams_[*number] = subscription;
  return *number;
}

void SessionAgent::unsubscribe(std::uint64_t number) {
  if (streams_.erase(number) > 0)
    wire_.tell([number](Frame::Builder frame) { frame.setUnsubscribe(number); });
}

void SessionAgent::end_stream(std::uint64_t number, const Error& why) {
  const auto stream = streams_.extract(number);
  if (!stream.empty() && stream.mapped()->ended) stream.mapped()->ended(why);
}

void SessionAgent::stream_part(schema::plugin::StreamPart::Reader part) {
  const auto found = streams_.find(part.getNumber());
  if (found == streams_.end()) return;
  const auto stream = found->second;
  const auto bytes = part.getBytes();
  stream->rest.append(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
  std::size_t begin = 0;
  for (auto end = stream->rest.find('\n'); end != std::string::npos;
       end = stream->rest.find('\n', begin)) {
    const auto line = stream->rest.substr(begin, end - begin);
    begin = end + 1;
    if (!line.empty() && line != "{}" && stream->line) stream->line(line);
    if (!streams_.contains(part.getNumber())) return;
  }
  stream->rest.erase(0, begin);
  if (stream->rest.size() > most_line_bytes) {
    unsubscribe(part.getNumber());
    if (stream->ended) stream->ended({Errc::too_large, "a line of the answer has no end"});
    return;
  }
  if (part.getLast())
    return end_stream(part.getNumber(), {Errc::unavailable, "the agent has ended the answer"});
  wire_.tell([&part, &bytes](Frame::Builder frame) {
    auto taken = frame.initStreamTaken();
    taken.setNumber(part.getNumber());
    taken.setBytes(static_cast<std::uint32_t>(bytes.size()));
  });
}

void SessionAgent::metric(std::string_view name, double value, schema::plugin::Metric::Kind kind) {
  wire_.tell([&](Frame::Builder frame) {
    auto to = frame.initMetric();
    to.setName(text_of(std::string{name}));
    to.setValue(value);
    to.setKind(kind);
  });
}

void SessionAgent::count(std::string_view name, double more) {
  metric(name, more, schema::plugin::Metric::Kind::COUNT);
}

void SessionAgent::sample(std::string_view name, double value) {
  metric(name, value, schema::plugin::Metric::Kind::SAMPLE);
}

void SessionAgent::node_event(std::string_view message,
                              const std::map<std::string, std::string>& details) {
  wire_.tell([&](Frame::Builder frame) {
    auto to = frame.initNodeEvent();
    to.setMessage(text_of(std::string{message}));
    fill_entries(to.initDetails(static_cast<unsigned>(details.size())), details);
  });
}

std::uint64_t SessionAgent::after(Nanoseconds delay, std::function<void()> then) {
  const auto number = ++last_timer_;
  timers_[{now_ + delay, number}] = std::move(then);
  return number;
}

void SessionAgent::cancel_timer(std::uint64_t number) {
  std::erase_if(timers_, [number](const auto& each) { return each.first.second == number; });
}

std::optional<Nanoseconds> SessionAgent::next_timer() const {
  if (timers_.empty()) return std::nullopt;
  return timers_.begin()->first.first;
}

/// Those that are there now: one that is made meanwhile, and due, lets the agent be heard first.
void SessionAgent::run_timers() {
  const auto last = std::pair{now_, last_timer_};
  while (!timers_.empty() && timers_.begin()->first <= last) {
    const auto due = timers_.extract(timers_.begin());
    due.mapped()();
  }
}

void SessionAgent::watch(int descriptor, short events, std::function<void(short)> ready) {
  watches_[descriptor] = {events, std::make_shared<std::function<void(short)>>(std::move(ready))};
}

void SessionAgent::unwatch(int descriptor) {
  const auto watch = watches_.extract(descriptor);  // what it holds may look here in its end
}

std::vector<pollfd> SessionAgent::watched() const {
  std::vector<pollfd> made;
  for (const auto& [descriptor, watch] : watches_)
    if (watch.events != 0) made.push_back({descriptor, watch.events, 0});
  return made;
}

void SessionAgent::run_ready(std::span<const pollfd> seen) {
  for (const auto& each : seen) {
    if (each.revents == 0) continue;
    const auto found = watches_.find(each.fd);
    if (found == watches_.end() || found->second.events == 0) continue;
    const auto ready = found->second.ready;  // it may end its own watch
    (*ready)(each.revents);
  }
}

void SessionAgent::tell(schema::plugin::Notice::Reader notice) {
  wire_.tell([&notice](Frame::Builder frame) { frame.setDriverNotice(notice); });
}

}  // namespace nomad::plugin
