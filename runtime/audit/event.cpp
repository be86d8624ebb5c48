#include "runtime/audit/event.hpp"

#include <fmt/format.h>

#include "runtime/base/duration.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/object/json_codec.hpp"

namespace nomad::audit {
namespace {

/// In quotes, cut, and as what a terminal may show.
void append_shown(std::string& out, std::string_view text) {
  text = utf8_prefix(text, most_text);
  if (is_ascii(text))
    append_json_text(out, text);
  else
    append_json_text(out, escape_controls(text));
}

/// Members of an open object, one after the other.
class Members {
public:
  explicit Members(std::string& out) : out_{out} { out_ += '{'; }

  std::string& raw(std::string_view name) {
    if (!std::exchange(is_first_, false)) out_ += ',';
    out_.append("\"").append(name).append("\":");
    return out_;
  }

  void text(std::string_view name, std::string_view value) { append_shown(raw(name), value); }

  /// Nothing of what there is not.
  void text_if(std::string_view name, std::string_view value) {
    if (!value.empty()) text(name, value);
  }

  void number(std::string_view name, std::uint64_t value) { raw(name) += std::to_string(value); }

  void flag(std::string_view name, bool value) { raw(name) += value ? "true" : "false"; }

  void time(std::string_view name, std::int64_t value) {
    text(name, value == 0 ? "0001-01-01T00:00:00Z" : format_rfc3339(value));
  }

  void texts(std::string_view name, const std::vector<std::string>& values) {
    auto& out = raw(name);
    out += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out += ',';
      append_shown(out, values[i]);
    }
    out += ']';
  }

  void close() { out_ += '}'; }

private:
  std::string& out_;
  bool is_first_ = true;
};

void append_auth(std::string& out, const Auth& auth) {
  Members members{out};
  members.text("accessor_id", auth.accessor);
  members.text("name", auth.name);
  members.texts("policies", auth.policies);
  members.flag("global", auth.global);
  members.time("create_time", auth.create_time);
  members.text_if("type", auth.type);
  members.text_if("alloc_id", auth.alloc);
  members.text_if("node_id", auth.node);
  members.text_if("certificate", auth.certificate);
  members.text_if("passed_on_by", auth.passed_on_by);
  members.close();
}

void append_request(std::string& out, const Request& request) {
  Members members{out};
  members.text("id", request.id);
  members.text("operation", request.operation);
  members.text("endpoint", request.endpoint);
  Members ns{members.raw("namespace")};
  ns.text("id", request.ns);
  ns.close();
  Members meta{members.raw("request_meta")};
  meta.text("remote_address", request.remote);
  meta.text("user_agent", request.user_agent);
  meta.close();
  Members node{members.raw("node_meta")};
  node.text("ip", request.node_ip);
  node.close();
  members.close();
}

void append_verdict(std::string& out, const Verdict& verdict) {
  Members members{out};
  members.flag("allowed", verdict.is_allowed);
  members.text_if("capability", verdict.capability);
  members.texts("policies", verdict.policies);
  members.text_if("namespace", verdict.ns);
  members.text_if("path", verdict.path);
  members.text_if("node_pool", verdict.node_pool);
  members.text_if("node", verdict.node);
  members.text_if("host_volume", verdict.host_volume);
  members.text_if("plugin", verdict.plugin);
  members.close();
}

void append_response(std::string& out, const Response& response) {
  Members members{out};
  members.number("status_code", response.status);
  members.text_if("error", response.error);
  members.close();
}

void open_line(Members& line, std::int64_t created_at) {
  line.time("created_at", created_at);
  line.text("event_type", "audit");
}

void remove_all(std::string& text, std::string_view secret) {
  constexpr std::string_view instead = "<redacted>";
  for (auto at = text.find(secret); at != std::string::npos;
       at = text.find(secret, at + instead.size()))
    text.replace(at, secret.size(), instead);
}

}  // namespace

std::string_view name_of(Stage stage) {
  switch (stage) {
    case Stage::received:
      return "OperationReceived";
    case Stage::session_started:
      return "SessionStarted";
    case Stage::complete:
      return "OperationComplete";
  }
  return "";
}

std::string to_text(const Event& event) {
  std::string out;
  out.reserve(1'024);
  Members line{out};
  open_line(line, event.created_at);
  Members payload{line.raw("payload")};
  payload.text("id", event.id);
  payload.text("stage", name_of(event.stage));
  payload.text("type", "audit");
  payload.time("timestamp", event.timestamp);
  payload.number("version", 1);
  append_auth(payload.raw("auth"), event.auth);
  append_request(payload.raw("request"), event.request);
  payload.text_if("route", event.route);
  payload.text_if("object", event.object);
  if (event.verdict) append_verdict(payload.raw("verdict"), *event.verdict);
  if (event.response) {
    append_response(payload.raw("response"), *event.response);
    payload.number("duration_ns", static_cast<std::uint64_t>(event.response->took.count()));
  }
  payload.close();
  return out;
}

std::string note_text(std::int64_t now,
                      std::string_view stage,
                      const std::vector<std::pair<std::string_view, std::uint64_t>>& numbers) {
  std::string out;
  Members line{out};
  open_line(line, now);
  Members payload{line.raw("payload")};
  payload.text("stage", stage);
  payload.text("type", "audit");
  payload.time("timestamp", now);
  payload.number("version", 1);
  for (const auto& [name, number] : numbers)
    payload.number(name, number);
  payload.close();
  return out;
}

void redact(Event& event, std::string_view secret) {
  constexpr std::size_t shortest = 8;  // less is found everywhere, and is nobody's secret
  if (secret.size() < shortest) return;
  for (auto* text : {&event.request.endpoint, &event.request.ns, &event.request.operation,
                     &event.request.user_agent, &event.object})
    remove_all(*text, secret);
  if (event.response) remove_all(event.response->error, secret);
  if (!event.verdict) return;
  auto& verdict = *event.verdict;
  for (auto* text : {&verdict.ns, &verdict.path, &verdict.node_pool, &verdict.node,
                     &verdict.host_volume, &verdict.plugin})
    remove_all(*text, secret);
}

}  // namespace nomad::audit
